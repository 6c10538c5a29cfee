//! Which crate may depend on which: the arrows that keep the core free of I/O.

use crate::files::TextFile;
use crate::finding::Finding;

enum Allowed {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

use Allowed::{AllBut, Only};

const ARROWS: [(&str, Allowed); 23] = [
    ("output", Only(&[])),
    ("events", Only(&[])),
    ("membership", Only(&[])),
    ("wire", Only(&[])),
    ("session", Only(&["wire"])),
    ("pool", Only(&["events", "membership", "session", "wire"])),
    (
        "carry",
        Only(&["events", "membership", "pool", "session", "wire"]),
    ),
    ("admission", Only(&["events", "membership"])),
    ("vault", Only(&[])),
    ("accounts", Only(&["admission", "vault", "wire"])),
    (
        "engine",
        Only(&[
            "accounts",
            "admission",
            "carry",
            "events",
            "membership",
            "pool",
            "session",
            "wire",
        ]),
    ),
    ("driver", Only(&["events", "membership"])),
    ("compression", Only(&["events"])),
    ("tls", Only(&["events"])),
    ("config", Only(&["output"])),
    (
        "control",
        Only(&[
            "accounts",
            "admission",
            "engine",
            "events",
            "session",
            "tls",
            "wire",
        ]),
    ),
    ("localdb", Only(&[])),
    ("page", Only(&[])),
    ("doctor", Only(&[])),
    (
        "load",
        Only(&[
            "doctor",
            "driver",
            "events",
            "membership",
            "page",
            "tls",
            "wire",
        ]),
    ),
    ("challenge", Only(&["doctor", "localdb", "output", "page"])),
    ("sim", AllBut(&["driver", "myriad"])),
    ("myriad", AllBut(&["sim"])),
];

/// What every crate's tests may use besides its arrows: a real backend.
const FOR_TESTS: [&str; 1] = ["localdb"];

const TABLE: &str = "the table in xtask/src/arrows.rs";

/// Dependencies among our crates that the table does not allow.
pub(crate) fn check(files: &[TextFile]) -> Vec<Finding> {
    let ours: Vec<&str> = files
        .iter()
        .filter_map(TextFile::manifest)
        .map(|(name, _)| name)
        .collect();
    files
        .iter()
        .flat_map(|file| check_manifest(file, &ours))
        .collect()
}

fn check_manifest(file: &TextFile, ours: &[&str]) -> Vec<Finding> {
    let Some((name, text)) = file.manifest() else {
        return Vec::new();
    };
    let finding = |line, what, fix| vec![Finding::new(&file.path, line, what, fix)];
    let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
        let what = format!("no arrows are known for {name}");
        return finding(1, what, format!("add it to {TABLE}"));
    };
    let Ok(manifest) = text.parse::<toml::Table>() else {
        return finding(1, "not a manifest".into(), "write valid TOML".into());
    };
    let dependencies = dependencies(&manifest).into_iter();
    let wrong = dependencies.filter(|dependency| {
        let for_tests = dependency.is_dev && FOR_TESTS.contains(&dependency.name.as_str());
        ours.contains(&dependency.name.as_str()) && !for_tests && !allowed.has(&dependency.name)
    });
    wrong
        .map(|dependency| {
            let line = line_of(text, &dependency.key);
            let what = format!("{name} must not depend on {}", dependency.name);
            Finding::new(
                &file.path,
                line,
                what,
                format!("move the code, or argue with {TABLE}"),
            )
        })
        .collect()
}

impl Allowed {
    fn has(&self, name: &str) -> bool {
        match self {
            Only(names) => names.contains(&name),
            AllBut(names) => !names.contains(&name),
        }
    }
}

struct Dependency {
    /// As written left of the equals sign.
    key: String,
    /// The package; another than `key` if it was renamed.
    name: String,
    is_dev: bool,
}

/// From all tables of dependencies, those of single targets too.
fn dependencies(manifest: &toml::Table) -> Vec<Dependency> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(toml::Table::values);
    let tables = targets.filter_map(toml::Value::as_table).chain([manifest]);
    let mut found = Vec::new();
    for table in tables {
        for section in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let entries = table.get(section).and_then(toml::Value::as_table);
            for (key, value) in entries.into_iter().flatten() {
                let renamed = value.get("package").and_then(toml::Value::as_str);
                let name = renamed.unwrap_or(key).to_string();
                found.push(Dependency {
                    key: key.clone(),
                    name,
                    is_dev: section.starts_with("dev"),
                });
            }
        }
    }
    found
}

fn line_of(text: &str, key: &str) -> usize {
    let found = text.lines().position(|line| {
        let rest = line.trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.starts_with([' ', '.', '=']))
    });
    found.map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::file;

    fn found(name: &str, manifest: &str) -> Vec<String> {
        let mut files: Vec<TextFile> = ARROWS
            .iter()
            .filter(|(known, _)| *known != name)
            .map(|(known, _)| file(&format!("crates/{known}/Cargo.toml"), ""))
            .collect();
        files.push(file(&format!("crates/{name}/Cargo.toml"), manifest));
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn arrows_of_the_table_and_foreign_crates_pass() {
        assert!(
            found(
                "session",
                "[dependencies]\nwire.workspace = true\nserde = \"1\"\n"
            )
            .is_empty()
        );
        assert!(found("myriad", "[dependencies]\ndriver.workspace = true\n").is_empty());
    }

    #[test]
    fn other_arrows_fail_and_name_their_line() {
        let findings = found(
            "wire",
            "[dependencies]\nserde = \"1\"\nsession.workspace = true\n",
        );
        assert_eq!(findings.len(), 1);
        let expected = "crates/wire/Cargo.toml:3: wire must not depend on session; ";
        assert!(findings[0].starts_with(expected), "{findings:?}");
        assert_eq!(
            found("sim", "[dependencies]\ndriver.workspace = true\n").len(),
            1
        );
        assert_eq!(
            found("myriad", "[dev-dependencies]\nsim.workspace = true\n").len(),
            1
        );
    }

    #[test]
    fn no_kind_of_dependency_is_overlooked() {
        for manifest in [
            "[build-dependencies]\nengine.workspace = true\n",
            "[target.'cfg(unix)'.dependencies]\nengine.workspace = true\n",
            "[dependencies]\nx = { package = \"engine\", path = \"../engine\" }\n",
        ] {
            assert_eq!(found("driver", manifest).len(), 1, "{manifest}");
        }
    }

    #[test]
    fn tests_may_use_a_real_backend() {
        assert!(found("driver", "[dev-dependencies]\nlocaldb.workspace = true\n").is_empty());
        assert_eq!(
            found("driver", "[dependencies]\nlocaldb.workspace = true\n").len(),
            1
        );
    }

    #[test]
    fn a_crate_outside_the_table_must_be_added() {
        assert!(found("novelty", "")[0].contains("no arrows are known for novelty"));
        assert!(found("wire", "= broken")[0].contains("not a manifest"));
    }
}

//! The default configuration and the reference say what the code does.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::{Settings, default_toml, parse};

/// Section, key and default of each line of the default configuration that is or could be a key;
/// `None` where the key is commented out.
fn keys() -> Vec<(String, String, Option<String>)> {
    let mut section = String::new();
    let mut keys = Vec::new();
    for line in default_toml().lines() {
        let bare = line.trim_start_matches(['#', ' ']);
        if bare.starts_with('[') {
            section = bare.trim_matches(['[', ']']).to_owned();
        }
        let Some((key, value)) = bare.split_once(" = ") else {
            continue;
        };
        if key.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
            let default = (bare == line).then(|| value.to_owned());
            keys.push((section.clone(), key.to_owned(), default));
        }
    }
    keys
}

fn reference() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/CONFIGURATION.md");
    fs::read_to_string(path).unwrap()
}

/// The keys that a section says it knows when it meets a stranger.
fn known(header: &str) -> BTreeSet<String> {
    let errors = parse(&format!("{header}\nzzz = 1\n"), "f").unwrap_err();
    let problem = errors
        .problems()
        .iter()
        .find(|p| p.key.ends_with(".zzz"))
        .unwrap();
    let (_, keys) = problem.message.split_once("the keys here are ").unwrap();
    keys.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_default_configuration_says_the_defaults() {
    assert_eq!(
        parse(default_toml(), "default.toml"),
        Ok(Settings::default())
    );
}

#[test]
fn the_default_configuration_has_every_key() {
    for (header, section) in [
        ("[server]", "server"),
        ("[proxy_protocol]", "proxy_protocol"),
        ("[backend]", "backend"),
        ("[monitor]", "monitor"),
        ("[[account]]", "account"),
        ("[[quota]]", "quota"),
        ("[[schema]]", "schema"),
        ("[admin]", "admin"),
        ("[[admin.account]]", "admin.account"),
        ("[log]", "log"),
    ] {
        let keys = keys().into_iter().filter(|(of, ..)| of == section);
        let keys: BTreeSet<String> = keys.map(|(_, key, _)| key).collect();
        let mut known = known(header);
        // A section of its own: [[admin.account]].
        if section == "admin" {
            known.remove("account");
        }
        assert_eq!(keys, known, "{header}");
    }
}

#[test]
fn what_the_default_configuration_comments_out_is_right_too() {
    let examples = default_toml().lines().map(|line| {
        let bare = line.trim_start_matches(['#', ' ']);
        let is_source = bare.starts_with("password_");
        let is_key = bare
            .split_once(" = ")
            .is_some_and(|(key, _)| key.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_')));
        if (is_key && !is_source) || bare.starts_with('[') {
            bare
        } else {
            line
        }
    });
    let text: Vec<&str> = examples.collect();
    let settings = parse(&text.join("\n"), "f").unwrap();
    let sections = (
        settings.accounts.len(),
        settings.quotas.len(),
        settings.schemas.len(),
        settings.admin.accounts.len(),
    );
    assert_eq!(sections, (1, 1, 1, 1));
    assert!(settings.monitor.is_some());
    assert!(settings.admin.http.is_some() && settings.admin.sql.is_some());
}

#[test]
fn the_reference_has_every_key_and_its_default() {
    let reference = reference();
    for (section, key, default) in keys() {
        let default = default.map_or("none".to_owned(), |default| format!("`{default}`"));
        let heading = format!("[{section}]");
        let mut chapters = reference.split("\n## ");
        let table = chapters
            .find(|chapter| chapter.lines().next().unwrap().contains(&heading))
            .unwrap();
        let row = format!("\n| `{key}` | {default} |");
        assert!(table.contains(&row), "the table of {section} lacks: {row}");
    }
}

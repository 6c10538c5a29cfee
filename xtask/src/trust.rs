//! Where unsafe code may be permitted: in one file, so that who looks for it knows where. That
//! there is none without permission, the compiler sees.

use crate::files::TextFile;
use crate::finding::Finding;
use crate::mask::mask;

/// The lint that the workspace denies.
const LINT: &str = "unsafe_code";
/// The only file that may name it.
const PERMITTED: &str = "crates/driver/src/uring/kernel/mod.rs";
const FIX: &str = "put what must be unsafe into driver::uring::kernel, behind a safe interface";

/// Attributes that permit unsafe code, and manifests that do not deny it.
pub(crate) fn check(file: &TextFile) -> Vec<Finding> {
    let offends: fn(&str) -> bool = if file.path == PERMITTED {
        return Vec::new();
    } else if file.path.ends_with(".rs") {
        names_lint
    } else if file.path.ends_with("Cargo.toml") {
        does_not_deny
    } else {
        return Vec::new();
    };
    let text = match file.path.ends_with(".rs") {
        true => mask(&file.text),
        false => file.text.clone(),
    };
    let lines = text.lines().zip(1..);
    let offending = lines.filter(|(line, _)| offends(line));
    offending
        .map(|(_, number)| Finding::new(&file.path, number, "unsafe code is permitted", FIX))
        .collect()
}

fn names_lint(line: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.split(|c| !is_part(c)).any(|word| word == LINT)
}

fn does_not_deny(line: &str) -> bool {
    let setting = line.split('#').next().unwrap_or_default();
    setting.trim_start().starts_with(LINT)
        && !setting.contains("\"deny\"")
        && !setting.contains("\"forbid\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::file;

    #[test]
    fn permission_is_found_everywhere_but_where_it_belongs() {
        let here = PERMITTED;
        let cases: [(&str, &str, &[usize]); 10] = [
            (
                here,
                "#[expect(unsafe_code, reason = \"r\")]\nmod ring;\n",
                &[],
            ),
            ("crates/a/src/b.rs", "#[allow(unsafe_code)]\n", &[1]),
            ("crates/a/tests/b.rs", "#[allow(unsafe_code)]\n", &[1]),
            ("fuzz/src/b.rs", "#![expect(\n    unsafe_code,\n)]\n", &[2]),
            (
                "crates/driver/src/uring/kernel/ring.rs",
                "#![allow(unsafe_code)]",
                &[1],
            ),
            (
                "crates/a/src/b.rs",
                "// unsafe_code\nlet s = \"unsafe_code\";\n",
                &[],
            ),
            ("crates/a/src/b.rs", "fn not_unsafe_code() {}\n", &[]),
            ("docs/a.md", "allow(unsafe_code)\n", &[]),
            ("Cargo.toml", "# unsafe_code\nunsafe_code = \"deny\"\n", &[]),
            (
                "crates/a/Cargo.toml",
                "[lints.rust]\nunsafe_code = \"allow\"\n",
                &[2],
            ),
        ];
        for (path, text, expected) in cases {
            let lines: Vec<usize> = check(&file(path, text)).iter().map(|f| f.line).collect();
            assert_eq!(lines, expected, "{path}: {text:?}");
        }
    }
}

//! Measures files, functions and tests, and checks how a source file begins.
//! Which measures are too large to stay is decided by `allow`.

use crate::files::TextFile;
use crate::finding::Finding;
use crate::functions::{closing, functions};
use crate::mask::mask;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Tests,
    Function,
    Parameters,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::File, Self::Tests, Self::Function, Self::Parameters];

    /// As written in the allow-list.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Tests => "tests",
            Self::Function => "function",
            Self::Parameters => "parameters",
        }
    }

    /// The largest that needs no entry in the allow-list.
    pub(crate) fn limit(self) -> usize {
        match self {
            Self::File => 500,
            Self::Tests => 300,
            Self::Function => 70,
            Self::Parameters => 6,
        }
    }

    /// What to do about one that is too large.
    pub(crate) fn fix(self) -> &'static str {
        match self {
            Self::File => "split it by noun (aim at 300)",
            Self::Tests => "move the tests to a sibling tests.rs (aim at 150)",
            Self::Function => "split it (aim at 30)",
            Self::Parameters => "gather them in a struct (aim at 4)",
        }
    }
}

/// One thing and how large it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Measure {
    pub(crate) kind: Kind,
    /// The file's path; for functions also `:name`.
    pub(crate) key: String,
    pub(crate) path: String,
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) value: usize,
}

/// Measures a Rust file; other files have no measures.
pub(crate) fn measure(file: &TextFile) -> Vec<Measure> {
    if !file.path.ends_with(".rs") {
        return Vec::new();
    }
    let masked = mask(&file.text);
    let mut measures = measure_functions(file, &masked);
    if file.is_source() && !file.is_test_source() {
        let tests = tests_inside(&masked);
        let in_tests: usize = tests.iter().map(|(_, lines)| lines).sum();
        let line = tests.first().map_or(1, |(line, _)| *line);
        let all = file.text.lines().count();
        measures.push(of_file(Kind::File, file, (1, all - in_tests)));
        measures.push(of_file(Kind::Tests, file, (line, in_tests)));
    }
    measures
}

/// A source file says in its first lines what it owns.
pub(crate) fn check_header(file: &TextFile) -> Option<Finding> {
    let is_missing = file.is_source() && !file.text.starts_with("//!");
    is_missing.then(|| {
        let fix = "say in `//!` lines what the file owns and what it does not";
        Finding::new(&file.path, 1, "the file does not say what it owns", fix)
    })
}

fn of_file(kind: Kind, file: &TextFile, (line, value): (usize, usize)) -> Measure {
    let path = file.path.clone();
    Measure {
        kind,
        key: path.clone(),
        path,
        line,
        value,
    }
}

fn measure_functions(file: &TextFile, masked: &str) -> Vec<Measure> {
    let mut measures = Vec::new();
    for function in functions(masked) {
        let values = [
            (Kind::Function, function.lines),
            (Kind::Parameters, function.parameters),
        ];
        for (kind, value) in values {
            let key = format!("{}:{}", file.path, function.name);
            measures.push(Measure {
                kind,
                key,
                path: file.path.clone(),
                line: function.line,
                value,
            });
        }
    }
    measures
}

/// First line and number of lines of each test module that is written out in the file.
fn tests_inside(masked: &str) -> Vec<(usize, usize)> {
    let code: Vec<char> = masked.chars().collect();
    let newlines = |part: &[char]| part.iter().filter(|c| **c == '\n').count();
    let mut found = Vec::new();
    for (byte, attribute) in masked.match_indices("#[cfg(test)]") {
        let start = masked[..byte].chars().count();
        let after = start + attribute.len();
        let Some(stop) = code[after..].iter().position(|c| matches!(c, '{' | ';')) else {
            continue;
        };
        let head: String = code[after..after + stop].iter().collect();
        let is_module = head.split_whitespace().any(|word| word == "mod");
        if !is_module || code[after + stop] == ';' {
            continue;
        }
        if let Some(end) = closing(&code, after + stop) {
            found.push((
                1 + newlines(&code[..start]),
                1 + newlines(&code[start..end]),
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::file;

    fn value(measures: &[Measure], kind: Kind) -> usize {
        measures
            .iter()
            .find(|measure| measure.kind == kind)
            .unwrap()
            .value
    }

    #[test]
    fn tests_in_the_file_count_apart() {
        let text = "//! x\nfn f(a: u8) {\n}\n\n#[cfg(test)]\nmod tests {\n    // }\n}\n";
        let measures = measure(&file("crates/a/src/b.rs", text));
        assert_eq!(value(&measures, Kind::File), 4);
        assert_eq!(value(&measures, Kind::Tests), 4);
        assert_eq!(value(&measures, Kind::Function), 2);
        assert_eq!(value(&measures, Kind::Parameters), 1);
    }

    #[test]
    fn a_sibling_test_file_is_not_in_the_file() {
        let text = "//! x\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nfn helper() {}\n";
        let measures = measure(&file("crates/a/src/b.rs", text));
        assert_eq!(value(&measures, Kind::Tests), 0);
        assert_eq!(value(&measures, Kind::File), 5);
    }

    #[test]
    fn test_files_have_functions_only() {
        let measures = measure(&file("crates/a/src/tests.rs", "fn f() {}\n"));
        assert!(
            measures
                .iter()
                .all(|measure| measure.key == "crates/a/src/tests.rs:f")
        );
    }

    #[test]
    fn a_source_file_begins_with_what_it_owns() {
        assert!(check_header(&file("crates/a/src/b.rs", "use x;\n")).is_some());
        assert!(check_header(&file("crates/a/src/b.rs", "//! Owns x.\n")).is_none());
        assert!(check_header(&file("crates/a/tests/b.rs", "use x;\n")).is_none());
    }
}

//! Words that must not stand in the project's text, and where.

use crate::files::TextFile;
use crate::finding::Finding;

/// One forbidden word. Patterns here are cut in two, so that this file does not offend itself.
struct Word {
    pattern: &'static str,
    place: Place,
    fix: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Any text, in any case.
    Anywhere,
    /// Any text, exactly so.
    Exactly,
    /// Any text, at the beginning of a path.
    PathStart,
    /// The crates' sources, in any case.
    Sources,
}

const FINISH: &str = "do it now or open an issue";
const OUR_WORD: &str = "say client or backend, as CONTRIBUTING.md explains";
const NO_PATH: &str = "write a path that exists on every machine";

const WORDS: [Word; 9] = [
    Word {
        pattern: concat!("TO", "DO"),
        place: Place::Exactly,
        fix: FINISH,
    },
    Word {
        pattern: concat!("FIX", "ME"),
        place: Place::Exactly,
        fix: FINISH,
    },
    Word {
        pattern: concat!("todo", "!"),
        place: Place::Exactly,
        fix: FINISH,
    },
    Word {
        pattern: concat!("/ro", "ot/"),
        place: Place::PathStart,
        fix: NO_PATH,
    },
    Word {
        pattern: concat!("/wo", "rk/"),
        place: Place::PathStart,
        fix: NO_PATH,
    },
    Word {
        pattern: concat!("artifact", "ory"),
        place: Place::Anywhere,
        fix: "name no mirror",
    },
    Word {
        pattern: "frontend",
        place: Place::Sources,
        fix: OUR_WORD,
    },
    Word {
        pattern: "upstream",
        place: Place::Sources,
        fix: OUR_WORD,
    },
    Word {
        pattern: "downstream",
        place: Place::Sources,
        fix: OUR_WORD,
    },
];

/// Every forbidden word in a file, once per line.
pub(crate) fn check(file: &TextFile) -> Vec<Finding> {
    let is_source = file.is_crate_source();
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let lower = line.to_lowercase();
        for word in WORDS
            .iter()
            .filter(|word| is_source || word.place != Place::Sources)
        {
            if word.stands_in(line, &lower) {
                let what = format!("forbidden word {:?}", word.pattern);
                findings.push(Finding::new(&file.path, index + 1, what, word.fix));
            }
        }
    }
    findings
}

impl Word {
    fn stands_in(&self, line: &str, lower: &str) -> bool {
        match self.place {
            Place::Exactly => line.contains(self.pattern),
            Place::Anywhere | Place::Sources => lower.contains(self.pattern),
            Place::PathStart => {
                let mut places = line.match_indices(self.pattern);
                places.any(|(at, _)| !line[..at].ends_with(is_in_path))
            }
        }
    }
}

/// Characters that show that a path began further left.
fn is_in_path(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '~' | '}' | ')' | '*' | '/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::file;

    fn count(path: &str, text: &str) -> usize {
        check(&file(path, text)).len()
    }

    #[test]
    fn unfinished_work_is_found_anywhere() {
        assert_eq!(
            count("docs/a.md", concat!("x\nTO", "DO: y\nFIX", "ME\n")),
            2
        );
        assert_eq!(count("crates/a/src/b.rs", concat!("todo", "!()")), 1);
        assert_eq!(count("Cargo.toml", "todo = \"warn\"\n"), 0);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        assert_eq!(count("a.md", concat!("see /ro", "ot/x")), 1);
        assert_eq!(count("a.md", concat!("`/wo", "rk/x`")), 1);
        assert_eq!(count("a.md", concat!("https://x.example/wo", "rk/y")), 0);
        assert_eq!(count("a.md", "see /home/you/x"), 0);
    }

    #[test]
    fn foreign_words_for_the_two_ends_are_found_in_sources_only() {
        assert_eq!(count("crates/a/src/b.rs", "let Upstream = 1;"), 1);
        assert_eq!(count("docs/a.md", "not: upstream"), 0);
    }

    #[test]
    fn a_finding_names_its_line() {
        let findings = check(&file("crates/a/src/b.rs", "a\nb frontend\n"));
        assert_eq!(findings[0].line, 2);
        assert!(
            findings[0]
                .to_string()
                .starts_with("crates/a/src/b.rs:2: forbidden word")
        );
    }
}

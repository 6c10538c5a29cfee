//! What one pass over a configuration learns about its text: which keys exist, where the written
//! ones are, and all that is wrong.
//!
//! Unknown keys are judged last, when every section has named the keys it knows.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{ConfigErrors, Problem, Wrong};

/// Below this likeness (0 to 1, Jaro-Winkler) two names are not taken for a slip of the pen.
const NEAR: f64 = 0.85;

/// The findings of one pass. Places are byte offsets into the text.
pub(crate) struct Report<'t> {
    text: &'t str,
    known: BTreeSet<(&'static str, &'static str)>,
    places: BTreeMap<String, usize>,
    unknown: Vec<Unknown>,
    problems: Vec<(usize, String, Wrong)>,
}

struct Unknown {
    section: &'static str,
    key: String,
    at: usize,
}

impl<'t> Report<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            known: BTreeSet::new(),
            places: BTreeMap::new(),
            unknown: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Notes that `section` has `key`.
    pub(crate) fn note_known(&mut self, section: &'static str, key: &'static str) {
        self.known.insert((section, key));
    }

    /// Notes that `key` of `section` is written, and where its value is.
    pub(crate) fn note_written(&mut self, section: &str, key: &str, at: usize) {
        self.places.insert(path(section, key), at);
    }

    /// Notes a key that `section` does not have.
    pub(crate) fn note_unknown(&mut self, section: &'static str, key: &str, at: usize) {
        self.unknown.push(Unknown {
            section,
            key: key.to_owned(),
            at,
        });
    }

    /// Whether `key` is one of `section`'s.
    pub(crate) fn knows(&self, section: &str, key: &str) -> bool {
        self.known.iter().any(|known| *known == (section, key))
    }

    /// Where the value of the key at `path` is, if it is written.
    pub(crate) fn place(&self, path: &str) -> Option<usize> {
        self.places.get(path).copied()
    }

    /// The line of a place, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.position(at).0
    }

    /// Whether nothing was found wrong with `key` of `section`.
    pub(crate) fn is_sound(&self, section: &str, key: &str) -> bool {
        let path = path(section, key);
        !self.problems.iter().any(|(_, blamed, _)| *blamed == path)
    }

    /// Notes that what is written at `at` for `key` of `section` is wrong.
    pub(crate) fn blame(&mut self, section: &str, key: &str, at: usize, wrong: Wrong) {
        self.problems.push((at, path(section, key), wrong));
    }

    /// The same for the key at `path`, where its value is written.
    pub(crate) fn blame_written(&mut self, path: &str, wrong: Wrong) {
        let at = self.place(path).unwrap_or(0);
        self.problems.push((at, path.to_owned(), wrong));
    }

    /// Notes that the text is not TOML.
    pub(crate) fn blame_syntax(&mut self, error: &toml::de::Error) {
        let span = error.span().unwrap_or_default();
        // The text itself is shown for a duplicate key only: elsewhere it could be a password.
        let (key, fix) = match error.message() {
            "duplicate key" => (self.text.get(span.clone()), "remove one of the two"),
            what if what.starts_with("string values must be quoted") => {
                (None, "write a value, in quotes if it is text")
            }
            _ => (
                None,
                "write the line as toml, such as `key = \"value\"` or `[section]`",
            ),
        };
        let wrong = Wrong::new(error.message().replace('\n', ", "), fix);
        self.problems
            .push((span.start, key.unwrap_or_default().to_owned(), wrong));
    }

    /// `settings` if nothing was wrong, else all that was.
    pub(crate) fn verdict<T>(mut self, settings: T, origin: &str) -> Result<T, ConfigErrors> {
        for unknown in std::mem::take(&mut self.unknown) {
            let wrong = Wrong::new("unknown key", self.hint(&unknown));
            self.blame(unknown.section, &printable(&unknown.key), unknown.at, wrong);
        }
        if self.problems.is_empty() {
            return Ok(settings);
        }
        let mut problems = std::mem::take(&mut self.problems);
        problems.sort_by_key(|(at, ..)| *at);
        let problems = problems.into_iter().map(|(at, key, wrong)| {
            let (line, column) = self.position(at);
            Problem {
                line,
                column,
                key,
                message: wrong.to_string(),
            }
        });
        Err(ConfigErrors::new(origin, problems.collect()))
    }

    /// What to do about an unknown key.
    fn hint(&self, unknown: &Unknown) -> String {
        let elsewhere = self.known.iter().filter(|(section, key)| {
            *key == unknown.key && !section.is_empty() && *section != unknown.section
        });
        let elsewhere: Vec<String> = elsewhere.map(|(section, _)| header(section)).collect();
        if !elsewhere.is_empty() {
            return format!("it belongs in {}", elsewhere.join(" or "));
        }
        let keys = self
            .known
            .iter()
            .filter(|(section, _)| *section == unknown.section);
        let keys: Vec<&str> = keys.map(|(_, key)| *key).collect();
        let near = nearest(&unknown.key, &keys);
        match (near, unknown.section) {
            (Some(section), "") => format!("did you mean {}?", header(section)),
            (Some(key), _) => format!("did you mean {key}?"),
            (None, "") => {
                let headers: Vec<String> = keys.into_iter().map(header).collect();
                format!("the sections here are {}", headers.join(", "))
            }
            (None, _) => format!("the keys here are {}", keys.join(", ")),
        }
    }

    fn position(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        (line, column)
    }
}

fn path(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}

fn header(section: &str) -> String {
    if ["account", "admin.account", "quota", "schema"].contains(&section) {
        format!("[[{section}]]")
    } else {
        format!("[{section}]")
    }
}

/// A key as it must be written: quoted, with escapes, unless it is a bare one.
fn printable(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(is_bare) {
        key.to_owned()
    } else {
        format!("{key:?}")
    }
}

fn nearest<'k>(written: &str, keys: &[&'k str]) -> Option<&'k str> {
    let likeness = keys
        .iter()
        .map(|key| (strsim::jaro_winkler(written, key), *key));
    let near = likeness.filter(|(likeness, _)| *likeness >= NEAR);
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, key)| key)
}

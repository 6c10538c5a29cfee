//! Sequences, as MariaDB has them. `NEXTVAL()` runs on any backend. `LASTVAL()` tells what its connection has drawn last,
//! whoever drew it: so it is sent only where the session itself has drawn of that sequence in its transaction, or since it
//! is pinned, and refused elsewhere. Owns the record of that.
//!
//! Column defaults, triggers, views and routines draw and ask unseen. What pins a session for such a reason begins on a
//! connection on which no text has drawn before: COM_RESET_CONNECTION makes MariaDB forget all last values.

use std::hash::{DefaultHasher, Hash, Hasher};

use session::statement::SequenceName;

/// So many sequences of a transaction are remembered.
const SEQUENCES_MAX: usize = 16;

/// Which sequences were drawn of on a backend.
#[derive(Debug, Default)]
pub struct SequencesHere {
    /// Some text has drawn since the connection was opened or reset.
    pub drawn: bool,
    /// The sequences of which the attached session has drawn; the last of them by a statement that has not succeeded yet.
    own: Vec<Sequence>,
    /// How many of them are certain.
    certain: usize,
}

/// Schema and name, hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence(u64);

impl Sequence {
    /// `schema`: where the name does not say it. `None` if no schema is known.
    pub fn of(name: &SequenceName<'_>, schema: Option<&[u8]>) -> Option<Self> {
        let schema = name.schema.as_deref().or(schema)?;
        let mut hasher = DefaultHasher::new();
        (schema, &*name.name).hash(&mut hasher);
        Some(Self(hasher.finish()))
    }
}

impl SequencesHere {
    /// A session comes: it has drawn nothing here.
    pub fn attached(&mut self) {
        self.own.clear();
        self.certain = 0;
    }

    /// The statement that was sent last, and draws, has succeeded.
    pub fn succeeded(&mut self) {
        self.certain = self.own.len();
    }

    /// A statement is sent that draws.
    pub fn sent(&mut self) {
        self.drawn = true;
        self.own.truncate(self.certain);
    }

    /// Notes that a value was drawn.
    pub fn draws(&mut self, sequence: Sequence) {
        if !self.own.contains(&sequence) && self.own.len() < SEQUENCES_MAX {
            self.own.push(sequence);
        }
    }

    /// True if a value of it was drawn.
    pub fn has_drawn(&self, sequence: Sequence) -> bool {
        self.own[..self.certain].contains(&sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(schema: &str, name: &str) -> Sequence {
        let name = SequenceName {
            schema: None,
            name: name.as_bytes().into(),
        };
        Sequence::of(&name, Some(schema.as_bytes())).unwrap()
    }

    #[test]
    fn what_a_failed_statement_may_have_drawn_is_not_certain() {
        let [s, t] = ["s", "t"].map(|name| sequence("d", name));
        let mut here = SequencesHere::default();
        here.sent();
        here.draws(s);
        assert!(!here.has_drawn(s));
        here.succeeded();
        here.sent();
        here.draws(t);
        here.sent();
        here.draws(s);
        here.succeeded();
        assert!(here.has_drawn(s) && !here.has_drawn(t));
        assert!(!here.has_drawn(sequence("d", "S")) && !here.has_drawn(sequence("e", "s")));
        here.attached();
        assert!(here.drawn && !here.has_drawn(s));
    }

    #[test]
    fn so_many_are_remembered_and_no_more() {
        let mut here = SequencesHere::default();
        for number in 0..=SEQUENCES_MAX {
            here.sent();
            here.draws(sequence("d", &number.to_string()));
            here.succeeded();
        }
        assert!(here.has_drawn(sequence("d", "0")));
        assert!(!here.has_drawn(sequence("d", &SEQUENCES_MAX.to_string())));
    }
}

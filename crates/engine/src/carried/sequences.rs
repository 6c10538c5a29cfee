//! Sequences, as MariaDB has them. `NEXTVAL()` runs on any backend. `LASTVAL()` tells what its connection has drawn last,
//! whoever drew it: so it is sent only where the session itself has drawn of that sequence in its transaction, or since it
//! is pinned, and refused elsewhere. Owns the record of that.
//!
//! Column defaults, triggers, views and routines draw and ask unseen. What pins a session for such a reason begins on a
//! connection on which no text has drawn before: COM_RESET_CONNECTION makes MariaDB forget all last values.

use std::hash::{DefaultHasher, Hash, Hasher};

use session::statement::{SequenceName, SequenceUse, Statement, Traits, sequences};
use wire::ServerStatus;

use crate::client::Client;
use crate::commands::Packet;
use crate::pair::Pair;
use crate::prepared::named::executes;

/// So many sequences of a transaction are remembered.
const SEQUENCES_MAX: usize = 16;

/// Which sequences were drawn of on a backend.
#[derive(Debug, Default)]
pub(crate) struct SequencesHere {
    /// Some text has drawn since the connection was opened or reset.
    drawn: bool,
    /// Those of which the attached session has drawn; the last of them by a statement that has not succeeded yet.
    own: Vec<Sequence>,
    /// How many of them are certain.
    certain: usize,
}

/// Schema and name, hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sequence(u64);

impl Sequence {
    /// `schema`: where the name does not say it. `None` if no schema is known.
    fn of(name: &SequenceName<'_>, schema: Option<&[u8]>) -> Option<Self> {
        let schema = name.schema.as_deref().or(schema)?;
        let mut hasher = DefaultHasher::new();
        (schema, &*name.name).hash(&mut hasher);
        Some(Self(hasher.finish()))
    }
}

impl SequencesHere {
    /// A session comes: it has drawn nothing here.
    pub(crate) fn attached(&mut self) {
        self.own.clear();
        self.certain = 0;
    }

    /// The statement that was sent last, and draws, has succeeded.
    pub(crate) fn succeeded(&mut self) {
        self.certain = self.own.len();
    }

    /// A statement is sent that draws.
    fn sent(&mut self) {
        self.drawn = true;
        self.own.truncate(self.certain);
    }

    fn draws(&mut self, sequence: Sequence) {
        if !self.own.contains(&sequence) && self.own.len() < SEQUENCES_MAX {
            self.own.push(sequence);
        }
    }

    fn has_drawn(&self, sequence: Sequence) -> bool {
        self.own[..self.certain].contains(&sequence)
    }
}

impl Client {
    /// The text of a command, and the schema of the names in it.
    fn text_and_schema<'a>(&'a self, packet: Packet<'a>) -> (&'a [u8], Option<&'a [u8]>) {
        if executes(packet.payload)
            && let Some(prepared) = self.statement(packet.payload)
        {
            let template = &*prepared.template;
            return (&template.text, template.binding.schema());
        }
        (packet.text(), self.session.schema.as_deref())
    }
}

impl Pair<'_> {
    /// True if a statement asks for the last values of sequences, and its session holds its backend and has certainly
    /// drawn of all of them there.
    pub(crate) fn has_drawn(&self, packet: Packet<'_>, statement: &Statement) -> bool {
        let client = &*self.client;
        let dialect = self.known.dialect(&client.session);
        let Some(dialect) = dialect.filter(|_| client.holds_backend()) else {
            return false;
        };
        if statement.traits.contains(Traits::MULTIPLE) {
            return false;
        }
        let here = &self.backend.leftovers.sequences;
        let (text, schema) = client.text_and_schema(packet);
        let (mut asks, mut all_own) = (false, true);
        let is_read = sequences(text, &dialect, |what, name| {
            if what == SequenceUse::AsksLast {
                let asked = name.and_then(|name| Sequence::of(&name, schema));
                asks = true;
                all_own &= asked.is_some_and(|asked| here.has_drawn(asked));
            }
        });
        // What asks otherwise runs a text that does.
        is_read && asks && all_own
    }

    /// Takes note of a statement that draws, which is about to be sent.
    pub(crate) fn note_draws(&mut self, packet: Packet<'_>, statement: &Statement) {
        if !statement.traits.contains(Traits::DRAWS_SEQUENCE) {
            return;
        }
        let client = &*self.client;
        let here = &mut self.backend.leftovers.sequences;
        here.sent();
        // Otherwise the session lets go of the backend as soon as it has drawn.
        let stays = client.holds_backend() || !client.status.contains(ServerStatus::AUTOCOMMIT);
        if !stays || statement.traits.contains(Traits::MULTIPLE) {
            return;
        }
        let Some(dialect) = self.known.dialect(&client.session) else {
            return;
        };
        let (text, schema) = client.text_and_schema(packet);
        let is_read = sequences(text, &dialect, |what, name| {
            let drawn = name.and_then(|name| Sequence::of(&name, schema));
            if let (SequenceUse::Draws, Some(drawn)) = (what, drawn) {
                here.draws(drawn);
            }
        });
        if !is_read {
            here.sent();
        }
    }

    /// True if a statement pins, perhaps for a body that asks for last values, and its backend may tell those of other
    /// sessions. A backend that the session holds already cannot be cleaned.
    pub(crate) fn sees_foreign_sequences(&self, statement: &Statement) -> bool {
        !statement.pins.is_empty()
            && !self.client.holds_backend()
            && self.client.login.is_none()
            && self.backend.leftovers.sequences.drawn
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

//! Sequences, as MariaDB has them: what `LASTVAL()` says of each is the session's. Behind each statement that may have
//! drawn values the backend is asked for the last ones, and where a text asks for one it gets the value in its place: no
//! backend can be told it, and what it says itself may be another session's.
//!
//! Bounded per session and per backend. What cannot be told by a text (`SequenceValue`) pins.

use events::Io;
use membership::Key;
use session::statement::{
    Dialect, Kind, PinReason, SequenceName, Statement, Trail, Traits, drawn_sequences, names,
    quoted_name, substitute_last_values,
};
use wire::{Command, ErrPacket, TextResultSet, code};

use crate::backend::{Backend, Due, Purpose};
use crate::client::Client;
use crate::commands::Packet;
use crate::commands::answers::Ending;
use crate::prepared::named::executes;
use crate::{Engine, Mail, Turn};

/// So many sequences a session is known to have used, and a backend to know.
const SEQUENCES_MAX: usize = 64;

/// A sequence and its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sequence {
    schema: Box<[u8]>,
    name: Box<[u8]>,
}

/// The last value of each of some sequences, as digits.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastValues(Vec<(Sequence, Box<[u8]>)>);

impl LastValues {
    /// Names are compared by their case, or without where only that finds one: which of them holds is the server's
    /// (`lower_case_table_names`).
    fn get(&self, sequence: &Sequence) -> Option<&[u8]> {
        let same = |other: &Sequence| {
            sequence.schema.eq_ignore_ascii_case(&other.schema)
                && sequence.name.eq_ignore_ascii_case(&other.name)
        };
        let found = || self.0.iter().find(|(other, _)| same(other));
        let found = || found().map(|(_, value)| &**value);
        self.exact(sequence).or_else(found)
    }

    fn exact(&self, sequence: &Sequence) -> Option<&[u8]> {
        let found = self.0.iter().find(|(other, _)| other == sequence);
        found.map(|(_, value)| &**value)
    }

    /// False if there is no room.
    fn set(&mut self, sequence: Sequence, value: &[u8]) -> bool {
        if let Some((_, known)) = self.0.iter_mut().find(|(other, _)| *other == sequence) {
            *known = value.into();
            return true;
        }
        if self.0.len() < SEQUENCES_MAX {
            self.0.push((sequence, value.into()));
            return true;
        }
        false
    }

    fn forget(&mut self, sequence: &Sequence) {
        self.0.retain(|(other, _)| other != sequence);
    }
}

/// What a backend has of sequences.
#[derive(Debug, Default)]
pub(crate) struct DrawnHere {
    /// What it last said of each.
    last: LastValues,
    /// Those of which the attached session may have drawn values since.
    unread: Vec<Sequence>,
    /// What was known of tables when it said the first. What bears a name later may not be what it was.
    epoch: u32,
}

impl DrawnHere {
    /// What the attached session has drawn is asked for, or lost with it.
    pub(crate) fn is_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    pub(crate) fn forget_unread(&mut self) {
        self.unread.clear();
    }
}

/// A question for the last value of a sequence, and its answer.
#[derive(Debug)]
pub(crate) struct ReadSequence {
    sequence: Sequence,
    /// The answer.
    pub rows: TextResultSet,
}

/// True of errors by which the session would be told nothing either.
fn has_no_value(error: &[u8]) -> bool {
    const NONE: [u16; 6] = [
        code::SCHEMA_ACCESS_DENIED,
        code::TABLE_ACCESS_DENIED,
        code::COLUMN_ACCESS_DENIED,
        code::NO_SUCH_TABLE,
        code::UNKNOWN_SCHEMA,
        code::UNKNOWN_SEQUENCE,
    ];
    ErrPacket::parse(error).is_ok_and(|error| NONE.contains(&error.code))
}

/// The sequence that a name stands for; `None` where no schema is selected.
fn resolved(name: SequenceName, schema: Option<&[u8]>) -> Option<Sequence> {
    let schema = name.schema.or_else(|| schema.map(Into::into))?;
    Some(Sequence {
        schema,
        name: name.name,
    })
}

impl Backend {
    /// A statement is sent that may draw values of sequences. False if they cannot be asked for: the name of a schema that
    /// is not of ASCII is not the same in all character sets of a session.
    fn note_draws(&mut self, client: &Client, packet: Packet<'_>, dialect: &Dialect) -> bool {
        let prepared = client.statement(packet.payload);
        let (text, schema) = match prepared.filter(|_| executes(packet.payload)) {
            Some(prepared) => {
                let template = &*prepared.template;
                (&template.text[..], template.binding.schema())
            }
            None => (packet.text(), client.session.schema.as_deref()),
        };
        let names = drawn_sequences(text, dialect).unwrap_or_default();
        let drawn = names
            .into_iter()
            .filter_map(|name| resolved(name, schema))
            .collect::<Vec<_>>();
        let can_ask = drawn.iter().all(|drawn| drawn.schema.is_ascii());
        let unread = &mut self.leftovers.drawn.unread;
        for sequence in drawn.into_iter().filter(|_| can_ask) {
            if !unread.contains(&sequence) {
                unread.push(sequence);
            }
        }
        can_ask
    }
}

/// What sequences a statement takes away, by the words of its text. What is made anew under the name has no last value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Away {
    /// Those that it names, as tables or sequences.
    Named,
    /// Those of the schemas that it names.
    OfSchemas,
}

impl Away {
    fn by(words: &[&[u8]]) -> Option<Self> {
        let is = |word: &[u8], of: &[&str]| {
            of.iter()
                .any(|known| known.as_bytes().eq_ignore_ascii_case(word))
        };
        let (first, rest) = words.split_first()?;
        let replaces = rest.get(1).is_some_and(|word| is(word, &["replace"]));
        let takes = is(first, &["drop", "rename"]) || is(first, &["create"]) && replaces;
        let besides = |word: &&&[u8]| !is(word, &["or", "replace", "temporary"]);
        match rest.iter().find(besides).filter(|_| takes)? {
            what if is(what, &["sequence", "table", "tables"]) => Some(Self::Named),
            what if is(what, &["database", "schema"]) => Some(Self::OfSchemas),
            _ => None,
        }
    }
}

impl Engine {
    /// A statement is about to be sent: takes note of sequences that it uses, or takes away.
    pub(crate) fn note_sequences(
        &mut self,
        key: Key,
        (packet, statement): (Packet<'_>, &Statement),
    ) {
        let draws = statement.traits.contains(Traits::DRAWS_SEQUENCE);
        let defines = statement.kind == Kind::Ddl && self.last_values.contains_key(&key);
        if !draws && !defines {
            return;
        }
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let dialect = self.facts.as_ref();
        let Some(dialect) = dialect.and_then(|facts| facts.dialect(&client.session)) else {
            return;
        };
        if draws {
            let backend = client.backend.and_then(|key| self.pool.get_mut(key));
            if backend.is_some_and(|backend| !backend.note_draws(client, packet, &dialect)) {
                self.pin_late(key, PinReason::SequenceValue);
            }
            return;
        }
        let words = names(packet.text(), &dialect).unwrap_or_default();
        let Some(away) = Away::by(&words) else {
            return;
        };
        let is_gone = |sequence: &Sequence| {
            let name = match away {
                Away::Named => &sequence.name,
                Away::OfSchemas => &sequence.schema,
            };
            words.iter().any(|word| name.eq_ignore_ascii_case(word))
        };
        let backend = client.backend.and_then(|key| self.pool.get_mut(key));
        let here = backend.map(|backend| &mut backend.leftovers.drawn.last);
        for last in here.into_iter().chain(self.last_values.get_mut(&key)) {
            last.0.retain(|(sequence, _)| !is_gone(sequence));
        }
    }

    /// The text with the session's own values in the places of what asks for them.
    pub(crate) fn with_last_values(
        &self,
        key: Key,
        statement: &Statement,
        (text, dialect): (&[u8], Option<&Dialect>),
    ) -> Option<Vec<u8>> {
        let followed = !statement.pins.contains(PinReason::SequenceValue);
        if !followed || !statement.traits.contains(Traits::TELLS_SEQUENCE) {
            return None;
        }
        let client = self.clients.get(key)?;
        let pinned = client.pins.contains(PinReason::SequenceValue);
        let last = self.last_values.get(&key);
        substitute_last_values(text, dialect?, |name| {
            let sequence = resolved(name.clone(), client.session.schema.as_deref())?;
            match last.and_then(|last| last.get(&sequence)) {
                Some(value) => Some(value.to_vec()),
                // What is not followed is on the backend that the session keeps.
                None => (!pinned).then(|| b"NULL".to_vec()),
            }
        })
    }

    /// True if what its backend has of sequences must go before a statement: it might be told what another session has
    /// drawn, of what cannot be replaced in a text, or what it draws might not be told from that.
    pub(crate) fn sees_foreign_sequences(
        &self,
        key: Key,
        (packet, statement): (Packet<'_>, &Statement),
    ) -> bool {
        let client = self.clients.get(key);
        let Some(client) =
            client.filter(|client| !client.holds_backend() && client.login.is_none())
        else {
            return false;
        };
        let backend = client.backend.and_then(|key| self.pool.get(key));
        let drawn = backend.map(|backend| &backend.leftovers.drawn);
        let Some(drawn) = drawn.filter(|drawn| !drawn.last.0.is_empty()) else {
            return false;
        };
        let stale = drawn.epoch != self.digests.epoch();
        let prepares = packet.payload.first() == Some(&(Command::StmtPrepare as u8));
        let tells = |statement: &Statement| statement.traits.contains(Traits::TELLS_SEQUENCE);
        // A routine may ask, whose body is not known.
        !statement.pins.is_empty()
            || stale && statement.traits.contains(Traits::DRAWS_SEQUENCE)
            || executes(packet.payload) && tells(statement)
            || prepares && tells(&self.judge_text(key, packet.text()))
    }

    /// Asks for the last value of a sequence of which the attached session may have drawn some. False if there is none.
    pub(crate) fn ask_for_sequence<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
    ) -> bool {
        let Some(backend) = self.pool.get_mut(key) else {
            return false;
        };
        let next = backend.leftovers.drawn.unread.pop();
        if backend.leftovers.drawn.unread.is_empty() {
            backend.due -= Due::SEQUENCES;
        }
        let Some(sequence) = next else {
            return false;
        };
        // They are of ASCII, and so the same in all character sets.
        let quoted = |name| quoted_name(name, Trail::Plain);
        let [schema, name] = [&sequence.schema, &sequence.name].map(|name| quoted(name));
        let question = [b"SELECT LASTVAL(", &schema[..], b".", &name, b") LIMIT 1"].concat();
        backend.put_query(turn.io.outbox(backend.handle), &question);
        backend.expect(Purpose::ReadSequence(Box::new(ReadSequence {
            sequence,
            rows: TextResultSet::default(),
        })));
        true
    }

    /// The backend told the last value, or refused to.
    pub(crate) fn learn_sequence(&mut self, key: Key, read: ReadSequence, ending: &Ending) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let Some(client_key) = backend.client else {
            // Whose value it is, nobody knows any more.
            backend.dirty = true;
            return;
        };
        let ReadSequence { sequence, rows } = read;
        let value = match ending {
            Ending::Ok => rows.first(0),
            Ending::Err(error) if has_no_value(error) => {
                backend.leftovers.drawn.last.forget(&sequence);
                if let Some(last) = self.last_values.get_mut(&client_key) {
                    last.forget(&sequence);
                }
                return;
            }
            Ending::Err(_) => return self.pin_late(client_key, PinReason::SequenceValue),
        };
        let digits = |value: &&[u8]| value.iter().all(|byte| b"-0123456789".contains(byte));
        // What is there as before was not drawn by the statement, which has failed: it may be another session's.
        let drawn = value
            .filter(digits)
            .filter(|value| backend.leftovers.drawn.last.exact(&sequence) != Some(*value));
        let Some(value) = drawn else {
            return;
        };
        if backend.leftovers.drawn.last.0.is_empty() {
            backend.leftovers.drawn.epoch = self.digests.epoch();
        }
        backend.dirty |= !backend.leftovers.drawn.last.set(sequence.clone(), value);
        let own = self.last_values.entry(client_key).or_default();
        if !own.set(sequence, value) {
            self.pin_late(client_key, PinReason::SequenceValue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(schema: &str, name: &str) -> Sequence {
        Sequence {
            schema: schema.as_bytes().into(),
            name: name.as_bytes().into(),
        }
    }

    #[test]
    fn the_case_of_a_name_matters_only_where_two_have_it() {
        let mut last = LastValues::default();
        assert!(last.set(sequence("d", "s"), b"1"));
        assert_eq!(last.get(&sequence("D", "S")), Some(&b"1"[..]));
        assert!(last.set(sequence("d", "S"), b"2"));
        assert_eq!(last.get(&sequence("d", "s")), Some(&b"1"[..]));
        assert_eq!(last.get(&sequence("d", "S")), Some(&b"2"[..]));
        assert_eq!(last.get(&sequence("e", "s")), None);
        last.forget(&sequence("d", "S"));
        assert_eq!(last.get(&sequence("d", "S")), Some(&b"1"[..]));
    }

    #[test]
    fn so_many_are_kept_and_no_more() {
        let mut last = LastValues::default();
        for number in 0..SEQUENCES_MAX {
            assert!(last.set(sequence("d", &format!("s{number}")), b"1"));
        }
        assert!(!last.set(sequence("d", "one more"), b"1"));
        assert!(last.set(sequence("d", "s0"), b"2"));
    }

    #[test]
    fn what_takes_a_sequence_away() {
        for (text, away) in [
            ("DROP SEQUENCE s", Some(Away::Named)),
            ("drop temporary table if exists s", Some(Away::Named)),
            ("RENAME TABLE s TO t", Some(Away::Named)),
            ("CREATE OR REPLACE SEQUENCE s", Some(Away::Named)),
            ("DROP SCHEMA d", Some(Away::OfSchemas)),
            ("CREATE SEQUENCE IF NOT EXISTS s", None),
            ("DROP PROCEDURE IF EXISTS s", None),
            ("CREATE OR REPLACE VIEW s AS SELECT 1", None),
            ("ALTER SEQUENCE s RESTART 3", None),
            ("", None),
        ] {
            let words: Vec<_> = text.split(' ').map(str::as_bytes).collect();
            assert_eq!(Away::by(&words), away, "{text}");
        }
    }
}

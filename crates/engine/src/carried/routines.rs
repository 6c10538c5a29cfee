//! CALL: what a procedure may leave in its session, told from its body, which is asked for once and kept for a
//! while. A procedure that leaves nothing behind unseen does not pin.
//!
//! Owns the question and what was learned; how a body is judged is `session`'s.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use events::{Io, Span, Timestamp};
use membership::Key;
use session::statement::{
    Body, Dialect, Kind, PinReason, PinReasons, Statement, Traits, called, procedure_body,
};
use wire::{Command, ServerStatus, TextResultSet};

use crate::backend::{ClientCommand, Due, Purpose};
use crate::client::Client;
use crate::commands::Packet;
use crate::{Engine, Mail, Turn};

/// So many procedures are known at a time.
const KNOWN_MAX: usize = 1_024;

/// For so long they are what they were: somebody may define them without passing here.
const FRESH: Span = Span::from_secs(60);

/// Longer bodies are not looked at.
const BODY_MAX: usize = 64 << 10;

/// What is known of procedures, by a hash of who calls which.
#[derive(Default)]
pub(crate) struct Routines {
    known: HashMap<u64, Known>,
}

struct Known {
    body: Option<Body>,
    until: Timestamp,
    epoch: u32,
}

/// A question about a procedure, and its answer.
pub(crate) struct ReadRoutine {
    name: u64,
    epoch: u32,
    /// The answer.
    pub rows: TextResultSet,
}

impl Routines {
    fn get(&self, name: u64, (epoch, now): (u32, Timestamp)) -> Option<&Known> {
        let known = self.known.get(&name)?;
        (known.epoch == epoch && now < known.until).then_some(known)
    }

    fn learn(&mut self, name: u64, known: Known) {
        if self.known.len() >= KNOWN_MAX && !self.known.contains_key(&name) {
            self.known.clear();
        }
        self.known.insert(name, known);
    }
}

impl Engine {
    /// What a CALL does, if its procedure is known.
    pub(crate) fn judge_call(
        &self,
        client: &Client,
        (text, dialect): (&[u8], &Dialect),
        mut found: Statement,
    ) -> Statement {
        // What it has counted is asked of the backend if that is told first what was counted before, or has kept it.
        let tells = !client.pins.is_empty() || client.capture.found_few(dialect.flavor);
        if found.kind == Kind::Call && tells {
            found.traits |= Traits::COUNTS_UNSENT_ROWS;
        }
        let now = self.routines_at;
        let called = procedure(client, (text, dialect), &found);
        let known =
            called.and_then(|called| self.routines.get(called.hash, (self.digests.epoch(), now)));
        let Some(body) = known.and_then(|known| known.body) else {
            return found;
        };
        if body.uses_variables && self.keys[client.key.0 as usize].hides_variables {
            // There is no asking which they are.
            return found;
        }
        found.pins = PinReasons::NONE;
        found.traits |= Traits::RUNS_KNOWN_BODY;
        found
            .traits
            .set(Traits::COUNTS_UNSENT_ROWS, body.counts_rows);
        found.traits.set(Traits::BODY_COUNTS, body.always_counts);
        found.traits.set(Traits::BODY_ASSIGNS, body.uses_variables);
        found.traits.set(Traits::BODY_USES_TABLES, body.uses_tables);
        found
    }

    /// Asks the client's backend for the body of the procedure that is called. False if it is known, or the
    /// session is pinned by the CALL of another already.
    pub(crate) fn ask_for_routine<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (packet, statement): (Packet<'_>, &Statement),
    ) -> bool {
        self.routines_at = turn.now;
        let is_text = packet.payload.first() == Some(&(Command::Query as u8));
        let Some(client) = self.clients.get(key).filter(|_| is_text) else {
            return false;
        };
        // Reading would begin a transaction.
        let within = client.holds_backend() || !client.status.contains(ServerStatus::AUTOCOMMIT);
        let dialect = self
            .facts
            .as_ref()
            .and_then(|facts| facts.dialect(&client.session));
        let Some(dialect) = dialect.filter(|_| !within) else {
            return false;
        };
        let Some(called) = procedure(client, (packet.text(), &dialect), statement) else {
            return false;
        };
        let name = called.hash;
        let epoch = self.digests.epoch();
        if self.routines.get(name, (epoch, turn.now)).is_some() {
            return false;
        }
        let backend = client.backend.and_then(|key| self.pool.get_mut(key));
        let Some(backend) = backend else {
            return false;
        };
        let question = question(called.schema, called.name);
        backend.put_query(turn.io.outbox(backend.handle), &question);
        let rows = TextResultSet::default();
        backend.expect(Purpose::ReadRoutine(Box::new(ReadRoutine {
            name,
            epoch,
            rows,
        })));
        backend.due |= Due::COMMAND;
        self.counters.read_backs += 1;
        self.clients.set_active(key, turn.now);
        true
    }

    /// The backend told the body, or an error, which a CALL may leave in the backend's list of conditions.
    pub(crate) fn routine_told<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (read, told): (&ReadRoutine, bool),
    ) {
        self.learn_routine(turn, read, told);
        let backend = self.pool.get_mut(key).filter(|_| !told);
        if let Some(backend) = backend {
            backend.clear_conditions(turn.io.outbox(backend.handle));
        }
    }

    /// Takes over the body; nothing if the backend does not say.
    fn learn_routine<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, read: &ReadRoutine, told: bool) {
        let facts = self.facts.as_ref();
        let body = read.rows.first(0).filter(|_| told).and_then(unhex);
        let body = body.zip(facts).and_then(|(text, facts)| {
            procedure_body(&text, &Dialect::new(facts.flavor, facts.version_number))
        });
        let known = Known {
            body,
            until: turn.now + FRESH,
            epoch: read.epoch,
        };
        self.routines.learn(read.name, known);
    }

    /// A CALL was answered that does not pin: user variables that its body assigned are read back.
    pub(crate) fn call_answered(&mut self, key: Key, command: &ClientCommand) {
        if let (Some(backend), true) = (
            self.pool.get_mut(key),
            command.traits.contains(Traits::BODY_ASSIGNS),
        ) {
            backend.due |= Due::NAMES;
        }
    }
}

/// A procedure that can be asked about.
struct Procedure<'a> {
    /// Of who calls it, and both names.
    hash: u64,
    schema: &'a [u8],
    name: &'a [u8],
}

/// The procedure that a text calls, if the CALL is all that pins, and the names are plain.
fn procedure<'a>(
    client: &'a Client,
    (text, dialect): (&'a [u8], &Dialect),
    found: &Statement,
) -> Option<Procedure<'a>> {
    let alone = found.kind == Kind::Call && !found.traits.contains(Traits::MULTIPLE);
    let known = found.traits.contains(Traits::RUNS_KNOWN_BODY);
    let alone = alone && (known || found.pins == PinReason::Call.into());
    let (schema, name) = called(text, dialect).filter(|_| alone)?;
    let schema = schema.or(client.session.schema.as_deref())?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$".contains(byte);
    if !schema.iter().chain(name).all(plain) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    (client.key, schema, name).hash(&mut hasher);
    let hash = hasher.finish();
    Some(Procedure { hash, schema, name })
}

/// The question for a body that is read as most texts are, of plain names.
fn question(schema: &[u8], name: &[u8]) -> Vec<u8> {
    let begin =
        b"SELECT HEX(CONVERT(ROUTINE_DEFINITION USING utf8mb4)) FROM information_schema.ROUTINES \
                  WHERE ROUTINE_TYPE='PROCEDURE' AND ROUTINE_BODY='SQL' AND ROUTINE_SCHEMA='";
    let mut text = begin.to_vec();
    text.extend_from_slice(schema);
    text.extend_from_slice(b"' AND ROUTINE_NAME='");
    text.extend_from_slice(name);
    for mode in ["ANSI", "BACKSLASH", "ORACLE", "IGNORE_SPACE"] {
        text.extend_from_slice(format!("' AND SQL_MODE NOT LIKE '%{mode}%").as_bytes());
    }
    let end = format!("' AND LENGTH(ROUTINE_DEFINITION)<{BODY_MAX} LIMIT 1");
    text.extend_from_slice(end.as_bytes());
    text
}

pub(crate) fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect()
}

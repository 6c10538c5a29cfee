//! Stored procedures and functions: what those may leave in a session that a statement calls, told from their bodies,
//! which are asked for once and kept for a while. Who calls routines that leave nothing behind unseen is not pinned.
//!
//! Owns the questions and what was learned; how a body is judged is `session`'s.

mod search;

use std::collections::HashMap;

use events::{Io, Span, Timestamp};
use membership::Key;
use session::statement::{
    Body, Called, Dialect, Flavor, Kind, Mention, PinReason, PinReasons, Statement, Traits, called,
    routine_body, user_variables,
};
use wire::{Command, ServerStatus, TextResultSet};

use self::search::{Hidden, Search, Unasked};
use crate::ask::Ask;
use crate::backend::{ClientCommand, Due};
use crate::client::Client;
use crate::commands::Packet;
use crate::known::Known;
use crate::pair::Pair;
use crate::prepared::named::executes;
use crate::{Engine, Mail, Turn};

/// So many routines are known at a time.
const KNOWN_MAX: usize = 1_024;

/// For so long they are what they were: somebody may define them without passing here.
const FRESH: Span = Span::from_secs(60);

/// Longer bodies are not looked at.
const BODY_MAX: usize = 64 << 10;

/// Nor are more parameters.
const ROWS_MAX: usize = 256;

/// What is known of routines, by a hash of who calls which.
#[derive(Default)]
pub(crate) struct Routines {
    known: HashMap<u64, Learned>,
    /// What was known in another epoch may be another one by now.
    epoch: u32,
}

struct Learned {
    /// `None` if it may leave something behind, or cannot be looked at.
    looked: Option<Looked>,
    until: Timestamp,
    epoch: u32,
}

/// A routine whose body was looked at.
#[derive(Default)]
struct Looked {
    body: Body,
    /// The user variables that it mentions.
    variables: Box<[Box<[u8]>]>,
    calls: Box<[Routine]>,
}

/// A routine that something calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Routine {
    schema: Option<Box<[u8]>>,
    name: Box<[u8]>,
    is_function: bool,
}

impl Routine {
    fn called(&self) -> Called<'_> {
        Called {
            schema: self.schema.as_deref(),
            name: &self.name,
            is_function: self.is_function,
        }
    }
}

impl From<&Called<'_>> for Routine {
    fn from(called: &Called<'_>) -> Self {
        Self {
            schema: called.schema.map(Box::from),
            name: called.name.into(),
            is_function: called.is_function,
        }
    }
}

/// A question about a routine, and its answer.
pub(crate) struct ReadRoutine {
    hash: u64,
    schema: Box<[u8]>,
    is_function: bool,
    /// Without its row it is not there, so that nothing runs.
    may_be_missing: bool,
    epoch: u32,
}

impl Routines {
    fn get(&self, hash: u64, now: Timestamp) -> Option<&Learned> {
        let known = self.known.get(&hash)?;
        (known.epoch == self.epoch && now < known.until).then_some(known)
    }

    /// Some may be others from now on.
    pub(crate) const fn defined(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    fn learn(&mut self, hash: u64, learned: Learned) {
        if self.known.len() >= KNOWN_MAX && !self.known.contains_key(&hash) {
            self.known.clear();
        }
        self.known.insert(hash, learned);
    }
}

/// True of a statement that pins for nothing but the routines that it calls.
fn pins_for_routines(found: &Statement) -> bool {
    let mut others = found.pins;
    others.remove(PinReason::Call);
    others.remove(PinReason::UnknownFunction);
    !found.pins.is_empty() && others.is_empty()
}

/// The routines that a text calls, for who runs it later. Empty if they cannot be told.
pub(crate) fn routines_of(text: &[u8], found: &Statement, dialect: &Dialect) -> Box<[Routine]> {
    let calls = pins_for_routines(found).then(|| called(text, dialect));
    let calls = calls.flatten().unwrap_or_default();
    calls.iter().map(Routine::from).collect()
}

impl Known {
    /// What a statement of a session does, if it pins for nothing but routines that leave nothing behind.
    pub(crate) fn judge_routines(
        &self,
        now: Timestamp,
        client: &Client,
        packet: Packet<'_>,
        mut found: Statement,
    ) -> Statement {
        if found.pins.is_empty() {
            return found;
        }
        if found.kind == Kind::Call {
            found.traits |= Traits::COUNTS_UNSENT_ROWS;
        }
        match self.search(now, client, (packet, &found), None) {
            Ok(body) => with_body(found, &body),
            Err(_) => found,
        }
    }

    /// What the routines do that a statement calls. Names of variables are added to `variables`.
    fn search<'a>(
        &'a self,
        now: Timestamp,
        client: &'a Client,
        (packet, found): (Packet<'a>, &Statement),
        variables: Option<&'a mut Vec<Mention>>,
    ) -> Result<Body, Hidden<'a>> {
        let is_text = packet.payload.first() == Some(&(Command::Query as u8));
        let runs_known = found.traits.contains(Traits::RUNS_KNOWN_BODY);
        if !pins_for_routines(found) && !runs_known {
            return Err(Hidden::Unknown);
        }
        let mut search = Search::new((&self.routines, client.key, now), variables);
        if is_text {
            let dialect = self.dialect(&client.session).ok_or(Hidden::Unknown)?;
            let calls = called(packet.text(), &dialect).filter(|calls| !calls.is_empty());
            let calls = calls.ok_or(Hidden::Unknown)?;
            let schema = client.session.schema.as_deref();
            return search.follow(calls.into_iter(), schema);
        }
        let executed = executes(packet.payload).then(|| client.statement(packet.payload));
        let template = &executed.flatten().ok_or(Hidden::Unknown)?.template;
        let calls = &template.meaning.calls;
        if calls.is_empty() {
            return Err(Hidden::Unknown);
        }
        let calls = calls.iter().map(Routine::called);
        search.follow(calls, template.binding.schema())
    }

    /// Adds the user variables that the bodies mention which a statement runs. `now` is when it was judged: what was known
    /// then must not have become old.
    pub(crate) fn add_mentions_of_bodies(
        &self,
        now: Timestamp,
        client: &Client,
        (packet, found): (Packet<'_>, &Statement),
        mentions: &mut Vec<Mention>,
    ) {
        if !found.traits.contains(Traits::BODY_ASSIGNS) {
            return;
        }
        let mut more = Vec::new();
        let known = self.search(now, client, (packet, found), Some(&mut more));
        debug_assert!(known.is_ok(), "judged as known in this turn");
        for mention in more {
            match mentions.iter_mut().find(|known| known.name == mention.name) {
                Some(known) => *known = mention,
                None => mentions.push(mention),
            }
        }
    }

    /// Looks at a body. `None` if the backend does not say, or it may leave something behind.
    fn look_at(&self, read: &ReadRoutine, rows: &TextResultSet) -> Option<Looked> {
        let facts = self.facts.as_ref()?;
        let Some(row) = rows.rows().find(|row| row.get(1) == Some(&None)) else {
            return read.may_be_missing.then(Looked::default);
        };
        let text = unhex(row.first()?.as_deref()?)?;
        let parameters = rows.rows().filter_map(|row| row.get(1)?.as_deref());
        let parameters: Vec<_> = parameters.filter_map(unhex).collect();
        let parameters: Vec<_> = parameters.iter().map(|name| &name[..]).collect();
        let dialect = Dialect::new(facts.flavor, facts.version_number);
        let (body, calls) = routine_body(&text, (&parameters, read.is_function), &dialect)?;
        let variables = user_variables(&text, &dialect)?.into_iter();
        let routine = |called: &Called<'_>| Routine {
            schema: Some(called.schema.map_or_else(|| read.schema.clone(), Box::from)),
            ..Routine::from(called)
        };
        Some(Looked {
            body,
            variables: variables.map(|mention| mention.name).collect(),
            calls: calls.iter().map(routine).collect(),
        })
    }

    /// A backend told the body of a routine, or an error.
    pub(crate) fn learn_routine(
        &mut self,
        read: &ReadRoutine,
        rows: Option<&TextResultSet>,
        now: Timestamp,
    ) {
        let learned = Learned {
            looked: rows.and_then(|rows| self.look_at(read, rows)),
            until: now + FRESH,
            epoch: read.epoch,
        };
        self.routines.learn(read.hash, learned);
    }
}

impl Engine {
    /// Asks the client's backend for the body of a routine that is called. False if all are known, or the session
    /// is pinned already.
    pub(crate) fn ask_for_routine<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (packet, statement): (Packet<'_>, &Statement),
    ) -> bool {
        let Some(client) = self
            .clients
            .get(key)
            .filter(|_| pins_for_routines(statement))
        else {
            return false;
        };
        let Some(place) = client.backend.filter(|_| client.pins.is_empty()) else {
            return false;
        };
        let within = client.status.contains(ServerStatus::IN_TRANS);
        let begins = !within && !client.status.contains(ServerStatus::AUTOCOMMIT);
        let searched = self
            .known
            .search(turn.now, client, (packet, statement), None);
        let Err(Hidden::Unasked(unasked)) = searched else {
            return false;
        };
        let question = question(&unasked);
        let read = Box::new(ReadRoutine {
            hash: unasked.hash,
            schema: unasked.schema.into(),
            is_function: unasked.called.is_function,
            // Else it may be one of a package.
            may_be_missing: !unasked.called.is_function
                && (self.known.flavor() == Flavor::MySql || unasked.called.schema.is_none()),
            epoch: self.known.routines.epoch,
        });
        // A question empties the list of conditions, and is one that counts rows.
        let reads_first =
            within && (self.read_warnings(turn, place) || self.read_found_rows(turn, place));
        let Some(backend) = self.pool.get_mut(place) else {
            return false;
        };
        if !reads_first {
            if begins && backend.session.next_transaction().is_some() {
                // The question would use up what only the next transaction is to have.
                return false;
            }
            let outbox = turn.io.outbox(backend.handle);
            backend.ask(outbox, Ask::Routine(read), &question);
            if begins {
                // It has begun a transaction.
                backend.roll_back(outbox);
            }
            self.counters.read_backs += 1;
        }
        backend.due |= Due::COMMAND;
        self.clients.set_active(key, turn.now);
        true
    }
}

impl Pair<'_> {
    /// A statement failed whose routines set variables of the session: no answer tells of those that were set before.
    pub(crate) fn may_have_set_in_body(&mut self, command: &ClientCommand) {
        let sets = Traits::RUNS_KNOWN_BODY | Traits::SETS_VARIABLE;
        if command.traits.contains(sets) {
            self.pin_late(PinReason::Call);
        }
    }
}

/// A statement whose routines leave nothing behind unseen.
fn with_body(mut found: Statement, body: &Body) -> Statement {
    found.pins = PinReasons::NONE;
    let mut traits = (found.traits - Traits::UNKNOWN_CALL) | Traits::RUNS_KNOWN_BODY;
    traits.set(Traits::BODY_USES_TABLES, body.uses_tables);
    if body.uses_variables {
        traits |= Traits::USES_USER_VARIABLES | Traits::ASSIGNS_USER_VARIABLES;
        traits |= Traits::BODY_ASSIGNS;
    }
    if body.sets_variables {
        traits |= Traits::SETS_VARIABLE;
    }
    if found.kind == Kind::Call {
        traits.set(Traits::COUNTS_UNSENT_ROWS, body.counts_rows);
    }
    Statement { traits, ..found }
}

/// The question for a body of plain names, NULL of one that is not read as most texts are, and for its parameters.
fn question(asked: &Unasked<'_>) -> Vec<u8> {
    let mut read = format!("ROUTINE_BODY='SQL' AND LENGTH(ROUTINE_DEFINITION)<{BODY_MAX}");
    for mode in ["ANSI", "BACKSLASH", "ORACLE", "IGNORE_SPACE"] {
        read += &format!(" AND SQL_MODE NOT LIKE '%{mode}%'");
    }
    let of = match asked.called.is_function {
        true => "FUNCTION",
        false => "PROCEDURE",
    };
    let schema = String::from_utf8_lossy(asked.schema);
    let name = String::from_utf8_lossy(asked.called.name);
    format!(
        "SELECT IF({read},HEX(CONVERT(ROUTINE_DEFINITION USING utf8mb4)),NULL),NULL \
         FROM information_schema.ROUTINES \
         WHERE ROUTINE_TYPE='{of}' AND ROUTINE_SCHEMA='{schema}' AND ROUTINE_NAME='{name}' \
         UNION ALL SELECT NULL,HEX(CONVERT(PARAMETER_NAME USING utf8mb4)) \
         FROM information_schema.PARAMETERS \
         WHERE ROUTINE_TYPE='{of}' AND SPECIFIC_SCHEMA='{schema}' AND SPECIFIC_NAME='{name}' \
         AND PARAMETER_NAME IS NOT NULL LIMIT {ROWS_MAX}"
    )
    .into_bytes()
}

pub(crate) fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect()
}

//! What routines may leave in the session that calls them.

use carry::packet::Packet;
use carry::prepared::named::executes;
use carry::routines::search::{Hidden, Search, Unasked};
use carry::routines::{Learned, Looked, ReadRoutine, Routine, pins_for_routines, unhex};
use events::{Span, Timestamp};
use session::statement::{
    Body, Called, Dialect, Kind, Mention, PinReason, PinReasons, Statement, Traits, called,
    routine_body, user_variables,
};
use wire::{Command, TextResultSet};

use crate::record::backend::ClientCommand;
use crate::record::client::Client;
use crate::record::known::Known;
use crate::record::pair::Pair;

/// How long a routine is taken to be what it was: somebody may define it past Myriad.
const FRESH: Span = Span::from_secs(60);

/// Longer bodies are not looked at.
const BODY_MAX: usize = 64 << 10;

/// Routines with more parameters are not looked at.
const ROWS_MAX: usize = 256;

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
    pub(crate) fn search<'a>(
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
        packet: Packet<'_>,
        found: &Statement,
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
pub(crate) fn question(asked: &Unasked<'_>) -> Vec<u8> {
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

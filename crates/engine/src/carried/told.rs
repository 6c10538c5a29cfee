//! What a text sets must be told. The session tracker of some servers mixes up variables, or tells of some that something
//! has changed and not what: so the variables that a text names are held against what the answers to it have told, and those
//! that are missing are asked for before anything else happens on the backend.
//!
//! Owns the names, and the question. How far the tracker of a server can be trusted with what no text names is in `trust`.

use std::sync::Arc;

use session::statement::{Dialect, Kind, PinReason, SessionSets, Statement, Traits, sets_session};
use session::{is_restorable, is_told_as};
use wire::{OkPacket, StateChange, TextResultSet};

use crate::ask::OfSession;
use crate::backend::{Backend, ClientCommand, Due};
use crate::carried::trust::Beginning;
use crate::client::Client;
use crate::commands::Packet;
use crate::pair::Pair;

/// The variables of the session that a command sets, as its text says, and no answer has told yet.
#[derive(Debug)]
pub(crate) struct Untold {
    found: SessionSets,
    /// So many statements of the text have been answered.
    answered: u32,
}

impl Untold {
    /// Takes note of an answer.
    pub(crate) fn answered(&mut self, ok: &OkPacket<'_>) {
        self.answered += 1;
        let Some(sets) = &mut self.found.sets else {
            return;
        };
        for change in ok.changes() {
            if let StateChange::SystemVariable { name, .. } = change {
                sets.retain(|set| !is_told_as(&set.name, name));
            }
        }
    }

    /// True if the command does something besides, of which answers may tell.
    pub(crate) fn has_others(&self) -> bool {
        self.found.has_others
    }

    /// Those that were set and not told; `None` if that is not known. A SET that fails has set nothing, and what is behind
    /// it never ran.
    fn missing(&self) -> Option<impl Iterator<Item = &[u8]>> {
        let ran = self.found.sets.as_ref()?.iter();
        let ran = ran.filter(|set| set.statement < self.answered);
        Some(ran.map(|set| &*set.name))
    }
}

/// A question for what variables of the session are now, and its answer.
#[derive(Debug)]
pub(crate) struct ReadVariables {
    names: Vec<Box<[u8]>>,
    /// What sessions begin with, if those are all that there are: only what differs was set.
    beginning: Option<Arc<Beginning>>,
}

impl ReadVariables {
    /// With a limit of its own, for a session may want to see no rows (`sql_select_limit`).
    fn question(&self) -> Vec<u8> {
        let mut text = b"SELECT ".to_vec();
        for (place, name) in self.names.iter().enumerate() {
            text.extend_from_slice(if place == 0 {
                b"@@session."
            } else {
                b",@@session."
            });
            text.extend_from_slice(name);
        }
        text.extend_from_slice(b" LIMIT 1");
        text
    }

    /// The variables and their values, as the tracker would tell them. `None` if the server has not answered so.
    fn values<'a>(&'a self, rows: &'a TextResultSet) -> Option<Vec<(&'a [u8], &'a [u8])>> {
        let names = self.names.iter().enumerate();
        let told = names.map(|(place, name)| Some((&**name, value_told(rows, place)?)));
        told.collect()
    }
}

/// What the first row has of a variable in this column, as the tracker would tell it. `None` if there is no row.
pub(crate) fn value_told(rows: &TextResultSet, column: usize) -> Option<&[u8]> {
    let value = rows.rows().next()?.get(column)?.as_deref();
    Some(match value {
        Some(b"0") if rows.is_switch(column) => b"OFF",
        Some(b"1") if rows.is_switch(column) => b"ON",
        value => value.unwrap_or_default(),
    })
}

/// True of a command whose text may set variables of the session.
pub(crate) fn sets_variables(statement: &Statement) -> bool {
    matches!(statement.kind, Kind::Set | Kind::Multiple)
        && statement.traits.contains(Traits::SETS_VARIABLE)
}

impl Client {
    /// The variables of the session that a command sets.
    pub(crate) fn sets(
        &self,
        packet: Packet<'_>,
        (statement, dialect): (&Statement, Option<&Dialect>),
    ) -> Option<Box<Untold>> {
        // With a tracker of its own it is pinned until it ends.
        if !sets_variables(statement) || self.tracks.is_own() {
            return None;
        }
        let text = self.text_that_runs(packet)?;
        let found = sets_session(text, dialect?);
        let some = found.sets.as_ref().is_none_or(|sets| !sets.is_empty());
        some.then(|| Box::new(Untold { found, answered: 0 }))
    }
}

impl Pair<'_> {
    /// A command has been answered: what it has set and nobody has told is asked for.
    pub(crate) fn note_untold(&mut self, command: &ClientCommand) {
        let Some(untold) = &command.untold else {
            return;
        };
        match untold.missing() {
            Some(names) => self.backend.asks_for_variables(names),
            None => self.pin_late(PinReason::UntrackedVariable),
        }
    }

    /// The backend told what the variables are; or it did not, and the session keeps it.
    pub(crate) fn learn_variables(&mut self, read: &ReadVariables, rows: Option<&TextResultSet>) {
        let values = rows.and_then(|rows| read.values(rows));
        let values = values.filter(|values| values.iter().all(|(_, value)| is_restorable(value)));
        let Some(mut values) = values else {
            return self.pin_late(PinReason::UntrackedVariable);
        };
        if let Some(beginning) = &read.beginning {
            let session = &self.backend.session;
            values.retain(|(name, value)| {
                let known = session.variables.get(name);
                known.or_else(|| beginning.get(name)) != Some(value)
            });
        }
        for session in [&mut self.backend.session, &mut self.client.session] {
            session.set_variables(&values, &mut self.known.interner);
        }
    }
}

impl Backend {
    /// Asks what the variables are that are not known; `beginning`: what sessions begin with on a server that tells less
    /// than it should. False if there are none.
    pub(crate) fn ask_for_variables(
        &mut self,
        outbox: &mut Vec<u8>,
        beginning: Option<Arc<Beginning>>,
    ) -> bool {
        let beginning = match self.due.contains(Due::ALL_VARIABLES) {
            true => beginning,
            false => None,
        };
        self.due -= Due::VARIABLES | Due::ALL_VARIABLES;
        if let Some(beginning) = &beginning {
            self.untold = beginning.names().map(Into::into).collect();
        }
        if self.untold.is_empty() {
            // The server is another one by now.
            self.dirty = true;
            return false;
        }
        let read = ReadVariables {
            names: std::mem::take(&mut self.untold),
            beginning,
        };
        let question = read.question();
        self.ask_of_session(outbox, OfSession::Variables(Box::new(read)), &question);
        true
    }
    /// What these variables are is asked next.
    fn asks_for_variables<'a>(&mut self, names: impl Iterator<Item = &'a [u8]>) {
        for name in names {
            if !self.untold.iter().any(|known| **known == *name) {
                self.untold.push(name.into());
            }
        }
        self.due.set(Due::VARIABLES, !self.untold.is_empty());
    }
}

//! Variables that a session sets and no tracker reports.

use std::sync::Arc;

use carry::packet::Packet;
use carry::told::{ReadVariables, Untold, sets_variables};
use carry::trust::Beginning;
use session::is_restorable;
use session::statement::{Dialect, PinReason, Statement, sets_session};
use wire::TextResultSet;

use crate::record::ask::OfSession;
use crate::record::backend::{Backend, ClientCommand, Due};
use crate::record::client::Client;
use crate::record::pair::Pair;

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

//! Variables that a session sets and the session tracker does not report.

use carry::packet::Packet;
use carry::told::{ReadVariables, Unknown, Untold, sets_variables};
use session::is_restorable;
use session::statement::{Dialect, PinReason, Statement, sets_session};
use wire::TextResultSet;

use crate::record::carried::{Carried, Kept};
use crate::record::client::Client;
use crate::record::pair::Pair;

/// Variables that were set and whose values nobody has told.
pub(crate) static VARIABLES: Carried = Carried {
    // Not every variable is one of sessions.
    must_be_answered: false,
    answered: |pair, command, _| {
        let Some(untold) = &command.untold else {
            return;
        };
        match untold.missing() {
            Some(names) => pair.ask_for_variables(names),
            None => pair.pin_late(PinReason::UntrackedVariable),
        }
    },
    ask: |pair, outbox, _| pair.put_question(outbox),
    told: |pair, _, reply| {
        if let Kept::Variables(read) = reply.kept {
            pair.learn_variables(&read, reply.rows.ok());
        }
    },
    ..Carried::NOTHING
};

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
    /// What these variables are is asked next.
    fn ask_for_variables<'a>(&mut self, names: impl Iterator<Item = &'a [u8]>) {
        let unknown = &mut self.backend.leftovers.unknown.names;
        for name in names {
            if !unknown.iter().any(|known| **known == *name) {
                unknown.push(name.into());
            }
        }
        if !unknown.is_empty() {
            self.asks(&VARIABLES);
        }
    }

    /// Asks what the variables are that are not known. False if there are none.
    fn put_question(&mut self, outbox: &mut Vec<u8>) -> bool {
        let Unknown { mut names, all } = std::mem::take(&mut self.backend.leftovers.unknown);
        // What sessions begin with on a server that tells less than it should.
        let beginning = self.known.beginning().filter(|_| all);
        if let Some(beginning) = &beginning {
            names = beginning.names().map(Into::into).collect();
        }
        if names.is_empty() {
            // The server is another one by now.
            self.backend.dirty = true;
            return false;
        }
        let read = Box::new(ReadVariables { names, beginning });
        let question = read.question();
        let kept = Kept::Variables(read);
        self.backend.ask_about(outbox, &VARIABLES, kept, &question);
        true
    }

    /// The backend told what the variables are; or it did not, and the session keeps it.
    fn learn_variables(&mut self, read: &ReadVariables, rows: Option<&TextResultSet>) {
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

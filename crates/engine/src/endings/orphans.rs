//! Statements whose client hung up: what `on_disconnect` says is ended, so that nobody waits behind
//! work that nobody wants (rule 15).

use carry::told::Unknown;
use events::Timestamp;
use membership::Key;
use session::statement::{PinReasons, Traits};

use crate::follow::views::TABLES;
use crate::record::backend::{Backend, Due, Exchange, InsertId, PreparedXa, Purpose, Step};
use crate::record::records::Records;
use crate::record::settings::OnDisconnect;

/// A backend that runs something for a client that hung up.
pub(crate) struct Orphan {
    pub backend: Key,
    /// When the client hung up.
    pub since: Timestamp,
    /// When something is to be done about it.
    pub at: Timestamp,
}

impl Backend {
    /// The attached session is gone. From here on, answers change the record of this backend and nothing else: there is no
    /// session to attribute them to. What the session left is not read back, and what is under way may leave more, so the
    /// backend is cleaned before another session gets it. Only restores leave nothing that the record does not have.
    pub(crate) fn lose_session(&mut self, pins: PinReasons) {
        let restores = self.brings_only();
        // A command that waits for a restore was never sent.
        let mut harmless = Due::empty();
        harmless.set(Due::COMMAND, restores);
        self.dirty |= self.is_working() && !restores
            || !(self.due - harmless).is_empty()
            || !self.agenda.is_only(&TABLES)
            || !pins.is_empty();
        self.dirty |= self.forget_unread();
        self.retired |= self.prepared_xa == PreparedXa::Certain;
        self.client = None;
        // It takes a KILL that came late, and would hit the next command.
        self.due &= Due::PING;
        self.agenda.clear();
        self.leftovers.unknown = Unknown::default();
        if self.insert_id == InsertId::OfClient {
            self.insert_id = InsertId::Unknown;
        }
        for exchange in &mut self.exchanges {
            if let Purpose::Command(command) = &mut exchange.purpose {
                command.client = None;
            }
        }
    }

    /// True if something is noted that only an attached session has: the next one would take it for its own. For tests.
    pub(crate) fn notes_session(&self) -> bool {
        let Self {
            counted_rows,
            insert_id,
            agenda,
            upload,
            retrack,
            unsure,
            leftovers,
            statements,
            left_by,
            ..
        } = self;
        *counted_rows
            || *insert_id == InsertId::OfClient
            || !agenda.is_empty()
            || leftovers.unknown.is_some()
            || upload.is_some()
            || retrack.is_some()
            || unsure.is_some()
            || leftovers.variables.is_unread()
            || statements.owns_some()
            || left_by.is_some()
    }

    /// True if what it runs is to be ended now that its client is gone.
    pub(crate) fn is_to_be_ended(&self, policy: OnDisconnect) -> bool {
        let prepares =
            |exchange: &Exchange| matches!(exchange.purpose, Purpose::Own(Step::Prepare(_)));
        if policy != OnDisconnect::Finish && self.exchanges.iter().any(prepares) {
            return true;
        }
        let mut commands = self.exchanges.iter().filter_map(|exchange| {
            let Purpose::Command(command) = &exchange.purpose else {
                return None;
            };
            Some(command)
        });
        match policy {
            OnDisconnect::Finish => false,
            OnDisconnect::KillAll => commands.next().is_some(),
            OnDisconnect::KillReads => commands
                .next()
                .is_some_and(|command| !command.traits.contains(Traits::MAY_WRITE)),
        }
    }
}

impl Records {
    /// True if the backend still runs what it ran when its client hung up.
    pub(crate) fn is_orphan(&self, orphan: &Orphan) -> bool {
        let backend = self.pool.get(orphan.backend);
        backend.is_some_and(|backend| backend.orphaned == Some(orphan.since))
    }
}

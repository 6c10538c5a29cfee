//! A session lets go of its backend: what is forgotten, and what makes the backend dirty (rule 3).

use events::Io;
use membership::Key;
use session::statement::{Kind, PinReason};
use wire::ServerStatus;

use crate::record::backend::{Backend, Purpose, Step};
use crate::record::client::State;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// A session that holds a backend begins anew: only when that is clean, and all locks are
    /// gone, its command goes on.
    pub(crate) fn reset_attached<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) {
        let Some(record) = self.clients.get_mut(client) else {
            return;
        };
        let Some(key) = record.backend else { return };
        // Between its end and its commit, an XA transaction lets nothing be asked.
        let has_xa = record.pins.contains(PinReason::Xa);
        record.unpin();
        self.clients.move_to(client, State::Active, turn.now);
        // That number outlives it.
        if !has_xa {
            self.read_found_rows(turn, key);
        }
        if let Some(backend) = self.pool.get_mut(key) {
            backend.forget_unread();
        }
        self.reset_backend(turn, key);
    }
}

impl Backend {
    /// The attached session ends or begins anew: nothing is read back for it, or asked about what it ran. True if what
    /// it leaves is not all known.
    pub(crate) fn forget_unread(&mut self) -> bool {
        self.unsure = None;
        let unknown = self.leftovers.variables.is_unread();
        self.leftovers.variables.forget_unread();
        self.counted_rows = false;
        unknown
    }

    /// Notes whether a transaction is over by this status because autocommit is on again, or because of a deadlock. The next
    /// one of the connection begins with what it was begun with, then, on both servers.
    pub(crate) fn ends_without_word(&mut self, purpose: &Purpose, status: ServerStatus) {
        // An ERR says nothing of transactions, and a routine may have met one.
        let hidden = match purpose {
            Purpose::Command(command) => command.kind == Kind::Call,
            purpose => matches!(purpose, Purpose::Own(Step::Ping)),
        };
        let within = self.status.contains(ServerStatus::IN_TRANS);
        let off = !self.status.contains(ServerStatus::AUTOCOMMIT);
        let turned_on = off && status.contains(ServerStatus::AUTOCOMMIT);
        let rolled_back = hidden && !status.contains(ServerStatus::IN_TRANS);
        self.keeps_characteristics |= within && (turned_on || rolled_back);
    }
}

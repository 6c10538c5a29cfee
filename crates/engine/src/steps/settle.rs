//! After an answer: what it says of the backend, and of things beyond its session.

use carry::ending::Ending;
use carry::packet::mentions;
use events::Io;
use membership::Key;
use session::statement::{Flavor, Kind, PinReason, Traits};
use wire::{ErrPacket, ServerStatus, code};

use crate::record::backend::{Backend, ClientCommand, Due, PreparedXa};
use crate::record::pair::Pair;
use crate::record::records::Records;
use crate::record::retry::Retry;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// True if the backend is cleaned for a command that waits: what it says of its own session does
    /// not concern that of the client.
    pub(crate) fn awaits_clean(&self, key: Key) -> bool {
        let backend = self.pool.get(key);
        backend.is_some_and(|backend| backend.due.contains(Due::COMMAND))
    }

    /// The backend was asked to roll back, and refused: an XA transaction was prepared on it. One that was only begun
    /// refuses, too; a reset ends that.
    pub(crate) fn rollback_refused(&mut self, key: Key, error: &[u8]) {
        if !only_began_xa(error)
            && let Some(backend) = self.pool.get_mut(key)
        {
            backend.retired = true;
            backend.prepared_xa = PreparedXa::Certain;
        }
    }

    /// Has a backend pinged once more before it is let go of.
    pub(crate) fn ping_again(&mut self, key: Key) {
        if let Some(backend) = self.pool.get_mut(key) {
            backend.due |= Due::PING;
        }
    }

    /// A command has done what it was to do, which may concern more than its session's state.
    pub(crate) fn succeeded<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        command: &ClientCommand,
    ) {
        if command.traits.contains(Traits::SETS_GLOBAL) {
            self.globals_set(turn, key);
        }
        if command.traits.contains(Traits::FLUSHES_HOSTS) {
            self.shared.flush_hosts();
        }
        if command.traits.contains(Traits::FLUSHES_USER_VARIABLES) {
            self.of_session(key, |pair| pair.user_variables_flushed());
        }
        if command.kind == Kind::Account {
            self.account_changed(key, command);
        }
    }

    /// The answer to a COM_PING or a reset: the attached client has the status flags of its backend.
    pub(crate) fn ping_answered(&mut self, key: Key) {
        let Some(backend) = self.pool.get(key) else {
            return;
        };
        if let Some(client) = backend
            .client
            .and_then(|client| self.clients.get_mut(client))
        {
            client.status = backend.status - ServerStatus::OF_STATEMENT;
        }
    }
}

impl Pair<'_> {
    /// What an answer says of the session that waited for it. Nothing of this may be noted of an answer that no session
    /// waits for: the next session of the backend would take it for its own.
    pub(crate) fn note(&mut self, command: &ClientCommand, ending: &Ending) {
        self.answered(command, ending);
        let client = &mut *self.client;
        let unrun = command.never_ran(ending);
        if unrun {
            let added = command.pins.iter();
            added.for_each(|reason| client.pins.remove(reason));
            if client.pins.is_empty() {
                client.pin_slot = None;
            }
        }
        client.retry = Retry::Fresh;
        if *ending != Ending::Ok && !unrun {
            self.may_have_set_behind(command);
            self.may_have_set_in_body(command);
        }
    }
}

/// True if a ROLLBACK was refused in an XA transaction that is not prepared. Only the message tells its state, whose
/// name no `lc_messages` translates; in a character set with wide letters, too.
fn only_began_xa(error: &[u8]) -> bool {
    let Ok(error) = ErrPacket::parse(error) else {
        return false;
    };
    let mut message = error.message.to_vec();
    message.retain(|&byte| byte != 0);
    error.code == code::XA_WRONG_STATE && !mentions(&message, b"prepared")
}

impl Backend {
    /// Notes what the answer to a command says of the backend, whether or not a session waits for it.
    pub(crate) fn note_command(
        &mut self,
        command: &ClientCommand,
        ending: &Ending,
        flavor: Flavor,
    ) {
        let failed = matches!(ending, Ending::Err(_));
        self.statements.executed(failed);
        if failed && leaves_transaction_open(command.kind, self.status) {
            self.due |= Due::PING;
        }
        self.note_hidden(command, ending);
        self.note_locks(command.kind, ending, flavor);
    }

    /// No session waits for the answer to a command: its client hung up, or was answered otherwise. What the command has
    /// left behind is cleaned away before another session gets the backend.
    pub(crate) fn note_for_nobody(&mut self, command: &ClientCommand) {
        self.dirty |= !command.traits.contains(Traits::PURE_READ);
        self.counted_rows = false;
    }

    /// True if the server closes the connection behind a statement that succeeded.
    pub(crate) fn releases(&self, command: &ClientCommand) -> bool {
        let ends = matches!(command.kind, Kind::Commit | Kind::Rollback);
        let set = self.session.variables.get(b"completion_type");
        let by_itself = set.is_some_and(|value| matches!(value, b"RELEASE" | b"2"));
        let keeps = command.traits.contains(Traits::KEEPS_CONNECTION);
        ends && (by_itself && !keeps || command.traits.contains(Traits::RELEASES_CONNECTION))
    }

    /// Notes that a statement may have prepared an XA transaction, which its answer does not say.
    fn note_hidden(&mut self, command: &ClientCommand, ending: &Ending) {
        let hidden =
            [PinReason::Call, PinReason::Unknown].map(|reason| command.pins.contains(reason));
        if hidden.contains(&true) && !command.never_ran(ending) {
            self.prepared_xa = self.prepared_xa.max(PreparedXa::Possible);
        }
    }

    /// Notes whether tables may be locked although the status flags tell of no transaction.
    fn note_locks(&mut self, kind: Kind, ending: &Ending, flavor: Flavor) {
        let ends =
            matches!(kind, Kind::Commit | Kind::Rollback | Kind::Ddl) && *ending == Ending::Ok;
        let off = !self.status.contains(ServerStatus::AUTOCOMMIT);
        self.keeps_locks = off && flavor == Flavor::MySql && !ends;
    }
}

/// True if an ERR leaves open whether there is a transaction: it has no status flags (rule 9).
fn leaves_transaction_open(kind: Kind, before: ServerStatus) -> bool {
    let within =
        before.contains(ServerStatus::IN_TRANS) || !before.contains(ServerStatus::AUTOCOMMIT);
    let single = matches!(
        kind,
        Kind::Select
            | Kind::Show
            | Kind::Explain
            | Kind::Insert
            | Kind::Replace
            | Kind::Update
            | Kind::Delete
            | Kind::Use
    );
    within || !single
}

//! What follows an answer: whether the session keeps its backend, and who
//! gets it next.

use carry::ending::Ending;
use carry::packet::mentions;
use events::Io;
use membership::Key;
use session::statement::{Flavor, Kind, PinReason, Traits};
use wire::{ErrPacket, ServerStatus, code};

use crate::record::backend::{Backend, ClientCommand, Due, InsertId, PreparedXa};
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
        if let Some(backend) = self.pool.get_mut(key).filter(|_| !only_began_xa(error)) {
            backend.retired = true;
            backend.prepared_xa = PreparedXa::Certain;
        }
    }

    pub(crate) fn ping_again(&mut self, key: Key) {
        if let Some(backend) = self.pool.get_mut(key) {
            backend.due |= Due::PING;
        }
    }
}

impl Pair<'_> {
    /// What an answer says of the session that waited for it. Nothing of this may be noted of an answer that no session
    /// waits for: the next session of the backend would take it for its own.
    pub(crate) fn note(&mut self, command: &ClientCommand, ending: &Ending) {
        self.backend.note_unsaid(command, ending);
        self.backend.note_insert_id(command, ending);
        self.backend.note_found_rows(command, ending);
        self.note_untold(command);
        let (client, failed) = (&mut *self.client, *ending != Ending::Ok);
        let unrun = never_ran(command, ending);
        if unrun {
            let added = command.pins.iter();
            added.for_each(|reason| client.pins.remove(reason));
            if client.pins.is_empty() {
                client.pin_slot = None;
            }
        }
        command.note_counts(&mut client.capture, failed);
        command.note_conditions(&mut client.capture, ending);
        client.retry = Retry::Fresh;
        if failed && !unrun {
            self.may_have_set_behind(command);
            self.may_have_set_in_body(command);
        }
    }
}

impl Records {
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

/// True if the server could not even parse the statement: it changed nothing. Of statements that run others it
/// may have been one of those.
pub(crate) fn never_ran(command: &ClientCommand, ending: &Ending) -> bool {
    let runs_others = matches!(command.kind, Kind::Call | Kind::Multiple | Kind::Prepared)
        || command.traits.contains(Traits::MULTIPLE);
    ending.code() == Some(code::PARSE_ERROR) && !runs_others
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

    /// Notes whether LAST_INSERT_ID() may have changed without a word in the answer.
    fn note_insert_id(&mut self, command: &ClientCommand, ending: &Ending) {
        let unsaid = Traits::SETS_LAST_INSERT_ID | Traits::UNKNOWN_CALL;
        if command.traits.intersects(unsaid)
            || matches!(command.kind, Kind::Call | Kind::Multiple | Kind::Unknown)
            || generated_unseen(command, ending)
        {
            self.insert_id = InsertId::OfClient;
        }
    }

    /// Notes what of the session must be read back, since no answer says it in full.
    fn note_unsaid(&mut self, command: &ClientCommand, ending: &Ending) {
        if command.traits.contains(Traits::SETS_CHARSET) && !refused_whole(command.kind, ending) {
            self.due |= Due::CHARSET;
        }
        if command.traits.contains(Traits::DRAWS_SEQUENCE) && *ending == Ending::Ok {
            self.leftovers.sequences.succeeded();
        }
        self.note_retracked(command);
        if may_have_set_role(command, *ending != Ending::Ok) {
            self.due |= Due::ROLE;
        }
        // An ERR does not say which variables were put back.
        let failed = *ending != Ending::Ok && !never_ran(command, ending);
        let untold = Traits::FOR_STATEMENT | Traits::HINTS_VARIABLES | Traits::SETS_BEHIND;
        if failed && command.traits.intersects(untold) {
            self.due |= Due::PUT_BACK;
        }
    }

    /// Notes that a statement may have prepared an XA transaction, which its answer does not say.
    fn note_hidden(&mut self, command: &ClientCommand, ending: &Ending) {
        let hidden =
            [PinReason::Call, PinReason::Unknown].map(|reason| command.pins.contains(reason));
        if hidden.contains(&true) && !never_ran(command, ending) {
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

/// True if an id may have been generated that the answer does not tell. That of LOAD never does.
fn generated_unseen(command: &ClientCommand, ending: &Ending) -> bool {
    let hidden = command.kind == Kind::Load || command.pins.contains(PinReason::Call);
    hidden || returned_rows(command) || failed_later(command, ending)
}

/// True of `INSERT … RETURNING`: what ends rows does not say which id was generated.
fn returned_rows(command: &ClientCommand) -> bool {
    command.traits.contains(Traits::GENERATES_ID) && command.counts.result_set
}

/// True of an INSERT of several rows that may have generated an id before it failed.
fn failed_later(command: &ClientCommand, ending: &Ending) -> bool {
    command.traits.contains(Traits::GENERATES_ID) && matches!(ending, Ending::Err(_))
}

/// Where a SET ROLE has failed the session has the role of before, which the backend need not have.
fn may_have_set_role(command: &ClientCommand, failed: bool) -> bool {
    command.traits.contains(Traits::SETS_ROLE) && !(failed && command.kind == Kind::Set)
}

/// True if a SET was refused for the name of a character set or collation: both servers look at all that it sets
/// before they set any of it, so it has changed nothing.
fn refused_whole(kind: Kind, ending: &Ending) -> bool {
    let unknown = matches!(
        ending.code(),
        Some(code::UNKNOWN_CHARSET | code::UNKNOWN_COLLATION)
    );
    unknown && kind == Kind::Set
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

//! A session parts from its backend, which goes to the next one, clean (rule 3). The counterpart of `attach`.

use events::Io;
use membership::Key;
use pool::State as BackendState;
use session::statement::{Kind, PinReason};
use wire::ServerStatus;

use crate::backend::Step;
use crate::backend::{Backend, Due, PreparedXa, Purpose};
use crate::client::State;
use crate::report::counters::DisconnectReason;
use crate::timers::carried_timeout;
use crate::{Engine, Mail, Turn};

impl Engine {
    /// Nothing is under way on this backend: does what is due, or lets go of it.
    pub(crate) fn settle<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        if self.awaits_kill(key) {
            return;
        }
        let cut_off = self.pool.get(key).is_some_and(Backend::is_cut_off);
        let answers = !cut_off && !self.is_in_sandbox(key);
        if answers && self.read_back(turn, key) {
            return;
        }
        self.end_transaction(turn, key);
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let Some(client_key) = backend.client else {
            return self.free(turn, key);
        };
        if backend.due.contains(Due::COMMAND) {
            backend.due -= Due::COMMAND;
            return self.resume_command(turn, client_key);
        }
        let Some(client) = self.clients.get(client_key) else {
            return;
        };
        let holds = client.holds_backend();
        if cut_off && holds {
            // What the session has there ends with the connection. It was told the answer.
            self.clients.move_to(client_key, State::Held, turn.now);
            return self.backend_broken(turn, key);
        }
        let is_due = client.capture.conditions.has_more() || !holds;
        if is_due && answers && self.read_warnings(turn, key) {
            return;
        }
        if holds {
            self.clients.move_to(client_key, State::Held, turn.now);
            self.of_session(key, |pair| pair.bound_unread());
            self.keep_pin(client_key);
        } else if answers && self.read_last(turn, key) {
            return;
        } else {
            self.detach(turn, client_key, key);
        }
        if self.awaits_limits(turn, client_key) {
            return;
        }
        if self.draining.is_some() && self.clients.state(client_key) == Some(State::Idle) {
            return self.close_client(turn, client_key, DisconnectReason::Drain);
        }
        self.consume_inbox(turn, client_key);
    }

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

    fn detach<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client_key: Key, key: Key) {
        if let Some(client) = self.clients.get_mut(client_key) {
            client.backend = None;
            client.capture.conditions.lose();
            // Also where the statement that would have pinned it was never sent.
            client.unpin();
        }
        if let Some(backend) = self.pool.get_mut(key) {
            backend.client = None;
        }
        self.clients.move_to(client_key, State::Idle, turn.now);
        self.rekey(client_key);
        if self.leave_sandbox(turn, client_key, key) {
            return;
        }
        self.free(turn, key);
    }

    /// No session is attached: the backend goes to the next one, clean (rule 3).
    pub(crate) fn free<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let new = self.pool.state(key) == Some(BackendState::Resetting);
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let too_old = self
            .settings
            .backend_max_age
            .is_some_and(|max| turn.now.since(backend.opened) > max);
        (backend.orphaned, backend.left_by) = (None, None);
        let retired = backend.retired || backend.is_cut_off();
        let id = self.pool.key_of(key);
        if retired || too_old && !id.is_some_and(|id| self.is_down_to_one(id)) {
            self.drop_backend(turn, key);
            return self.serve_all(turn);
        }
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        if std::mem::take(&mut backend.prepared_xa) == PreparedXa::Possible {
            return backend.roll_back(turn.io.outbox(backend.handle));
        }
        if backend.dirty || backend.status.contains(ServerStatus::IN_TRANS) {
            if new {
                tracing::warn!("a reset left a backend in a transaction; closed");
                return self.backend_broken(turn, key);
            }
            return self.reset_backend(turn, key);
        }
        if backend.keeps_locks || backend.keeps_characteristics {
            return backend.roll_back(turn.io.outbox(backend.handle));
        }
        if self.ask_for_stored(turn, key) {
            return;
        }
        let carried = self.pool.get(key).and_then(carried_timeout);
        self.rest(turn, key);
        self.close_before(carried.map(|timeout| turn.now + timeout));
        let Some(id) = self.pool.key_of(key) else {
            return;
        };
        if new {
            // Whoever it was opened for comes first: given away unused, it would only go round.
            self.serve(turn, id);
            self.admit_waiters(turn);
        }
        let idle = self.pool.state(key) == Some(BackendState::Idle);
        if idle && !self.give_way(turn, key, id) {
            self.serve(turn, id);
        }
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

    /// Ends what may have been left behind. The session has nothing open that it knows of.
    pub(crate) fn roll_back(&mut self, outbox: &mut Vec<u8>) {
        (self.keeps_locks, self.keeps_characteristics) = (false, false);
        self.session.set_next_transaction(b"");
        self.put_query(outbox, b"ROLLBACK AND NO CHAIN NO RELEASE");
        self.expect(Step::RollBack);
    }
}

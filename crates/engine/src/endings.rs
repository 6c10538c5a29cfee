//! How connections end: hang-ups, losses, refusals, draining.

pub(crate) mod kill;
pub(crate) mod kill_again;
pub(crate) mod leaving;
pub(crate) mod orphans;
pub(crate) mod panics;
pub(crate) mod retry;
pub(crate) mod stalls;

use events::{Close, HangUp, Io, Span};
use membership::Key;
use pool::State as BackendState;
use session::statement::{PinReasons, Traits};
use wire::{Capabilities, HEADER_LEN, Piece, Told};
use zeroize::Zeroize;

use crate::backend::Step;
use crate::backend::{Backend, Due, Exchange, PreparedXa, Purpose, Reading};
use crate::client::State;
use crate::endings::retry::Retry;
use crate::errors::ClientError;
use crate::report::counters::DisconnectReason;
use crate::shared::SchemaChange;
use crate::{Engine, Mail, Turn};

/// The table of ids never becomes smaller than for about so many.
const IDS_MIN: usize = 256;

impl Engine {
    /// Ends a client connection, whatever it is doing. What stands in its outbox is still sent, unless nobody knows what
    /// that is.
    pub(crate) fn close_client<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        reason: DisconnectReason,
    ) {
        let state = self.clients.state(key);
        let waits = state.is_some_and(State::waits);
        self.leave_queue(key, reason);
        self.leave_relay(turn, key);
        self.forget_intent(key);
        self.forget_memory(key);
        self.long.forget(key);
        self.forget_lock_wait(key);
        self.kept.remove(&key);
        let lane = match state {
            Some(State::InLane) => self.place_in_lane(key),
            _ => None,
        };
        self.leave_key(key);
        let Some(mut client) = self.clients.remove(key) else {
            return;
        };
        tracing::debug!(
            id = client.id,
            reason = reason.name(),
            "client connection ended"
        );
        self.count_broken(turn, state, &client, reason);
        let how = match reason {
            DisconnectReason::Defect => Close::Abort,
            _ => Close::Flush,
        };
        turn.io.close(client.handle, how);
        self.client_gone();
        self.forget_id(client.id);
        self.counters.disconnected(reason);
        self.counters.abandoned += u64::from(waits);
        self.stalls.forget(key);
        if let Some(backend) = client.backend {
            if let Some(backend) = self
                .pool
                .get_mut(backend)
                .filter(|backend| backend.is_working())
            {
                backend.left_by = Some(client.id);
            }
            self.leave_behind(turn, backend, client.pins);
        }
        if let Some(lane) = lane {
            self.leave_lane(turn, lane);
        }
        if client.login.is_some() {
            // A password may be in it.
            client.inbox.zeroize();
        }
        self.recycle(client.inbox);
    }

    /// No client has the id any more. After a peak the table gives back what is far too much.
    fn forget_id(&mut self, id: u32) {
        self.ids.remove(&id);
        let enough = self.ids.len().max(IDS_MIN);
        if self.ids.capacity() > 8 * enough {
            self.ids.shrink_to(2 * enough);
        }
    }

    /// The session of an attached backend is gone. What it runs is finished or ended
    /// (`on_disconnect`), its answer dropped.
    pub(crate) fn leave_behind<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        pins: PinReasons,
    ) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        backend.lose_session(pins);
        if std::mem::take(&mut backend.reading) == Reading::Paused {
            turn.io.resume_receive(backend.handle);
        }
        if backend.upload.is_some() {
            // Half a file must not be loaded.
            self.backend_broken(turn, key);
        } else if backend.is_working() {
            self.orphan(key, turn.now);
        } else {
            self.settle(turn, key);
        }
    }

    /// A session is to begin anew that may have prepared an XA transaction: asks for that, before what it holds is let
    /// go. True if so.
    pub(crate) fn asks_for_prepared<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
    ) -> bool {
        let backend = self.clients.get(key).and_then(|client| client.backend);
        let backend = backend.and_then(|backend| self.pool.get_mut(backend));
        let possible = |backend: &&mut Backend| backend.prepared_xa == PreparedXa::Possible;
        let Some(backend) = backend.filter(possible) else {
            return false;
        };
        backend.prepared_xa = PreparedXa::No;
        backend.roll_back(turn.io.outbox(backend.handle));
        self.clients.move_to(key, State::Active, turn.now);
        true
    }

    /// A session that begins anew leaves an XA transaction behind that it has prepared.
    pub(crate) fn part_with_prepared<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let may_keep = |backend: &Backend| backend.prepared_xa != PreparedXa::No;
        let keeps = |backend: &Key| self.pool.get(*backend).is_some_and(may_keep);
        let Some(backend) = client.backend.filter(keeps) else {
            return;
        };
        client.backend = None;
        client.capture.conditions.lose();
        let pins = client.pins;
        client.unpin();
        self.clients.move_to(key, State::Idle, turn.now);
        self.rekey(key);
        self.leave_behind(turn, backend, pins);
    }

    /// The backend hung up or failed.
    pub(crate) fn backend_lost<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        how: HangUp,
    ) {
        let Some(backend) = self.pool.get(key) else {
            return;
        };
        if backend.login.is_some() {
            return self.give_up_connect(turn, key, "it closed the connection during login".into());
        }
        if backend.is_new() {
            return self.give_up_connect(turn, key, "it closed a new connection".into());
        }
        if self.pool.state(key) != Some(BackendState::Idle) {
            tracing::warn!(
                connection_id = backend.connection_id,
                ?how,
                "backend connection lost"
            );
        }
        self.backend_broken(turn, key);
    }

    /// The backend cannot be used any more.
    pub(crate) fn backend_broken<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(id) = self.pool.key_of(key) else {
            return;
        };
        self.discard_backend(turn, key);
        self.send_kills(turn, id);
        self.serve_all(turn);
        self.find_out(turn.now);
    }

    /// Ends a backend connection that cannot be used any more, and what runs there. Whoever waits is not served yet.
    pub(crate) fn discard_backend<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let lane = self.is_lane(key);
        let Some(mut backend) = self.pool.remove(key) else {
            return;
        };
        turn.io.close(backend.handle, Close::Abort);
        self.counters.backend_losses += 1;
        if let Some(relay) = backend.relay.take() {
            self.relay_lost(turn, relay);
        }
        if lane {
            self.lane_lost(turn, &mut backend);
        }
        if let Some(client) = backend.client {
            if let Some((command, permit)) = backend.take_replay() {
                self.hold_permit(client, permit, turn.now);
                self.take_back(client, command);
                backend.due |= Due::COMMAND;
            }
            let again = backend
                .outstanding_list()
                .and_then(|read| read.again().take());
            if let (Some(text), Some(client)) = (again, self.clients.get_mut(client)) {
                client.capture.conditions.repeat_was_lost(text);
            }
            let sent = backend.exchanges.front_mut();
            let first = self.clients.get(client).map_or(1, |of| of.answer_begins);
            let sequence_id = sent.map_or(Some(first), |sent| next_sequence_id(sent, first));
            self.lose_backend(
                turn,
                client,
                backend.due.contains(Due::COMMAND),
                sequence_id,
            );
        }
        self.slot_returned(turn);
        for exchange in backend.exchanges {
            match exchange.purpose {
                Purpose::Own(Step::Kill(victim)) => self.kill_answered(turn, victim),
                // It may have run all the same.
                Purpose::Command(command) if command.traits.contains(Traits::DEFINES_STORED) => {
                    self.forget_schemas(
                        turn,
                        SchemaChange {
                            stored: true,
                            done: true,
                        },
                    );
                }
                _ => {}
            }
        }
    }

    /// A client's backend is gone. If its command was not sent, it waits for another one; else it
    /// is told, where the protocol leaves room for that, and closed (rule 16).
    pub(crate) fn lose_backend<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        unsent: bool,
        sequence_id: Option<u8>,
    ) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        client.backend = None;
        client.capture.conditions.lose();
        if unsent && !client.holds_backend() {
            let id = client.key;
            self.wake(id);
            return self.clients.move_to(key, State::Waiting(id), turn.now);
        }
        let state = self.clients.state(key);
        let active = matches!(state, Some(State::Active | State::InLane));
        let Some(client) = self.clients.get(key) else {
            return;
        };
        if let (true, Some(sequence_id)) = (active, sequence_id) {
            let error = ClientError::server_shutdown();
            let sequence_id = client
                .login
                .as_ref()
                .map_or(sequence_id, |login| login.sequence_id);
            let outbox = turn.io.outbox(client.handle);
            error
                .packet()
                .encode(outbox, sequence_id, Capabilities::PROTOCOL_41);
        }
        self.close_client(turn, key, DisconnectReason::BackendLost);
    }

    /// Closes a backend connection that nobody uses.
    pub(crate) fn drop_backend<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(backend) = self.pool.remove(key) else {
            return;
        };
        if backend.is_cut_off() {
            turn.io.close(backend.handle, Close::Abort);
            return self.slot_returned(turn);
        }
        if !backend.is_working() && backend.login.is_none() {
            crate::commands::dispatch::put_command(
                turn.io.outbox(backend.handle),
                wire::Command::Quit,
                b"",
            );
        }
        turn.io.close(backend.handle, Close::Flush);
        self.slot_returned(turn);
    }

    /// The command at the front of a waiting client's inbox was answered without being run.
    pub(crate) fn drop_waiting_command<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        self.drop_first_command(key);
        self.clients.move_to(key, State::Idle, turn.now);
        self.consume_inbox(turn, key);
    }

    /// Takes the command at the front of the inbox off it.
    pub(crate) fn drop_first_command(&mut self, key: Key) {
        self.forget_intent(key);
        self.forget_lock_wait(key);
        drop(self.take_permit(key));
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let first = self.front_len(key, &client.inbox);
        self.long.forget(key);
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let mut inbox = std::mem::take(&mut client.inbox);
        if let Ok(consumed) = first {
            client.drop_long_data(&inbox[HEADER_LEN..consumed]);
            inbox.drain(..consumed);
            client.retry = Retry::Fresh;
        }
        client.inbox = inbox;
    }

    /// Takes no new clients, ends those that do nothing, and lets the others finish.
    pub(crate) fn drain<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, span: Span) {
        turn.io.stop_accepting();
        self.draining = Some(turn.now + span);
        self.dismiss(turn);
    }

    /// Ends those whom nothing is done for yet.
    pub(crate) fn dismiss<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let waiting = self.waiting_states();
        for state in [State::Greeting, State::Idle]
            .into_iter()
            .chain(State::LOGINS)
            .chain(waiting)
        {
            while let Some(key) = self.clients.first(state) {
                self.answer_err(turn, key, &ClientError::server_shutdown());
                self.close_client(turn, key, DisconnectReason::Drain);
            }
        }
    }

    /// All lists of those whose command waits to be sent.
    fn waiting_states(&self) -> Vec<State> {
        let of_key = |id| [State::Waiting(id), State::ForLane(id)];
        let of_all = [State::ForLock, State::Queued];
        of_all
            .into_iter()
            .chain(self.pool.key_ids().flat_map(of_key))
            .collect()
    }

    /// The time for draining is up. Nobody should wait any more, but for those whose backend was
    /// lost before their command was sent.
    pub(crate) fn end_all<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        for state in self.waiting_states() {
            while let Some(key) = self.clients.first(state) {
                self.fail(
                    turn,
                    key,
                    &ClientError::server_shutdown(),
                    DisconnectReason::Drain,
                );
            }
        }
        // Those who asked a worker that has ended are never told.
        for state in [
            State::Greeting,
            State::Login,
            State::Challenged,
            State::Judged,
            State::Idle,
            State::Held,
            State::Active,
            State::InLane,
            State::Asking,
        ] {
            while let Some(key) = self.clients.first(state) {
                self.close_client(turn, key, DisconnectReason::Drain);
            }
        }
    }
}

/// The sequence id that an ERR packet in place of the rest of an answer has for the client: `None`
/// in the middle of a packet. An answer begins with `first`.
pub(crate) fn next_sequence_id(exchange: &mut Exchange, first: u8) -> Option<u8> {
    let Purpose::Command(command) = &mut exchange.purpose else {
        return Some(first);
    };
    if !command.answered {
        return Some(first);
    }
    let header = [0, 0, 0, exchange.walk.boundary()?];
    let mut told = Vec::new();
    let translation = &mut command.translation;
    let done = translation.piece(&Piece::Err(&header), &Told::default(), &mut told);
    done.ok()?;
    told.last().copied()
}

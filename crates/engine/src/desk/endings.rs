//! Connections end, on either side, and the whole worker. Whatever they held goes back, and whoever waited is told.

use carry::errors::ClientError;
use events::{Close, HangUp, Io, Span};
use membership::Key;
use pool::{State as BackendState, Waiter};
use session::statement::{PinReasons, Traits};
use wire::{Capabilities, HEADER_LEN, TextResultSet};
use zeroize::Zeroize;

use crate::desk::Engine;
use crate::endings::next_sequence_id;
use crate::record::backend::{Backend, Due, PreparedXa, Purpose, Reading, Step};
use crate::record::client::State;
use crate::record::counters::DisconnectReason;
use crate::record::retry::Retry;
use crate::record::shared::{Mail, SchemaChange};
use crate::record::turn::Turn;
use crate::steps::stalls::{LOOK_AT_STALLS, Stall};

/// How long backends that are just being cleaned are waited for.
const CLEANING_MAX: Span = Span::from_ms(1_000);

/// How long a statement waits for a backend before slow clients' answers are read whole.
const READ_WHOLE_AFTER: Span = Span::from_ms(50);

/// How long a statement waits for a backend before the slowest client of another account is closed.
const CLOSE_AFTER: Span = Span::from_ms(300);

/// Time for a backend to become free before the next client is closed.
const CLOSE_EVERY: Span = Span::from_ms(100);

impl Engine {
    /// Ends a client connection, whatever it is doing. What stands in its outbox is still sent, unless nobody knows what
    /// that is.
    pub(crate) fn close_client<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        reason: DisconnectReason,
    ) {
        let state = self.records.clients.state(key);
        let waits = state.is_some_and(State::waits);
        self.matching.leave_queue(&mut self.records, key, reason);
        self.leave_relay(turn, key);
        self.forget_intent(key);
        self.records.forget_memory(key);
        self.records.long.forget(key);
        self.matching.forget_lock_wait(key);
        self.kept.remove(&key);
        let lane = match state {
            Some(State::InLane) => self.records.place_in_lane(key),
            _ => None,
        };
        self.records.leave_key(key);
        let Some(mut client) = self.records.clients.remove(key) else {
            return;
        };
        tracing::debug!(
            id = client.id,
            reason = reason.name(),
            "client connection ended"
        );
        self.records.count_broken(turn, state, &client, reason);
        let how = match reason {
            DisconnectReason::Defect => Close::Abort,
            _ => Close::Flush,
        };
        turn.io.close(client.handle, how);
        self.records.client_gone();
        self.records.forget_id(client.id);
        self.records.counters.disconnected(reason);
        self.records.counters.abandoned += u64::from(waits);
        self.stalls.forget(key);
        if let Some(backend) = client.backend {
            if let Some(backend) = self
                .records
                .pool
                .get_mut(backend)
                .filter(|backend| backend.is_working())
            {
                backend.left_by = Some(client.id);
            }
            self.leave_behind(turn, backend, client.pins);
        }
        if let Some(lane) = lane {
            self.records.leave_lane(turn, lane);
        }
        if client.login.is_some() {
            // A password may be in it.
            client.inbox.zeroize();
        }
        self.records.recycle(client.inbox);
    }

    /// The session of an attached backend is gone. What it runs is finished or ended
    /// (`on_disconnect`), its answer dropped.
    fn leave_behind<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, pins: PinReasons) {
        let Some(backend) = self.records.pool.get_mut(key) else {
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

    /// A session that begins anew leaves an XA transaction behind that it has prepared.
    pub(crate) fn part_with_prepared<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(client) = self.records.clients.get_mut(key) else {
            return;
        };
        let may_keep = |backend: &Backend| backend.prepared_xa != PreparedXa::No;
        let keeps = |backend: &Key| self.records.pool.get(*backend).is_some_and(may_keep);
        let Some(backend) = client.backend.filter(keeps) else {
            return;
        };
        client.backend = None;
        client.capture.conditions.lose();
        let pins = client.pins;
        client.unpin();
        self.records.clients.move_to(key, State::Idle, turn.now);
        self.records.rekey(key);
        self.leave_behind(turn, backend, pins);
    }

    /// The backend hung up or failed.
    pub(crate) fn backend_lost<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        how: HangUp,
    ) {
        let Some(backend) = self.records.pool.get(key) else {
            return;
        };
        if backend.login.is_some() {
            return self.give_up_connect(turn, key, "it closed the connection during login".into());
        }
        if backend.is_new() {
            return self.give_up_connect(turn, key, "it closed a new connection".into());
        }
        if self.records.pool.state(key) != Some(BackendState::Idle) {
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
        let Some(id) = self.records.pool.key_of(key) else {
            return;
        };
        self.discard_backend(turn, key);
        self.send_kills(turn, id);
        self.serve_all(turn);
        self.find_out(turn.now);
    }

    /// Ends a backend connection that cannot be used any more, and what runs there. Whoever waits is not served yet.
    pub(crate) fn discard_backend<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let lane = self.records.is_lane(key);
        let Some(mut backend) = self.records.pool.remove(key) else {
            return;
        };
        turn.io.close(backend.handle, Close::Abort);
        self.records.counters.backend_losses += 1;
        if let Some(relay) = backend.relay.take() {
            self.relay_lost(turn, relay);
        }
        if lane {
            self.lane_lost(turn, &mut backend);
        }
        if let Some(client) = backend.client {
            if let Some((command, permit)) = backend.take_replay() {
                self.matching
                    .hold_permit(&mut self.records, client, permit, turn.now);
                self.records.take_back(client, command);
                backend.due |= Due::COMMAND;
            }
            let again = backend
                .outstanding_list()
                .and_then(|read| read.again().take());
            if let (Some(text), Some(client)) = (again, self.records.clients.get_mut(client)) {
                client.capture.conditions.repeat_was_lost(text);
            }
            let sent = backend.exchanges.front_mut();
            let first = self
                .records
                .clients
                .get(client)
                .map_or(1, |of| of.answer_begins);
            let sequence_id = sent.map_or(Some(first), |sent| next_sequence_id(sent, first));
            self.lose_backend(
                turn,
                client,
                backend.due.contains(Due::COMMAND),
                sequence_id,
            );
        }
        self.records.slot_returned(turn);
        for exchange in backend.exchanges {
            match exchange.purpose {
                Purpose::Own(Step::Kill(victim)) => self.kill_answered(turn, victim),
                // It may have run all the same.
                Purpose::Command(command) if command.traits.contains(Traits::DEFINES_STORED) => {
                    self.records.forget_schemas(
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
        let Some(client) = self.records.clients.get_mut(key) else {
            return;
        };
        client.backend = None;
        client.capture.conditions.lose();
        if unsent && !client.holds_backend() {
            let id = client.key;
            self.records.wake(id);
            return self
                .records
                .clients
                .move_to(key, State::Waiting(id), turn.now);
        }
        let state = self.records.clients.state(key);
        let active = matches!(state, Some(State::Active | State::InLane));
        let Some(client) = self.records.clients.get(key) else {
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

    /// The command at the front of a waiting client's inbox was answered without being run.
    pub(crate) fn drop_waiting_command<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        self.drop_first_command(key);
        self.records.clients.move_to(key, State::Idle, turn.now);
        self.consume_inbox(turn, key);
    }

    /// Takes the command at the front of the inbox off it.
    pub(crate) fn drop_first_command(&mut self, key: Key) {
        self.forget_intent(key);
        self.matching.forget_lock_wait(key);
        drop(self.matching.take_permit(&mut self.records, key));
        let Some(client) = self.records.clients.get(key) else {
            return;
        };
        let first = self.records.front_len(key, &client.inbox);
        self.records.long.forget(key);
        let Some(client) = self.records.clients.get_mut(key) else {
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

    /// Ends the clients for which nothing runs.
    pub(crate) fn dismiss<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let waiting = self.records.waiting_states();
        for state in [State::Greeting, State::Idle]
            .into_iter()
            .chain(State::LOGINS)
            .chain(waiting)
        {
            while let Some(key) = self.records.clients.first(state) {
                self.records
                    .answer_err(turn, key, &ClientError::server_shutdown());
                self.close_client(turn, key, DisconnectReason::Drain);
            }
        }
    }

    /// The time for draining is up. Nobody should wait any more, but for those whose backend was
    /// lost before their command was sent.
    pub(crate) fn end_all<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        for state in self.records.waiting_states() {
            while let Some(key) = self.records.clients.first(state) {
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
            while let Some(key) = self.records.clients.first(state) {
                self.close_client(turn, key, DisconnectReason::Drain);
            }
        }
    }

    /// Nobody is left, and nobody will come: says farewell to the backends that have nothing to do.
    pub(crate) fn leave<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if self.records.clients.len() > 0 {
            return;
        }
        let Some(deadline) = self.draining else {
            return;
        };
        let deadline = deadline.min(turn.now + CLEANING_MAX);
        self.draining = Some(deadline);
        let late = turn.now >= deadline;
        let rests = |backend: &Backend| backend.login.is_none() && !backend.is_working();
        self.records
            .backends_that(|backend| rests(backend) || late && is_cleaned(backend))
            .into_iter()
            .for_each(|key| self.records.drop_backend(turn, key));
    }

    /// True once nothing is left to be done: what runs for nobody any more is not waited for.
    pub(crate) fn has_left(&self) -> bool {
        self.draining.is_some()
            && self.records.clients.len() == 0
            && self.records.backends_that(is_cleaned).is_empty()
    }

    /// The backend said whether the statement that is to be sent again names a view. If so, it is not sent, and its client
    /// is closed.
    pub(crate) fn learn_views<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        rows: Option<&TextResultSet>,
    ) {
        let Some(backend) = self.records.pool.get(key) else {
            return;
        };
        if !backend.due.contains(Due::COMMAND) {
            return;
        }
        let Some(client) = backend.client else {
            return;
        };
        if rows.and_then(|rows| rows.first(0)) != Some(b"0") {
            let error = ClientError::server_shutdown();
            return self.fail(turn, client, &error, DisconnectReason::BackendLost);
        }
        if let Some(client) = self.records.clients.get_mut(client) {
            client.retry = Retry::Resent;
        }
    }

    /// A client must take something before more of its answer is read: its backend is not listened to until then.
    pub(crate) fn stall<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, backend: Key, client: Key) {
        let handle = self.records.clients.get(client).map(|client| client.handle);
        let (Some(backend), Some(handle)) = (self.records.pool.get_mut(backend), handle) else {
            return;
        };
        backend.reading = Reading::Paused;
        turn.io.pause_receive(backend.handle);
        turn.io.notify_drained(handle);
        self.records.counters.answers_held += 1;
        if self.stalls.clients().any(|known| known == client) {
            return;
        }
        self.stalls.stalls.push(Stall {
            client,
            untaken: turn.io.untaken(handle),
            taken: None,
            since: turn.now,
            look_at: turn.now + LOOK_AT_STALLS,
        });
    }

    /// Looks at the clients that do not take their answers and are due. One that took something gets another
    /// `client_write_timeout`; one that took nothing in that time is closed.
    pub(crate) fn stalls_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let mut stuck = Vec::new();
        let due = |stall: &&mut Stall| turn.now >= stall.look_at;
        for stall in self.stalls.stalls.iter_mut().filter(due) {
            let Some(client) = self.records.clients.get(stall.client) else {
                continue;
            };
            stall.look(turn.io.untaken(client.handle), turn.now);
            if turn.now >= stall.since + self.records.settings.client_write_timeout {
                stuck.push(stall.client);
            }
        }
        for client in stuck {
            self.close_client(turn, client, DisconnectReason::WriteTimeout);
        }
    }

    /// A statement waits here or with another worker. If it has waited for long, backends that slow clients hold are set free.
    pub(crate) fn relieve_backends<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if self.stalls.is_empty() {
            return;
        }
        let ledger = &self.records.shared.ledger;
        let needs = (0..ledger.workers()).filter_map(|worker| ledger.need(worker));
        let mut waiters: Vec<Waiter> = needs.flat_map(|need| need.waiters()).collect();
        waiters.sort_unstable();
        waiters.retain(|waiter| turn.now.since(waiter.since) >= READ_WHOLE_AFTER);
        if !waiters.is_empty() {
            self.read_whole_answers(turn);
        }
        let may_close = self
            .stalls
            .closed
            .is_none_or(|at| turn.now >= at + CLOSE_EVERY);
        if !may_close {
            return;
        }
        let mut waiters = waiters.into_iter();
        // The slow clients of the oldest waiter may be its own account's, and those in the way of the next another's.
        while let Some(waiter) = waiters.next()
            && turn.now.since(waiter.since) >= CLOSE_AFTER
            && !self.close_slowest(turn, waiter)
        {}
    }

    /// Reads the answers of slow clients into memory, as far as that suffices, if their backends will be free then.
    fn read_whole_answers<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if turn.io.unsent_total() > self.records.memory_for_whole_answers() {
            return;
        }
        let keeps = |client: &Key| {
            let client = self.records.clients.get(*client);
            client.is_none_or(|client| client.holds_backend())
        };
        let clients = self.stalls.clients().filter(|client| !keeps(client));
        let backends: Vec<Key> = clients
            .filter_map(|key| self.records.answering(key))
            .collect();
        for key in backends {
            if let Some(backend) = self.records.pool.get_mut(key)
                && backend.reading == Reading::Paused
            {
                backend.reading = Reading::Whole;
                turn.io.resume_receive(backend.handle);
                self.records.counters.answers_read_whole += 1;
            }
        }
    }

    /// Closes the client that took least lately, of those whose accounts hold more than their share of the backends by
    /// taking so little. Accounts do not do so to themselves. False if there is none.
    fn close_slowest<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, waiter: Waiter) -> bool {
        let held = self.held_by_slow_clients();
        let beyond = |share: usize| {
            let slow = held.iter().filter(|&&(_, of)| of == share).count();
            self.records.shares[share].account != waiter.account
                && self.is_beyond_share(share, slow, waiter)
        };
        let candidates = held.iter().filter(|&&(_, share)| beyond(share));
        let slowest = candidates.min_by_key(|&&(at, _)| {
            let stall = &self.stalls.stalls[at];
            (stall.taken, stall.since)
        });
        let Some(&(at, share)) = slowest else {
            return false;
        };
        let client = self.stalls.stalls[at].client;
        let id = self.records.clients.get(client).map(|client| client.id);
        tracing::warn!(
            id,
            held = held.iter().filter(|&&(_, of)| of == share).count(),
            waited_ms = turn.now.since(waiter.since).as_us() / 1_000,
            "client closed: its account holds more than its share of the backend connections by taking \
             answers slowly, and another account waits"
        );
        self.stalls.closed = Some(turn.now);
        self.close_client(turn, client, DisconnectReason::SlowReader);
        true
    }

    /// The clients, by place, that hold a backend by taking little, as far as they were looked at, with the share of each.
    fn held_by_slow_clients(&self) -> Vec<(usize, usize)> {
        let is_paused = |key: Key| {
            let backend = self.records.pool.get(key);
            backend.is_some_and(|backend: &Backend| backend.reading == Reading::Paused)
        };
        let stalls = self.stalls.stalls.iter().enumerate();
        let held = stalls.filter_map(|(at, stall)| {
            stall.taken?;
            let id = self.records.clients.get(stall.client)?.key;
            let holds = self.records.answering(stall.client).is_some_and(is_paused);
            holds.then(|| (at, self.records.keys[id.0 as usize].share))
        });
        held.collect()
    }

    /// True if so many backends are more than the account's share, beside all accounts that wait.
    fn is_beyond_share(&self, share: usize, backends: usize, waiter: Waiter) -> bool {
        let share = &self.records.shares[share];
        let weight = u64::from(share.weight.max(1));
        let others = self
            .matching
            .turns
            .weights
            .max(u64::from(waiter.weight.max(1)));
        let weights = match share.has_waiters() {
            true => others.max(weight + u64::from(waiter.weight.max(1))),
            false => others + weight,
        };
        let slots = self.records.shared.ledger.claim(self.records.worker).owned as u64;
        backends as u64 * weights > slots * weight
    }
}

/// True for a backend that is logged in and runs no client's command.
fn is_cleaned(backend: &Backend) -> bool {
    let of_client = |purpose: &Purpose| matches!(purpose, Purpose::Command(_));
    let mut exchanges = backend.exchanges.iter();
    backend.login.is_none() && !exchanges.any(|exchange| of_client(&exchange.purpose))
}

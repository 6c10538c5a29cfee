//! After a panic: what was at hand ends, everything else is put in order and goes on.

use std::collections::HashSet;

use admission::Left;
use events::{Handle, Io};
use membership::Key;

use crate::desk::Engine;
use crate::endings::panics::AtHand;
use crate::record::backend::{Purpose, Reading, Step};
use crate::record::client::{Client, State as ClientState};
use crate::record::counters::DisconnectReason;
use crate::record::hold::Hold;
use crate::record::kill::KillOutcome;
use crate::record::owner::Owner;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Engine {
    /// Does `work` while bytes of a connection, or other parts of its record, are out of the record. Should that panic,
    /// they are lost, and the connection is closed.
    pub(crate) fn working_on<T>(&mut self, owner: Owner, work: impl FnOnce(&mut Self) -> T) -> T {
        self.at_work.push(owner);
        let done = work(self);
        self.at_work.pop();
        done
    }

    /// Closes these connections after a panic. Returns those that are left, if all records are in order again.
    pub(crate) fn recover_from_panic<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        suspects: &[Handle],
    ) -> Option<HashSet<Handle>> {
        let suspects: HashSet<Handle> = suspects.iter().copied().collect();
        match std::mem::take(&mut self.at_hand) {
            AtHand::Nobody => {}
            AtHand::Client(client) => self.end_client(turn, client),
            AtHand::Order(order) => {
                let (worker, asker) = order.asker;
                // If that worker has ended, so has whoever asked.
                let _ended = turn.io.post(worker, Mail::Killed(asker, KillOutcome::Lost));
            }
        }
        for owner in std::mem::take(&mut self.at_work) {
            match owner {
                Owner::Client(client) => self.end_client(turn, client),
                Owner::Backend(backend) => self.end_backend(turn, backend),
            }
        }
        for client in self
            .records
            .clients_that(|_, handle| suspects.contains(&handle))
        {
            self.end_client(turn, client);
        }
        for backend in self
            .records
            .backends_that(|backend| suspects.contains(&backend.handle))
        {
            self.end_backend(turn, backend);
        }
        self.put_in_order();
        // What does not hold together now was worked on, too.
        for client in self
            .records
            .clients_that(|client, _| !self.is_client_whole(client))
        {
            self.end_client(turn, client);
        }
        for backend in self.backends_in_pieces() {
            self.end_backend(turn, backend);
        }
        self.put_in_order();
        let in_order = self.check_invariants();
        if let Err(what) = &in_order {
            tracing::error!(
                worker = self.records.worker,
                what,
                "the records are not in order after a panic"
            );
            return None;
        }
        for id in self.records.pool.key_ids() {
            self.send_kills(turn, id);
        }
        self.serve_all(turn);
        self.go_on(turn);
        Some(self.records.handles())
    }

    /// The other clients and backends go on: the event that panicked may have been the one to see to that.
    fn go_on<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        // A connection that nobody reads from would be silent for good, whatever its record says: the panic may have come
        // between the two. The next bytes hold back the backends whose clients do not keep up.
        for place in 0..self.records.clients.places() {
            if let Some((_, client)) = self.records.clients.at(place)
                && client.paused.is_empty()
            {
                turn.io.resume_receive(client.handle);
            }
        }
        for backend in self.records.backends_that(|_| true) {
            if let Some(backend) = self.records.pool.get_mut(backend) {
                if backend.reading == Reading::Paused {
                    backend.reading = Reading::Bounded;
                }
                turn.io.resume_receive(backend.handle);
            }
        }
        // Commands of clients that had become free, and were not looked at yet.
        for state in [ClientState::Idle, ClientState::Held] {
            let behind = |client: &Client| !client.inbox.is_empty() || !client.paused.is_empty();
            let clients = self.records.clients.iter(state);
            let clients = clients.filter(|(_, client)| behind(client));
            for client in clients.map(|(key, _)| key).collect::<Vec<_>>() {
                self.consume_inbox(turn, client);
            }
        }
        if self.draining.is_some() {
            self.dismiss(turn);
        }
        self.end_turn(turn);
    }

    /// Does what is done once per turn, after all of its events.
    pub(crate) fn end_turn<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if !self.started {
            self.started = true;
            self.matching.probe(&mut self.records, turn);
        }
        self.tell_locked_out(turn);
        self.tell_lock_turns(turn);
        self.open_gate(turn);
        self.admit_waiters(turn);
        self.hand_memory_out(turn);
        self.publish_need(turn);
        self.leave(turn);
        self.matching.doze(&mut self.records);
    }

    /// Closes a client, and the backend that is attached to it.
    fn end_client<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) {
        let attached = self.records.clients.get_mut(client);
        let attached = attached.and_then(|record| record.backend.take());
        if let Some(backend) = attached {
            if let Some(record) = self.records.pool.get_mut(backend) {
                record.client = None;
            }
            self.discard_backend(turn, backend);
        }
        self.close_client(turn, client, DisconnectReason::Defect);
    }

    /// Closes a backend, and the clients to which something of it may have been told half.
    fn end_backend<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(backend) = self.records.pool.get(key) else {
            return;
        };
        // Else it was never asked for, and nothing can be closed.
        let is_open = backend.handle != Handle::NONE;
        let told = backend
            .exchanges
            .front()
            .and_then(|exchange| match &exchange.purpose {
                Purpose::Command(command) => command.client,
                _ => None,
            });
        let decided = backend.relay.as_ref().map(|relay| relay.client);
        let clients = [backend.client, told, decided];
        if !is_open {
            drop(self.records.pool.remove(key));
        }
        for client in clients.into_iter().flatten() {
            self.end_client(turn, client);
        }
        self.discard_backend(turn, key);
    }

    /// True if a client's record agrees with its list, and something will happen for it if it waits.
    fn is_client_whole(&self, key: Key) -> bool {
        let (Some(client), Some(state)) = (
            self.records.clients.get(key),
            self.records.clients.state(key),
        ) else {
            return false;
        };
        let backend = client
            .backend
            .and_then(|backend| self.records.pool.get(backend));
        let forgotten = state == ClientState::Active
            && backend.is_some_and(|backend| !backend.is_working() && !backend.kill_outstanding);
        !forgotten && self.check_client(key, client, state).is_ok()
    }

    /// Backends whose records do not agree with their lists, or that wait for a KILL of which nobody knows.
    fn backends_in_pieces(&self) -> Vec<Key> {
        let all = (0..self.records.pool.places()).filter_map(|place| self.records.pool.at(place));
        let all =
            all.filter_map(|(key, backend)| Some((key, backend, self.records.pool.state(key)?)));
        let broken = all.filter(|&(key, backend, state)| {
            let is_killed = !backend.kill_outstanding || self.is_being_killed(key);
            let is_open = backend.handle != Handle::NONE;
            !is_open || !is_killed || self.records.check_backend(key, state).is_err()
        });
        broken.map(|(key, ..)| key).collect()
    }

    /// True if a KILL of what a backend runs is going to be sent, or answered.
    fn is_being_killed(&self, victim: Key) -> bool {
        let kills =
            |purpose: &Purpose| matches!(purpose, Purpose::Own(Step::Kill(of)) if *of == victim);
        let under_way = self.records.backends_that(|backend| backend.owes(kills));
        self.kills.contains(&victim) || !under_way.is_empty()
    }

    /// Makes anew what is counted or listed beside the records of clients and backends.
    fn put_in_order(&mut self) {
        self.records.pool.recount();
        self.forget_strangers();
        while self.records.counted > self.records.clients.len() {
            self.records.client_gone();
        }
        for state in &mut self.records.keys {
            (state.sessions, state.queued) = (0, 0);
        }
        for place in 0..self.records.clients.places() {
            if let Some((key, client)) = self.records.clients.at(place) {
                self.records.ids.insert(client.id, key);
                if client.seat.is_some() {
                    self.records.keys[client.key.0 as usize].sessions += 1;
                }
            }
        }
        for hold in self.matching.holds.values() {
            if let Hold::Queued(_, id) = hold {
                self.records.keys[id.0 as usize].queued += 1;
            }
        }
        self.records.awake.clear();
        for id in self.records.pool.key_ids() {
            self.records.keys[id.0 as usize].awake = true;
            self.records.awake.push(id);
        }
    }

    /// Forgets whatever is remembered of clients that are gone.
    fn forget_strangers(&mut self) {
        let clients = &self.records.clients;
        let is_known = |key: &Key| clients.get(*key).is_some();
        self.stalls.forget_strangers(is_known);
        self.intents.retain(|key, _| is_known(key));
        self.kept.retain(|key, _| is_known(key));
        self.records.ids.retain(|_, key| is_known(key));
        let gone = self.matching.holds.extract_if(|key, _| !is_known(key));
        for (_, hold) in gone {
            if let Hold::Queued(place, _) = hold {
                self.matching.scheduler.leave(place, Left::Killed);
            }
        }
        self.matching.lock_waits.forget_strangers(is_known);
        for stranger in self.records.buffering.strangers(is_known) {
            self.records.forget_memory(stranger);
        }
    }
}

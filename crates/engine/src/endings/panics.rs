//! What follows when an event has panicked: the connections that it concerned are closed, with what is tied to them, and
//! the records are put in order again.
//!
//! An event that panics stops between any two steps. So nothing is believed of the records that it worked on: they are
//! those of the connections that it was about or has written to, of the other end of each, and of whoever's record does not hold
//! together afterwards. What is counted or listed beside the records is made anew from them. See
//! docs/decisions/panics.md.

use std::collections::HashSet;

use admission::Left;
use events::{Handle, Io};
use membership::Key;

use crate::backend::Step;
use crate::backend::{Purpose, Reading};
use crate::client::{Client, State as ClientState};
use crate::endings::kill::{KillOrder, KillOutcome};
use crate::owner::Owner;
use crate::permits::Hold;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// Whom a letter concerns. Should dealing with it panic, nobody else would ever tell them.
#[derive(Clone, Copy, Default)]
pub(crate) enum AtHand {
    #[default]
    Nobody,
    /// A client of this worker, which waits for it.
    Client(Key),
    /// Whoever has given this order.
    Order(KillOrder),
}

impl AtHand {
    pub(crate) fn of(mail: &Mail) -> Self {
        match mail {
            Mail::Kill(order) => Self::Order(*order),
            Mail::Killed(client, _)
            | Mail::LimitsKept(client, _)
            | Mail::CommandLost(client)
            | Mail::Memory(client, _)
            | Mail::PasswordChecked(client, _)
            | Mail::PublicKey(client) => Self::Client(*client),
            Mail::CommandPrepared(prepared) => Self::Client(prepared.client()),
            Mail::LockTurn(called) => Self::Client(called.client),
            _ => Self::Nobody,
        }
    }
}

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
                let (worker, asker) = order.asker();
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
        for client in self.clients_that(|_, handle| suspects.contains(&handle)) {
            self.end_client(turn, client);
        }
        for backend in self.backends_that(|backend| suspects.contains(&backend.handle)) {
            self.end_backend(turn, backend);
        }
        self.put_in_order();
        // What does not hold together now was worked on, too.
        for client in self.clients_that(|client, _| !self.is_client_whole(client)) {
            self.end_client(turn, client);
        }
        for backend in self.backends_in_pieces() {
            self.end_backend(turn, backend);
        }
        self.put_in_order();
        let in_order = self.check_invariants();
        if let Err(what) = &in_order {
            tracing::error!(
                worker = self.worker,
                what,
                "the records are not in order after a panic"
            );
            return None;
        }
        for id in self.pool.key_ids() {
            self.send_kills(turn, id);
        }
        self.serve_all(turn);
        self.go_on(turn);
        Some(self.handles())
    }

    /// Those who are left go on: the event may have meant to see to it.
    fn go_on<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        // A connection that nobody reads from would be silent for good, whatever its record says: the panic may have come
        // between the two. The next bytes hold back the backends whose clients do not keep up.
        for place in 0..self.clients.places() {
            if let Some((_, client)) = self.clients.at(place)
                && client.paused.is_empty()
            {
                turn.io.resume_receive(client.handle);
            }
        }
        for backend in self.backends_that(|_| true) {
            if let Some(backend) = self.pool.get_mut(backend) {
                if backend.reading == Reading::Paused {
                    backend.reading = Reading::Bounded;
                }
                turn.io.resume_receive(backend.handle);
            }
        }
        // Commands of clients that had become free, and were not looked at yet.
        for state in [ClientState::Idle, ClientState::Held] {
            let behind = |client: &Client| !client.inbox.is_empty() || !client.paused.is_empty();
            let clients = self.clients.iter(state);
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

    /// What is done when all events of a turn were told.
    pub(crate) fn end_turn<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if !self.started {
            self.started = true;
            self.probe(turn);
        }
        self.tell_locked_out(turn);
        self.tell_lock_turns(turn);
        self.open_gate(turn);
        self.admit_waiters(turn);
        self.hand_memory_out(turn);
        self.publish_need(turn);
        self.leave(turn);
        self.doze();
    }

    /// The connections that there is a record of.
    fn handles(&self) -> HashSet<Handle> {
        let clients = (0..self.clients.places()).filter_map(|place| self.clients.at(place));
        let backends = (0..self.pool.places()).filter_map(|place| self.pool.at(place));
        let clients = clients.map(|(_, client)| client.handle);
        clients
            .chain(backends.map(|(_, backend)| backend.handle))
            .collect()
    }

    fn clients_that(&self, wanted: impl Fn(Key, Handle) -> bool) -> Vec<Key> {
        let all = (0..self.clients.places()).filter_map(|place| self.clients.at(place));
        let found = all.filter(|&(key, client)| wanted(key, client.handle));
        found.map(|(key, _)| key).collect()
    }

    /// Closes a client, and the backend that is attached to it.
    fn end_client<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) {
        let attached = self.clients.get_mut(client);
        let attached = attached.and_then(|record| record.backend.take());
        if let Some(backend) = attached {
            if let Some(record) = self.pool.get_mut(backend) {
                record.client = None;
            }
            self.discard_backend(turn, backend);
        }
        self.close_client(turn, client, DisconnectReason::Defect);
    }

    /// Closes a backend, and the clients to which something of it may have been told half.
    fn end_backend<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(backend) = self.pool.get(key) else {
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
        let decided = backend.relay.as_ref().map(|relay| relay.client());
        let clients = [backend.client, told, decided];
        if !is_open {
            drop(self.pool.remove(key));
        }
        for client in clients.into_iter().flatten() {
            self.end_client(turn, client);
        }
        self.discard_backend(turn, key);
    }

    /// True if a client's record agrees with its list, and something will happen for it if it waits.
    fn is_client_whole(&self, key: Key) -> bool {
        let (Some(client), Some(state)) = (self.clients.get(key), self.clients.state(key)) else {
            return false;
        };
        let backend = client.backend.and_then(|backend| self.pool.get(backend));
        let forgotten = state == ClientState::Active
            && backend.is_some_and(|backend| !backend.is_working() && !backend.kill_outstanding);
        !forgotten && self.check_client(key, client, state).is_ok()
    }

    /// Backends whose records do not agree with their lists, or that wait for a KILL of which nobody knows.
    fn backends_in_pieces(&self) -> Vec<Key> {
        let all = (0..self.pool.places()).filter_map(|place| self.pool.at(place));
        let all = all.filter_map(|(key, backend)| Some((key, backend, self.pool.state(key)?)));
        let broken = all.filter(|&(key, backend, state)| {
            let is_killed = !backend.kill_outstanding || self.is_being_killed(key);
            let is_open = backend.handle != Handle::NONE;
            !is_open || !is_killed || self.check_backend(key, state).is_err()
        });
        broken.map(|(key, ..)| key).collect()
    }

    /// True if a KILL of what a backend runs is going to be sent, or answered.
    fn is_being_killed(&self, victim: Key) -> bool {
        let kills =
            |purpose: &Purpose| matches!(purpose, Purpose::Own(Step::Kill(of)) if *of == victim);
        let under_way = self.backends_that(|backend| backend.owes(kills));
        self.kills.contains(&victim) || !under_way.is_empty()
    }

    /// Makes anew what is counted or listed beside the records of clients and backends.
    fn put_in_order(&mut self) {
        self.pool.recount();
        self.forget_strangers();
        while self.counted > self.clients.len() {
            self.client_gone();
        }
        for state in &mut self.keys {
            (state.sessions, state.queued) = (0, 0);
        }
        for place in 0..self.clients.places() {
            if let Some((key, client)) = self.clients.at(place) {
                self.ids.insert(client.id, key);
                if client.seat.is_some() {
                    self.keys[client.key.0 as usize].sessions += 1;
                }
            }
        }
        for hold in self.holds.values() {
            if let Hold::Queued(_, id) = hold {
                self.keys[id.0 as usize].queued += 1;
            }
        }
        self.awake.clear();
        for id in self.pool.key_ids() {
            self.keys[id.0 as usize].awake = true;
            self.awake.push(id);
        }
    }

    /// Forgets whatever is remembered of clients that are gone.
    fn forget_strangers(&mut self) {
        let clients = &self.clients;
        let is_known = |key: &Key| clients.get(*key).is_some();
        self.stalls.forget_strangers(is_known);
        self.intents.retain(|key, _| is_known(key));
        self.kept.retain(|key, _| is_known(key));
        self.ids.retain(|_, key| is_known(key));
        let gone = self.holds.extract_if(|key, _| !is_known(key));
        for (_, hold) in gone {
            if let Hold::Queued(place, _) = hold {
                self.scheduler.leave(place, Left::Killed);
            }
        }
        self.lock_waits.forget_strangers(is_known);
        for stranger in self.buffering.strangers(is_known) {
            self.forget_memory(stranger);
        }
    }
}

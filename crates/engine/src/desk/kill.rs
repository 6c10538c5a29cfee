//! KILL: by clients, by administrators, of statements that take too long, and of what clients left behind.

use carry::ending::Ending;
use carry::errors::ClientError;
use carry::packet::{Packet, Taken};
use carry::victim::Victim;
use events::{Io, Span, Timestamp};
use membership::Key;
use pool::{KeyId, State as BackendState};
use wire::{ErrPacket, OkPacket, code};

use crate::desk::Engine;
use crate::endings::kill_again::{Surviving, look_after};
use crate::endings::orphans::Orphan;
use crate::record::backend::{Due, Step};
use crate::record::client::State;
use crate::record::counters::DisconnectReason;
use crate::record::kill::{KillOrder, KillOutcome};
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// How long the statement of a client that hung up may still run before it is killed: most are done by then.
const FINISHES_BY_ITSELF: Span = Span::from_ms(10);

/// How long after a KILL its victim may still run before its connection is closed.
const ENDS_WHEN_KILLED: Span = Span::from_secs(10);

impl Engine {
    /// Deals with a KILL of one of our clients. Others are commands like any other, for the server.
    pub(crate) fn kill_command<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        packet: Packet<'_>,
    ) -> Taken {
        let Some(victim) = self.records.kill_named(client, packet) else {
            return self.attach_and_send(turn, client, packet);
        };
        self.order_kill(turn, client, victim);
        Taken::Now
    }

    /// Has one of our clients ended for another.
    pub(crate) fn order_kill<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        victim: Victim,
    ) {
        let Some(record) = self.records.clients.get(client) else {
            return;
        };
        if victim.id == record.id {
            return self.kill_oneself(turn, client, victim);
        }
        let kills_others = self.records.keys[record.key.0 as usize].kills_others;
        let order = KillOrder {
            victim,
            account: (!kills_others).then_some(record.account),
            asker: (self.records.worker, client),
        };
        self.records.counters.kills += 1;
        self.records
            .clients
            .move_to(client, State::Asking, turn.now);
        let worker = self.records.shared.worker_of(victim.id);
        if worker == self.records.worker {
            let outcome = self.kill(turn, order);
            self.kill_done(turn, client, outcome);
        } else if turn.io.post(worker, Mail::Kill(order)).is_err() {
            self.kill_done(turn, client, KillOutcome::NoSuchThread(victim.id));
        }
    }

    /// A client kills its own connection or its own statement, which is the KILL.
    fn kill_oneself<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key, victim: Victim) {
        self.records.counters.kills += 1;
        if victim.query {
            self.records
                .answer_err(turn, client, &ClientError::interrupted());
            return self.records.touch(client, turn.now);
        }
        let error = ClientError::killed(self.records.known.flavor());
        self.records.answer_err(turn, client, &error);
        self.close_client(turn, client, DisconnectReason::Killed);
    }

    /// Carries out an order for a client of this worker.
    pub(crate) fn kill<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        order: KillOrder,
    ) -> KillOutcome {
        self.end(turn, order.victim, order.account)
    }

    /// Ends a client of this worker, or its statement; `account`: of whoever asks, `None` if it may
    /// end anybody's.
    pub(crate) fn end<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        victim: Victim,
        account: Option<u32>,
    ) -> KillOutcome {
        let Some(&key) = self.records.ids.get(&victim.id) else {
            return self.end_left(turn, victim, account);
        };
        let Some(client) = self.records.clients.get(key) else {
            return KillOutcome::NoSuchThread(victim.id);
        };
        // Whoever is still logging in is nobody's yet, and runs no statement.
        let logs_in = client.login.is_some();
        let owner = account.is_none_or(|account| account == client.account);
        if logs_in || !owner {
            return KillOutcome::NotOwner(victim.id);
        }
        let state = self.records.clients.state(key);
        let waits = state.is_some_and(State::waits);
        if let (Some(State::InLane), true) = (state, victim.query)
            && let Some(lane) = self.records.place_in_lane(key)
        {
            self.kill_in_lane(turn, key, lane);
            return KillOutcome::Done;
        }
        let Some(client) = self.records.clients.get(key) else {
            return KillOutcome::NoSuchThread(victim.id);
        };
        if let Some(backend) = client.backend {
            self.interrupt(turn, backend);
        }
        if !victim.query {
            self.close_client(turn, key, DisconnectReason::Killed);
        } else if waits && self.kill_lock_wait(turn, key) {
            // It was answered.
        } else if waits {
            self.matching
                .leave_queue(&mut self.records, key, DisconnectReason::Killed);
            self.records
                .answer_err(turn, key, &ClientError::interrupted());
            self.drop_waiting_command(turn, key);
        } else if self.records.takes_back_command(key) || self.records.has_yet_to_begin(key) {
            self.records
                .answer_err(turn, key, &ClientError::interrupted());
            self.drop_first_command(key);
        }
        KillOutcome::Done
    }

    /// Ends the statement of a client that has hung up, if it still runs; `account`: as for [`Self::end`].
    fn end_left<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        victim: Victim,
        account: Option<u32>,
    ) -> KillOutcome {
        let mut backends =
            (0..self.records.pool.places()).filter_map(|place| self.records.pool.at(place));
        let left = backends.find(|(_, backend)| backend.left_by == Some(victim.id));
        let Some((key, id)) = left.and_then(|(key, _)| Some((key, self.records.pool.key_of(key)?)))
        else {
            return KillOutcome::NoSuchThread(victim.id);
        };
        if account.is_some_and(|account| account != self.records.pool.key(id).account) {
            return KillOutcome::NotOwner(victim.id);
        }
        self.interrupt(turn, key);
        KillOutcome::Done
    }

    /// The outcome of an order is known: whoever asked is told.
    pub(crate) fn kill_done<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        asker: Key,
        outcome: KillOutcome,
    ) {
        if outcome == KillOutcome::Lost {
            return self.close_client(turn, asker, DisconnectReason::Defect);
        }
        if outcome == KillOutcome::Done {
            self.records.counts_rows(asker, 0);
        }
        // It may have hung up, or have killed itself.
        let Some(client) = self.records.clients.get(asker) else {
            return;
        };
        let error = match outcome {
            KillOutcome::Done | KillOutcome::Lost => None,
            KillOutcome::NoSuchThread(id) => Some(ClientError::no_such_thread(id)),
            KillOutcome::NotOwner(id) => Some(ClientError::not_owner(id)),
        };
        match error {
            Some(error) => self.records.answer_err(turn, asker, &error),
            None => {
                let ok = OkPacket {
                    status: client.status,
                    ..OkPacket::default()
                };
                ok.encode(turn.io.outbox(client.handle), client.answer_begins, 0x00);
            }
        }
        self.asked(turn, asker);
    }

    /// What a client asked somebody else for has come: its session goes on.
    pub(crate) fn asked<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, asker: Key) {
        let next = match self
            .records
            .clients
            .get(asker)
            .and_then(|client| client.backend)
        {
            Some(_) => State::Held,
            None => State::Idle,
        };
        self.records.clients.move_to(asker, next, turn.now);
        self.consume_inbox(turn, asker);
    }

    /// Has the server end what a backend runs.
    pub(crate) fn interrupt<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, victim: Key) {
        let id = self.records.pool.key_of(victim);
        let Some(backend) = self.records.pool.get_mut(victim) else {
            return;
        };
        if backend.kill_outstanding || !backend.may_be_ended() {
            return;
        }
        backend.kill_outstanding = true;
        self.kills.push_back(victim);
        if let Some(id) = id {
            self.send_kills(turn, id);
        }
    }

    /// True if a backend on which nothing is under way must wait for the answer to a KILL. One that
    /// was not sent has nothing to end any more and is forgotten.
    pub(crate) fn awaits_kill(&mut self, key: Key) -> bool {
        if !self.records.has_kill_outstanding(key) {
            return false;
        }
        let Some(place) = self.kills.iter().position(|&victim| victim == key) else {
            return true;
        };
        self.kills.remove(place);
        if let Some(backend) = self.records.pool.get_mut(key) {
            backend.kill_outstanding = false;
        }
        false
    }

    /// Sends the next KILL of a key, if its connection for that is free; opens it if there is none.
    pub(crate) fn send_kills<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        // Victims that are gone need nobody to end them.
        self.kills
            .retain(|&key| self.records.pool.get(key).is_some());
        let of_key = |key: &&Key| self.records.pool.key_of(**key) == Some(id);
        if !self.kills.iter().any(|key| of_key(&key)) {
            return;
        }
        let killer = self.records.pool.first(id, BackendState::Reserved);
        match killer.and_then(|killer| self.records.pool.get(killer)) {
            Some(record) if record.login.is_some() || record.is_working() => return,
            None if self.records.opens_reserved(id) => return self.records.open_reserved(turn, id),
            _ => {}
        }
        let mut victims = self.kills.iter();
        let Some(place) = victims.position(|key| of_key(&key) && self.records.runs_command(*key))
        else {
            return;
        };
        let Some(victim) = self.kills.remove(place) else {
            return;
        };
        let Some(killer) = killer else {
            if !self.records.kill_from_idle(turn, id, victim) {
                self.records.counters.kill_errors += 1;
                self.kill_answered(turn, victim);
            }
            return;
        };
        let Some(target) = self
            .records
            .pool
            .get(victim)
            .map(|backend| backend.connection_id)
        else {
            return;
        };
        self.records
            .pool
            .move_to(killer, BackendState::Reserved, turn.now);
        if let Some(record) = self.records.pool.get_mut(killer) {
            let text = format!("KILL QUERY {target}");
            record.put_query(turn.io.outbox(record.handle), text.as_bytes());
            record.expect(Step::Kill(victim));
        }
    }

    /// The server has dealt with a KILL that went over this connection.
    pub(crate) fn kill_told<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        victim: Key,
        ending: &Ending,
    ) {
        self.records.counters.kill_errors += u64::from(is_refusal(ending));
        self.kill_answered(turn, victim);
        let id = self.records.pool.key_of(key);
        id.into_iter().for_each(|id| self.send_kills(turn, id));
        if self.records.pool.state(key) != Some(BackendState::Reserved) {
            self.goes_on(turn, key);
        }
    }

    /// The server has dealt with a KILL. It may have come after its victim's statement and hit the
    /// next one: a COM_PING takes that.
    pub(crate) fn kill_answered<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, victim: Key) {
        let Some(backend) = self.records.pool.get_mut(victim) else {
            return;
        };
        backend.kill_outstanding = false;
        backend.due |= Due::PING;
        if !backend.is_working() {
            self.settle(turn, victim);
        } else if backend.may_be_ended() {
            self.survives(victim, turn.now);
        }
    }

    /// No connection for KILL can be had: what was to be ended goes on.
    pub(crate) fn give_up_kills<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        while let Some(place) = self
            .kills
            .iter()
            .position(|&key| self.records.pool.key_of(key) == Some(id))
        {
            if let Some(victim) = self.kills.remove(place) {
                self.records.counters.kill_errors += 1;
                self.kill_answered(turn, victim);
            }
        }
    }

    /// Gives up a connection for KILL that does not come about, or that nobody needs.
    pub(crate) fn reserved_is_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        if self.records.reserved_due(id).is_none_or(|at| turn.now < at) {
            return;
        }
        let Some(key) = self.records.pool.first(id, BackendState::Reserved) else {
            return;
        };
        let Some(backend) = self.records.pool.get(key) else {
            return;
        };
        if backend.login.is_some() {
            self.give_up_connect(turn, key, "no login within connect_timeout".to_owned());
        } else if backend.is_working() {
            self.backend_broken(turn, key);
        } else {
            self.records.drop_backend(turn, key);
        }
    }

    /// The server has dealt with a KILL, and its victim runs.
    fn survives(&mut self, key: Key, now: Timestamp) {
        let Some(backend) = self.records.pool.get_mut(key) else {
            return;
        };
        let Some(wait) = look_after(backend.kills) else {
            return;
        };
        backend.kills += 1;
        self.surviving.retain(|surviving| surviving.backend != key);
        self.surviving.push(Surviving {
            backend: key,
            at: now + wait,
        });
    }

    /// When a backend is to be looked at that survived a KILL.
    pub(crate) fn surviving_due(&self) -> Option<Timestamp> {
        self.surviving.iter().map(|surviving| surviving.at).min()
    }

    /// Kills once more the statements that a KILL has not ended.
    pub(crate) fn end_surviving<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let now = turn.now;
        let due = |surviving: &Surviving| now >= surviving.at;
        while let Some(place) = self.surviving.iter().position(due) {
            let key = self.surviving.swap_remove(place).backend;
            if self
                .records
                .pool
                .get(key)
                .is_some_and(|backend| backend.kills > 0)
            {
                self.interrupt(turn, key);
            }
        }
    }

    /// The client of this backend hung up.
    pub(crate) fn orphan(&mut self, key: Key, now: Timestamp) {
        let policy = self.records.settings.on_disconnect;
        let Some(backend) = self.records.pool.get_mut(key) else {
            return;
        };
        if backend.is_to_be_ended(policy) {
            backend.orphaned = Some(now);
            self.orphans.push_back(Orphan {
                backend: key,
                since: now,
                at: now + FINISHES_BY_ITSELF,
            });
        }
    }

    /// When the next orphan is due.
    pub(crate) fn orphan_due(&self) -> Option<Timestamp> {
        let fronts = [self.orphans.front(), self.killed_orphans.front()];
        fronts.into_iter().flatten().map(|orphan| orphan.at).min()
    }

    /// Ends the orphans that did not finish by themselves, and then those that no KILL ends.
    pub(crate) fn orphans_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let now = turn.now;
        let due = |orphan: &&Orphan| now >= orphan.at;
        while self.orphans.front().filter(due).is_some() {
            let orphan = self.orphans.pop_front();
            if let Some(orphan) = orphan.filter(|orphan| self.records.is_orphan(orphan)) {
                self.records.counters.orphans_killed += 1;
                self.interrupt(turn, orphan.backend);
                self.killed_orphans.push_back(Orphan {
                    at: turn.now + ENDS_WHEN_KILLED,
                    ..orphan
                });
            }
        }
        while self.killed_orphans.front().filter(due).is_some() {
            let orphan = self.killed_orphans.pop_front();
            if let Some(orphan) = orphan.filter(|orphan| self.records.is_orphan(orphan)) {
                tracing::warn!("a statement goes on although it was killed; connection closed");
                self.backend_broken(turn, orphan.backend);
            }
        }
    }
}

/// True if the server has refused a KILL although there was something to end.
fn is_refusal(ending: &Ending) -> bool {
    let Ending::Err(error) = ending else {
        return false;
    };
    ErrPacket::parse(error).is_ok_and(|error| error.code != code::NO_SUCH_THREAD)
}

//! Permits of statements: a command that runs a statement asks the scheduler before it looks for a
//! backend, and waits if its account has as many as it may (rules 19 and 20).
//!
//! Owns what a client holds between its arrival and the sending of its command: a place in the queue,
//! or a permit; and whether there is a backend for one more. From then on the permit is beside the command,
//! and a transaction's is with its backend. Who may run and who is next is decided by `admission`.

mod grants;
pub(crate) mod limits;
pub(crate) mod overtime;
mod seats;

use admission::{Arrival, Capacity, Decision, Left, Needs, Permit, Place, Rejection, Step, Why};
use events::{Io, Span, Timestamp};
use membership::Key;
use pool::{KeyId, Pool, State as BackendState};
use session::statement::{Kind, Statement, Traits};
use wire::ServerStatus;

use crate::backend::busy::Busy;
use crate::backend::shares::Share;
use crate::backend::{Backend, ClientCommand, Due, PoolKey};
use crate::client::{Client, State};
use crate::clients::Clients;
use crate::commands::{Packet, Taken};
use crate::errors::ClientError;
use crate::permits::overtime::Allowance;
use crate::report::counters::DisconnectReason;
use crate::{Engine, KeyState, Mail, Turn};

/// What a client holds whose statement has not been sent.
#[derive(Debug)]
pub(crate) enum Hold {
    /// A place in the queue for permits, among those who can use backends of the key.
    Queued(Place, KeyId),
    /// Its permit, and when it came. It waits for a backend, or for what must be restored first.
    Admitted(Permit, Timestamp),
}

impl Engine {
    /// Asks whether a statement of a client without a backend may run. `None` if it may; else what became
    /// of the command.
    pub(crate) fn ask_permit<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> Option<Taken> {
        let client = self.clients.get(key)?;
        let seat = client.seat.as_ref()?;
        let id = client.key;
        // Whoever needs no permit must not keep those from the backends who wait for one and for them.
        let alone = self.keys[id.0 as usize].queued == 0;
        if !packet.is_statement() || (alone && self.scheduler.pass(seat)) {
            return None;
        }
        let backends = Backends {
            clients: &self.clients,
            pool: &self.pool,
            busy: &self.busy,
            keys: &self.keys,
            shares: &self.shares,
        };
        let arrival = Arrival {
            who: key,
            needs: needs(client, statement),
            group: id.0,
            has_backend: backends.has_room(id),
            time_limit: client.time_limit(packet),
        };
        match self.scheduler.arrive(seat, arrival, turn.now) {
            Decision::Admit(permit) => {
                self.hold_permit(key, permit, turn.now);
                None
            }
            Decision::Queue(place) => {
                self.holds.insert(key, Hold::Queued(place, id));
                self.keys[id.0 as usize].queued += 1;
                self.wake(id);
                self.counters.queued += 1;
                self.clients.move_to(key, State::Queued, turn.now);
                Some(Taken::Later)
            }
            Decision::Reject(rejection) => {
                self.forget_lock_wait(key);
                self.answer_err(turn, key, &ClientError::rejected(&rejection));
                self.touch(key, turn.now);
                Some(Taken::Now)
            }
        }
    }

    /// A session that has its backend never waits; its statements are counted all the same.
    pub(crate) fn force_permit<I: Io<Mail>>(
        &mut self,
        turn: &Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) {
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let Some(seat) = &client.seat else { return };
        if !packet.is_statement() || self.scheduler.pass(seat) {
            return;
        }
        let permit = self.scheduler.force(seat, needs(client, statement));
        self.hold_permit(key, permit, turn.now);
    }

    /// Keeps a client's permit until its command, which came at `arrived`, is sent.
    pub(crate) fn hold_permit(&mut self, key: Key, permit: Permit, arrived: Timestamp) {
        let timed = self.may_run_until(key, Kind::Select, arrived).is_some();
        if self.clients.get(key).is_none() || (permit.is_none() && !timed) {
            return;
        }
        let before = self.holds.insert(key, Hold::Admitted(permit, arrived));
        debug_assert!(
            !matches!(before, Some(Hold::Admitted(..))),
            "two permits for one statement"
        );
    }

    /// What a command is allowed that is sent now.
    pub(crate) fn take_allowance(&mut self, key: Key, kind: Kind) -> Allowance {
        let Some((permit, arrived)) = self.take_hold(key) else {
            return Allowance::NONE;
        };
        let until = self.may_run_until(key, kind, arrived);
        self.watch_overtime(until);
        Allowance { permit, until }
    }

    /// The permit of a command that will not be sent.
    pub(crate) fn take_permit(&mut self, key: Key) -> Permit {
        self.take_hold(key)
            .map_or(Permit::NONE, |(permit, _)| permit)
    }

    fn take_hold(&mut self, key: Key) -> Option<(Permit, Timestamp)> {
        if self.holds.is_empty() {
            return None;
        }
        if let Some(place) = self.take_place(key) {
            self.scheduler.leave(place, Left::Killed);
            return None;
        }
        match self.holds.remove(&key)? {
            Hold::Admitted(permit, arrived) => Some((permit, arrived)),
            Hold::Queued(..) => None,
        }
    }

    /// A client does not wait for its permit any more.
    fn take_place(&mut self, key: Key) -> Option<Place> {
        let &Hold::Queued(place, KeyId(id)) = self.holds.get(&key)? else {
            return None;
        };
        self.holds.remove(&key);
        self.keys[id as usize].queued -= 1;
        Some(place)
    }

    /// The clients whose statements wait for permits to use backends of `id`. Looks at all who wait.
    pub(crate) fn queued_for(&self, id: KeyId) -> Vec<Key> {
        let queued = |hold: &Hold| matches!(hold, Hold::Queued(_, of) if *of == id);
        let holds = self.holds.iter().filter(|(_, hold)| queued(hold));
        holds.map(|(key, _)| *key).collect()
    }

    /// A client goes, or is told that its statement was ended: it never runs.
    pub(crate) fn leave_queue(&mut self, key: Key, reason: DisconnectReason) {
        let why = match reason {
            DisconnectReason::Killed
            | DisconnectReason::Drain
            | DisconnectReason::BackendLost
            | DisconnectReason::LoginTimeout => Left::Killed,
            _ => Left::Abandoned,
        };
        self.forgo_permit(key, why);
    }

    /// A statement that waits, for whatever, will not run.
    pub(crate) fn forgo_permit(&mut self, key: Key, why: Left) {
        let waits = self.clients.state(key).is_some_and(State::waits);
        if let Some(place) = self.take_place(key) {
            self.scheduler.leave(place, why);
            return;
        }
        let permit = self.take_permit(key);
        let seat = self
            .clients
            .get(key)
            .and_then(|client| client.seat.as_ref());
        if let (Some(seat), true, false) = (seat, waits, permit.is_none()) {
            self.scheduler.forgo(seat, permit, why);
        }
    }

    /// Lets those through who may run now, and refuses those who have waited too long: at the end of each
    /// turn.
    pub(crate) fn admit_waiters<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while self.admit_some(turn) {}
        if self.scheduler.waiting() > 0 && self.gate_is_shut() {
            self.busy.refuse(turn.now);
        }
        while let Some(wake) = self.scheduler.next_wake() {
            // A worker that has ended has nobody who waits.
            let _ended = turn.io.post(wake.worker, Mail::Woken(wake.gate));
            self.scheduler.wake_posted();
        }
    }

    /// Lets as many through as there is room for, and then sends them: a lane is filled in one go. True if
    /// there may be room for more.
    fn admit_some<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) -> bool {
        let mut to_serve = std::mem::take(&mut self.to_serve);
        loop {
            let backends = Backends {
                clients: &self.clients,
                pool: &self.pool,
                busy: &self.busy,
                keys: &self.keys,
                shares: &self.shares,
            };
            let capacity = |group| match backends.has_room(KeyId(group)) {
                true => Capacity::Here,
                false => Capacity::Elsewhere,
            };
            match self.scheduler.next(turn.now, capacity) {
                None => break,
                Some(Step::Run {
                    who,
                    permit,
                    waited,
                }) => {
                    let id = self.admitted(turn, who, (permit, waited));
                    to_serve.extend(id.filter(|id| !to_serve.contains(id)));
                }
                Some(Step::Reject { who, rejection }) => self.rejected(turn, who, &rejection),
            }
        }
        let any = !to_serve.is_empty();
        for id in to_serve.drain(..) {
            self.serve(turn, id);
        }
        self.to_serve = to_serve;
        any
    }

    /// A statement that waited may run: it looks for a backend, as if it had come just now.
    fn admitted<I: Io<Mail>>(
        &mut self,
        turn: &Turn<'_, I>,
        key: Key,
        (permit, waited): (Permit, Span),
    ) -> Option<KeyId> {
        self.take_place(key);
        let arrived = turn.now.as_us().saturating_sub(waited.as_us());
        self.hold_permit(key, permit, Timestamp::from_us(arrived));
        let client = self.clients.get(key)?;
        let (id, digest) = (client.key, client.digest);
        let list = match client.may_ride() && self.is_fast(turn, digest) {
            true => State::ForLane(id),
            false => State::Waiting(id),
        };
        self.clients.move_to(key, list, turn.now);
        self.wake(id);
        Some(id)
    }

    /// Whoever of `id` has waited longest for a backend of its own and for nothing else.
    pub(crate) fn first_queued_in_need(&self, id: KeyId) -> Option<Key> {
        let first = self.scheduler.first_without_backend(id.0)?;
        let rides = self.clients.get(first).is_some_and(Client::may_ride) && self.has_lane(first);
        (!rides).then_some(first)
    }

    fn rejected<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, rejection: &Rejection) {
        self.take_place(key);
        let id = self.clients.get(key).map(|client| client.key);
        let error = match (rejection.why, id) {
            (Why::Timeout(waited), Some(id))
                if self.is_unreachable(id) || self.shared.standstill().is_some() =>
            {
                ClientError::queue_timeout(waited, &self.why_none_is_free(id))
            }
            _ => ClientError::rejected(rejection),
        };
        self.answer_err(turn, key, &error);
        self.drop_waiting_command(turn, key);
    }

    /// The last byte of an answer was read: the statement is over. Its transaction may not be.
    pub(crate) fn query_answered<I: Io<Mail>>(
        &mut self,
        turn: &Turn<'_, I>,
        backend: Key,
        command: &mut ClientCommand,
    ) {
        if command.permit.is_none() {
            return;
        }
        let mut permit = std::mem::replace(&mut command.permit, Permit::NONE);
        match self.pool.get_mut(backend) {
            Some(backend) if permit.holds_transaction() => {
                permit.end_query();
                backend.transaction = permit;
            }
            _ => self.scheduler.settle(permit, turn.now),
        }
    }

    /// Gives back what is counted for a transaction, if none is open on the backend any more.
    pub(crate) fn end_transaction<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, backend: Key) {
        let Some(backend) = self.pool.get_mut(backend) else {
            return;
        };
        let open = backend.status.contains(ServerStatus::IN_TRANS);
        if backend.transaction.is_none() || open || backend.due.contains(Due::PING) {
            return;
        }
        let permit = std::mem::replace(&mut backend.transaction, Permit::NONE);
        self.scheduler.settle(permit, turn.now);
    }

    /// What a client holds must agree with the list it is on.
    pub(crate) fn check_hold(&self, key: Key, state: State) -> Result<(), String> {
        let agrees = match self.holds.get(&key) {
            None => state != State::Queued,
            Some(Hold::Queued(..)) => state == State::Queued,
            Some(Hold::Admitted(..)) => {
                matches!(state, State::Waiting(_) | State::ForLane(_) | State::Active)
            }
        };
        match agrees {
            true => Ok(()),
            false => Err(format!("it holds {:?}", self.holds.get(&key))),
        }
    }

    /// The statements of each key that wait for permits are counted rightly.
    pub(crate) fn check_queued(&self) -> Result<(), String> {
        let mut counts = vec![0; self.keys.len()];
        for (key, hold) in &self.holds {
            if self.clients.get(*key).is_none() {
                return Err("a client that is gone holds a permit or a place".to_owned());
            }
            if let Hold::Queued(_, id) = hold {
                counts[id.0 as usize] += 1;
            }
        }
        let kept = self.keys.iter().map(|state| state.queued);
        match kept.eq(counts) {
            true => Ok(()),
            false => Err("statements that wait for permits are not counted rightly".to_owned()),
        }
    }
}

/// What says whether there is a backend for one more.
struct Backends<'a> {
    clients: &'a Clients,
    pool: &'a Pool<PoolKey, Backend>,
    busy: &'a Busy,
    keys: &'a [KeyState],
    shares: &'a [Share],
}

impl Backends<'_> {
    /// True if there is a backend for one more statement of `id`, beside those that wait for backends
    /// already: one that is idle, unless as many work as are good for it, or room in a lane that is filled
    /// again.
    fn has_room(&self, id: KeyId) -> bool {
        let count = |list| self.clients.count(list);
        let ahead = count(State::Waiting(id)) + count(State::ForLane(id));
        let account = &self.shares[self.keys[id.0 as usize].share];
        let pool = (self.pool, self.keys);
        let alone = self.busy.room(pool, account, &[BackendState::Active]);
        let idle = self.pool.count(id, BackendState::Idle).min(alone);
        if ahead < idle {
            return true;
        }
        let lanes = self.pool.iter(id, BackendState::Lane);
        let room = lanes.map(|(_, lane)| lane.room_in_lane());
        ahead < idle + room.sum::<usize>()
    }
}

/// What a statement needs: it opens a transaction unless it reads only, or one is open.
fn needs(client: &Client, statement: &Statement) -> Needs {
    let opens = statement.kind == Kind::Begin
        || statement.traits.contains(Traits::MAY_WRITE)
        || !client.status.contains(ServerStatus::AUTOCOMMIT);
    match opens && !client.status.contains(ServerStatus::IN_TRANS) {
        true => Needs::Transaction,
        false => Needs::Query,
    }
}

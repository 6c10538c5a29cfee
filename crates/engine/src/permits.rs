//! Permits of statements: a command that runs a statement asks the scheduler before it looks for a
//! backend, and waits if its account has as many as it may (rules 19 and 20).
//!
//! Owns what a client holds between its arrival and the sending of its command: a place in the queue,
//! or a permit. From then on the permit is beside the command, and a transaction's is with its backend.
//! Who may run and who is next is decided by `admission`.

use admission::{Arrival, Capacity, Decision, Left, Needs, Permit, Place, Rejection, Step};
use events::{Io, Span, Timestamp};
use membership::Key;
use pool::KeyId;
use session::statement::{Kind, Statement, Traits};
use wire::ServerStatus;

use crate::backend::{ClientCommand, Due};
use crate::client::{Client, State};
use crate::commands::{Packet, Taken};
use crate::counters::DisconnectReason;
use crate::digests::Digest;
use crate::errors::ClientError;
use crate::overtime::Allowance;
use crate::retry::Retry;
use crate::{Engine, KeyState, Mail, Turn};

/// So many statements of a key that have their permit wait for backends; the others wait where accounts
/// take turns. Enough to fill two lanes at once, and to open as many connections.
const AHEAD: usize = 64;

/// What a client holds whose statement has not been sent.
#[derive(Debug)]
pub(crate) enum Hold {
    /// A place in the queue for permits.
    Queued(Place),
    /// Its permit. It waits for a backend, or for what must be restored first.
    Admitted(Permit, KeyId, Timestamp),
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
        if !packet.is_statement() || self.scheduler.pass(seat) {
            return None;
        }
        let id = client.key;
        let arrival = Arrival {
            who: key,
            needs: needs(client, statement),
            group: id.0,
            has_backend: self.keys[id.0 as usize].admitted < AHEAD,
            time_limit: client.time_limit(packet),
        };
        match self.scheduler.arrive(seat, arrival, turn.now) {
            Decision::Admit(permit) => {
                self.hold_permit(key, permit, turn.now);
                None
            }
            Decision::Queue(place) => {
                self.holds.insert(key, Hold::Queued(place));
                self.counters.queued += 1;
                self.clients.move_to(key, State::Queued, turn.now);
                Some(Taken::Later)
            }
            Decision::Reject(rejection) => {
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
        let Some(id) = self.clients.get(key).map(|client| client.key) else {
            return;
        };
        let timed = self.may_run_until(key, Kind::Select, arrived).is_some();
        if permit.is_none() && !timed {
            return;
        }
        self.keys[id.0 as usize].admitted += 1;
        let before = self.holds.insert(key, Hold::Admitted(permit, id, arrived));
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
        match self.holds.remove(&key)? {
            Hold::Admitted(permit, id, arrived) => {
                self.keys[id.0 as usize].admitted -= 1;
                Some((permit, arrived))
            }
            Hold::Queued(place) => {
                self.scheduler.leave(place, Left::Killed);
                None
            }
        }
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
        if let Some(&Hold::Queued(place)) = self.holds.get(&key) {
            self.holds.remove(&key);
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
        loop {
            let keys = &self.keys;
            let next = self.scheduler.next(turn.now, |group| capacity(keys, group));
            match next {
                None => break,
                Some(Step::Run {
                    who,
                    permit,
                    waited,
                }) => self.admitted(turn, who, (permit, waited)),
                Some(Step::Reject { who, rejection }) => self.rejected(turn, who, &rejection),
            }
        }
        while let Some(wake) = self.scheduler.take_wake() {
            // A worker that has ended has nobody who waits.
            let _ended = turn.io.post(wake.worker, Mail::Woken(wake.gate));
        }
    }

    /// A statement that waited may run: it looks for a backend, as if it had come just now.
    fn admitted<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (permit, waited): (Permit, Span),
    ) {
        self.holds.remove(&key);
        let arrived = turn.now.as_us().saturating_sub(waited.as_us());
        self.hold_permit(key, permit, Timestamp::from_us(arrived));
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let (id, digest, retry) = (client.key, client.digest, client.retry);
        let shares = digest != Digest::NONE && retry == Retry::Fresh && self.is_fast(turn, digest);
        let list = match shares {
            true => State::ForLane(id),
            false => State::Waiting(id),
        };
        self.clients.move_to(key, list, turn.now);
        self.wake(id);
        self.serve(turn, id);
    }

    fn rejected<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, rejection: &Rejection) {
        self.holds.remove(&key);
        self.answer_err(turn, key, &ClientError::rejected(rejection));
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
            Some(Hold::Queued(_)) => state == State::Queued,
            Some(Hold::Admitted(..)) => {
                matches!(state, State::Waiting(_) | State::ForLane(_) | State::Active)
            }
        };
        match agrees {
            true => Ok(()),
            false => Err(format!("it holds {:?}", self.holds.get(&key))),
        }
    }

    /// The statements of each key that have their permit and were not sent are counted rightly.
    pub(crate) fn check_admitted(&self) -> Result<(), String> {
        let mut counts = vec![0; self.keys.len()];
        for (key, hold) in &self.holds {
            if self.clients.get(*key).is_none() {
                return Err("a client that is gone holds a permit or a place".to_owned());
            }
            if let Hold::Admitted(_, id, _) = hold {
                counts[id.0 as usize] += 1;
            }
        }
        let kept = self.keys.iter().map(|state| state.admitted);
        match kept.eq(counts) {
            true => Ok(()),
            false => Err("statements with a permit are not counted rightly".to_owned()),
        }
    }
}

fn capacity(keys: &[KeyState], group: u32) -> Capacity {
    match keys.get(group as usize) {
        Some(state) if state.admitted < AHEAD => Capacity::Here,
        _ => Capacity::Elsewhere,
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

//! The right of a statement to run: asked for, held, given back.

use admission::{Arrival, Decision, Left, Needs, Permit, Place, Rejection, Why};
use carry::errors::ClientError;
use carry::packet::{Packet, Taken};
use events::{Io, Span, Timestamp};
use membership::Key;
use pool::KeyId;
use session::statement::{Kind, Statement, Traits};
use wire::{ServerStatus, code};

use crate::matching::Matching;
use crate::record::allowance::Allowance;
use crate::record::backend::{ClientCommand, Due};
use crate::record::client::{Client, State};
use crate::record::counters::DisconnectReason;
use crate::record::hold::{Backends, Hold};
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Matching {
    /// Asks whether a statement of a client without a backend may run. `None` if it may; else what became
    /// of the command.
    pub(crate) fn ask_permit<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> Option<Taken> {
        let client = records.clients.get(key)?;
        let seat = client.seat.as_ref()?;
        let id = client.key;
        // Whoever needs no permit must not keep those from the backends who wait for one and for them.
        let alone = records.keys[id.0 as usize].queued == 0;
        if !packet.is_statement() || (alone && self.scheduler.pass(seat)) {
            return None;
        }
        let backends = Backends {
            clients: &records.clients,
            pool: &records.pool,
            busy: &self.busy,
            keys: &records.keys,
            shares: &records.shares,
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
                self.hold_permit(records, key, permit, turn.now);
                None
            }
            Decision::Queue(place) => {
                self.holds.insert(key, Hold::Queued(place, id));
                records.keys[id.0 as usize].queued += 1;
                records.wake(id);
                records.counters.queued += 1;
                records.clients.move_to(key, State::Queued, turn.now);
                Some(Taken::Later)
            }
            Decision::Reject(rejection) => {
                self.forget_lock_wait(key);
                records.answer_err(turn, key, &rejected(&rejection));
                records.touch(key, turn.now);
                Some(Taken::Now)
            }
        }
    }

    /// A session that has its backend never waits; its statements are counted all the same.
    pub(crate) fn force_permit<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) {
        let Some(client) = records.clients.get(key) else {
            return;
        };
        let Some(seat) = &client.seat else { return };
        if !packet.is_statement() || self.scheduler.pass(seat) {
            return;
        }
        let permit = self.scheduler.force(seat, needs(client, statement));
        self.hold_permit(records, key, permit, turn.now);
    }

    /// Keeps a client's permit until its command, which came at `arrived`, is sent.
    pub(crate) fn hold_permit(
        &mut self,
        records: &mut Records,
        key: Key,
        permit: Permit,
        arrived: Timestamp,
    ) {
        let timed = self
            .may_run_until(records, key, Kind::Select, arrived)
            .is_some();
        if records.clients.get(key).is_none() || (permit.is_none() && !timed) {
            return;
        }
        let before = self.holds.insert(key, Hold::Admitted(permit, arrived));
        debug_assert!(
            !matches!(before, Some(Hold::Admitted(..))),
            "two permits for one statement"
        );
    }

    /// What a command is allowed that is sent now.
    pub(crate) fn take_allowance(
        &mut self,
        records: &mut Records,
        key: Key,
        kind: Kind,
    ) -> Allowance {
        let Some((permit, arrived)) = self.take_hold(records, key) else {
            return Allowance::NONE;
        };
        let until = self.may_run_until(records, key, kind, arrived);
        self.watch_overtime(until);
        Allowance { permit, until }
    }

    /// The permit of a command that will not be sent.
    pub(crate) fn take_permit(&mut self, records: &mut Records, key: Key) -> Permit {
        self.take_hold(records, key)
            .map_or(Permit::NONE, |(permit, _)| permit)
    }

    fn take_hold(&mut self, records: &mut Records, key: Key) -> Option<(Permit, Timestamp)> {
        if self.holds.is_empty() {
            return None;
        }
        if let Some(place) = self.take_place(records, key) {
            self.scheduler.leave(place, Left::Killed);
            return None;
        }
        match self.holds.remove(&key)? {
            Hold::Admitted(permit, arrived) => Some((permit, arrived)),
            Hold::Queued(..) => None,
        }
    }

    /// A client does not wait for its permit any more.
    pub(crate) fn take_place(&mut self, records: &mut Records, key: Key) -> Option<Place> {
        let &Hold::Queued(place, KeyId(id)) = self.holds.get(&key)? else {
            return None;
        };
        self.holds.remove(&key);
        records.keys[id as usize].queued -= 1;
        Some(place)
    }

    /// The clients whose statements wait for permits to use backends of `id`. Looks at all who wait.
    pub(crate) fn queued_for(&self, id: KeyId) -> Vec<Key> {
        let queued = |hold: &Hold| matches!(hold, Hold::Queued(_, of) if *of == id);
        let holds = self.holds.iter().filter(|(_, hold)| queued(hold));
        holds.map(|(key, _)| *key).collect()
    }

    /// A client goes, or is told that its statement was ended: it never runs.
    pub(crate) fn leave_queue(
        &mut self,
        records: &mut Records,
        key: Key,
        reason: DisconnectReason,
    ) {
        let why = match reason {
            DisconnectReason::Killed
            | DisconnectReason::Drain
            | DisconnectReason::BackendLost
            | DisconnectReason::LoginTimeout => Left::Killed,
            _ => Left::Abandoned,
        };
        self.forgo_permit(records, key, why);
    }

    /// A statement that waits, for whatever, will not run.
    pub(crate) fn forgo_permit(&mut self, records: &mut Records, key: Key, why: Left) {
        let waits = records.clients.state(key).is_some_and(State::waits);
        if let Some(place) = self.take_place(records, key) {
            self.scheduler.leave(place, why);
            return;
        }
        let permit = self.take_permit(records, key);
        let seat = records
            .clients
            .get(key)
            .and_then(|client| client.seat.as_ref());
        if let (Some(seat), true, false) = (seat, waits, permit.is_none()) {
            self.scheduler.forgo(seat, permit, why);
        }
    }

    /// A statement that waited may run: it looks for a backend, as if it had come just now.
    pub(crate) fn admitted<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &Turn<'_, I>,
        key: Key,
        (permit, waited): (Permit, Span),
    ) -> Option<KeyId> {
        self.take_place(records, key);
        let arrived = turn.now.as_us().saturating_sub(waited.as_us());
        self.hold_permit(records, key, permit, Timestamp::from_us(arrived));
        let client = records.clients.get(key)?;
        let (id, digest) = (client.key, client.digest);
        let list = match client.may_ride() && self.is_fast(records, turn, digest) {
            true => State::ForLane(id),
            false => State::Waiting(id),
        };
        records.clients.move_to(key, list, turn.now);
        records.wake(id);
        Some(id)
    }

    /// Whoever of `id` has waited longest for a backend of its own and for nothing else.
    pub(crate) fn first_queued_in_need(&self, records: &Records, id: KeyId) -> Option<Key> {
        let first = self.scheduler.first_without_backend(id.0)?;
        let rides =
            records.clients.get(first).is_some_and(Client::may_ride) && records.has_lane(first);
        (!rides).then_some(first)
    }

    /// The last byte of an answer was read: the statement is over. Its transaction may not be.
    pub(crate) fn query_answered<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &Turn<'_, I>,
        backend: Key,
        command: &mut ClientCommand,
    ) {
        if command.permit.is_none() {
            return;
        }
        let mut permit = std::mem::replace(&mut command.permit, Permit::NONE);
        match records.pool.get_mut(backend) {
            Some(backend) if permit.holds_transaction() => {
                permit.end_query();
                backend.transaction = permit;
            }
            _ => self.scheduler.settle(permit, turn.now),
        }
    }

    /// Gives back what is counted for a transaction, if none is open on the backend any more.
    pub(crate) fn end_transaction<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &Turn<'_, I>,
        backend: Key,
    ) {
        let Some(backend) = records.pool.get_mut(backend) else {
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
    pub(crate) fn check_queued(&self, records: &Records) -> Result<(), String> {
        let mut counts = vec![0; records.keys.len()];
        for (key, hold) in &self.holds {
            if records.clients.get(*key).is_none() {
                return Err("a client that is gone holds a permit or a place".to_owned());
            }
            if let Hold::Queued(_, id) = hold {
                counts[id.0 as usize] += 1;
            }
        }
        let kept = records.keys.iter().map(|state| state.queued);
        match kept.eq(counts) {
            true => Ok(()),
            false => Err("statements that wait for permits are not counted rightly".to_owned()),
        }
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

/// Admission lets nobody in. `rejection` names the account, the limit, and what runs and waits.
pub(crate) fn rejected(rejection: &Rejection) -> ClientError {
    let code = match rejection.why {
        Why::Timeout(_) | Why::Deadline(_) => code::TOO_MANY_USER_CONNECTIONS,
        Why::Queued(_) | Why::Overload(_) | Why::Connections(_) | Why::Connects(_) => {
            code::USER_LIMIT_REACHED
        }
    };
    ClientError::new(code, b"42000", rejection.to_string())
}

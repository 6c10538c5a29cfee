//! Who comes next: permits, slots that workers lend each other, and user-level locks.

use std::borrow::Cow;

use admission::{Capacity, Identity, Rejection, Step, Why};
use carry::conditions::binary_rows::Form;
use carry::errors::ClientError;
use carry::locks::registry::{Asked, LockTicket, LockTurn};
use carry::packet::{Packet, Taken};
use events::{Io, Peer, Span};
use membership::Key;
use pool::{KeyId, State as BackendState};
use session::statement::{Dialect, Flavor, Kind, LockAct, PinReason, Statement, lock_call};
use wire::{Capabilities, Command, asks_for_cursor};

use crate::desk::Engine;
use crate::matching::locks::values_of;
use crate::matching::permits::rejected;
use crate::record::backend::Backend;
use crate::record::client::{Client, State};
use crate::record::counters::DisconnectReason;
use crate::record::hold::Backends;
use crate::record::lock_waits::{
    AskedLock, Got, LockWait, Stage, Timeout, Waiting, Wanted, is_plain_text, lock_name, timeout,
};
use crate::record::owner::Owner;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// A longer name of a column may be cut by the server.
const COLUMN_MAX: usize = 128;

/// How often it is looked whether a lock that a session waits for is held by somebody who is not known here.
const LOOK_AGAIN: Span = Span::from_secs(1);

/// How often it is looked while another session tries to get the lock.
const LOOK_SOON: Span = Span::from_ms(100);

/// The shortest wait for a lock that another session tries to get: a statement with a shorter timeout is answered by then.
const TRIED_FOR: Span = Span::from_ms(100);

/// The wait of a statement without a deadline.
const FOREVER: Span = Span::from_secs(365 * 24 * 3_600);

/// Where statements of clients run.
const RUNNING: [BackendState; 3] = [
    BackendState::Active,
    BackendState::Lane,
    BackendState::Draining,
];

/// A statement that has not come to its turn when its time is over is looked at again after this.
const OVERTIME_AGAIN: Span = Span::from_ms(1);

impl Engine {
    /// Serves the keys whose statements the gate refused, if there is room by now.
    pub(crate) fn open_gate<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let Some(due) = self.matching.busy.refused else {
            return;
        };
        if turn.now >= due {
            self.matching
                .look_who_takes_long(&mut self.records, turn.now);
        } else if self.matching.gate_is_shut(&self.records) {
            return;
        }
        self.matching.busy.refused = None;
        self.serve_all(turn);
    }

    /// Tells the other workers which slots are needed here, at the end of each turn.
    pub(crate) fn publish_need<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let need = self.matching.sum_up_need(&mut self.records, turn.now);
        self.publish_holders(turn.now);
        let lending = &mut self.matching.lending;
        lending.seen = turn.now;
        let before = std::mem::replace(&mut lending.need, need);
        if need != before {
            if need.is_none() {
                lending.asked = None;
            }
            self.records
                .shared
                .ledger
                .set_need(self.records.worker, need);
        }
        let Some(need) = need else { return };
        if before.is_none() {
            // A slot that was given back a moment ago saw nobody waiting.
            self.serve_all(turn);
        } else if self.records.finds_slots(turn, need) {
            self.each_awake(|engine, id| engine.grow(turn, id));
        }
    }

    /// Statements have waited for long enough: asks the other workers for slots.
    pub(crate) fn ask_for_slots<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        self.matching.lending.asked = Some(turn.now);
        self.serve_all(turn);
        self.relieve_backends(turn);
        for other in
            (0..self.records.shared.ledger.workers()).filter(|&other| other != self.records.worker)
        {
            // A worker that has ended holds no slots.
            let _ended = turn.io.post(other, Mail::SlotWanted);
        }
    }

    /// Another worker asked for a slot: gives up an idle connection to which it has the better claim.
    pub(crate) fn lend<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        self.relieve_backends(turn);
        for at in 0..self.records.pool.resting() {
            if let Some((id, idle, _)) = self.records.pool.oldest_idle_at(at)
                && self.give_way(turn, idle, id)
            {
                return;
            }
        }
    }

    /// A backend of `id` is idle: if another key or worker has the better claim to its slot, it is
    /// closed. Returns true if it was.
    pub(crate) fn give_way<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        idle: Key,
        id: KeyId,
    ) -> bool {
        let resting = self.records.resting(turn, idle);
        let other = self.matching.needier_key(&self.records, turn, id, resting);
        let is_wanted = other.is_some()
            || self
                .matching
                .worker_is_needier(&self.records, turn, id, resting);
        if !is_wanted || self.records.is_down_to_one(id) {
            return false;
        }
        self.records.counters.slots_lent += 1;
        self.records.drop_backend(turn, idle);
        if let Some(other) = other {
            self.grow(turn, other);
            self.serve(turn, id);
        }
        true
    }

    /// Has a client wait that wants a lock which another session holds or tries to get. `None` if its statement goes to
    /// the server.
    pub(crate) fn waits_for_lock<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> Option<Taken> {
        let takes_lock = statement.pins.contains(PinReason::UserLock);
        if !takes_lock
            || statement.kind != Kind::Select
            || self.matching.lock_waits.clients.contains_key(&key)
        {
            return None;
        }
        let wanted = self.wanted_lock(key, packet)?;
        let (ticket, asked) = self
            .records
            .shared
            .locks
            .ask(&wanted.name, (self.records.worker, key));
        let now = turn.now;
        match asked {
            Asked::Try => {
                self.matching.lock_waits.called(key, Some(ticket));
                return None;
            }
            // A statement that does not wait is answered at once.
            Asked::Held if wanted.time == Span::ZERO => {
                if self.records.tell_lock(turn, key, &wanted, Got::Zero) {
                    self.records.keep_types(key, packet);
                    self.records.touch(key, now);
                    return Some(Taken::Now);
                }
                self.matching.lock_waits.called(key, None);
                return None;
            }
            Asked::Held | Asked::Tried => {}
        }
        let time = match asked {
            Asked::Tried => wanted.time.max(TRIED_FOR),
            _ => wanted.time,
        };
        let deadline = now + time;
        let look_at = match asked {
            Asked::Tried => now + LOOK_SOON,
            _ => now + LOOK_AGAIN,
        };
        let waiting = Waiting {
            deadline,
            look_at: look_at.min(deadline),
            wanted,
        };
        self.matching.lock_waits.waits(key, ticket, waiting);
        self.records.counters.lock_waits += 1;
        self.records.clients.move_to(key, State::ForLock, now);
        Some(Taken::Later)
    }

    /// The lock that a statement wants, if it is certain which that is, how long it waits, and how it is answered.
    fn wanted_lock(&mut self, key: Key, packet: Packet<'_>) -> Option<Wanted> {
        self.records.resolve_charset(key);
        let client = self.records.clients.get(key)?;
        let optional = Capabilities::OPTIONAL_RESULTSET_METADATA;
        let is_plain = client.login.is_none()
            && !client.may_initiate
            && client.backend.is_none()
            && self.draining.is_none()
            && !client.capabilities.contains(optional)
            && client
                .session
                .charset
                .as_ref()
                .is_some_and(|set| set.is_narrow())
            && !self.matching.may_be_ended_sooner(client, packet);
        if !is_plain {
            return None;
        }
        let dialect = self
            .records
            .known
            .facts
            .as_ref()?
            .dialect(&client.session)?;
        let asked = asked_lock(client, packet, &dialect)?;
        let (call, form) = (asked.call, asked.form);
        let column = call.column.filter(|name| is_plain_text(name, COLUMN_MAX))?;
        if call.does != LockAct::Gets {
            return None;
        }
        let time = match asked.timeout? {
            Timeout::Seconds(seconds) => Span::from_secs(seconds.min(FOREVER.as_us() / 1_000_000)),
            // MariaDB answers NULL.
            Timeout::Negative if dialect.flavor == Flavor::MySql => FOREVER,
            Timeout::Negative => return None,
        };
        Some(Wanted {
            name: asked.name?,
            time,
            column,
            form,
        })
    }

    /// Tells the clients, on all workers, whose turn has come to ask for a lock.
    pub(crate) fn tell_lock_turns<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while self.records.shared.locks.has_news()
            && let Some(news) = self.records.shared.locks.next_news()
        {
            if news.worker == self.records.worker {
                self.working_on(Owner::Client(news.turn.client), |engine| {
                    engine.lock_turn(turn, &news.turn);
                });
            } else {
                // The clients of a worker that has ended have given up what they had.
                let _ended = turn.io.post(news.worker, Mail::LockTurn(news.turn));
            }
        }
    }

    /// It is a client's turn to ask the server for the lock.
    pub(crate) fn lock_turn<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, called: &LockTurn) {
        let key = called.client;
        let wait = self.matching.lock_waits.clients.get(&key);
        let ticket = wait.and_then(|wait| wait.ticket.as_ref());
        // It may have left.
        if ticket.is_some_and(|ticket| ticket.is_of(called)) {
            let wait = self.matching.lock_waits.forget(key);
            self.goes_to_server(turn, key, wait.and_then(|wait| wait.ticket));
        }
    }

    /// Sends the statement of a client that has waited here, as if it had come just now.
    fn goes_to_server<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        ticket: Option<LockTicket>,
    ) {
        self.matching.lock_waits.called(key, ticket);
        self.records.clients.move_to(key, State::Idle, turn.now);
        // It was counted when it came.
        self.records.counters.commands -= 1;
        self.consume_inbox(turn, key);
    }

    /// Looks at the clients that wait for a lock and are due.
    pub(crate) fn lock_waits_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while let Some(&(at, key)) = self.matching.lock_waits.due.first()
            && turn.now >= at
        {
            self.look_at_lock_wait(turn, key);
        }
    }

    fn look_at_lock_wait<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(LockWait {
            ticket: Some(ticket),
            stage: Stage::Waiting(mut waiting),
        }) = self.matching.lock_waits.forget(key)
        else {
            return;
        };
        if ticket.waits_elsewhere(turn.now) {
            drop(ticket);
            return self.goes_to_server(turn, key, None);
        }
        if turn.now < waiting.deadline {
            waiting.look_at = (turn.now + LOOK_AGAIN).min(waiting.deadline);
            return self.matching.lock_waits.waits(key, ticket, *waiting);
        }
        drop(ticket);
        if self
            .records
            .tell_lock(turn, key, &waiting.wanted, Got::Zero)
        {
            self.records.counters.lock_waits_timed_out += 1;
            self.drop_waiting_command(turn, key);
        } else {
            self.goes_to_server(turn, key, None);
        }
    }

    /// Somebody kills the statement of a client that waits for a lock. MariaDB answers NULL, which this does; MySQL answers
    /// with an ERR: false, and the caller does so.
    pub(crate) fn kill_lock_wait<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let Some(wait) = self.matching.lock_waits.forget(key) else {
            return false;
        };
        let (Stage::Waiting(waiting), Flavor::MariaDb) = (&wait.stage, self.records.known.flavor())
        else {
            return false;
        };
        if !self
            .records
            .tell_lock(turn, key, &waiting.wanted, Got::Null)
        {
            return false;
        }
        self.drop_waiting_command(turn, key);
        true
    }

    /// At the end of each turn: admits the statements that may run now, and refuses those that have waited too long.
    pub(crate) fn admit_waiters<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while self.admit_some(turn) {}
        if self.matching.scheduler.waiting() > 0 && self.matching.gate_is_shut(&self.records) {
            self.matching.busy.refuse(turn.now);
        }
        while let Some(wake) = self.matching.scheduler.next_wake() {
            // A worker that has ended has nobody who waits.
            let _ended = turn.io.post(wake.worker, Mail::Woken(wake.gate));
            self.matching.scheduler.wake_posted();
        }
    }

    /// Admits as many statements as there is room for, and then sends them: a lane is filled in one go. True if there may be
    /// room for more.
    fn admit_some<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) -> bool {
        let mut to_serve = std::mem::take(&mut self.matching.to_serve);
        loop {
            let backends = Backends {
                clients: &self.records.clients,
                pool: &self.records.pool,
                busy: &self.matching.busy,
                keys: &self.records.keys,
                shares: &self.records.shares,
            };
            let capacity = |group| match backends.has_room(KeyId(group)) {
                true => Capacity::Here,
                false => Capacity::Elsewhere,
            };
            match self.matching.scheduler.next(turn.now, capacity) {
                None => break,
                Some(Step::Run {
                    who,
                    permit,
                    waited,
                }) => {
                    let id = self
                        .matching
                        .admitted(&mut self.records, turn, who, (permit, waited));
                    to_serve.extend(id.filter(|id| !to_serve.contains(id)));
                }
                Some(Step::Reject { who, rejection }) => self.rejected(turn, who, &rejection),
            }
        }
        let any = !to_serve.is_empty();
        for id in to_serve.drain(..) {
            self.serve(turn, id);
        }
        self.matching.to_serve = to_serve;
        any
    }

    fn rejected<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, rejection: &Rejection) {
        self.matching.take_place(&mut self.records, key);
        let id = self.records.clients.get(key).map(|client| client.key);
        let error = match (rejection.why, id) {
            (Why::Timeout(waited), Some(id))
                if self.records.is_unreachable(id)
                    || self.records.shared.standstill().is_some() =>
            {
                ClientError::queue_timeout(waited, &self.records.why_none_is_free(id))
            }
            _ => rejected(rejection),
        };
        self.records.answer_err(turn, key, &error);
        self.drop_waiting_command(turn, key);
    }

    /// Ends the statements that have run for too long.
    pub(crate) fn overtime_is_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if self.matching.overtime_due.is_none_or(|at| turn.now < at) {
            return;
        }
        let (mut late, mut next) = (Vec::new(), None);
        for id in self.records.pool.key_ids() {
            for (key, backend) in RUNNING
                .into_iter()
                .flat_map(|s| self.records.pool.iter(id, s))
            {
                let at = match backend.runs_until() {
                    Some((until, true)) if turn.now >= until => {
                        late.push(key);
                        continue;
                    }
                    // It has not come to its turn.
                    Some((until, false)) => Some(until.max(turn.now + OVERTIME_AGAIN)),
                    limit => limit.map(|(until, _)| until),
                };
                next = [next, at].into_iter().flatten().min();
            }
        }
        self.matching.overtime_due = next;
        for backend in late {
            self.end_late(turn, backend);
        }
    }

    fn end_late<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let is_lane = self.records.is_lane(key);
        let front = self.records.pool.get_mut(key).and_then(Backend::running);
        let Some(command) = front else { return };
        (command.until, command.timed_out) = (None, true);
        self.records.counters.statement_timeouts += 1;
        if is_lane {
            // The KILL may come late and hit those behind.
            self.empty_lane(turn, key);
        }
        self.interrupt(turn, key);
    }

    /// A client has proved to be `user`. False if it is one too many, and was told so.
    pub(crate) fn take_seat<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        user: &[u8],
    ) -> bool {
        let Some(client) = self.records.clients.get_mut(key) else {
            return false;
        };
        // COM_CHANGE_USER: it must not be counted beside itself.
        client.seat = None;
        let user = String::from_utf8_lossy(user);
        let who = identity(&user, client.origin.peer);
        match self.matching.scheduler.login(&who, turn.now) {
            Ok(seat) => {
                let (id, weight) = (client.key, self.matching.scheduler.weight(&seat));
                client.seat = Some(seat);
                self.records.share_mut(id).weight = weight;
                true
            }
            Err(rejection) => {
                self.refuse_login(turn, key, &rejection);
                false
            }
        }
    }

    /// The schema of a login is there. False if it has too many sessions, and the client was told so.
    pub(crate) fn may_use_schema<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let used = self
            .matching
            .with_schema(&mut self.records, key, |scheduler, seat, schema| {
                scheduler.use_schema(seat, schema)
            });
        match used {
            Some(Err(rejection)) => {
                self.refuse_login(turn, key, &rejection);
                false
            }
            _ => true,
        }
    }

    fn refuse_login<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        rejection: &Rejection,
    ) {
        let error = rejected(rejection);
        self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
    }
}

fn asked_lock(client: &Client, packet: Packet<'_>, dialect: &Dialect) -> Option<AskedLock> {
    let (text, form) = text_of(client, packet)?;
    let call = lock_call(&text, dialect)?;
    let values = values_of(client, packet);
    let values = values.as_deref();
    Some(AskedLock {
        name: lock_name(&call, values, dialect.flavor),
        timeout: timeout(&call, values),
        call,
        form,
    })
}

/// The text that a command runs, and how it is answered.
fn text_of<'a>(client: &Client, packet: Packet<'a>) -> Option<(Cow<'a, [u8]>, Form)> {
    match packet
        .payload
        .first()
        .copied()
        .and_then(Command::from_byte)?
    {
        Command::Query => Some((Cow::Borrowed(packet.text()), Form::Text)),
        Command::StmtExecute if !asks_for_cursor(packet.payload) => {
            let statement = client.statement(packet.payload)?;
            statement.long.is_none().then_some(())?;
            let text = statement.template.text.to_vec();
            Some((Cow::Owned(text), Form::Binary))
        }
        _ => None,
    }
}

fn identity(user: &str, peer: Peer) -> Identity<'_> {
    let address = match peer {
        Peer::Unix => None,
        Peer::Tcp(address) => Some(address.ip()),
    };
    let is_local = address.is_none_or(|address| address.to_canonical().is_loopback());
    Identity {
        user,
        address,
        host: is_local.then_some("localhost"),
    }
}

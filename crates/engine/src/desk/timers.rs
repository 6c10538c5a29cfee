//! What is due at some time, and reports for those who look in.

use std::sync::atomic::Ordering;

use admission::Left;
use carry::errors::ClientError;
use events::{Io, Span, Timestamp};
use membership::Key;
use pool::{KeyId, State as BackendState};
use session::statement::{Flavor, PinReason};
use wire::ServerStatus;

use crate::desk::Engine;
use crate::record::backend::Reading;
use crate::record::client::{Client, State};
use crate::record::counters::{Counters, DisconnectReason};
use crate::record::hold::Hold;
use crate::record::look::{ClientLine, Look, Slice, Whom, schema, slice};
use crate::record::report::{Gauges, Report};
use crate::record::retry::Retry;
use crate::record::shared::Mail;
use crate::record::standstill::PATIENCE;
use crate::record::turn::Turn;
use crate::steps::timers::carried_timeout;

/// How often a worker looks for a standstill while its statements wait.
const LOOK_AGAIN: Span = Span::from_ms(250);

/// How long setting up or cleaning a backend connection may take, rolling back included.
const RESET_TIMEOUT: Span = Span::from_secs(30);

/// How long after its last backend was lost a worker looks whether the database is still there: a database that is shut
/// down closes its connections before it refuses others, and one that closes each connection at once is not to be
/// asked in a loop.
const FIND_OUT_AFTER: Span = Span::from_ms(500);

impl Engine {
    /// Each key that is awake, in no order. Those that wake meanwhile come last.
    pub(crate) fn each_awake(&mut self, mut each: impl FnMut(&mut Self, KeyId)) {
        let mut at = 0;
        while let Some(&id) = self.records.awake.get(at) {
            each(self, id);
            at += 1;
        }
    }

    /// What there is and what has happened.
    pub fn report(&self) -> Report {
        let waiting = |key| self.records.clients.count(State::Waiting(key)) as u64;
        let for_lane = |key| self.records.clients.count(State::ForLane(key)) as u64;
        let clients = |state| self.records.clients.count(state) as u64;
        let backends = |state| self.records.pool.count_all(state) as u64;
        let gauges = Gauges {
            clients_login: clients(State::Greeting)
                + State::LOGINS.map(clients).iter().sum::<u64>(),
            clients_idle: clients(State::Idle),
            clients_waiting: self.records.pool.key_ids().map(waiting).sum(),
            clients_queued: clients(State::Queued),
            clients_for_lock: clients(State::ForLock),
            clients_active: clients(State::Active),
            clients_for_lane: self.records.pool.key_ids().map(for_lane).sum(),
            clients_in_lane: clients(State::InLane),
            clients_held: clients(State::Held),
            backends_connecting: backends(BackendState::Connecting),
            backends_resetting: backends(BackendState::Resetting),
            backends_idle: backends(BackendState::Idle),
            backends_active: backends(BackendState::Active),
            backends_lane: backends(BackendState::Lane),
            busy_limit: self.matching.busy.limit() as u64,
            lane_limit: self.matching.lane_limit.limit() as u64,
            backends_draining: backends(BackendState::Draining),
            backends_reserved: backends(BackendState::Reserved),
            pinned: self.records.pinned(),
            queue_wait_us_max: self.matching.lending.oldest_wait().as_us(),
            prepared_templates: self.records.known.templates.count() as u64,
            prepared_text_bytes: self.records.known.templates.bytes() as u64,
            pool_keys: self.records.keys.len() as u64,
            prepared_on_backends: self.records.prepared_on_backends(),
            long_data_bytes: self.records.long_data.load(Ordering::Relaxed) as u64,
            session_bytes: self.records.session_memory_bytes() as u64,
            client_bytes: self.records.clients.bytes() as u64,
            client_id_bytes: self.records.client_id_bytes(),
            client_inbox_bytes: self.records.client_inbox_bytes(),
        };
        let version = self
            .records
            .known
            .facts
            .as_ref()
            .map_or(&b""[..], |facts| &facts.version);
        Report {
            gauges,
            counters: Counters {
                session_memory_refused: self.records.session_memory_refused(),
                ..self.records.counters.clone()
            },
            accounts: self.matching.scheduler.accounts().collect(),
            server_version: String::from_utf8_lossy(version).into_owned(),
        }
    }

    /// Answers a question of somebody who looks in.
    pub(crate) fn look(&self, look: Look, now: Timestamp) {
        match look {
            Look::Clients(whom, from, reply) => reply(self.client_lines(whom, from, now)),
            Look::Backends(from, reply) => reply(self.records.backend_lines(from, now)),
            Look::Pins(reply) => reply(self.records.pin_lines()),
        }
    }

    fn client_lines(&self, whom: Whom, from: usize, now: Timestamp) -> Slice<ClientLine> {
        slice(from, self.records.clients.places(), |place| {
            let (key, client) = self.records.clients.at(place)?;
            let state = self.records.clients.state(key)?;
            let wanted = whom == Whom::All || (state.waits() && client.login.is_none());
            wanted.then(|| self.client_line(key, (client, state), now))
        })
    }

    fn client_line(
        &self,
        key: Key,
        (client, state): (&Client, State),
        now: Timestamp,
    ) -> ClientLine {
        let backend = client.backend.and_then(|key| self.records.pool.get(key));
        let user = match client.login {
            None => self.records.user(client.account),
            Some(_) => String::new(),
        };
        let seat = client.seat.as_ref();
        let limit = match self.matching.holds.get(&key) {
            Some(&Hold::Queued(place, _)) => self.matching.scheduler.limit_of(place),
            _ => None,
        };
        ClientLine {
            id: client.id,
            user,
            account: seat.map(|seat| self.matching.scheduler.name(seat)),
            limit,
            peer: client.origin.peer,
            schema: schema(&client.session),
            state: client_state(state),
            since: client.since,
            state_us: now.since(client.since).as_us(),
            in_transaction: client.status.contains(ServerStatus::IN_TRANS),
            pins: client.pins.iter().map(PinReason::name).collect(),
            backend: backend.map(|backend| backend.connection_id),
            statement: self.records.statement_of(client, state),
        }
    }

    /// Tells the other workers how many backends are held and how many statements wait, at the end of a turn.
    pub(crate) fn publish_holders(&mut self, now: Timestamp) {
        let waiting = self.records.awake.iter().map(|&id| {
            let alone = self.records.clients.count(State::Waiting(id))
                + self.records.keys[id.0 as usize].queued;
            alone + self.records.clients.count(State::ForLane(id))
        });
        let waiting = waiting.sum();
        let held = self.records.clients.count(State::Held);
        let newest = self.records.clients.newest(State::Held).unwrap_or_default();
        let published = (held, newest, waiting);
        if self.holders_published != published {
            self.holders_published = published;
            let standstills = &self.records.shared.standstills;
            standstills.publish(self.records.worker, held, newest, waiting);
        }
        if self.records.shared.standstills.is_on() {
            self.records.look_for_standstill(now);
        }
    }

    /// When the worker is to look for a standstill, because its statements have waited for long.
    fn standstill_due(&self) -> Option<Timestamp> {
        let since = self.matching.lending.waiting_since()?;
        let again = self.standstill_seen.map(|seen| seen + LOOK_AGAIN);
        Some((since + PATIENCE).max(again.unwrap_or(since)))
    }

    /// Looks for a standstill, if it is time to.
    fn standstill_is_due(&mut self, now: Timestamp) {
        if self.standstill_due().is_some_and(|at| now >= at) {
            self.standstill_seen = Some(now);
            self.records.look_for_standstill(now);
        }
    }

    /// The next time at which something may be due.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        if !self.started {
            return Some(Timestamp::ZERO);
        }
        let settings = &self.records.settings;
        let client =
            |state, limit: Option<Span>| Some(self.records.clients.oldest(state)? + limit?);
        let mut due = [
            client(State::Greeting, Some(settings.login_timeout)),
            client(State::Login, Some(settings.login_timeout)),
            client(State::Challenged, Some(settings.login_timeout)),
            client(State::Judged, Some(settings.login_timeout)),
            self.records.relay_due(),
            self.records
                .clients
                .first_silent(settings.wait_timeout)
                .map(|(at, _)| at),
            client(State::Held, settings.idle_transaction_timeout),
            self.idle_due,
            self.matching.lane_due,
            self.matching.lending.ask_at().filter(|_| {
                let alone =
                    self.records.shared.ledger.workers() == 1 && self.records.keys.len() == 1;
                !alone || !self.stalls.is_empty()
            }),
            self.stalls.due(),
            self.orphan_due(),
            self.surviving_due(),
            self.short_idle,
            self.matching.scheduler.next_timer(),
            self.matching.overtime_due,
            self.matching.busy.due(),
            self.draining,
            self.denials.due(),
            self.records.unfinished_due(),
            self.find_out_at,
            self.matching.lock_waits.due(),
            self.standstill_due(),
        ]
        .into_iter()
        .flatten()
        .min();
        for &id in &self.records.awake {
            let queue = [State::Waiting(id), State::ForLane(id)]
                .into_iter()
                .filter_map(|waiting| client(waiting, Some(settings.queue_timeout)))
                .min();
            let retry = self.records.keys[id.0 as usize]
                .retry_at
                .filter(|_| queue.is_some() || self.records.pool.is_empty());
            let since = |state| self.records.pool.oldest(id, state);
            let connect = self
                .records
                .first_connecting(id)
                .and_then(|key| self.records.pool.since(key));
            let connect = connect.map(|at| at + settings.connect_timeout);
            let reset = since(BackendState::Resetting).map(|at| at + RESET_TIMEOUT);
            due = [
                due,
                queue,
                retry,
                connect,
                reset,
                self.records.reserved_due(id),
            ]
            .into_iter()
            .flatten()
            .min();
        }
        due
    }

    /// Does whatever is due.
    pub(crate) fn timers_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let settings = self.records.settings.clone();
        self.denials_due(turn);
        self.relays_due(turn);
        for state in [State::Greeting].into_iter().chain(State::LOGINS) {
            while let Some(key) = self.records.due(turn, state, Some(settings.login_timeout)) {
                self.close_client(turn, key, DisconnectReason::LoginTimeout);
            }
        }
        while let Some((at, key)) = self.records.clients.first_silent(settings.wait_timeout)
            && turn.now >= at
        {
            self.end_silent(turn, key, DisconnectReason::WaitTimeout);
        }
        while let Some(key) = self
            .records
            .due(turn, State::Held, settings.idle_transaction_timeout)
        {
            self.end_silent(turn, key, DisconnectReason::IdleTransactionTimeout);
        }
        self.end_unfinished(turn);
        self.each_awake(|engine, id| engine.key_due(turn, id));
        self.lanes_due(turn);
        self.overtime_is_due(turn);
        self.backends_due(turn);
        self.short_idle_due(turn);
        self.stalls_due(turn);
        self.orphans_due(turn);
        self.end_surviving(turn);
        if self
            .matching
            .scheduler
            .next_timer()
            .is_some_and(|at| turn.now >= at)
        {
            self.admit_waiters(turn);
        }
        if self
            .matching
            .lending
            .ask_at()
            .is_some_and(|at| turn.now >= at)
        {
            self.ask_for_slots(turn);
        }
        self.lock_waits_due(turn);
        self.standstill_is_due(turn.now);
        if self.find_out_at.is_some_and(|at| turn.now >= at) {
            self.find_out_at = None;
            if self.records.pool.is_empty() {
                self.matching.probe(&mut self.records, turn);
            }
        }
        if self.draining.is_some_and(|deadline| turn.now >= deadline) {
            self.end_all(turn);
        }
    }

    /// Does what is due for one key.
    fn key_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        self.connects_due(turn, id);
        self.reserved_is_due(turn, id);
        let limit = Some(self.records.settings.queue_timeout);
        for state in [State::Waiting(id), State::ForLane(id)] {
            while let Some(key) = self.records.due(turn, state, limit) {
                self.queue_timeout(turn, key, id);
            }
        }
        let retry = &mut self.records.keys[id.0 as usize].retry_at;
        if retry.is_some_and(|at| turn.now >= at) {
            *retry = None;
            self.grow(turn, id);
            if self.records.pool.is_empty() {
                // Nobody waits; but whether the backend is back is worth knowing.
                self.matching.probe(&mut self.records, turn);
            }
        }
    }

    /// A client was silent for too long. MySQL tells it so before it asks anything, MariaDB says nothing.
    fn end_silent<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        reason: DisconnectReason,
    ) {
        if self.records.known.flavor() == Flavor::MySql {
            self.records
                .tell_unasked(turn, key, &ClientError::inactivity().packet());
        }
        self.close_client(turn, key, reason);
    }

    /// A statement waited too long: it gets an ERR and never runs.
    fn queue_timeout<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, id: KeyId) {
        let why = self.records.why_none_is_free(id);
        self.records.counters.queue_timeouts += 1;
        let error = ClientError::queue_timeout(self.records.settings.queue_timeout, &why);
        let client = self.records.clients.get(key);
        if client.is_some_and(|client| client.login.is_some()) {
            return self.fail(turn, key, &error, DisconnectReason::LoginTimeout);
        }
        if client.is_some_and(|client| !matches!(client.retry, Retry::Fresh | Retry::Moved)) {
            // It was sent once, to a backend that was lost.
            let error = ClientError::server_shutdown();
            return self.fail(turn, key, &error, DisconnectReason::BackendLost);
        }
        self.matching
            .forgo_permit(&mut self.records, key, Left::TimedOut);
        self.records.answer_err(turn, key, &error);
        self.drop_waiting_command(turn, key);
    }

    /// A backend was lost. If it was the last one, nothing may be asked of the database for long; whether it is still
    /// there is found out by a connection.
    pub(crate) fn find_out(&mut self, now: Timestamp) {
        if self.records.pool.is_empty() && self.draining.is_none() {
            self.find_out_at = Some(now + FIND_OUT_AFTER);
        }
    }

    fn connects_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        let limit = self.records.settings.connect_timeout;
        while let Some(key) = self.records.first_connecting(id)
            && self
                .records
                .pool
                .since(key)
                .is_some_and(|at| turn.now >= at + limit)
        {
            let text = format!("no login within {limit:?} (connect_timeout)");
            self.give_up_connect(turn, key, text);
        }
        let resetting = BackendState::Resetting;
        while let Some(key) = self.records.pool.first(id, resetting)
            && self
                .records
                .pool
                .since(key)
                .is_some_and(|at| turn.now >= at + RESET_TIMEOUT)
        {
            tracing::warn!("backend connection could not be cleaned in time; closed");
            self.backend_broken(turn, key);
        }
    }

    /// An idle backend is to be closed by then at the latest.
    pub(crate) fn close_before(&mut self, at: Option<Timestamp>) {
        self.short_idle = [self.short_idle, at].into_iter().flatten().min();
    }

    /// Closes idle backends before the server does because of a session's `wait_timeout` that they
    /// carry (rule 13): a statement that crosses the server's close would be lost.
    fn short_idle_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if self.short_idle.is_none_or(|at| turn.now < at) {
            return;
        }
        let (mut due, mut next) = (Vec::new(), None);
        for id in self.records.pool.key_ids() {
            for (key, backend) in self.records.pool.iter(id, BackendState::Idle) {
                let at = carried_timeout(backend)
                    .and_then(|timeout| Some(self.records.pool.since(key)? + timeout));
                match at {
                    Some(at) if turn.now >= at => due.push(key),
                    at => next = [next, at].into_iter().flatten().min(),
                }
            }
        }
        self.short_idle = next;
        for key in due {
            let id = self.records.pool.key_of(key);
            match id.is_some_and(|id| self.records.is_down_to_one(id)) {
                true => self.records.reset_backend(turn, key),
                false => self.records.drop_backend(turn, key),
            }
        }
    }

    fn backends_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let Some(limit) = self.records.settings.backend_idle_timeout else {
            return;
        };
        if self.idle_due.is_none_or(|at| turn.now < at) {
            return;
        }
        self.idle_due = None;
        while let Some((key, since)) = self.records.pool.oldest_idle() {
            let keeps = self.records.shared.ledger.taken() <= self.records.settings.min_connections;
            let from = if keeps { turn.now } else { since };
            if turn.now < from + limit {
                self.idle_due = Some(from + limit);
                return;
            }
            let id = self.records.pool.key_of(key);
            match id.is_some_and(|id| self.records.is_down_to_one(id)) {
                true => self.records.pool.renew(key, turn.now),
                false => self.records.drop_backend(turn, key),
            }
        }
    }

    /// The backend is free. When it is to be closed is not looked up each time: the time of the one
    /// that was free first stands until it has come.
    pub(crate) fn rest<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, key: Key) {
        self.records.pool.move_to(key, BackendState::Idle, turn.now);
        if let Some(backend) = self.records.pool.get_mut(key) {
            backend.reading = Reading::default();
        }
        let limit = self.records.settings.backend_idle_timeout;
        self.idle_due = self.idle_due.or(limit.map(|limit| turn.now + limit));
    }
}

fn client_state(state: State) -> &'static str {
    match state {
        State::Greeting | State::Login | State::Challenged | State::Judged => "login",
        State::Idle => "idle",
        State::ForLock => "for_lock",
        State::Queued => "queued",
        State::Waiting(_) => "waiting",
        State::ForLane(_) => "for_lane",
        State::InLane => "in_lane",
        State::Active => "active",
        State::Held => "held",
        State::Asking => "asking",
    }
}

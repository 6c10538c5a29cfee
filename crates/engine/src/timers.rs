//! Everything that is due at some time. Each list is in the order in which its members came, so
//! only its first member can be due.

use admission::Left;
use events::{Io, Span, Timestamp};
use membership::Key;
use pool::State as BackendState;
use session::statement::Flavor;

use crate::backend::{Backend, Reading};
use crate::client::State;
use crate::endings::retry::Retry;
use crate::errors::ClientError;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// How long setting up or cleaning a backend connection may take, rolling back included.
const RESET_TIMEOUT: Span = Span::from_secs(30);

/// How long after its last backend was lost a worker looks whether the database is still there: a database that is shut
/// down closes its connections before it refuses others, and one that closes each connection at once is not to be
/// asked in a loop.
const FIND_OUT_AFTER: Span = Span::from_ms(500);

impl Engine {
    /// The next time at which something may be due.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        if !self.started {
            return Some(Timestamp::ZERO);
        }
        let settings = &self.settings;
        let client = |state, limit: Option<Span>| Some(self.clients.oldest(state)? + limit?);
        let mut due = [
            client(State::Greeting, Some(settings.login_timeout)),
            client(State::Login, Some(settings.login_timeout)),
            client(State::Challenged, Some(settings.login_timeout)),
            client(State::Judged, Some(settings.login_timeout)),
            self.relay_due(),
            self.clients
                .first_silent(settings.wait_timeout)
                .map(|(at, _)| at),
            client(State::Held, settings.idle_transaction_timeout),
            self.idle_due,
            self.lane_due,
            self.lending.ask_at().filter(|_| {
                let alone = self.shared.ledger.workers() == 1 && self.keys.len() == 1;
                !alone || !self.stalls.is_empty()
            }),
            self.stalls.due(),
            self.orphan_due(),
            self.surviving_due(),
            self.short_idle,
            self.scheduler.next_timer(),
            self.overtime_due,
            self.busy.due(),
            self.draining,
            self.denials.due(),
            self.unfinished_due(),
            self.find_out_at,
            self.lock_waits.due(),
            self.standstill_due(),
        ]
        .into_iter()
        .flatten()
        .min();
        for &id in &self.awake {
            let queue = [State::Waiting(id), State::ForLane(id)]
                .into_iter()
                .filter_map(|waiting| client(waiting, Some(settings.queue_timeout)))
                .min();
            let retry = self.keys[id.0 as usize]
                .retry_at
                .filter(|_| queue.is_some() || self.pool.is_empty());
            let since = |state| self.pool.oldest(id, state);
            let connect = self
                .first_connecting(id)
                .and_then(|key| self.pool.since(key));
            let connect = connect.map(|at| at + settings.connect_timeout);
            let reset = since(BackendState::Resetting).map(|at| at + RESET_TIMEOUT);
            due = [due, queue, retry, connect, reset, self.reserved_due(id)]
                .into_iter()
                .flatten()
                .min();
        }
        due
    }

    /// Does whatever is due.
    pub(crate) fn timers_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let settings = self.settings.clone();
        self.denials_due(turn);
        self.relays_due(turn);
        for state in [State::Greeting].into_iter().chain(State::LOGINS) {
            while let Some(key) = self.due(turn, state, Some(settings.login_timeout)) {
                self.close_client(turn, key, DisconnectReason::LoginTimeout);
            }
        }
        while let Some((at, key)) = self.clients.first_silent(settings.wait_timeout)
            && turn.now >= at
        {
            self.end_silent(turn, key, DisconnectReason::WaitTimeout);
        }
        while let Some(key) = self.due(turn, State::Held, settings.idle_transaction_timeout) {
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
        if self.scheduler.next_timer().is_some_and(|at| turn.now >= at) {
            self.admit_waiters(turn);
        }
        if self.lending.ask_at().is_some_and(|at| turn.now >= at) {
            self.ask_for_slots(turn);
        }
        self.lock_waits_due(turn);
        self.standstill_is_due(turn.now);
        if self.find_out_at.is_some_and(|at| turn.now >= at) {
            self.find_out_at = None;
            if self.pool.is_empty() {
                self.probe(turn);
            }
        }
        if self.draining.is_some_and(|deadline| turn.now >= deadline) {
            self.end_all(turn);
        }
    }

    /// Does what is due for one key.
    fn key_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: pool::KeyId) {
        self.connects_due(turn, id);
        self.reserved_is_due(turn, id);
        let limit = Some(self.settings.queue_timeout);
        for state in [State::Waiting(id), State::ForLane(id)] {
            while let Some(key) = self.due(turn, state, limit) {
                self.queue_timeout(turn, key, id);
            }
        }
        let retry = &mut self.keys[id.0 as usize].retry_at;
        if retry.is_some_and(|at| turn.now >= at) {
            *retry = None;
            self.grow(turn, id);
            if self.pool.is_empty() {
                // Nobody waits; but whether the backend is back is worth knowing.
                self.probe(turn);
            }
        }
    }

    /// The first client of `state`, if it has been there for `limit`.
    fn due<I: Io<Mail>>(
        &self,
        turn: &Turn<'_, I>,
        state: State,
        limit: Option<Span>,
    ) -> Option<Key> {
        let key = self.clients.first(state)?;
        let since = self.clients.get(key)?.since;
        (turn.now >= since + limit?).then_some(key)
    }

    /// A client was silent for too long. MySQL tells it so before it asks anything, MariaDB says nothing.
    fn end_silent<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        reason: DisconnectReason,
    ) {
        if self.known.flavor() == Flavor::MySql {
            self.tell_unasked(turn, key, &ClientError::inactivity().packet());
        }
        self.close_client(turn, key, reason);
    }

    /// A statement waited too long: it gets an ERR and never runs.
    fn queue_timeout<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, id: pool::KeyId) {
        let why = self.why_none_is_free(id);
        self.counters.queue_timeouts += 1;
        let error = ClientError::queue_timeout(self.settings.queue_timeout, &why);
        let client = self.clients.get(key);
        if client.is_some_and(|client| client.login.is_some()) {
            return self.fail(turn, key, &error, DisconnectReason::LoginTimeout);
        }
        if client.is_some_and(|client| !matches!(client.retry, Retry::Fresh | Retry::Moved)) {
            // It was sent once, to a backend that was lost.
            let error = ClientError::server_shutdown();
            return self.fail(turn, key, &error, DisconnectReason::BackendLost);
        }
        self.forgo_permit(key, Left::TimedOut);
        self.answer_err(turn, key, &error);
        self.drop_waiting_command(turn, key);
    }

    /// True if the last attempt to connect with `id` failed.
    pub(crate) fn is_unreachable(&self, id: pool::KeyId) -> bool {
        self.keys[id.0 as usize].failures > 0
    }

    /// What is told to whoever waited for a backend in vain.
    pub(crate) fn why_none_is_free(&self, id: pool::KeyId) -> String {
        if self.is_unreachable(id) {
            let error = &self.keys[id.0 as usize].last_error;
            return format!("the backend cannot be reached: {error}");
        }
        match self.shared.standstill() {
            Some(standstill) => standstill.to_string(),
            None => format!("all {} are in use", self.shared.ledger.total()),
        }
    }

    /// A backend was lost. If it was the last one, nothing may be asked of the database for long; whether it is still
    /// there is found out by a connection.
    pub(crate) fn find_out(&mut self, now: Timestamp) {
        if self.pool.is_empty() && self.draining.is_none() {
            self.find_out_at = Some(now + FIND_OUT_AFTER);
        }
    }

    fn connects_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: pool::KeyId) {
        let limit = self.settings.connect_timeout;
        while let Some(key) = self.first_connecting(id)
            && self
                .pool
                .since(key)
                .is_some_and(|at| turn.now >= at + limit)
        {
            let text = format!("no login within {limit:?} (connect_timeout)");
            self.give_up_connect(turn, key, text);
        }
        let resetting = BackendState::Resetting;
        while let Some(key) = self.pool.first(id, resetting)
            && self
                .pool
                .since(key)
                .is_some_and(|at| turn.now >= at + RESET_TIMEOUT)
        {
            tracing::warn!("backend connection could not be cleaned in time; closed");
            self.backend_broken(turn, key);
        }
    }

    /// The backend that has been connecting for longest. Those that decide a login take as long as that may.
    fn first_connecting(&self, id: pool::KeyId) -> Option<Key> {
        let mut connecting = self.pool.iter(id, BackendState::Connecting);
        let first = connecting.find(|(_, backend)| backend.relay.is_none());
        first.map(|(key, _)| key)
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
        for id in self.pool.key_ids() {
            for (key, backend) in self.pool.iter(id, BackendState::Idle) {
                let at = carried_timeout(backend)
                    .and_then(|timeout| Some(self.pool.since(key)? + timeout));
                match at {
                    Some(at) if turn.now >= at => due.push(key),
                    at => next = [next, at].into_iter().flatten().min(),
                }
            }
        }
        self.short_idle = next;
        for key in due {
            let id = self.pool.key_of(key);
            match id.is_some_and(|id| self.is_down_to_one(id)) {
                true => self.reset_backend(turn, key),
                false => self.drop_backend(turn, key),
            }
        }
    }

    fn backends_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let Some(limit) = self.settings.backend_idle_timeout else {
            return;
        };
        if self.idle_due.is_none_or(|at| turn.now < at) {
            return;
        }
        self.idle_due = None;
        while let Some((key, since)) = self.pool.oldest_idle() {
            let keeps = self.shared.ledger.taken() <= self.settings.min_connections;
            let from = if keeps { turn.now } else { since };
            if turn.now < from + limit {
                self.idle_due = Some(from + limit);
                return;
            }
            let id = self.pool.key_of(key);
            match id.is_some_and(|id| self.is_down_to_one(id)) {
                true => self.pool.renew(key, turn.now),
                false => self.drop_backend(turn, key),
            }
        }
    }

    /// The backend is free. When it is to be closed is not looked up each time: the time of the one
    /// that was free first stands until it has come.
    pub(crate) fn rest<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, key: Key) {
        self.pool.move_to(key, BackendState::Idle, turn.now);
        if let Some(backend) = self.pool.get_mut(key) {
            backend.reading = Reading::default();
        }
        let limit = self.settings.backend_idle_timeout;
        self.idle_due = self.idle_due.or(limit.map(|limit| turn.now + limit));
    }
}

/// How long a backend may be idle with the `wait_timeout` that it carries: half of it. `None` if it carries none.
pub(crate) fn carried_timeout(backend: &Backend) -> Option<Span> {
    let seconds = backend.session.variables.wait_timeout()?;
    Some(Span::from_ms(u64::from(seconds) * 500))
}

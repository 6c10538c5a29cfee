//! What must hold between events: checked by tests, and by the engine itself after a panic only.

use std::sync::Arc;

use events::Timestamp;
use membership::Key;
use pool::{KeyId, State as BackendState};
use session::statement::PinReason;

use crate::Engine;
use crate::backend::Reading;
use crate::client::{Client, State};
use crate::lanes::LANE_DEPTH;

impl Engine {
    /// Looks at all records and how they point at each other. `Err` names what does not hold.
    /// Slow: for tests, and after a panic.
    pub fn check_invariants(&self) -> Result<(), String> {
        for state in self.client_states() {
            for (key, client) in self.clients.iter(state) {
                self.check_client(key, client, state)
                    .map_err(|text| format!("client {} ({state:?}): {text}", client.id))?;
            }
        }
        for id in self.pool.key_ids() {
            let reserved = self.pool.iter(id, BackendState::Reserved).count();
            ensure(
                reserved <= 1,
                "more than one connection of a key is for KILL",
            )?;
            for state in BACKEND_STATES {
                for (key, backend) in self.pool.iter(id, state) {
                    self.check_backend(key, state)
                        .map_err(|text| format!("backend {key:?} ({state:?}): {text}"))?;
                    let client = backend.client.and_then(|client| self.clients.get(client));
                    ensure(
                        client.is_none_or(|client| client.key == id),
                        "it works for a session of another key",
                    )?;
                }
            }
        }
        let mut sessions = vec![0; self.keys.len()];
        let clients = self.client_states();
        for (_, client) in clients.flat_map(|state| self.clients.iter(state)) {
            sessions[client.key.0 as usize] += usize::from(client.seat.is_some());
        }
        let counted = self.keys.iter().map(|key| key.sessions);
        ensure(
            counted.eq(sessions),
            "the sessions of a key are not as many as were counted",
        )?;
        let mut listed = vec![false; self.keys.len()];
        for id in &self.awake {
            listed[id.0 as usize] = true;
        }
        for id in self.pool.key_ids() {
            let is_awake = listed[id.0 as usize];
            ensure(
                is_awake == self.keys[id.0 as usize].awake,
                "a key is awake and not listed as such",
            )?;
            ensure(
                !self.has_business(id) || is_awake,
                "a key sleeps although something may be due for it",
            )?;
        }
        self.check_queued()?;
        self.check_lock_waits()?;
        let mut stalled = self.stalls.clients();
        ensure(
            stalled.all(|client| self.clients.get(client).is_some()),
            "something is remembered of a client that is gone",
        )
    }

    /// Connection ids of the sessions that are in a transaction or pinned: they never wait for a
    /// permit. For tests.
    pub fn bound_sessions(&self) -> impl Iterator<Item = u32> {
        let attached = [State::Active, State::Held, State::Asking];
        let attached = attached
            .into_iter()
            .flat_map(|state| self.clients.iter(state));
        attached
            .filter(|(_, client)| client.holds_backend())
            .map(|(_, client)| client.id)
    }

    /// True if a single client of this worker has anything to do, and it waits although a backend in
    /// its session's state is idle and nobody was told: as if it had to wait for others to go with.
    /// For tests.
    pub fn gathers(&self) -> bool {
        let busy = [State::Active, State::InLane, State::Held, State::Asking];
        if busy.into_iter().any(|state| self.clients.count(state) > 0) {
            return false;
        }
        let lists = |id| [State::Waiting(id), State::ForLane(id)];
        let lists = self.pool.key_ids().flat_map(lists);
        let mut waiting = lists.flat_map(|state| self.clients.iter(state));
        let (lone, others) = (waiting.next(), waiting.next());
        lone.is_some_and(|(_, client)| {
            let mut idle = self.pool.iter(client.key, BackendState::Idle);
            let suits = idle.any(|(_, backend)| backend.session.matches(&client.session));
            let held = self.keys[client.key.0 as usize].stored.is_asked();
            others.is_none() && suits && !held && !self.awake.contains(&client.key)
        })
    }

    /// The accounts whose statements wait for nothing but a permit, since when, and the connection ids of
    /// their clients. For tests.
    pub fn waiting_for_permits(&self) -> impl Iterator<Item = (Arc<str>, Timestamp, u32)> {
        let waiting = self.scheduler.queue_now();
        let waiting = waiting.filter(|waiting| waiting.limit.is_some() && !waiting.lacks_backend);
        waiting.filter_map(|waiting| {
            let id = self.clients.get(waiting.who)?.id;
            Some((waiting.account, waiting.since, id))
        })
    }

    /// Since when statements wait for a backend, and the connection ids of their clients. For tests.
    pub fn waiting_for_backends(&self) -> impl Iterator<Item = (Timestamp, u32)> {
        let lists = |id| [State::Waiting(id), State::ForLane(id)];
        let lists = self.pool.key_ids().flat_map(lists);
        let waiting = lists.flat_map(|state| self.clients.iter(state));
        waiting.map(|(_, client)| (client.since, client.id))
    }

    /// True if somebody waits for a permit, nobody waits for the backends that it would use, and one is
    /// idle. For tests.
    pub fn lacks_permits(&self) -> bool {
        let queued = self.clients.iter(State::Queued);
        let mut ids = queued.map(|(_, client)| client.key);
        let waiting = |id| [State::Waiting(id), State::ForLane(id)];
        let is_first = |id| {
            waiting(id)
                .iter()
                .all(|&list| self.clients.count(list) == 0)
        };
        let has_idle = |id| self.pool.count(id, BackendState::Idle) > 0;
        ids.any(|id| is_first(id) && has_idle(id) && self.may_go_alone(id))
    }

    /// How many might run if there were backends for them, besides those on the lists of keys. For
    /// tests.
    pub fn without_backends(&self) -> u64 {
        let ids = self.pool.key_ids();
        let needy = ids.filter(|&id| self.first_queued_in_need(id).is_some());
        needy
            .map(|id| self.scheduler.without_backend(id.0) as u64)
            .sum()
    }

    /// How many wait on the lists of keys whose connections only logins bring, while all that there are work.
    /// For tests.
    pub fn waiting_for_their_own(&self) -> u64 {
        let all_work = |&id: &KeyId| {
            self.is_relayed(id)
                && self.pool.count(id, BackendState::Active) > 0
                && self.pool.count(id, BackendState::Idle) == 0
        };
        let in_lanes = |id| self.pool.count(id, BackendState::Lane) > 0;
        let for_lane = |id| match in_lanes(id) {
            true => 0,
            false => self.clients.count(State::ForLane(id)),
        };
        let waiting = |id| (self.clients.count(State::Waiting(id)) + for_lane(id)) as u64;
        self.pool.key_ids().filter(all_work).map(waiting).sum()
    }

    /// True if a client of this worker has that connection id. For tests.
    pub fn has_client(&self, connection_id: u32) -> bool {
        self.ids.contains_key(&connection_id)
    }

    pub(crate) fn client_states(&self) -> impl Iterator<Item = State> {
        let fixed = [
            State::Greeting,
            State::Login,
            State::Challenged,
            State::Judged,
            State::Idle,
            State::Active,
            State::InLane,
            State::ForLock,
            State::Queued,
            State::Held,
            State::Asking,
        ];
        let of_key = |id| [State::Waiting(id), State::ForLane(id)];
        fixed
            .into_iter()
            .chain(self.pool.key_ids().flat_map(of_key))
    }

    pub(crate) fn check_client(
        &self,
        key: Key,
        client: &Client,
        state: State,
    ) -> Result<(), String> {
        let attached = match state {
            State::Asking => client.backend.is_some(),
            _ => matches!(state, State::Active | State::Held),
        };
        ensure(
            attached == client.backend.is_some(),
            "a backend is attached exactly while active or held",
        )?;
        ensure(
            attached || !client.capture.conditions.needs_backend(),
            "its conditions are on a backend that may be somebody else's",
        )?;
        let has_texts = client
            .holdings
            .as_ref()
            .is_some_and(|holdings| !holdings.texts.is_empty());
        ensure(
            !has_texts || attached && client.pins.contains(PinReason::TextPrepared),
            "its texts are on a backend that may be somebody else's",
        )?;
        if let Some(backend) = client.backend {
            let back = self.pool.get(backend).and_then(|backend| backend.client);
            ensure(back == Some(key), "its backend does not point back")?;
            let state = self.pool.state(backend);
            ensure(
                matches!(state, Some(BackendState::Active | BackendState::Resetting)),
                "its backend is neither active nor being reset",
            )?;
        }
        self.check_hold(key, state)?;
        self.check_lock_wait(key, state)?;
        self.check_memory(key, client)?;
        match state {
            State::Greeting => ensure(client.login.is_some(), "its connection phase is over"),
            State::Login | State::Challenged | State::Judged => {
                let step = client.login.as_ref().map(|login| login.step.state());
                ensure(step == Some(state), "whose turn it is says another list")
            }
            State::Idle => {
                ensure(client.login.is_none(), "its connection phase is not over")?;
                ensure(!client.holds_backend(), "it should hold a backend")
            }
            State::Held => ensure(client.holds_backend(), "it has no reason to hold a backend"),
            State::Waiting(id) | State::ForLane(id) => {
                ensure(client.key == id, "it waits on another key's list")?;
                ensure(
                    self.front_len(key, &client.inbox).is_ok(),
                    "it waits without a complete command",
                )
            }
            State::ForLock | State::Queued => {
                ensure(
                    !client.holds_backend(),
                    "it must not wait for a permit or a lock",
                )?;
                ensure(
                    self.front_len(key, &client.inbox).is_ok(),
                    "it is queued without a complete command",
                )
            }
            State::InLane => {
                ensure(self.place_in_lane(key).is_some(), "no lane has its command")?;
                ensure(
                    self.front_len(key, &client.inbox).is_ok(),
                    "its command was not kept",
                )
            }
            State::Active | State::Asking => Ok(()),
        }
    }

    fn check_lane(&self, key: Key, state: BackendState) -> Result<(), String> {
        let Some(backend) = self.pool.get(key) else {
            return Ok(());
        };
        ensure(backend.client.is_none(), "a session is attached")?;
        ensure(
            backend.is_working() || backend.kill_outstanding,
            "nothing is in the lane",
        )?;
        ensure(
            backend.exchanges.len() <= LANE_DEPTH,
            "more is in the lane than may be",
        )?;
        ensure(
            state == BackendState::Draining || !backend.kill_outstanding,
            "a lane is filled although its head is being killed",
        )?;
        for (_, rider) in backend.riders() {
            let state = self.clients.state(rider);
            ensure(
                state == Some(State::InLane),
                "it works for a session that is not in it",
            )?;
            let session = self.clients.get(rider).map(|client| &client.session);
            ensure(
                session.is_some_and(|session| backend.session.matches(session)),
                "it works for a session in another state",
            )?;
        }
        Ok(())
    }

    pub(crate) fn check_backend(&self, key: Key, state: BackendState) -> Result<(), String> {
        let Some(backend) = self.pool.get(key) else {
            return Err("it is on a list but not in the pool".to_owned());
        };
        if let Some(client) = backend.client {
            let back = self.clients.get(client).and_then(|client| client.backend);
            ensure(back == Some(key), "its client does not point back")?;
        }
        ensure(
            state == BackendState::Reserved
                || backend.login.is_some() == (state == BackendState::Connecting),
            "it is logging in exactly while connecting",
        )?;
        match state {
            BackendState::Connecting | BackendState::Reserved => {
                ensure(backend.client.is_none(), "a session is attached")
            }
            BackendState::Resetting => ensure(backend.is_working(), "nothing is under way"),
            BackendState::Idle => {
                ensure(backend.client.is_none(), "a session is attached")?;
                ensure(!backend.is_working(), "an answer is due")?;
                ensure(!backend.dirty && backend.due.is_empty(), "it is not clean")?;
                ensure(!backend.notes_session(), "it notes something of a session")?;
                ensure(
                    !backend.transaction.holds_transaction(),
                    "a transaction is counted",
                )?;
                ensure(
                    backend.reading == Reading::Bounded,
                    "its answers are not read as usual",
                )
            }
            BackendState::Lane | BackendState::Draining => self.check_lane(key, state),
            BackendState::Active => ensure(
                backend.client.is_some() || backend.is_working() || backend.kill_outstanding,
                "it works for nobody and is not free",
            ),
        }
    }
}

pub(crate) const BACKEND_STATES: [BackendState; 6] = [
    BackendState::Lane,
    BackendState::Draining,
    BackendState::Connecting,
    BackendState::Resetting,
    BackendState::Idle,
    BackendState::Active,
];

fn ensure(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(otherwise.to_owned())
    }
}

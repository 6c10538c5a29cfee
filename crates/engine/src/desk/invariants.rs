//! What must hold between events. Tests check it, and the engine itself does after a panic.

use std::sync::Arc;

use events::Timestamp;
use membership::Key;
use pool::{KeyId, State as BackendState};
use session::statement::PinReason;

use crate::desk::Engine;
use crate::record::backend::BACKEND_STATES;
use crate::record::client::{Client, State};
use crate::steps::invariants::ensure;

impl Engine {
    /// Looks at all records and how they point at each other. `Err` names what does not hold.
    /// Slow: for tests, and after a panic.
    pub fn check_invariants(&self) -> Result<(), String> {
        for state in self.records.client_states() {
            for (key, client) in self.records.clients.iter(state) {
                self.check_client(key, client, state)
                    .map_err(|text| format!("client {} ({state:?}): {text}", client.id))?;
            }
        }
        for id in self.records.pool.key_ids() {
            let reserved = self.records.pool.iter(id, BackendState::Reserved).count();
            ensure(
                reserved <= 1,
                "more than one connection of a key is for KILL",
            )?;
            for state in BACKEND_STATES {
                for (key, backend) in self.records.pool.iter(id, state) {
                    self.records
                        .check_backend(key, state)
                        .map_err(|text| format!("backend {key:?} ({state:?}): {text}"))?;
                    let client = backend
                        .client
                        .and_then(|client| self.records.clients.get(client));
                    ensure(
                        client.is_none_or(|client| client.key == id),
                        "it works for a session of another key",
                    )?;
                }
            }
        }
        let mut sessions = vec![0; self.records.keys.len()];
        let clients = self.records.client_states();
        for (_, client) in clients.flat_map(|state| self.records.clients.iter(state)) {
            sessions[client.key.0 as usize] += usize::from(client.seat.is_some());
        }
        let counted = self.records.keys.iter().map(|key| key.sessions);
        ensure(
            counted.eq(sessions),
            "the sessions of a key are not as many as were counted",
        )?;
        let mut listed = vec![false; self.records.keys.len()];
        for id in &self.records.awake {
            listed[id.0 as usize] = true;
        }
        for id in self.records.pool.key_ids() {
            let is_awake = listed[id.0 as usize];
            ensure(
                is_awake == self.records.keys[id.0 as usize].awake,
                "a key is awake and not listed as such",
            )?;
            ensure(
                !self.matching.has_business(&self.records, id) || is_awake,
                "a key sleeps although something may be due for it",
            )?;
        }
        self.matching.check_queued(&self.records)?;
        self.matching.check_lock_waits(&self.records)?;
        let mut stalled = self.stalls.clients();
        ensure(
            stalled.all(|client| self.records.clients.get(client).is_some()),
            "something is remembered of a client that is gone",
        )
    }

    /// Connection ids of the sessions that are in a transaction or pinned: they never wait for a
    /// permit. For tests.
    pub fn bound_sessions(&self) -> impl Iterator<Item = u32> {
        let attached = [State::Active, State::Held, State::Asking];
        let attached = attached
            .into_iter()
            .flat_map(|state| self.records.clients.iter(state));
        attached
            .filter(|(_, client)| client.holds_backend())
            .map(|(_, client)| client.id)
    }

    /// True if a single client of this worker has anything to do, and it waits although a backend in
    /// its session's state is idle and nobody was told: as if it had to wait for others to go with.
    /// For tests.
    pub fn gathers(&self) -> bool {
        let busy = [State::Active, State::InLane, State::Held, State::Asking];
        if busy
            .into_iter()
            .any(|state| self.records.clients.count(state) > 0)
        {
            return false;
        }
        let lists = |id| [State::Waiting(id), State::ForLane(id)];
        let lists = self.records.pool.key_ids().flat_map(lists);
        let mut waiting = lists.flat_map(|state| self.records.clients.iter(state));
        let (lone, others) = (waiting.next(), waiting.next());
        lone.is_some_and(|(_, client)| {
            let mut idle = self.records.pool.iter(client.key, BackendState::Idle);
            let suits = idle.any(|(_, backend)| backend.session.matches(&client.session));
            let held = self.records.keys[client.key.0 as usize].stored.is_asked();
            others.is_none() && suits && !held && !self.records.awake.contains(&client.key)
        })
    }

    /// The accounts whose statements wait for nothing but a permit, since when, and the connection ids of
    /// their clients. For tests.
    pub fn waiting_for_permits(&self) -> impl Iterator<Item = (Arc<str>, Timestamp, u32)> {
        let waiting = self.matching.scheduler.queue_now();
        let waiting = waiting.filter(|waiting| waiting.limit.is_some() && !waiting.lacks_backend);
        waiting.filter_map(|waiting| {
            let id = self.records.clients.get(waiting.who)?.id;
            Some((waiting.account, waiting.since, id))
        })
    }

    /// Since when statements wait for a backend, and the connection ids of their clients. For tests.
    pub fn waiting_for_backends(&self) -> impl Iterator<Item = (Timestamp, u32)> {
        let lists = |id| [State::Waiting(id), State::ForLane(id)];
        let lists = self.records.pool.key_ids().flat_map(lists);
        let waiting = lists.flat_map(|state| self.records.clients.iter(state));
        waiting.map(|(_, client)| (client.since, client.id))
    }

    /// True if somebody waits for a permit, nobody waits for the backends that it would use, and one is
    /// idle. For tests.
    pub fn lacks_permits(&self) -> bool {
        let queued = self.records.clients.iter(State::Queued);
        let mut ids = queued.map(|(_, client)| client.key);
        let waiting = |id| [State::Waiting(id), State::ForLane(id)];
        let is_first = |id| {
            waiting(id)
                .iter()
                .all(|&list| self.records.clients.count(list) == 0)
        };
        let has_idle = |id| self.records.pool.count(id, BackendState::Idle) > 0;
        ids.any(|id| is_first(id) && has_idle(id) && self.matching.may_go_alone(&self.records, id))
    }

    /// How many might run if there were backends for them, besides those on the lists of keys. For
    /// tests.
    pub fn without_backends(&self) -> u64 {
        let ids = self.records.pool.key_ids();
        let needy = ids.filter(|&id| {
            self.matching
                .first_queued_in_need(&self.records, id)
                .is_some()
        });
        needy
            .map(|id| self.matching.scheduler.without_backend(id.0) as u64)
            .sum()
    }

    /// How many wait on the lists of keys whose connections only logins bring, while all that there are work.
    /// For tests.
    pub fn waiting_for_their_own(&self) -> u64 {
        let all_work = |&id: &KeyId| {
            self.records.is_relayed(id)
                && self.records.pool.count(id, BackendState::Active) > 0
                && self.records.pool.count(id, BackendState::Idle) == 0
        };
        let in_lanes = |id| self.records.pool.count(id, BackendState::Lane) > 0;
        let for_lane = |id| match in_lanes(id) {
            true => 0,
            false => self.records.clients.count(State::ForLane(id)),
        };
        let waiting = |id| (self.records.clients.count(State::Waiting(id)) + for_lane(id)) as u64;
        self.records
            .pool
            .key_ids()
            .filter(all_work)
            .map(waiting)
            .sum()
    }

    /// True if a client of this worker has that connection id. For tests.
    pub fn has_client(&self, connection_id: u32) -> bool {
        self.records.ids.contains_key(&connection_id)
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
            let back = self
                .records
                .pool
                .get(backend)
                .and_then(|backend| backend.client);
            ensure(back == Some(key), "its backend does not point back")?;
            let state = self.records.pool.state(backend);
            ensure(
                matches!(state, Some(BackendState::Active | BackendState::Resetting)),
                "its backend is neither active nor being reset",
            )?;
        }
        self.matching.check_hold(key, state)?;
        self.matching.check_lock_wait(key, state)?;
        self.records.check_memory(key, client)?;
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
                    self.records.front_len(key, &client.inbox).is_ok(),
                    "it waits without a complete command",
                )
            }
            State::ForLock | State::Queued => {
                ensure(
                    !client.holds_backend(),
                    "it must not wait for a permit or a lock",
                )?;
                ensure(
                    self.records.front_len(key, &client.inbox).is_ok(),
                    "it is queued without a complete command",
                )
            }
            State::InLane => {
                ensure(
                    self.records.place_in_lane(key).is_some(),
                    "no lane has its command",
                )?;
                ensure(
                    self.records.front_len(key, &client.inbox).is_ok(),
                    "its command was not kept",
                )
            }
            State::Active | State::Asking => Ok(()),
        }
    }
}

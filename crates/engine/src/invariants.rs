//! What must hold between events: checked by tests, never by the engine itself.

use membership::Key;
use pool::State as BackendState;

use crate::Engine;
use crate::client::{Client, State};

impl Engine {
    /// Looks at all records and how they point at each other. `Err` names what does not hold.
    /// Slow: for tests.
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
        let stalled = self.stalls.iter().map(|stall| stall.client);
        ensure(
            stalled
                .into_iter()
                .all(|client| self.clients.get(client).is_some()),
            "a stall is remembered of a client that is gone",
        )
    }

    fn client_states(&self) -> impl Iterator<Item = State> {
        let fixed = [
            State::Greeting,
            State::Login,
            State::Idle,
            State::Active,
            State::Held,
            State::Asking,
        ];
        fixed
            .into_iter()
            .chain(self.pool.key_ids().map(State::Waiting))
    }

    fn check_client(&self, key: Key, client: &Client, state: State) -> Result<(), String> {
        let attached = match state {
            State::Asking => client.backend.is_some(),
            _ => matches!(state, State::Active | State::Held),
        };
        ensure(
            attached == client.backend.is_some(),
            "a backend is attached exactly while active or held",
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
        match state {
            State::Greeting | State::Login => {
                ensure(client.login.is_some(), "its connection phase is over")
            }
            State::Idle => {
                ensure(client.login.is_none(), "its connection phase is not over")?;
                ensure(!client.holds_backend(), "it should hold a backend")
            }
            State::Held => ensure(client.holds_backend(), "it has no reason to hold a backend"),
            State::Waiting(id) => {
                ensure(client.key == id, "it waits on another key's list")?;
                ensure(
                    wire::whole_packet(&client.inbox).is_ok(),
                    "it waits without a complete command",
                )
            }
            State::Active | State::Asking => Ok(()),
        }
    }

    fn check_backend(&self, key: Key, state: BackendState) -> Result<(), String> {
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
                ensure(!backend.paused, "reading is paused")
            }
            BackendState::Active => ensure(
                backend.client.is_some() || backend.is_working() || backend.kill_outstanding,
                "it works for nobody and is not free",
            ),
        }
    }
}

const BACKEND_STATES: [BackendState; 4] = [
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

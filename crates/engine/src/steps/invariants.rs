//! What must hold of a backend between events. Tests check it, and the engine after a panic.

use membership::Key;
use pool::State as BackendState;

use crate::matching::lanes::LANE_DEPTH;
use crate::record::backend::Reading;
use crate::record::client::State;
use crate::record::records::Records;

impl Records {
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

pub(crate) fn ensure(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(otherwise.to_owned())
    }
}

//! Everything that is due at some time. Each list is in the order in which its members came, so
//! only its first member can be due.

use events::{Io, Span};
use membership::Key;
use pool::State as BackendState;

use crate::record::backend::Backend;
use crate::record::client::State;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// The first client of `state`, if it has been there for `limit`.
    pub(crate) fn due<I: Io<Mail>>(
        &self,
        turn: &Turn<'_, I>,
        state: State,
        limit: Option<Span>,
    ) -> Option<Key> {
        let key = self.clients.first(state)?;
        let since = self.clients.get(key)?.since;
        (turn.now >= since + limit?).then_some(key)
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

    /// The backend that has been connecting for longest. Those that decide a login take as long as that may.
    pub(crate) fn first_connecting(&self, id: pool::KeyId) -> Option<Key> {
        let mut connecting = self.pool.iter(id, BackendState::Connecting);
        let first = connecting.find(|(_, backend)| backend.relay.is_none());
        first.map(|(key, _)| key)
    }
}

/// How long a backend may be idle with the `wait_timeout` that it carries: half of it. `None` if it carries none.
pub(crate) fn carried_timeout(backend: &Backend) -> Option<Span> {
    let seconds = backend.session.variables.wait_timeout()?;
    Some(Span::from_ms(u64::from(seconds) * 500))
}

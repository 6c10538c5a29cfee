//! The keys for which something may be due, so that what is done each turn does not grow with the
//! number of keys. Owns no decision: only which keys are worth a look.

use pool::{KeyId, State as BackendState};

use crate::Engine;
use crate::client::State;

impl Engine {
    /// Something of `id` waits, or is under way that may take too long.
    pub(crate) fn wake(&mut self, id: KeyId) {
        let state = &mut self.keys[id.0 as usize];
        if !std::mem::replace(&mut state.awake, true) {
            self.awake.push(id);
        }
    }

    /// Each key that is awake, in no order. Those that wake meanwhile come last.
    pub(crate) fn each_awake(&mut self, mut each: impl FnMut(&mut Self, KeyId)) {
        let mut at = 0;
        while let Some(&id) = self.awake.get(at) {
            each(self, id);
            at += 1;
        }
    }

    /// At the end of a turn: what has nothing under way falls asleep.
    pub(crate) fn doze(&mut self) {
        let mut awake = std::mem::take(&mut self.awake);
        awake.retain(|&id| {
            let stays = self.has_business(id);
            self.keys[id.0 as usize].awake = stays;
            stays
        });
        self.awake = awake;
    }

    /// True if timers or other keys must look at `id`.
    pub(crate) fn has_business(&self, id: KeyId) -> bool {
        const STATES: [BackendState; 5] = [
            BackendState::Connecting,
            BackendState::Resetting,
            BackendState::Lane,
            BackendState::Draining,
            BackendState::Reserved,
        ];
        let waiters = [State::Waiting(id), State::ForLane(id)];
        waiters.iter().any(|&state| self.clients.count(state) > 0)
            || STATES.iter().any(|&state| self.pool.count(id, state) > 0)
            || self.keys[id.0 as usize].retry_at.is_some()
            || self.keys[id.0 as usize].queued > 0
            || self.next_relay_of(id).is_some()
    }
}

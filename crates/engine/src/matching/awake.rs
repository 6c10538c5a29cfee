//! The keys for which something may be due, so that the work of a turn does not grow with the number of keys.

use pool::{KeyId, State as BackendState};

use crate::matching::Matching;
use crate::record::client::State;
use crate::record::records::Records;

impl Matching {
    /// At the end of a turn: what has nothing under way falls asleep.
    pub(crate) fn doze(&mut self, records: &mut Records) {
        let mut awake = std::mem::take(&mut records.awake);
        awake.retain(|&id| {
            let stays = self.has_business(records, id);
            records.keys[id.0 as usize].awake = stays;
            stays
        });
        records.awake = awake;
    }

    /// True if timers or other keys must look at `id`.
    pub(crate) fn has_business(&self, records: &Records, id: KeyId) -> bool {
        const STATES: [BackendState; 5] = [
            BackendState::Connecting,
            BackendState::Resetting,
            BackendState::Lane,
            BackendState::Draining,
            BackendState::Reserved,
        ];
        let waiters = [State::Waiting(id), State::ForLane(id)];
        waiters
            .iter()
            .any(|&state| records.clients.count(state) > 0)
            || STATES
                .iter()
                .any(|&state| records.pool.count(id, state) > 0)
            || records.keys[id.0 as usize].retry_at.is_some()
            || records.keys[id.0 as usize].queued > 0
            || self.next_relay_of(id).is_some()
    }
}

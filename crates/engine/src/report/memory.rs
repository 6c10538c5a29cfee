//! How much memory the clients of a worker take, by kind.

use crate::record::client::State;
use crate::record::records::Records;

/// How many clients of a state are looked at.
const SAMPLE: usize = 256;

impl Records {
    /// Bytes of the table that finds clients by id: a byte of its own beside each place.
    pub(crate) fn client_id_bytes(&self) -> u64 {
        let entry = size_of::<(u32, membership::Key)>() + 1;
        // It is at most seven eighths full.
        (self.ids.capacity() * entry * 8 / 7) as u64
    }

    /// Bytes that clients sent and that wait in buffers: estimated from those who have been in
    /// their state for longest, because there may be a million. Buffers that are kept for the next
    /// ones are counted, too.
    pub(crate) fn client_inbox_bytes(&self) -> u64 {
        let waiting = self.pool.key_ids();
        let waiting = waiting.flat_map(|id| [State::Waiting(id), State::ForLane(id)]);
        let states = [
            State::ForLock,
            State::Queued,
            State::InLane,
            State::Active,
            State::Held,
            State::Asking,
        ];
        let inboxes: usize = states
            .into_iter()
            .chain(State::LOGINS)
            .chain(waiting)
            .map(|state| self.inbox_bytes(state))
            .sum();
        let spares: usize = self.spares.iter().map(Vec::capacity).sum();
        (inboxes + spares) as u64
    }

    fn inbox_bytes(&self, state: State) -> usize {
        let count = self.clients.count(state);
        let seen = count.min(SAMPLE);
        let sampled = self.clients.iter(state).take(seen);
        let bytes: usize = sampled.map(|(_, client)| client.inbox.capacity()).sum();
        (bytes * count).checked_div(seen).unwrap_or(0)
    }
}

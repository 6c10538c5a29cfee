//! Which keys wait for backends, and since when.

use events::{Io, Timestamp};
use membership::Key;
use pool::{Choice, KEEP, KeyId};

use crate::matching::Matching;
use crate::record::client::State;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// Whoever has waited longest of those who wait for nothing but a backend, whatever the limits.
    pub(crate) fn first_listed_in_need(&self, id: KeyId) -> Option<Key> {
        let lane = self.clients.first(State::ForLane(id));
        let lane = lane.filter(|&first| !self.has_lane(first));
        let since = |key: &Key| self.clients.get(*key).map(|client| client.since);
        let alone = self.clients.first(State::Waiting(id));
        [alone, lane].into_iter().flatten().min_by_key(since)
    }

    /// True if connecting with `id` has failed, and is to be tried again later.
    pub(crate) fn backing_off(&self, now: Timestamp, id: KeyId) -> bool {
        let retry_at = self.keys[id.0 as usize].retry_at;
        retry_at.is_some_and(|at| now < at)
    }
}

impl Matching {
    /// True if a client has waited for long, and none of the connections that there are can serve it.
    pub(crate) fn needs_room<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &Turn<'_, I>,
        client: Key,
    ) -> bool {
        let Some(record) = records.clients.get(client) else {
            return false;
        };
        let (id, since) = (record.key, record.since);
        turn.now >= since + KEEP
            && self.calls_since(records, id, turn.now).is_some()
            && self.choose(records, turn.now, client) == Choice::Open
    }

    /// Who waits for a backend of its own. Nobody, if the key has as many at work as are good for it.
    pub(crate) fn first_in_need(&self, records: &Records, id: KeyId) -> Option<Key> {
        let since = |key: &Key| records.clients.get(*key).map(|client| client.since);
        let first = [
            records.first_listed_in_need(id),
            self.first_queued_in_need(records, id),
        ];
        let first = first.into_iter().flatten().min_by_key(since);
        first.filter(|_| self.may_go_alone(records, id))
    }

    /// Since when somebody has waited for a backend of its own.
    pub(crate) fn in_need_since(&self, records: &Records, id: KeyId) -> Option<Timestamp> {
        let first = [self.first_in_need(records, id), self.next_relay_of(id)];
        let since = |key: Key| records.clients.get(key).map(|client| client.since);
        first.into_iter().flatten().filter_map(since).min()
    }
}

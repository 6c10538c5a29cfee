//! The limits that hold for a client: its account's and its default schema's. Owns when `admission` is told of either.

use admission::{Scheduler, Seat};
use membership::Key;

use crate::matching::Matching;
use crate::record::client::State;
use crate::record::records::Records;

impl Matching {
    /// The session's default schema is another now. It has happened, however many sessions are in it.
    pub(crate) fn follow_schema(&mut self, records: &mut Records, key: Key) {
        self.with_schema(records, key, |scheduler, seat, schema| {
            scheduler.follow_schema(seat, schema);
        });
    }

    /// Other limits are in force.
    pub(crate) fn rules_changed(&mut self, records: &mut Records) {
        self.scheduler.rules_changed();
        for state in records.client_states().collect::<Vec<State>>() {
            let keys = records.clients.iter(state).map(|(key, _)| key);
            for key in keys.collect::<Vec<Key>>() {
                self.follow_schema(records, key);
                self.follow_weight(records, key);
            }
        }
    }

    /// Clients of one key may be of several accounts, by their hosts; the last one counts.
    fn follow_weight(&mut self, records: &mut Records, key: Key) {
        let client = records.clients.get(key);
        if let Some((id, seat)) = client.and_then(|c| Some((c.key, c.seat.as_ref()?))) {
            records.share_mut(id).weight = self.scheduler.weight(seat);
        }
    }

    /// Tells admission of a client's default schema, if any schema has limits.
    pub(crate) fn with_schema<T>(
        &mut self,
        records: &mut Records,
        key: Key,
        tell: impl FnOnce(&mut Scheduler<Key>, &mut Seat, Option<&str>) -> T,
    ) -> Option<T> {
        let client = records.clients.get_mut(key)?;
        let seat = client.seat.as_mut()?;
        if !self.scheduler.knows_schemas() && !seat.is_in_schema() {
            return None;
        }
        let schema = client.session.schema.as_deref();
        let schema = schema.map(String::from_utf8_lossy);
        Some(tell(&mut self.scheduler, seat, schema.as_deref()))
    }
}

//! Places in the connection phase: which clients of a worker have one, by address. Finds the address with most of them. How
//! many places there are is counted for all workers (`shared`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use events::Peer;
use membership::Key;

use crate::record::address::network;
use crate::record::shared::LoginSlot;

/// Who of a worker has a place. Bounded by the places that there are.
#[derive(Debug, Default)]
pub(crate) struct Places(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    /// By address; those of one in the order in which they came.
    holders: BTreeMap<(u128, u64), Key>,
    counts: BTreeMap<u128, usize>,
    /// The addresses by how many places they have.
    ranks: BTreeSet<(usize, u128)>,
    last: u64,
}

/// A client's place. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Place {
    table: Arc<Mutex<Table>>,
    at: (u128, u64),
    _slot: LoginSlot,
}

impl Places {
    /// A client at `peer` gets a place.
    pub(crate) fn give(&self, slot: LoginSlot, (peer, client): (Peer, Key)) -> Place {
        let at = lock(&self.0).add(network(peer), client);
        let table = self.0.clone();
        Place {
            table,
            at,
            _slot: slot,
        }
    }

    /// The oldest of the address that has most, if it would not have fewer than the one of `peer` with a place
    /// from it.
    pub(crate) fn beyond_fair(&self, peer: Peer) -> Option<Key> {
        let table = lock(&self.0);
        let &(most, busiest) = table.ranks.last()?;
        let own = table.counts.get(&network(peer)).copied().unwrap_or(0);
        if most < own + 2 {
            return None;
        }
        let mut holders = table.holders.range((busiest, 0)..);
        holders.next().map(|(_, &client)| client)
    }
}

impl Place {
    /// The client comes from there, and not from where its connection does.
    pub(crate) fn moves_to(&mut self, peer: Peer) {
        let mut table = lock(&self.table);
        if let Some(client) = table.remove(self.at) {
            self.at = table.add(network(peer), client);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.table).remove(self.at);
    }
}

impl Table {
    fn add(&mut self, address: u128, client: Key) -> (u128, u64) {
        self.last += 1;
        let at = (address, self.last);
        self.holders.insert(at, client);
        self.count(address, |count| count + 1);
        at
    }

    fn remove(&mut self, at: (u128, u64)) -> Option<Key> {
        let client = self.holders.remove(&at)?;
        self.count(at.0, |count| count - 1);
        Some(client)
    }

    /// Changes how many an address has.
    fn count(&mut self, address: u128, change: impl Fn(usize) -> usize) {
        let before = self.counts.remove(&address).unwrap_or(0);
        self.ranks.remove(&(before, address));
        let after = change(before);
        if after > 0 {
            self.counts.insert(address, after);
            self.ranks.insert((after, address));
        }
    }
}

/// Opens the table, also after a panic while it was open: at worst another client goes first.
fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use membership::Slab;

    use super::*;
    use crate::Shared;

    fn peer(last: u8) -> Peer {
        Peer::Tcp(([10, 0, 0, last], 1_000).into())
    }

    #[test]
    fn the_address_with_most_places_gives_its_oldest() {
        let (shared, places) = (Shared::new(1, 1), Places::default());
        let mut clients = Slab::default();
        let mut give = |from| {
            let slot = shared.begin_login(100).unwrap();
            let client = clients.insert(());
            (client, places.give(slot, (peer(from), client)))
        };
        let all: Vec<_> = [7, 8, 7, 7].into_iter().map(&mut give).collect();
        let [(first, _), _, (third, _), _] = all[..] else {
            panic!("four came");
        };
        for (newcomer, expected) in [(9, Some(first)), (8, Some(first)), (7, None)] {
            assert_eq!(places.beyond_fair(peer(newcomer)), expected, "{newcomer}");
        }
        assert_eq!(places.beyond_fair(Peer::Unix), Some(first));
        let mut all = all.into_iter();
        drop(all.next());
        assert_eq!(places.beyond_fair(peer(8)), None, "2 and 1 are fair");
        assert_eq!(places.beyond_fair(peer(9)), Some(third));
        let (moves, mut place) = give(6);
        for to in [8, 5, 5] {
            place.moves_to(peer(to));
        }
        let (_, beside) = give(5);
        assert_eq!(
            places.beyond_fair(peer(4)),
            Some(third),
            "of two with as many"
        );
        drop(all);
        assert_eq!(places.beyond_fair(peer(4)), Some(moves));
        drop((place, beside));
        let table = lock(&places.0);
        assert!(table.holders.is_empty() && table.counts.is_empty() && table.ranks.is_empty());
    }
}

//! How many logins backends decide at a time, over all workers, and which clients wait. A place that a worker gives back goes
//! to another worker that is short of places first.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use membership::Key;
use pool::KeyId;

/// The clients of a worker that wait for a backend to decide their logins, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct RelayQueue {
    waiting: BTreeMap<u64, (Key, KeyId)>,
    last: u64,
    /// The place of the first client, which waits for a slot.
    pub place: Option<RelayPlace>,
}

impl RelayQueue {
    /// One more, whose number is returned.
    pub(crate) fn add(&mut self, client: Key, id: KeyId) -> u64 {
        self.last += 1;
        self.waiting.insert(self.last, (client, id));
        self.last
    }

    /// The client with this number goes.
    pub(crate) fn leave(&mut self, number: u64) {
        self.waiting.remove(&number);
    }

    /// Whoever is first goes, with its place.
    pub(crate) fn take_first(&mut self) -> Option<RelayPlace> {
        let place = self.place.take()?;
        self.waiting.pop_first();
        Some(place)
    }

    pub(crate) fn first(&self) -> Option<(Key, KeyId)> {
        self.waiting.values().next().copied()
    }
}

/// What all workers have of places together.
#[derive(Debug)]
pub(crate) struct RelayPlaces {
    taken: AtomicUsize,
    /// Per worker: logins wait there for a place.
    short: Box<[AtomicBool]>,
}

/// The right to decide a login. Dropping it gives it back.
#[derive(Debug)]
pub struct RelayPlace(Arc<RelayPlaces>);

impl Drop for RelayPlace {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::SeqCst);
    }
}

impl RelayPlaces {
    /// For so many workers.
    pub(crate) fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            taken: AtomicUsize::new(0),
            short: (0..workers).map(|_| AtomicBool::new(false)).collect(),
        })
    }

    /// One of `most`, if one is left.
    pub(crate) fn take(self: &Arc<Self>, most: usize) -> Option<RelayPlace> {
        let below = |taken| (taken < most).then_some(taken + 1);
        let order = Ordering::SeqCst;
        self.taken.fetch_update(order, order, below).ok()?;
        Some(RelayPlace(self.clone()))
    }

    pub(crate) fn has_room(&self, most: usize) -> bool {
        self.taken.load(Ordering::SeqCst) < most
    }

    pub(crate) fn is_any_short(&self) -> bool {
        self.short.iter().any(|short| short.load(Ordering::SeqCst))
    }

    /// Whether the worker waits for a place. True if it does and that was not known.
    pub(crate) fn set_short(&self, worker: usize, is_short: bool) -> bool {
        let before = self.short[worker].swap(is_short, Ordering::SeqCst);
        is_short && !before
    }

    /// The next worker behind `worker` that is short of places, which is to get one.
    pub(crate) fn next_short(&self, worker: usize) -> Option<usize> {
        let workers = self.short.len();
        let mut others = (1..workers).map(|step| (worker + step) % workers);
        others.find(|&other| self.short[other].swap(false, Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_over_all_workers_which_take_turns() {
        let places = RelayPlaces::new(3);
        let first = places.take(2).unwrap();
        let second = places.take(2).unwrap();
        assert!(places.take(2).is_none() && !places.has_room(2));
        assert!(places.set_short(2, true) && !places.set_short(2, true));
        assert!(places.set_short(1, true) && places.set_short(0, true));
        assert!(!places.set_short(0, false));
        drop(first);
        assert!(places.has_room(2) && places.is_any_short());
        assert_eq!(places.next_short(1), Some(2), "behind it, not itself");
        assert_eq!(places.next_short(2), Some(1));
        assert_eq!(places.next_short(0), None);
        drop(second);
        assert!(places.take(1).is_some() && !places.is_any_short());
    }

    #[test]
    fn who_leaves_is_not_next() {
        let mut slab = membership::Slab::default();
        let (first, second) = (slab.insert(()), slab.insert(()));
        let mut queue = RelayQueue::default();
        let number = queue.add(first, KeyId(0));
        queue.add(second, KeyId(1));
        assert_eq!(queue.first(), Some((first, KeyId(0))));
        queue.leave(number);
        assert_eq!(queue.first(), Some((second, KeyId(1))));
        queue.leave(number);
        assert_eq!(queue.waiting.len(), 1);
    }
}

//! How many logins backends decide at a time, over all workers, and who waits for that.
//!
//! Owns who is next, and how workers take turns: what one gives back goes to another that is short of it first. What
//! is said in such a login is the matter of `relay`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use events::{Io, Timestamp};
use membership::Key;
use pool::{KeyId, Slot};

use crate::client::{RelayStage, State};
use crate::errors::ClientError;
use crate::login::dawdlers::GRACE;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// The clients of a worker that wait for a backend to decide their logins, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct RelayQueue {
    waiting: BTreeMap<u64, (Key, KeyId)>,
    last: u64,
    /// That of the first of them, which waits for a slot.
    place: Option<RelayPlace>,
}

impl RelayQueue {
    /// One more, whose number is returned.
    pub(crate) fn add(&mut self, client: Key, id: KeyId) -> u64 {
        self.last += 1;
        self.waiting.insert(self.last, (client, id));
        self.last
    }

    /// That one goes.
    pub(crate) fn leave(&mut self, number: u64) {
        self.waiting.remove(&number);
    }

    /// Whoever is first goes, with its place.
    fn take_first(&mut self) -> Option<RelayPlace> {
        let place = self.place.take()?;
        self.waiting.pop_first();
        Some(place)
    }

    fn first(&self) -> Option<(Key, KeyId)> {
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
    fn take(self: &Arc<Self>, most: usize) -> Option<RelayPlace> {
        let below = |taken| (taken < most).then_some(taken + 1);
        let order = Ordering::SeqCst;
        self.taken.fetch_update(order, order, below).ok()?;
        Some(RelayPlace(self.clone()))
    }

    fn has_room(&self, most: usize) -> bool {
        self.taken.load(Ordering::SeqCst) < most
    }

    fn is_any_short(&self) -> bool {
        self.short.iter().any(|short| short.load(Ordering::SeqCst))
    }

    /// Whether the worker waits for a place. True if it does and that was not known.
    fn set_short(&self, worker: usize, is_short: bool) -> bool {
        let before = self.short[worker].swap(is_short, Ordering::SeqCst);
        is_short && !before
    }

    /// The next worker behind `worker` that is short of places, which is to get one.
    fn next_short(&self, worker: usize) -> Option<usize> {
        let workers = self.short.len();
        let mut others = (1..workers).map(|step| (worker + step) % workers);
        others.find(|&other| self.short[other].swap(false, Ordering::SeqCst))
    }
}

impl Engine {
    /// The login that a backend is to decide next, which has its place.
    pub(crate) fn next_relay(&self) -> Option<(Key, KeyId)> {
        self.relays.first().filter(|_| self.relays.place.is_some())
    }

    /// Opens connections for those who wait for one, as far as there are places and slots. Other workers that are
    /// short of places come first.
    pub(crate) fn open_relays<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if self.relays.first().is_none() {
            self.relays.place = None;
        }
        self.hand_places_on(turn);
        while let Some((client, id)) = self.relays.first() {
            if !self.has_place_for_next(turn) {
                return;
            }
            self.wake(id);
            let Some(slot) = self.slot(turn, id) else {
                return;
            };
            let Some(place) = self.relays.take_first() else {
                return;
            };
            self.open_relay(turn, (client, place), (id, slot));
        }
        self.shared.relays.set_short(self.worker, false);
    }

    /// Gives free places to other workers that are short of them.
    fn hand_places_on<I: Io<Mail>>(&self, turn: &mut Turn<'_, I>) {
        let (places, most) = (&self.shared.relays, self.settings.max_relays);
        while places.has_room(most)
            && let Some(other) = places.next_short(self.worker)
        {
            match places.take(most) {
                // A worker that has ended gives it back with its mail.
                Some(place) => drop(turn.io.post(other, Mail::RelayPlace(place))),
                // Somebody was faster.
                None => drop(places.set_short(other, true)),
            }
        }
    }

    /// True if there is a place for whoever is next. If not, the others know.
    fn has_place_for_next<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) -> bool {
        let (places, most) = (&self.shared.relays, self.settings.max_relays);
        if self.relays.place.is_none() {
            self.relays.place = places.take(most);
        }
        let is_short = self.relays.place.is_none();
        if !places.set_short(self.worker, is_short) {
            return !is_short;
        }
        // One may have been given back before that was known.
        self.relays.place = places.take(most);
        for other in (0..self.shared.ledger.workers()).filter(|&other| other != self.worker) {
            let _ended = turn.io.post(other, Mail::RelayWanted);
        }
        self.relays.place.is_some()
    }

    /// Another worker has given a place back, and this one was short of them.
    pub(crate) fn relay_place_came<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        place: RelayPlace,
    ) {
        match self.relays.place {
            None => self.relays.place = Some(place),
            Some(_) => drop(place),
        }
        self.open_relays(turn);
    }

    fn open_relay<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        (client, place): (Key, RelayPlace),
        (id, slot): (KeyId, Slot),
    ) {
        let Some(record) = self.clients.get(client) else {
            return;
        };
        let collation = record.session.collation;
        let backend = self.relay_backend(turn, (client, place), collation);
        let key = self.open_with(turn, (id, slot), backend);
        self.served(id, turn.now);
        self.set_stage(turn, client, RelayStage::Backend(key));
    }

    /// When somebody whom a backend has asked something must have answered, because others wait for its place.
    pub(crate) fn relay_due(&self) -> Option<Timestamp> {
        let oldest = self.clients.oldest(State::Challenged)?;
        let places = &self.shared.relays;
        let full = !places.has_room(self.settings.max_relays);
        (full && places.is_any_short()).then_some(oldest + GRACE)
    }

    /// Whoever has a backend wait for longer than an honest client would loses its place, if others wait for it.
    pub(crate) fn relays_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while self.relay_due().is_some_and(|due| turn.now >= due)
            && let Some(oldest) = self.clients.first(State::Challenged)
        {
            let error = ClientError::too_many_connections();
            self.refuse(turn, oldest, &error, DisconnectReason::TooManyLogins);
        }
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

//! Deadlines: who is due, without sorting. Entering and leaving take constant time, and nothing is
//! allocated once the wheel has held as many.
//!
//! Two rings of lists: one of single ticks, and one of whole turns of the first. Each deadline is
//! moved from the second to the first at most once, but for those that lie further ahead than both.

use events::{Span, Timestamp};
use membership::{Key, ListId, Roster};

/// A tick, in µs. Deadlines are rounded up to it: nobody is due early.
const TICK_US: u64 = 1_000;
/// Lists per ring.
const SIZE: u64 = 1_024;

/// Items, each with its deadline.
pub(crate) struct Wheel<T> {
    entries: Roster<Entry<T>>,
    /// The next tick to be looked at.
    at: u64,
    /// Nobody is due before this tick; `None` if there is nobody.
    soonest: Option<u64>,
}

struct Entry<T> {
    item: T,
    tick: u64,
}

impl<T: Copy> Wheel<T> {
    pub(crate) fn new() -> Self {
        Self {
            entries: Roster::new(2 * SIZE as u32),
            at: 0,
            soonest: None,
        }
    }

    /// Adds `item`, which is due at `deadline`.
    pub(crate) fn insert(&mut self, item: T, deadline: Timestamp, now: Timestamp) -> Key {
        if self.entries.is_empty() {
            self.at = self.at.max(now.as_us() / TICK_US);
        }
        let tick = deadline.as_us().div_ceil(TICK_US).max(self.at);
        self.soonest = Some(self.soonest.map_or(tick, |soonest| soonest.min(tick)));
        self.entries.insert(self.list(tick), Entry { item, tick })
    }

    /// Takes an item out before it is due.
    pub(crate) fn remove(&mut self, key: Key) {
        self.entries.remove(key);
        if self.entries.is_empty() {
            self.soonest = None;
        }
    }

    /// Takes one out that is due.
    pub(crate) fn due(&mut self, now: Timestamp) -> Option<T> {
        let last = now.as_us() / TICK_US;
        if self.soonest.is_none_or(|soonest| soonest > last) {
            return None;
        }
        while self.at <= last {
            if let Some(key) = self.entries.first(self.list(self.at)) {
                let entry = self.entries.remove(key)?;
                if self.entries.is_empty() {
                    self.soonest = None;
                }
                return Some(entry.item);
            }
            self.at += 1;
            if self.at.is_multiple_of(SIZE) {
                self.unfold();
            }
        }
        self.soonest = self.search();
        None
    }

    /// A time before which nobody is due.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        let tick = self.soonest?;
        Some(Timestamp::ZERO + Span::from_us(tick * TICK_US))
    }

    /// Where a tick belongs, seen from the one that is looked at.
    fn list(&self, tick: u64) -> ListId {
        let turn = tick / SIZE;
        let index = if turn == self.at / SIZE {
            tick % SIZE
        } else {
            SIZE + turn.min(self.at / SIZE + SIZE - 1) % SIZE
        };
        ListId(index as u32)
    }

    /// A turn begins: its deadlines move to the first ring.
    fn unfold(&mut self) {
        let turn = ListId((SIZE + self.at / SIZE % SIZE) as u32);
        for _ in 0..self.entries.len_of(turn) {
            let Some(key) = self.entries.first(turn) else {
                return;
            };
            let tick = self.entries.get(key).map_or(0, |entry| entry.tick);
            self.entries.move_to(key, self.list(tick));
        }
    }

    fn search(&self) -> Option<u64> {
        if self.entries.is_empty() {
            return None;
        }
        let is_used = |tick: &u64| self.entries.len_of(self.list(*tick)) > 0;
        let turn = self.at / SIZE;
        let mut ticks = self.at..(turn + 1) * SIZE;
        let mut turns = (turn + 1..=turn + SIZE).map(|turn| turn * SIZE);
        ticks.find(is_used).or_else(|| turns.find(is_used))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u64),
        Remove(usize),
        Pass(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let spans = prop_oneof![0..3_000_u64, 0..5_000_000_u64, 0..3_000_000_000_u64];
        prop_oneof![
            spans.clone().prop_map(Step::Insert),
            any::<usize>().prop_map(Step::Remove),
            spans.prop_map(Step::Pass),
        ]
    }

    proptest! {
        #[test]
        fn everybody_is_due_in_the_tick_of_their_deadline(steps in prop::collection::vec(step(), 0..60)) {
            let mut wheel = Wheel::new();
            let mut model: Vec<(u64, usize, Key)> = Vec::new();
            let mut now = Timestamp::from_us(123_456);
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Insert(us) => {
                        let deadline = now + Span::from_us(us);
                        let key = wheel.insert(number, deadline, now);
                        model.push((deadline.as_us().div_ceil(TICK_US) * TICK_US, number, key));
                    }
                    Step::Remove(which) if !model.is_empty() => {
                        let (_, _, key) = model.swap_remove(which % model.len());
                        wheel.remove(key);
                    }
                    Step::Remove(_) => {}
                    Step::Pass(us) => now = now + Span::from_us(us),
                }
                let mut due = Vec::new();
                while let Some(number) = wheel.due(now) {
                    due.push(number);
                }
                due.sort_unstable();
                let (mut expected, rest): (Vec<_>, Vec<_>) =
                    model.into_iter().partition(|&(at, ..)| at <= now.as_us());
                expected.sort_unstable_by_key(|&(_, number, _)| number);
                let expected: Vec<usize> = expected.into_iter().map(|(_, number, _)| number).collect();
                prop_assert_eq!(due, expected);
                model = rest;
                let first = model.iter().map(|&(at, ..)| at).min();
                let next = wheel.next().map(Timestamp::as_us);
                prop_assert_eq!(next.is_some(), first.is_some());
                prop_assert!(next <= first);
            }
        }
    }
}

//! The budget of backend connections that all workers share, and who is short of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use events::Timestamp;

use crate::lending::Claim;

const NOBODY: u64 = u64::MAX;

/// One budget over all workers. A worker writes its own row only; the rows of the others tell it
/// whether somebody is short of slots.
#[derive(Debug)]
pub struct Ledger {
    total: usize,
    taken: AtomicUsize,
    rows: Box<[Row]>,
}

/// Its own cache line, so that workers do not slow each other down.
#[derive(Debug)]
#[repr(align(128))]
struct Row {
    owned: AtomicUsize,
    /// When the oldest of the worker's waiters began to wait for a slot, or [`NOBODY`].
    waiting_since_us: AtomicU64,
    /// Since when it has had such waiters without a break, or [`NOBODY`].
    short_since_us: AtomicU64,
}

impl Ledger {
    /// A ledger of `total` slots for workers 0 to `workers` − 1.
    pub fn new(total: usize, workers: usize) -> Arc<Self> {
        let row = |_| Row {
            owned: AtomicUsize::new(0),
            waiting_since_us: AtomicU64::new(NOBODY),
            short_since_us: AtomicU64::new(NOBODY),
        };
        Arc::new(Self {
            total,
            taken: AtomicUsize::new(0),
            rows: (0..workers).map(row).collect(),
        })
    }

    /// Takes a slot for `worker`, if one is left.
    pub fn take(self: &Arc<Self>, worker: usize) -> Option<Slot> {
        let below_total = |taken| (taken < self.total).then_some(taken + 1);
        self.taken
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, below_total)
            .ok()?;
        self.rows[worker].owned.fetch_add(1, Ordering::SeqCst);
        Some(Slot {
            ledger: self.clone(),
            worker,
            counted: true,
        })
    }

    /// A slot for a connection outside the budget.
    pub fn reserve(self: &Arc<Self>, worker: usize) -> Slot {
        Slot {
            ledger: self.clone(),
            worker,
            counted: false,
        }
    }

    /// Says since when `worker`'s oldest waiter has found neither a backend nor a slot, and since
    /// when it has had such waiters without a break. Whoever says so must try [`Ledger::take`] once
    /// more afterwards: a slot given back in between saw nobody waiting.
    pub fn set_waiting(
        &self,
        worker: usize,
        since: Option<Timestamp>,
        short_since: Option<Timestamp>,
    ) {
        let us = |since: Option<Timestamp>| since.map_or(NOBODY, Timestamp::as_us);
        let row = &self.rows[worker];
        row.short_since_us.store(us(short_since), Ordering::SeqCst);
        row.waiting_since_us.store(us(since), Ordering::SeqCst);
    }

    /// What `worker` has and needs.
    pub fn claim(&self, worker: usize) -> Claim {
        let row = &self.rows[worker];
        let since = |us: &AtomicU64| {
            let us = us.load(Ordering::SeqCst);
            (us != NOBODY).then(|| Timestamp::from_us(us))
        };
        Claim {
            owned: row.owned.load(Ordering::SeqCst),
            weight: 1,
            waiting_since: since(&row.waiting_since_us),
            short_since: since(&row.short_since_us),
        }
    }

    /// The worker other than `worker` whose oldest waiter has waited the longest.
    pub fn neediest(&self, worker: usize) -> Option<(usize, Claim)> {
        let others = (0..self.rows.len()).filter(|&other| other != worker);
        let waiting = others.filter_map(|other| {
            let claim = self.claim(other);
            claim.waiting_since.map(|since| (since, other, claim))
        });
        waiting
            .min_by_key(|&(since, other, _)| (since, other))
            .map(|(_, other, claim)| (other, claim))
    }

    /// Slots in all.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Slots that are taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.rows.len()
    }
}

/// The right to one backend connection. Dropping it gives it back.
#[derive(Debug)]
pub struct Slot {
    ledger: Arc<Ledger>,
    worker: usize,
    counted: bool,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.counted {
            return;
        }
        self.ledger.rows[self.worker]
            .owned
            .fetch_sub(1, Ordering::SeqCst);
        self.ledger.taken.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_there_are_and_all_come_back() {
        let ledger = Ledger::new(3, 2);
        let slots: Vec<_> = (0..5).filter_map(|n| ledger.take(n % 2)).collect();
        assert_eq!((slots.len(), ledger.taken()), (3, 3));
        assert_eq!((ledger.claim(0).owned, ledger.claim(1).owned), (2, 1));
        drop(slots);
        assert_eq!((ledger.taken(), ledger.claim(0).owned), (0, 0));
    }

    #[test]
    fn the_neediest_has_waited_longest() {
        let ledger = Ledger::new(3, 3);
        assert_eq!(ledger.neediest(0), None);
        ledger.set_waiting(1, Some(Timestamp::from_us(20)), None);
        ledger.set_waiting(2, Some(Timestamp::from_us(10)), None);
        assert_eq!(ledger.neediest(0).map(|(worker, _)| worker), Some(2));
        assert_eq!(ledger.neediest(2).map(|(worker, _)| worker), Some(1));
        ledger.set_waiting(2, None, None);
        assert_eq!(ledger.neediest(0).map(|(worker, _)| worker), Some(1));
    }
}

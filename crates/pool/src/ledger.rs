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

/// An account's number, and in the upper half its weight.
fn account_of(waiter: Option<Waiter>) -> u64 {
    waiter.map_or(0, |waiter| {
        u64::from(waiter.weight) << 32 | u64::from(waiter.account)
    })
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
    /// When the next turn of one of its accounts is due, or [`NOBODY`].
    due_us: AtomicU64,
    /// The account of the oldest waiter, and in the upper half its weight.
    account: AtomicU64,
    /// When the oldest waiter of any other account began to wait, or [`NOBODY`].
    other_since_us: AtomicU64,
    /// The same of that waiter as `account`.
    other_account: AtomicU64,
}

/// A statement that finds neither a backend nor a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiter {
    /// When it began to wait.
    pub since: Timestamp,
    /// Its account.
    pub account: u32,
    /// The weight of that account.
    pub weight: u32,
}

/// What a worker is short of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Its oldest waiter.
    pub oldest: Waiter,
    /// The oldest waiter of any other account: what is done for one account must not hide that another one waits.
    pub other: Option<Waiter>,
    /// Since when it has had waiters without a break.
    pub short_since: Timestamp,
    /// When the next turn of one of its accounts is due ([`crate::Turns`]).
    pub due: Option<Timestamp>,
}

impl Need {
    /// The oldest waiter, and the oldest one of any other account.
    pub fn waiters(&self) -> impl Iterator<Item = Waiter> + use<> {
        [Some(self.oldest), self.other].into_iter().flatten()
    }

    /// The oldest of `waiters` and the oldest one of any other account; `None` if there is none.
    pub fn oldest_of(
        waiters: impl IntoIterator<Item = Waiter>,
    ) -> Option<(Waiter, Option<Waiter>)> {
        waiters.into_iter().fold(None, |found, waiter| {
            let Some((oldest, other)) = found else {
                return Some((waiter, None));
            };
            let (first, second) = (oldest.min(waiter), oldest.max(waiter));
            let other = match first.account == second.account {
                true => other.filter(|other: &Waiter| other.account != first.account),
                false => Some(
                    other.map_or(second, |other| match other.account == first.account {
                        true => second,
                        false => other.min(second),
                    }),
                ),
            };
            Some((first, other))
        })
    }
}

impl Ledger {
    /// A ledger of `total` slots for workers 0 to `workers` − 1.
    pub fn new(total: usize, workers: usize) -> Arc<Self> {
        let row = |_| Row {
            owned: AtomicUsize::new(0),
            waiting_since_us: AtomicU64::new(NOBODY),
            short_since_us: AtomicU64::new(NOBODY),
            due_us: AtomicU64::new(NOBODY),
            account: AtomicU64::new(0),
            other_since_us: AtomicU64::new(NOBODY),
            other_account: AtomicU64::new(0),
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

    /// Publishes what `worker` is short of. It must try [`Ledger::take`] once more afterwards: whoever gave a slot
    /// back in between saw nobody waiting.
    pub fn set_need(&self, worker: usize, need: Option<Need>) {
        let us = |since: Option<Timestamp>| since.map_or(NOBODY, Timestamp::as_us);
        let row = &self.rows[worker];
        let (oldest, other) = (
            need.map(|need| need.oldest),
            need.and_then(|need| need.other),
        );
        let stores = [
            (&row.account, account_of(oldest)),
            (&row.other_account, account_of(other)),
            (&row.other_since_us, us(other.map(|waiter| waiter.since))),
            (&row.due_us, us(need.and_then(|need| need.due))),
            (&row.short_since_us, us(need.map(|need| need.short_since))),
            (&row.waiting_since_us, us(oldest.map(|waiter| waiter.since))),
        ];
        for (place, value) in stores {
            place.store(value, Ordering::SeqCst);
        }
    }

    /// What `worker` has and needs.
    pub fn claim(&self, worker: usize) -> Claim {
        let row = &self.rows[worker];
        Claim {
            owned: row.owned.load(Ordering::SeqCst),
            weight: 1,
            waiting_since: since(&row.waiting_since_us),
            short_since: since(&row.short_since_us),
            due: since(&row.due_us),
        }
    }

    /// What `worker` is short of. Its parts may be of two moments.
    pub fn need(&self, worker: usize) -> Option<Need> {
        let row = &self.rows[worker];
        let waiter = |since_us: &AtomicU64, account: &AtomicU64| {
            let account = account.load(Ordering::SeqCst);
            Some(Waiter {
                since: since(since_us)?,
                account: account as u32,
                weight: (account >> 32) as u32,
            })
        };
        let oldest = waiter(&row.waiting_since_us, &row.account)?;
        Some(Need {
            oldest,
            other: waiter(&row.other_since_us, &row.other_account),
            short_since: since(&row.short_since_us).unwrap_or(oldest.since),
            due: since(&row.due_us),
        })
    }

    /// The worker other than `worker` that comes first: the one whose turn has been due for longest, or else the one
    /// whose oldest waiter has waited for longest.
    pub fn neediest(&self, worker: usize, now: Timestamp) -> Option<(usize, Claim)> {
        let waiting = self.others(worker).filter_map(|other| {
            let since = since(&self.rows[other].waiting_since_us)?;
            let claim = self.claim(other);
            let due = claim.due.filter(|&due| due <= now);
            Some(((due.is_none(), due, since, other), claim))
        });
        let first = waiting.min_by_key(|&(order, _)| order);
        first.map(|((.., other), claim)| (other, claim))
    }

    /// Whether a turn of another worker has been due for longer than `own`: a slot that is free is for that one.
    pub fn is_owed_elsewhere(&self, worker: usize, own: Option<Timestamp>, now: Timestamp) -> bool {
        let until = own.unwrap_or(now);
        self.others(worker).any(|other| {
            let due = since(&self.rows[other].due_us);
            due.is_some_and(|due| due <= now && due < until)
        })
    }

    fn others(&self, worker: usize) -> impl Iterator<Item = usize> + use<> {
        (0..self.rows.len()).filter(move |&other| other != worker)
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

fn since(us: &AtomicU64) -> Option<Timestamp> {
    let us = us.load(Ordering::SeqCst);
    (us != NOBODY).then(|| Timestamp::from_us(us))
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

    fn need(waiting_us: u64, due_us: Option<u64>) -> Option<Need> {
        Some(Need {
            oldest: waiter(waiting_us, 7),
            other: Some(waiter(waiting_us + 5, 8)),
            short_since: Timestamp::from_us(waiting_us),
            due: due_us.map(Timestamp::from_us),
        })
    }

    fn waiter(since_us: u64, account: u32) -> Waiter {
        Waiter {
            since: Timestamp::from_us(since_us),
            account,
            weight: 3,
        }
    }

    #[test]
    fn the_oldest_waiter_hides_no_other_account() {
        let found = |waiters: &[(u64, u32)]| {
            let waiters = waiters
                .iter()
                .map(|&(since, account)| waiter(since, account));
            let found = Need::oldest_of(waiters);
            found.map(|(oldest, other)| {
                let of = |waiter: Waiter| (waiter.since.as_us(), waiter.account);
                (of(oldest), other.map(of))
            })
        };
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[(5, 1), (3, 1)]), Some(((3, 1), None)));
        // In any order.
        let waiters = [(5, 1), (3, 1), (7, 2), (4, 3), (9, 2)];
        for turn in 0..waiters.len() {
            let mut waiters = waiters;
            waiters.rotate_left(turn);
            assert_eq!(found(&waiters), Some(((3, 1), Some((4, 3)))), "{waiters:?}");
        }
        // The account that was the other one has the oldest now.
        assert_eq!(
            found(&[(5, 1), (7, 2), (3, 2)]),
            Some(((3, 2), Some((5, 1))))
        );
        assert_eq!(
            found(&[(5, 1), (7, 2), (6, 3), (3, 2)]),
            Some(((3, 2), Some((5, 1))))
        );
    }

    #[test]
    fn the_neediest_has_waited_longest_unless_a_turn_is_due() {
        let ledger = Ledger::new(3, 3);
        let neediest = |worker, now| {
            let now = Timestamp::from_us(now);
            ledger.neediest(worker, now).map(|(worker, _)| worker)
        };
        assert_eq!(neediest(0, 30), None);
        ledger.set_need(1, need(20, Some(40)));
        ledger.set_need(2, need(10, None));
        assert_eq!((neediest(0, 39), neediest(2, 39)), (Some(2), Some(1)));
        assert_eq!((neediest(0, 40), neediest(1, 40)), (Some(1), Some(2)));
        ledger.set_need(2, need(10, Some(39)));
        assert_eq!(neediest(0, 40), Some(2));
        ledger.set_need(2, None);
        assert_eq!((neediest(0, 40), neediest(1, 40)), (Some(1), None));
        assert_eq!(ledger.need(1), need(20, Some(40)));
        assert_eq!(ledger.need(2), None);
    }

    #[test]
    fn a_free_slot_is_for_the_worker_whose_turn_has_been_due_for_longest() {
        let ledger = Ledger::new(3, 3);
        ledger.set_need(1, need(20, Some(40)));
        let owed = |worker, own: Option<u64>, now| {
            let own = own.map(Timestamp::from_us);
            ledger.is_owed_elsewhere(worker, own, Timestamp::from_us(now))
        };
        assert!(!owed(0, None, 39) && !owed(0, None, 40));
        assert!(owed(0, None, 41) && owed(2, Some(41), 41));
        assert!(!owed(0, Some(40), 50) && !owed(1, None, 50));
    }
}

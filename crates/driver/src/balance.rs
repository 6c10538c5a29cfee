//! Which worker takes an accepted connection.
//!
//! The kernel wakes whichever worker sleeps longest in the queue of a shared listener, so on a
//! quiet host one worker would collect nearly all connections, and they live long. The accepting
//! worker therefore deals a connection to the one that holds fewest, unless it is close to that.
//! Few connections are dealt evenly, one by one: each is a large part of what a worker has to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many accepted connections each worker holds; the copies share the numbers.
#[derive(Clone, Debug)]
pub(crate) struct Balance {
    open: Arc<[AtomicU32]>,
}

/// The number of a worker that takes no more: far above any real one, far below overflow.
const RETIRED: u32 = 1 << 31;

impl Balance {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            open: (0..workers).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// The worker that shall take a connection that worker `own` has just accepted.
    ///
    /// Handing over may wake another thread, so differences that are small beside what is there
    /// are left alone.
    pub(crate) fn choose(&self, own: usize) -> usize {
        let held = |worker: usize| self.open[worker].load(Ordering::Relaxed);
        let mut chosen = own;
        for worker in 0..self.open.len() {
            if held(worker) < held(chosen) {
                chosen = worker;
            }
        }
        let slack = held(chosen) / 16;
        if held(own) > held(chosen).saturating_add(slack) {
            chosen
        } else {
            own
        }
    }

    /// `worker` holds one more.
    pub(crate) fn opened(&self, worker: usize) {
        self.open[worker].fetch_add(1, Ordering::Relaxed);
    }

    /// `worker` holds one less.
    pub(crate) fn closed(&self, worker: usize) {
        self.open[worker].fetch_sub(1, Ordering::Relaxed);
    }

    /// `worker` accepts no more; nothing is dealt to it from now on.
    pub(crate) fn retire(&self, worker: usize) {
        self.open[worker].fetch_or(RETIRED, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(balance: &Balance, own: usize, times: usize) {
        for _ in 0..times {
            balance.opened(balance.choose(own));
        }
    }

    #[test]
    fn one_accepting_worker_deals_evenly() {
        let balance = Balance::new(3);
        dealt(&balance, 1, 3_000);
        for worker in &*balance.open {
            let held = worker.load(Ordering::Relaxed);
            assert!((940..=1_070).contains(&held), "{balance:?}");
        }
    }

    #[test]
    fn few_are_dealt_one_by_one() {
        let balance = Balance::new(2);
        dealt(&balance, 0, 8);
        let held = [0, 1].map(|worker: usize| balance.open[worker].load(Ordering::Relaxed));
        assert_eq!(held, [4, 4]);
    }

    #[test]
    fn a_lead_that_is_small_beside_the_rest_is_left_alone() {
        let balance = Balance::new(2);
        balance.open[0].store(101, Ordering::Relaxed);
        balance.open[1].store(100, Ordering::Relaxed);
        // A sixteenth of what the other one holds, rounded down.
        for lead in 1..=6 {
            assert_eq!(balance.choose(0), 0, "a lead of {lead}");
            balance.opened(0);
        }
        assert_eq!(balance.choose(0), 1);
    }

    #[test]
    fn a_retired_worker_gets_nothing() {
        let balance = Balance::new(2);
        balance.opened(1);
        balance.retire(1);
        balance.closed(1);
        dealt(&balance, 0, 100);
        assert_eq!(balance.open[0].load(Ordering::Relaxed), 100);
    }
}

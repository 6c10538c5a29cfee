//! What all workers share about one account or one schema: two gates, and counts of waiters and of
//! connections. Owns the counts; who is told what when one is at its limit is the caller's matter.

use std::fmt;
use std::sync::Arc;

use events::{Span, Timestamp};

use crate::gate::{Freed, Gate};
use crate::quota::Quota;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// One account or schema. Rows are never freed: there are only as many as accounts that ever logged
/// in and schemas that have a quota, and a permit needs no count of references.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: Arc<str>,
    /// Statements that run.
    pub(crate) queries: Gate,
    /// Transactions that are open.
    pub(crate) transactions: Gate,
    waiting: AtomicU32,
    connections: AtomicU32,
    /// When the next connection would be on time, in µs.
    next_connect_us: AtomicU64,
}

/// A row, for as long as the process runs.
pub(crate) type RowRef = &'static Row;

impl Row {
    /// The row number `number`, from 0.
    pub(crate) fn new(number: u32, name: Arc<str>, freed: &Arc<[Freed]>) -> RowRef {
        Box::leak(Box::new(Self {
            name,
            queries: Gate::new(2 * number, 0, freed.clone()),
            transactions: Gate::new(2 * number + 1, 0, freed.clone()),
            waiting: AtomicU32::new(0),
            connections: AtomicU32::new(0),
            next_connect_us: AtomicU64::new(0),
        }))
    }

    pub(crate) fn set_limits(&self, quota: &Quota) {
        self.queries.set_limit(quota.max_concurrent_queries);
        let transactions = quota.max_concurrent_transactions;
        self.transactions.set_limit(transactions);
    }

    /// How many wait, for whatever.
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(crate) fn connections(&self) -> u32 {
        self.connections.load(Ordering::Relaxed)
    }

    /// One more waits, unless `max` do (0 = no limit).
    pub(crate) fn begin_to_wait(&self, max: u32) -> bool {
        add_below(&self.waiting, max)
    }

    pub(crate) fn stop_waiting(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// One more is connected, unless `max` are (0 = no limit).
    pub(crate) fn connect(&'static self, max: u32) -> Option<Connected> {
        add_below(&self.connections, max).then(|| Connected(self))
    }

    /// Whether one more may connect at `now`: `per_second` on average, and as many at once after a
    /// second without any (0 = no limit).
    pub(crate) fn is_on_time(&self, per_second: u32, now: Timestamp) -> bool {
        if per_second == 0 {
            return true;
        }
        let (second, now) = (Span::from_secs(1).as_us(), now.as_us());
        let step = (second / u64::from(per_second)).max(1);
        let next = |next: u64| {
            let next = next.max(now) + step;
            (next <= now + second).then_some(next)
        };
        let order = Ordering::Relaxed;
        let booked = self.next_connect_us.fetch_update(order, order, next);
        booked.is_ok()
    }
}

fn add_below(count: &AtomicU32, max: u32) -> bool {
    let below = |n: u32| (max == 0 || n < max).then(|| n.saturating_add(1));
    let order = Ordering::Relaxed;
    count.fetch_update(order, order, below).is_ok()
}

/// The right to be connected. Dropping it gives it back.
pub(crate) struct Connected(RowRef);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Connected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connected").field(&self.0.name).finish()
    }
}

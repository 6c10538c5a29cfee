//! What a worker keeps of an account, a schema, a queue, a gate and a waiter. Owns no decision.

use events::{Span, Timestamp};
use membership::Key;

use crate::gate::Gate;
use crate::permit::Needs;
use crate::quota::{Overload, Quota};
use crate::rejection::{Rejection, Why};
use crate::row::RowRef;
use crate::rules::Subject;

use super::report::Counters;

/// For how many targets a queue must have stood without a break to be overloaded.
const STANDING: u64 = 5;

/// An account, as this worker sees it.
pub(super) struct Account {
    pub(super) subject: Subject,
    pub(super) row: RowRef,
    pub(super) quota: Quota,
    /// Its statements are counted.
    pub(super) counts: bool,
    /// They may have to wait, or be refused or ended.
    pub(super) limits: bool,
    /// How many wait at this worker, and since when that has not been zero.
    pub(super) waiting: u32,
    pub(super) standing_since: Timestamp,
    /// Its queues that are not blocked at a gate, and not empty.
    pub(super) ready: Vec<u32>,
    pub(super) counters: Counters,
}

impl Account {
    /// Nothing is to be counted, nobody waits.
    pub(super) fn is_free(&self) -> bool {
        !self.counts && self.waiting == 0
    }

    /// Whether somebody has waited here all the time for too long.
    pub(super) fn is_overloaded(&self, now: Timestamp) -> bool {
        let span = Span::from_us(self.quota.overload_target.as_us().saturating_mul(STANDING));
        self.waiting > 0 && now.since(self.standing_since) >= span
    }

    /// Whether the newest of a queue comes first, whose oldest has waited since `since`.
    pub(super) fn is_newest_first(&self, since: Timestamp, now: Timestamp) -> bool {
        self.quota.overload == Overload::Lifo && now.since(since) > self.quota.overload_target
    }
}

/// A default schema that has a quota.
pub(super) struct Schema {
    pub(super) subject: Subject,
    pub(super) row: RowRef,
    pub(super) quota: Quota,
}

/// Statements that are served in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct QueueKey {
    pub(super) account: u32,
    pub(super) schema: Option<u32>,
    pub(super) group: u32,
    pub(super) needs: Needs,
}

/// The waiters of one key, the oldest first.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) key: QueueKey,
    /// The gate that its first waiter found closed.
    pub(super) blocked_at: Option<u32>,
    /// There was no backend for it then: if the gate opens, others come first who have one.
    pub(super) lacks_backend: bool,
}

impl Queue {
    pub(super) fn new(key: QueueKey) -> Self {
        Self {
            key,
            blocked_at: None,
            lacks_backend: false,
        }
    }

    /// Those who come first and need no permit.
    pub(super) fn in_progress() -> Self {
        Self::new(QueueKey {
            account: u32::MAX,
            schema: None,
            group: 0,
            needs: Needs::Query,
        })
    }
}

/// A gate that this worker's statements go through.
pub(super) struct LocalGate {
    pub(super) gate: &'static Gate,
    /// Several accounts wait here, since it is a schema's.
    pub(super) is_shared: bool,
    pub(super) blocked: Vec<u32>,
    /// What other workers know to be the oldest waiter here.
    pub(super) published: Option<Timestamp>,
    /// Somebody was sent mail who is not known to have looked at it.
    pub(super) is_watched: bool,
    pub(super) is_touched: bool,
    /// Its place among the gates where this worker waits.
    pub(super) place: usize,
}

/// Workers that did not look at their mail in time: which mail that was. They are asleep for as long
/// as it is unread.
pub(super) struct Peers(pub(super) Vec<Option<(&'static Gate, u32)>>);

impl Peers {
    pub(super) fn is_asleep(&self, worker: usize) -> bool {
        let unread = self.0.get(worker).copied().flatten();
        unread.is_some_and(|(gate, mail)| gate.unread(worker) == Some(mail))
    }
}

/// Somebody who waits.
pub(super) struct Waiter<T> {
    pub(super) who: T,
    pub(super) key: QueueKey,
    pub(super) since: Timestamp,
    pub(super) deadline: Timestamp,
    /// What is said when the deadline passes.
    pub(super) why: Why,
    /// Its entry among the deadlines.
    pub(super) alarm: Option<Key>,
}

/// The gates that a statement goes through: always in the same order.
pub(super) fn gates(
    rows: [Option<RowRef>; 2],
    needs: Needs,
) -> impl Iterator<Item = &'static Gate> + Clone {
    rows.into_iter().flatten().flat_map(move |row| {
        let transactions = (needs == Needs::Transaction).then_some(&row.transactions);
        std::iter::once(&row.queries).chain(transactions)
    })
}

/// A refusal with the counts of now.
pub(super) fn rejection(row: RowRef, why: Why) -> Rejection {
    Rejection {
        name: row.name.clone(),
        why,
        running: row.queries.running(),
        waiting: row.waiting(),
    }
}

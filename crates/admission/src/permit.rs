//! Permits: the right of a statement to run and of a transaction to be open. Owns giving them back;
//! who gets one is decided by the scheduler.

use std::fmt;

use events::Timestamp;

use crate::row::RowRef;

/// What a statement needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Needs {
    /// A query permit: what cannot write, or runs in a transaction that is open already.
    Query,
    /// A query permit and a transaction permit: what opens a transaction, and what may write by
    /// itself (a transaction of one statement).
    Transaction,
}

/// What a statement holds while it runs, and a transaction while it is open. Dropping it gives back
/// whatever is left of it; whoever waits for that is found by [`crate::Scheduler::next`].
#[must_use = "dropping a permit gives it back"]
pub struct Permit {
    /// The account's row and the schema's, as far as they have limits.
    rows: [Option<RowRef>; 2],
    worker: u32,
    has_query: bool,
    has_transaction: bool,
    pub(crate) charge: Option<Charge>,
}

/// What an account was charged for a statement that came from the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    pub(crate) account: u32,
    pub(crate) since: Timestamp,
    pub(crate) us: u64,
}

impl Permit {
    /// The permit of whoever needs none.
    pub const NONE: Self = Self {
        rows: [None, None],
        worker: 0,
        has_query: false,
        has_transaction: false,
        charge: None,
    };

    /// A permit for what was let through the gates of `rows` at `worker`.
    pub(crate) fn new(rows: [Option<RowRef>; 2], worker: usize, needs: Needs) -> Self {
        Self {
            rows,
            worker: worker as u32,
            has_query: true,
            has_transaction: needs == Needs::Transaction,
            charge: None,
        }
    }

    /// The statement is over; the transaction, if this holds one, is still open.
    pub fn end_query(&mut self) {
        if std::mem::take(&mut self.has_query) {
            for row in self.rows.into_iter().flatten() {
                row.queries.leave(self.worker as usize);
            }
        }
    }

    /// Counts the statement once more: it runs a second time while the first is not over. As with
    /// those that may not wait, whatever the limit.
    pub fn twin(&self) -> Self {
        if !self.has_query {
            return Self::NONE;
        }
        for row in self.rows.into_iter().flatten() {
            row.queries.force();
        }
        Self {
            rows: self.rows,
            worker: self.worker,
            has_query: true,
            has_transaction: false,
            charge: None,
        }
    }

    /// Whether this holds a transaction permit.
    pub fn holds_transaction(&self) -> bool {
        self.has_transaction
    }

    /// Whether this holds nothing, and nobody was charged.
    pub fn is_none(&self) -> bool {
        !self.is_counted() && self.charge.is_none()
    }

    /// Whether anything is counted for this.
    pub fn is_counted(&self) -> bool {
        self.rows.iter().any(Option::is_some) && (self.has_query || self.has_transaction)
    }

    fn end_transaction(&mut self) {
        if std::mem::take(&mut self.has_transaction) {
            for row in self.rows.into_iter().flatten() {
                row.transactions.leave(self.worker as usize);
            }
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.end_query();
        self.end_transaction();
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.rows.iter().flatten().map(|row| &row.name);
        f.debug_struct("Permit")
            .field("of", &names.collect::<Vec<_>>())
            .field("query", &self.has_query)
            .field("transaction", &self.has_transaction)
            .finish_non_exhaustive()
    }
}

//! The rows of all accounts and schemas that workers share, and the rules in force.
//!
//! Owns which rows there are. Its lock is taken when an account is first seen by a worker, when rules
//! change and when somebody looks, never for a statement.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::gate::Freed;
use crate::quota::Quota;
use crate::row::{Row, RowRef};
use crate::rules::{Rules, Subject};

/// What all workers share.
#[derive(Debug)]
pub struct Ledger {
    freed: Arc<[Freed]>,
    book: Mutex<Book>,
}

#[derive(Debug)]
struct Book {
    rules: Arc<Rules>,
    rows: Vec<(Subject, RowRef)>,
    numbers: HashMap<Subject, usize>,
}

/// What an account or a schema has on all workers together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// `'user'@'host'`, or the name of the schema.
    pub name: Arc<str>,
    /// Whether it is a schema.
    pub is_schema: bool,
    /// Client connections.
    pub connections: u32,
    /// Statements that run, as far as they are counted: while the account has limits on them.
    pub running: u32,
    /// Transactions that are open, counted likewise.
    pub transactions: u32,
    /// Statements that wait.
    pub waiting: u32,
    /// The limits in force.
    pub quota: Quota,
}

impl Ledger {
    /// A ledger for workers 0 to `workers` − 1.
    pub fn new(workers: usize, rules: Rules) -> Arc<Self> {
        Arc::new(Self {
            freed: (0..workers).map(|_| Freed::new()).collect(),
            book: Mutex::new(Book {
                rules: Arc::new(rules),
                rows: Vec::new(),
                numbers: HashMap::new(),
            }),
        })
    }

    /// Puts other rules in force. Limits hold from now on; nothing that runs is ended. Every worker
    /// must then be told to call [`crate::Scheduler::rules_changed`], so that waiters for whom there
    /// is room now are served.
    pub fn set_rules(&self, rules: Rules) {
        let mut book = self.book();
        for (subject, row) in &book.rows {
            row.set_limits(&subject.quota(&rules));
        }
        book.rules = Arc::new(rules);
    }

    /// The rules in force.
    pub fn rules(&self) -> Arc<Rules> {
        self.book().rules.clone()
    }

    /// All accounts and schemas that were ever seen.
    pub fn usage(&self) -> Vec<Usage> {
        let book = self.book();
        let usage = book.rows.iter().map(|(subject, row)| Usage {
            name: row.name.clone(),
            is_schema: matches!(subject, Subject::Schema(_)),
            connections: row.connections(),
            running: row.queries.running(),
            transactions: row.transactions.running(),
            waiting: row.waiting(),
            quota: subject.quota(&book.rules),
        });
        usage.collect()
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.freed.len()
    }

    pub(crate) fn freed(&self) -> &Arc<[Freed]> {
        &self.freed
    }

    /// The row of `subject`, and its number.
    pub(crate) fn row(&self, subject: &Subject) -> (usize, RowRef) {
        let book = &mut *self.book();
        if let Some(&number) = book.numbers.get(subject) {
            return (number, book.rows[number].1);
        }
        let number = book.rows.len();
        let row = Row::new(number as u32, subject.shown(), &self.freed);
        row.set_limits(&subject.quota(&book.rules));
        book.numbers.insert(subject.clone(), number);
        book.rows.push((subject.clone(), row));
        (number, row)
    }

    /// What was being written is whole at every place where a thread could have ended.
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

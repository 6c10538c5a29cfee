//! What can be seen from outside: counters of each account, and the queue.

use std::sync::Arc;

use events::{Span, Timestamp};
use membership::ListId;

use crate::quota::Quota;
use crate::waits::Waits;

use super::{Place, Scheduler};

/// What happened to statements of an account at one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Let through, at once or after a wait.
    pub admitted: u64,
    /// Waited for too long.
    pub timed_out: u64,
    /// Refused because too many waited, or shed under overload.
    pub rejected: u64,
    /// Given up by clients that hung up while they waited.
    pub abandoned: u64,
    /// Ended while they waited.
    pub killed: u64,
    /// How long those waited that were let through in the end.
    pub waits: Waits,
}

/// An account, at one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountReport {
    /// `'user'@'host'`.
    pub name: Arc<str>,
    /// Its limits.
    pub quota: Quota,
    /// How many wait at this worker.
    pub waiting: u32,
    /// What happened so far.
    pub counters: Counters,
}

/// Somebody who waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting<T> {
    /// Who.
    pub who: T,
    /// `'user'@'host'`.
    pub account: Arc<str>,
    /// Since when.
    pub since: Timestamp,
    /// The limit that keeps it; `None` if it waits for a backend.
    pub limit: Option<&'static str>,
    /// There was no backend for it either when that was looked at last.
    pub lacks_backend: bool,
}

impl Counters {
    /// Adds another worker's counts.
    pub fn add(&mut self, other: &Self) {
        self.admitted += other.admitted;
        self.timed_out += other.timed_out;
        self.rejected += other.rejected;
        self.abandoned += other.abandoned;
        self.killed += other.killed;
        self.waits.add(&other.waits);
    }
}

impl<T: Copy> Scheduler<T> {
    /// The accounts that were seen at this worker.
    pub fn accounts(&self) -> impl Iterator<Item = AccountReport> {
        self.accounts.iter().map(|account| AccountReport {
            name: account.row.name.clone(),
            quota: account.quota.clone(),
            waiting: account.waiting,
            counters: account.counters.clone(),
        })
    }

    /// Everybody who waits, each queue with the oldest first.
    pub fn queue_now(&self) -> impl Iterator<Item = Waiting<T>> {
        let lists = 0..self.waiters.lists();
        lists.flat_map(move |queue| {
            let limit = self.limit_at(queue);
            let lacks_backend = self.queues[queue as usize].lacks_backend;
            self.waiters
                .iter(ListId(queue))
                .map(move |(_, waiter)| Waiting {
                    who: waiter.who,
                    account: self.accounts[waiter.key.account as usize].row.name.clone(),
                    since: waiter.since,
                    limit,
                    lacks_backend,
                })
        })
    }

    /// The limit that keeps a waiter; `None` if it waits for a backend.
    pub fn limit_of(&self, place: Place) -> Option<&'static str> {
        let ListId(queue) = self.waiters.list_of(place.0)?;
        self.limit_at(queue)
    }

    fn limit_at(&self, queue: u32) -> Option<&'static str> {
        let gate = self.queues.get(queue as usize)?.blocked_at?;
        Some(match gate.is_multiple_of(2) {
            true => "max_concurrent_queries",
            false => "max_concurrent_transactions",
        })
    }

    /// How long the oldest has waited.
    pub fn oldest_wait(&self, now: Timestamp) -> Span {
        let lists = 0..self.waiters.lists();
        let oldest = lists.filter_map(|queue| self.oldest(queue));
        let oldest = oldest.map(|(_, since)| since).min();
        oldest.map_or(Span::ZERO, |since| now.since(since))
    }
}

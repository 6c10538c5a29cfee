//! A standstill: every backend connection is held by a silent session in a transaction or pinned, while statements wait. It
//! ends when those sessions do, or with `idle_transaction_timeout` or `queue_timeout`. Each worker publishes three numbers at
//! the end of its turns; workers where statements wait add them up.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use events::{Span, Timestamp};

/// How long all sessions must have been silent, and a statement must have waited.
pub(crate) const PATIENCE: Span = Span::from_ms(500);

/// All backend connections are held while statements wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// How many connections there are.
    pub backends: usize,
    /// How long all of the sessions that hold them have been silent.
    pub silent: Span,
    /// How many statements wait.
    pub waiting: usize,
}

impl fmt::Display for Standstill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count, one, many| if count == 1 { one } else { many };
        write!(
            f,
            "all {} backend connections are held by sessions in a transaction or pinned that have been silent for {} ms; \
             {} {}",
            self.backends,
            self.silent.as_us() / 1_000,
            self.waiting,
            plural(self.waiting, "statement waits", "statements wait"),
        )
    }
}

/// What workers have published, and whether there is a standstill.
#[derive(Debug)]
pub(crate) struct Standstills {
    workers: Box<[Published]>,
    on: AtomicBool,
    /// The standstill as it was last looked at.
    now: Mutex<Option<Standstill>>,
}

/// Numbers of one worker, on a cache line of their own: only that worker writes them.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Published {
    /// Silent sessions that hold a backend connection.
    held: AtomicUsize,
    /// Since when the one that spoke last has been silent.
    newest: AtomicU64,
    /// Statements that wait.
    waiting: AtomicUsize,
}

/// What a look at the standstill has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    Begun(Standstill),
    GoesOn,
    Over,
}

impl Standstills {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            workers: (0..workers).map(|_| Published::default()).collect(),
            on: AtomicBool::new(false),
            now: Mutex::default(),
        }
    }

    /// The standstill, if there is one.
    pub(crate) fn now(&self) -> Option<Standstill> {
        self.is_on().then(|| *self.open()).flatten()
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    pub(crate) fn publish(&self, worker: usize, held: usize, newest: Timestamp, waiting: usize) {
        let Some(published) = self.workers.get(worker) else {
            return;
        };
        published.held.store(held, Ordering::Relaxed);
        published.newest.store(newest.as_us(), Ordering::Relaxed);
        published.waiting.store(waiting, Ordering::Relaxed);
    }

    /// Adds up what was published: `None` if a connection is of use to somebody, or nobody waits.
    fn sum(&self, backends: usize, now: Timestamp) -> Option<Standstill> {
        let load = |number: &AtomicUsize| number.load(Ordering::Relaxed);
        let held: usize = self.workers.iter().map(|worker| load(&worker.held)).sum();
        let waiting = self
            .workers
            .iter()
            .map(|worker| load(&worker.waiting))
            .sum();
        let holders = self.workers.iter().filter(|worker| load(&worker.held) > 0);
        let newest = holders.map(|worker| worker.newest.load(Ordering::Relaxed));
        let silent = now.since(Timestamp::from_us(newest.max()?));
        (held >= backends && waiting > 0).then_some(Standstill {
            backends,
            silent,
            waiting,
        })
    }

    /// Looks whether one has begun, goes on, or is over. Of all workers one is told that it has begun, and one that it
    /// is over.
    pub(crate) fn look(&self, backends: usize, now: Timestamp) -> Option<News> {
        let found = self.sum(backends, now);
        let mut known = self.open();
        let news = match (&*known, found) {
            (None, Some(begun)) if begun.silent >= PATIENCE => News::Begun(begun),
            (None, _) => return None,
            (Some(_), Some(_)) => News::GoesOn,
            (Some(_), None) => News::Over,
        };
        *known = found;
        self.on.store(found.is_some(), Ordering::Relaxed);
        Some(news)
    }

    /// Also if a thread panicked while it held the lock: it is changed in one step.
    fn open(&self) -> MutexGuard<'_, Option<Standstill>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(ms * 1_000)
    }

    #[test]
    fn all_workers_count_and_one_is_told() {
        let standstills = Standstills::new(2);
        standstills.publish(0, 2, at(100), 0);
        assert_eq!(standstills.look(3, at(1_000)), None, "one is of use");
        standstills.publish(1, 1, at(400), 0);
        assert_eq!(standstills.look(3, at(1_000)), None, "nobody waits");
        standstills.publish(1, 1, at(400), 7);
        assert_eq!(standstills.look(3, at(800)), None, "too early to say");
        let begun = Standstill {
            backends: 3,
            silent: Span::from_ms(500),
            waiting: 7,
        };
        assert_eq!(standstills.look(3, at(900)), Some(News::Begun(begun)));
        assert_eq!(standstills.look(3, at(950)), Some(News::GoesOn));
        let told = standstills.now().map(|standstill| standstill.to_string());
        let expected = "all 3 backend connections are held by sessions in a transaction or pinned that have been silent \
                        for 550 ms; 7 statements wait";
        assert_eq!(told.as_deref(), Some(expected));
        standstills.publish(0, 1, at(960), 0);
        assert_eq!(standstills.look(3, at(960)), Some(News::Over));
        assert_eq!(standstills.look(3, at(970)), None);
        assert_eq!(standstills.now(), None);
    }

    #[test]
    fn no_connection_at_all_is_no_standstill() {
        let standstills = Standstills::new(1);
        standstills.publish(0, 0, at(0), 5);
        assert_eq!(standstills.look(0, at(1_000)), None);
    }
}

//! Which user-level locks sessions of the front door hold, over all workers, and who waits for them here.
//!
//! Owns the order: first come, first served, for each lock. A lock of which nothing is known here has no entry; what the
//! server says of a lock is always taken over. Each worker posts the news at the end of its turns.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use events::{Span, Timestamp};
use membership::Key;

use crate::locks::answer::LockColumn;

/// A session that has sent `GET_LOCK` for so long without an answer waits for somebody whom nobody knows here.
const ELSEWHERE_AFTER: Span = Span::from_ms(100);

/// The name of a lock, as the server compares it.
pub type LockName = Arc<[u8]>;

/// The locks of which something is known.
#[derive(Debug, Default)]
pub struct LockRegistry {
    locks: Mutex<HashMap<LockName, Lock>>,
    last: AtomicU64,
    /// The clients whose turn has come, and that have not been told.
    news: Mutex<VecDeque<News>>,
    has_news: AtomicBool,
    /// What a column with nothing but the value of `GET_LOCK` is like.
    column: Mutex<Option<LockColumn>>,
}

/// A session's stake in a lock: it waits, tries, or holds. Dropping it gives that up.
#[derive(Debug)]
pub struct LockTicket {
    registry: Arc<LockRegistry>,
    name: LockName,
    number: u64,
}

/// Somebody's turn has come.
#[derive(Debug)]
pub struct News {
    /// The worker of the client.
    pub worker: usize,
    /// What it is told.
    pub turn: LockTurn,
}

/// What a client that waits is told.
#[derive(Debug)]
pub struct LockTurn {
    /// Whose turn it is.
    pub client: Key,
    number: u64,
}

/// What becomes of a session that wants a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The server is asked: nobody else is known to want it.
    Try,
    /// It waits, behind a session that holds the lock.
    Held,
    /// It waits, behind a session that tries to get it.
    Tried,
}

#[derive(Debug)]
struct Lock {
    /// Whose turn it is.
    number: u64,
    state: State,
    waiters: VecDeque<Waiter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its statement has not been sent yet.
    Called,
    /// The server has been asked since then.
    Sent(Timestamp),
    Held,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    worker: usize,
    client: Key,
}

impl LockRegistry {
    /// A client of `worker` wants a lock.
    pub fn ask(
        self: &Arc<Self>,
        name: &LockName,
        (worker, client): (usize, Key),
    ) -> (LockTicket, Asked) {
        let ticket = self.ticket(name);
        let number = ticket.number;
        let mut locks = self.open();
        let Some(lock) = locks.get_mut(name) else {
            locks.insert(name.clone(), Lock::of(number, State::Called));
            return (ticket, Asked::Try);
        };
        lock.waiters.push_back(Waiter {
            number,
            worker,
            client,
        });
        let asked = match lock.state {
            State::Held => Asked::Held,
            State::Called | State::Sent(_) => Asked::Tried,
        };
        (ticket, asked)
    }

    /// The server says that a session has got a lock which asked nobody here.
    pub fn took(self: &Arc<Self>, name: &LockName) -> LockTicket {
        let ticket = self.ticket(name);
        self.hold(&ticket);
        ticket
    }

    /// What a column with nothing but the value of `GET_LOCK` is like, if the server has told one.
    pub fn column(&self) -> Option<LockColumn> {
        *self.column.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server has told one.
    pub fn learn(&self, column: LockColumn) {
        let mut known = self.column.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(column);
    }

    /// True if somebody is to be told that its turn has come.
    pub fn has_news(&self) -> bool {
        self.has_news.load(Ordering::Relaxed)
    }

    /// The next one whose turn has come. One at a time: whoever tells them may panic in between.
    pub fn next_news(&self) -> Option<News> {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        let next = news.pop_front();
        self.has_news.store(!news.is_empty(), Ordering::Relaxed);
        next
    }

    fn ticket(self: &Arc<Self>, name: &LockName) -> LockTicket {
        LockTicket {
            registry: self.clone(),
            name: name.clone(),
            number: self.last.fetch_add(1, Ordering::Relaxed) + 1,
        }
    }

    fn hold(&self, ticket: &LockTicket) {
        let mut locks = self.open();
        let lock = locks
            .entry(ticket.name.clone())
            .or_insert_with(|| Lock::of(ticket.number, State::Held));
        (lock.number, lock.state) = (ticket.number, State::Held);
        // A session that waited here and went to the server by itself is none of those who wait.
        lock.waiters.retain(|waiter| waiter.number != ticket.number);
    }

    fn tell(&self, waiter: &Waiter) {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        news.push_back(News {
            worker: waiter.worker,
            turn: LockTurn {
                client: waiter.client,
                number: waiter.number,
            },
        });
        self.has_news.store(true, Ordering::Relaxed);
    }

    /// Opens the table, also after a panic while it was open: each entry is changed in one step.
    fn open(&self) -> MutexGuard<'_, HashMap<LockName, Lock>> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LockTicket {
    /// The name of the lock.
    pub fn name(&self) -> &LockName {
        &self.name
    }

    /// True if it is this one whose turn has come.
    pub fn is_of(&self, turn: &LockTurn) -> bool {
        self.number == turn.number
    }

    /// The server is asked from now on.
    pub fn sent(&self, now: Timestamp) {
        self.if_its_turn(|lock| lock.state = State::Sent(now));
    }

    /// The session has got the lock.
    pub fn got(&self) {
        self.registry.hold(self);
    }

    /// The lock is held by somebody whom nobody knows here, or nobody knows any more who holds it: the server decides
    /// for all who wait.
    pub(crate) fn leave_to_server(self) {
        let mut locks = self.registry.open();
        if let Some(lock) = locks.get(&self.name)
            && lock.number == self.number
            && let Some(lock) = locks.remove(&self.name)
        {
            lock.waiters
                .iter()
                .for_each(|waiter| self.registry.tell(waiter));
        }
        // Dropping it finds nothing of its own any more.
    }

    /// True if this one waits behind a session that the server has kept waiting for long: whoever holds the lock is
    /// not known here.
    pub fn waits_elsewhere(&self, now: Timestamp) -> bool {
        let locks = self.registry.open();
        let state = locks.get(&self.name).map(|lock| lock.state);
        matches!(state, Some(State::Sent(at)) if now.since(at) >= ELSEWHERE_AFTER)
    }

    fn if_its_turn(&self, change: impl FnOnce(&mut Lock)) {
        let mut locks = self.registry.open();
        let lock = locks.get_mut(&self.name);
        if let Some(lock) = lock.filter(|lock| lock.number == self.number) {
            change(lock);
        }
    }
}

impl Drop for LockTicket {
    fn drop(&mut self) {
        let mut locks = self.registry.open();
        let Some(lock) = locks.get_mut(&self.name) else {
            return;
        };
        if lock.number != self.number {
            lock.waiters.retain(|waiter| waiter.number != self.number);
            return;
        }
        match lock.waiters.pop_front() {
            Some(next) => {
                (lock.number, lock.state) = (next.number, State::Called);
                self.registry.tell(&next);
            }
            None => {
                locks.remove(&self.name);
            }
        }
    }
}

impl Lock {
    fn of(number: u64, state: State) -> Self {
        Self {
            number,
            state,
            waiters: VecDeque::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> LockName {
        text.as_bytes().into()
    }

    fn client(number: u64) -> (usize, Key) {
        (number as usize % 2, Key::from_bits(number))
    }

    /// The clients that are told, in the order in which they are.
    fn told(registry: &LockRegistry) -> Vec<(usize, Key)> {
        let news = std::iter::from_fn(|| registry.next_news());
        news.map(|news| (news.worker, news.turn.client)).collect()
    }

    fn is_held(registry: &LockRegistry, lock: &str) -> bool {
        let locks = registry.open();
        let lock = locks.get(&name(lock));
        lock.is_some_and(|lock| lock.state == State::Held)
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(ms * 1_000)
    }

    #[test]
    fn those_who_wait_are_called_in_their_order() {
        let registry = Arc::<LockRegistry>::default();
        let (first, asked) = registry.ask(&name("a"), client(1));
        assert_eq!(asked, Asked::Try);
        let (second, asked) = registry.ask(&name("a"), client(2));
        assert_eq!(asked, Asked::Tried);
        first.sent(at(0));
        first.got();
        let (third, asked) = registry.ask(&name("a"), client(3));
        assert_eq!(asked, Asked::Held);
        let (fourth, _) = registry.ask(&name("a"), client(4));
        let (other, asked) = registry.ask(&name("b"), client(5));
        assert_eq!(asked, Asked::Try, "another lock");
        assert!(!registry.has_news());
        drop(third);
        drop(first);
        assert!(registry.has_news());
        assert_eq!(told(&registry), [client(2)]);
        assert!(!registry.has_news() && !is_held(&registry, "a"));
        // It hung up before its statement was sent.
        drop(second);
        assert_eq!(told(&registry), [client(4)]);
        fourth.got();
        drop((fourth, other));
        assert!(told(&registry).is_empty() && registry.open().is_empty());
    }

    #[test]
    fn a_lock_that_is_held_elsewhere_is_the_servers_matter() {
        let registry = Arc::<LockRegistry>::default();
        let (first, _) = registry.ask(&name("a"), client(1));
        let (second, _) = registry.ask(&name("a"), client(2));
        let (third, _) = registry.ask(&name("a"), client(3));
        assert!(!second.waits_elsewhere(at(1_000)), "it was not sent yet");
        first.sent(at(1_000));
        assert!(!second.waits_elsewhere(at(1_099)));
        assert!(second.waits_elsewhere(at(1_100)));
        first.leave_to_server();
        assert_eq!(told(&registry), [client(2), client(3)]);
        drop((second, third));
        assert!(told(&registry).is_empty());
        let (_, asked) = registry.ask(&name("a"), client(4));
        assert_eq!(asked, Asked::Try);
    }

    #[test]
    fn what_the_server_says_counts() {
        let registry = Arc::<LockRegistry>::default();
        let (first, _) = registry.ask(&name("a"), client(1));
        let (second, _) = registry.ask(&name("a"), client(2));
        first.sent(at(0));
        // A session that asked nobody here was faster.
        let faster = registry.took(&name("a"));
        first.leave_to_server();
        assert!(is_held(&registry, "a") && told(&registry).is_empty());
        drop(faster);
        assert_eq!(told(&registry), [client(2)]);
        // One that went to the server by itself got it, and is none of those who wait.
        let (third, _) = registry.ask(&name("a"), client(3));
        third.got();
        drop(second);
        assert!(told(&registry).is_empty());
        drop(third);
        assert!(registry.open().is_empty());
    }
}

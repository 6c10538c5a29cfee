//! Memory for the commands of all clients of the process: who has reserved how much of it, and who waits.
//!
//! A command is received only once memory for all of it is reserved, so that each one that has begun can be completed: no
//! two commands wait for each other. An account may reserve as much as it leaves free for others. Its first command, and
//! those of sessions that hold a backend connection, go on beyond that: the last two commands of the largest size that fit
//! are kept for them.
//!
//! Pure, but for the lock. It is taken for commands of more than a few KiB that do not arrive, or cannot be sent on, in one
//! piece; all others never come here.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use membership::Key;

/// The account of those who have not logged in.
pub(crate) const NOBODY: u32 = u32::MAX;

/// How much there is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// For all commands.
    pub total: usize,
    /// For the largest command.
    pub largest: usize,
}

/// What somebody needs memory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// Whose it is.
    pub account: u32,
    /// How much.
    pub bytes: usize,
    /// Its session holds a backend connection, for which others may wait.
    pub urgent: bool,
}

/// Who waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiter {
    /// On this worker.
    pub worker: usize,
    /// This client.
    pub client: Key,
    /// What for.
    pub need: Need,
}

/// What all workers have reserved together.
#[derive(Debug, Default)]
pub(crate) struct Reservations {
    book: Mutex<Book>,
    /// Something was given back, and somebody waits.
    has_news: AtomicBool,
}

/// Reserved memory. Dropping it gives it back.
#[derive(Debug)]
pub struct Reservation {
    all: Arc<Reservations>,
    account: u32,
    bytes: usize,
    is_granted: bool,
}

#[derive(Debug, Default)]
struct Book {
    taken: usize,
    /// How much of it is for commands that may be received completely.
    granted_bytes: usize,
    waiting: usize,
    accounts: HashMap<u32, Account>,
}

#[derive(Debug, Default)]
struct Account {
    taken: usize,
    granted_bytes: usize,
    /// Commands that may be received completely.
    granted: usize,
    waiters: VecDeque<Waiter>,
}

impl Limits {
    /// What is not kept for those who go first.
    fn shared(&self) -> usize {
        self.total.saturating_sub(2 * self.largest)
    }

    /// The rest is for the beginnings of those that wait.
    fn for_whole_commands(&self) -> usize {
        self.shared() / 4 * 3
    }

    /// What is not kept for sessions that hold a backend connection.
    fn beyond_urgent(&self) -> usize {
        self.total.saturating_sub(self.largest)
    }
}

impl Book {
    /// True if of so much an account leaves free as much as it then has.
    fn leaves_enough(&self, account: u32, bytes: usize, of: usize) -> bool {
        let own = self.accounts.get(&account).map_or(0, |own| own.taken);
        let left = of.checked_sub(self.taken + bytes);
        left.is_some_and(|left| own + bytes <= left)
    }

    /// True if there is room for a beginning. What is kept for commands that go first does not count: an account whose one
    /// large command is under way may begin others.
    fn has_room_to_begin(&self, account: u32, bytes: usize, limits: &Limits) -> bool {
        let own = self.accounts.get(&account);
        let own = own.map_or(0, |own| own.taken - own.granted_bytes.min(limits.largest));
        let taken = self.taken - self.granted_bytes.min(2 * limits.largest);
        let left = limits.shared().checked_sub(taken + bytes);
        left.is_some_and(|left| own + bytes <= left)
    }

    fn fits(&self, need: &Need, limits: &Limits) -> bool {
        let after = self.taken + need.bytes;
        let own = self.accounts.get(&need.account);
        let is_first = own.is_none_or(|own| own.granted == 0);
        need.urgent && after <= limits.total
            || is_first && after <= limits.beyond_urgent()
            || self.leaves_enough(need.account, need.bytes, limits.for_whole_commands())
    }

    fn take(&mut self, account: u32, bytes: usize, is_granted: bool) {
        let granted_bytes = if is_granted { bytes } else { 0 };
        self.taken += bytes;
        self.granted_bytes += granted_bytes;
        let account = self.accounts.entry(account).or_default();
        account.taken += bytes;
        account.granted_bytes += granted_bytes;
    }

    /// Reserves for all of a command.
    fn grant(&mut self, account: u32, bytes: usize) {
        self.take(account, bytes, true);
        self.accounts.entry(account).or_default().granted += 1;
    }

    fn give_back(&mut self, account: u32, bytes: usize, is_granted: bool) {
        let granted_bytes = if is_granted { bytes } else { 0 };
        self.taken -= bytes;
        self.granted_bytes -= granted_bytes;
        if let Some(own) = self.accounts.get_mut(&account) {
            own.taken -= bytes;
            own.granted_bytes -= granted_bytes;
        }
    }

    fn forget_if_idle(&mut self, account: u32) {
        let idle = |own: &Account| own.taken == 0 && own.granted == 0 && own.waiters.is_empty();
        if self.accounts.get(&account).is_some_and(idle) {
            self.accounts.remove(&account);
        }
    }

    /// The account whose first waiter is next: the one that has least, of those for whom there is room.
    fn next(&self, limits: &Limits) -> Option<u32> {
        let mut next: Option<(usize, u32)> = None;
        for (&number, account) in &self.accounts {
            let Some(first) = account.waiters.front() else {
                continue;
            };
            if self.fits(&first.need, limits) {
                let claim = (account.taken, number);
                next = Some(next.map_or(claim, |next| next.min(claim)));
            }
        }
        next.map(|(_, account)| account)
    }
}

impl Reservations {
    /// Reserves memory for a command that is to be received. `None` if it must wait: for memory, or for those of its
    /// account that have waited longer.
    pub(crate) fn reserve(self: &Arc<Self>, need: &Need, limits: &Limits) -> Option<Reservation> {
        let mut book = self.lock();
        let own = book.accounts.get(&need.account);
        let queues = !need.urgent && own.is_some_and(|own| !own.waiters.is_empty());
        if queues || !book.fits(need, limits) {
            return None;
        }
        book.grant(need.account, need.bytes);
        Some(self.reservation(need.account, need.bytes, true))
    }

    /// Counts memory that is used already. `None` if the account has too much.
    pub(crate) fn count(
        self: &Arc<Self>,
        (account, bytes): (u32, usize),
        limits: &Limits,
    ) -> Option<Reservation> {
        let mut book = self.lock();
        if !book.has_room_to_begin(account, bytes, limits) {
            return None;
        }
        book.take(account, bytes, false);
        Some(self.reservation(account, bytes, false))
    }

    /// From now on this client waits.
    pub(crate) fn wait(&self, waiter: Waiter) {
        let mut book = self.lock();
        book.waiting += 1;
        let account = book.accounts.entry(waiter.need.account).or_default();
        let waiters = &mut account.waiters;
        // The urgent ones are in front, in the order in which they came.
        let place = match waiter.need.urgent {
            true => waiters.partition_point(|other| other.need.urgent),
            false => waiters.len(),
        };
        waiters.insert(place, waiter);
        // Something may have been given back before this was known.
        self.has_news.store(true, Ordering::Release);
    }

    /// This client waits no more.
    pub(crate) fn leave(&self, account: u32, client: (usize, Key)) {
        let mut book = self.lock();
        let Some(own) = book.accounts.get_mut(&account) else {
            return;
        };
        let before = own.waiters.len();
        own.waiters
            .retain(|waiter| (waiter.worker, waiter.client) != client);
        let left = before - own.waiters.len();
        book.waiting -= left;
        book.forget_if_idle(account);
        // Whoever is behind it may need less.
        self.has_news.store(book.waiting > 0, Ordering::Release);
    }

    /// Whether somebody who waits may be next.
    pub(crate) fn has_news(&self) -> bool {
        self.has_news.load(Ordering::Acquire)
    }

    /// Limits have changed.
    pub(crate) fn look_again(&self) {
        self.has_news
            .store(self.lock().waiting > 0, Ordering::Release);
    }

    /// Whoever is next, with what it waited for.
    pub(crate) fn next(self: &Arc<Self>, limits: &Limits) -> Option<(Waiter, Reservation)> {
        let mut book = self.lock();
        let Some(account) = book.next(limits) else {
            self.has_news.store(false, Ordering::Release);
            return None;
        };
        let own = book.accounts.get_mut(&account)?;
        let waiter = own.waiters.pop_front()?;
        book.waiting -= 1;
        book.grant(account, waiter.need.bytes);
        Some((waiter, self.reservation(account, waiter.need.bytes, true)))
    }

    /// Bytes that are reserved, and how many clients wait.
    pub(crate) fn totals(&self) -> (usize, usize) {
        let book = self.lock();
        (book.taken, book.waiting)
    }

    fn reservation(self: &Arc<Self>, account: u32, bytes: usize, is_granted: bool) -> Reservation {
        Reservation {
            all: self.clone(),
            account,
            bytes,
            is_granted,
        }
    }

    /// The book is whole even if a thread panicked while holding it: nothing in between can.
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// How much it is.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// True if it is for all of a command.
    pub(crate) fn is_granted(&self) -> bool {
        self.is_granted
    }

    /// Becomes larger or smaller. False if there is no room for more: then it is as it was.
    pub(crate) fn resize(&mut self, bytes: usize, limits: &Limits) -> bool {
        let mut book = self.all.lock();
        if let Some(more) = bytes.checked_sub(self.bytes) {
            if more > 0 && !book.has_room_to_begin(self.account, more, limits) {
                return false;
            }
            book.take(self.account, more, self.is_granted);
        } else {
            book.give_back(self.account, self.bytes - bytes, self.is_granted);
            self.tells(&book);
        }
        self.bytes = bytes;
        true
    }

    fn tells(&self, book: &Book) {
        if book.waiting > 0 {
            self.all.has_news.store(true, Ordering::Release);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut book = self.all.lock();
        book.give_back(self.account, self.bytes, self.is_granted);
        if let Some(own) = book.accounts.get_mut(&self.account) {
            own.granted -= usize::from(self.is_granted);
        }
        book.forget_if_idle(self.account);
        self.tells(&book);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits {
        total: 1_000,
        largest: 100,
    };

    fn need(account: u32, bytes: usize) -> Need {
        Need {
            account,
            bytes,
            urgent: false,
        }
    }

    fn clients(count: usize) -> Vec<Key> {
        let mut slab = membership::Slab::default();
        (0..count).map(|_| slab.insert(())).collect()
    }

    #[test]
    fn an_account_leaves_as_much_as_it_has_and_others_are_not_in_its_way() {
        let all = Arc::new(Reservations::default());
        let mut held = Vec::new();
        while let Some(granted) = all.reserve(&need(1, 100), &LIMITS) {
            held.push(granted);
        }
        assert_eq!(held.len(), 3);
        let part = all.count((1, 100), &LIMITS);
        assert!(part.is_some(), "the beginnings of others fit");
        held.extend(part);
        held.push(all.reserve(&need(2, 100), &LIMITS).unwrap());
        assert!(all.reserve(&need(2, 100), &LIMITS).is_none());
        drop(held);
        assert_eq!(all.totals(), (0, 0));
        assert!(all.lock().accounts.is_empty());
    }

    #[test]
    fn the_first_command_of_an_account_goes_on_when_all_that_is_shared_is_taken() {
        let all = Arc::new(Reservations::default());
        let mut parts = Vec::new();
        for account in 0..50 {
            while let Some(part) = all.count((account, 20), &LIMITS) {
                parts.push(part);
            }
        }
        let taken = all.totals().0;
        assert!((760..=800).contains(&taken), "{taken}");
        let first = all
            .reserve(&need(3, 100), &LIMITS)
            .expect("it is the first");
        assert!(all.reserve(&need(3, 100), &LIMITS).is_none());
        assert!(
            all.reserve(&need(4, 100), &LIMITS).is_none(),
            "one at a time"
        );
        let urgent = Need {
            urgent: true,
            ..need(4, 100)
        };
        let urgent = all.reserve(&urgent, &LIMITS).expect("others wait for it");
        assert!(all.totals().0 <= LIMITS.total);
        drop(first);
        assert!(all.reserve(&need(4, 100), &LIMITS).is_none());
        drop(urgent);
        assert!(all.reserve(&need(4, 100), &LIMITS).is_some());
    }

    #[test]
    fn those_who_wait_are_served_in_order_within_an_account_and_the_poorest_account_first() {
        let all = Arc::new(Reservations::default());
        let clients = clients(4);
        let mut held = Vec::new();
        while let Some(granted) = all.reserve(&need(1, 100), &LIMITS) {
            held.push(granted);
        }
        let wait = |client: usize, need| {
            all.wait(Waiter {
                worker: 0,
                client: clients[client],
                need,
            });
        };
        wait(0, need(1, 100));
        wait(1, need(1, 10));
        assert!(all.has_news());
        assert!(all.next(&LIMITS).is_none() && !all.has_news());
        assert!(
            all.reserve(&need(1, 1), &LIMITS).is_none(),
            "others wait longer"
        );
        wait(2, need(2, 100));
        let (waiter, _second) = all.next(&LIMITS).expect("another account");
        assert_eq!(waiter.client, clients[2]);
        held.truncate(1);
        assert!(all.has_news());
        let (waiter, _third) = all.next(&LIMITS).expect("there is room");
        assert_eq!(waiter.client, clients[0]);
        all.leave(1, (0, clients[1]));
        assert_eq!(all.totals().1, 0);
    }

    #[test]
    fn urgent_ones_of_an_account_are_served_before_others_and_in_order() {
        let all = Arc::new(Reservations::default());
        let clients = clients(4);
        for (&client, urgent) in clients.iter().zip([false, true, true, false]) {
            all.wait(Waiter {
                worker: 0,
                client,
                need: Need {
                    urgent,
                    ..need(1, 100)
                },
            });
        }
        let served = std::iter::from_fn(|| all.next(&LIMITS));
        let served: Vec<_> = served.map(|(waiter, _)| waiter.client).collect();
        assert_eq!(served, [1, 2, 0, 3].map(|place| clients[place]));
    }

    #[test]
    fn what_is_counted_grows_and_shrinks_within_the_share() {
        let all = Arc::new(Reservations::default());
        let mut part = all.count((1, 100), &LIMITS).unwrap();
        assert!(part.resize(400, &LIMITS) && !part.resize(401, &LIMITS));
        assert!(part.resize(50, &LIMITS));
        assert_eq!((part.bytes(), all.totals().0), (50, 50));
    }

    proptest! {
        /// Whatever accounts do, the total holds, and once all commands that were granted are complete the next is.
        #[test]
        fn nothing_exceeds_the_total_and_nobody_waits_for_nothing(
            steps in prop::collection::vec((0_u32..4, 0_usize..4, 1_usize..=100, any::<bool>()), 1..200),
        ) {
            let all = Arc::new(Reservations::default());
            let clients = clients(steps.len());
            let (mut granted, mut parts) = (Vec::new(), Vec::new());
            for (number, (account, what, bytes, urgent)) in steps.into_iter().enumerate() {
                match what {
                    0 => parts.extend(all.count((account, bytes), &LIMITS)),
                    1 => drop(granted.pop()),
                    _ => {
                        let need = Need { account, bytes, urgent };
                        match all.reserve(&need, &LIMITS) {
                            Some(reservation) => granted.push(reservation),
                            None => all.wait(Waiter { worker: 0, client: clients[number], need }),
                        }
                    }
                }
                while let Some((_, reservation)) = all.next(&LIMITS) {
                    granted.push(reservation);
                }
                prop_assert!(all.totals().0 <= LIMITS.total);
            }
            while all.totals().1 > 0 {
                let before = all.totals().1;
                granted.clear();
                while let Some((_, reservation)) = all.next(&LIMITS) {
                    granted.push(reservation);
                }
                prop_assert!(all.totals().1 < before, "nobody goes on");
            }
        }
    }
}

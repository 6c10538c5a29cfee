//! One limit that all workers share: how many are through, which workers have somebody waiting, and
//! since when.
//!
//! Owns the protocol between workers. It knows no statements and no accounts, and it wakes nobody:
//! it says who is to be woken, and that worker is sent mail.
//!
//! How many are through and how many workers wait are two halves of one word, so a permit that is
//! given back either sees the waiting worker, or that worker, which looks at the same word as it
//! begins to wait, sees the permit. No wake-up can fall in between.

use std::sync::Arc;

use events::{Span, Timestamp};

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// One more through.
const ONE: u64 = 1;
/// One more worker that waits.
const WORKER: u64 = 1 << 32;
const NOBODY: u64 = u64::MAX;
/// Who came so little earlier at another worker did not come first: a worker knows an arrival no better
/// than by the turn in which it saw it, and room that it may fill itself needs no mail to another one.
pub(crate) const SLACK: Span = Span::from_ms(1);
/// The end of a chain of gates.
const LAST: u32 = u32::MAX;

/// A limit over all workers.
#[derive(Debug)]
pub(crate) struct Gate {
    id: u32,
    /// How many are through, and above that how many workers wait.
    state: AtomicU64,
    /// 0 = none.
    limit: AtomicU32,
    cells: Box<[Cell]>,
    freed: Arc<[Freed]>,
}

/// What one worker says about itself at one gate; on its own cache line.
#[derive(Debug)]
#[repr(align(64))]
struct Cell {
    /// Since when its oldest waiter has waited, or [`NOBODY`].
    oldest_us: AtomicU64,
    /// Odd while mail is under way that it has not looked at yet; never the same number twice.
    mail: AtomicU32,
    /// When that mail was sent.
    posted_us: AtomicU64,
    /// It let somebody out while somebody waited, and has not told anybody yet.
    is_freed: AtomicBool,
    /// The next gate of which that is true.
    next_freed: AtomicU32,
}

/// The first of the gates where a worker let somebody out while somebody waited. Only that worker
/// uses it: the chain goes through cells that are its own.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Freed(AtomicU32);

/// What became of a waiter that tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// It is through.
    Entered,
    /// There is no room.
    Full,
    /// There is, but this worker has somebody who has waited longer.
    Older(usize),
}

impl Freed {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(LAST))
    }
}

impl Gate {
    pub(crate) fn new(id: u32, limit: u32, freed: Arc<[Freed]>) -> Self {
        let cell = |_| Cell {
            oldest_us: AtomicU64::new(NOBODY),
            mail: AtomicU32::new(0),
            posted_us: AtomicU64::new(0),
            is_freed: AtomicBool::new(false),
            next_freed: AtomicU32::new(LAST),
        };
        Self {
            id,
            state: AtomicU64::new(0),
            limit: AtomicU32::new(limit),
            cells: (0..freed.len()).map(cell).collect(),
            freed,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn set_limit(&self, limit: u32) {
        self.limit.store(limit, Ordering::SeqCst);
    }

    /// How many are through.
    pub(crate) fn running(&self) -> u32 {
        running(self.state.load(Ordering::SeqCst))
    }

    /// Lets somebody in who has not waited: only if there is room and nobody waits anywhere.
    pub(crate) fn enter(&self) -> bool {
        let mut state = self.state.load(Ordering::SeqCst);
        while waiting(state) == 0 && self.has_room(state) {
            match self.swap(state, state + ONE) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Lets somebody in who may not wait, whatever the limit.
    pub(crate) fn force(&self) {
        self.state.fetch_add(ONE, Ordering::SeqCst);
    }

    /// Lets a waiter of `worker` in if there is room, and no other worker has anybody who has waited
    /// since before `since` by more than [`SLACK`], but for those workers that are asleep.
    pub(crate) fn admit(
        &self,
        worker: usize,
        since: Timestamp,
        is_asleep: impl Fn(usize) -> bool,
    ) -> Entry {
        let mut state = self.state.load(Ordering::SeqCst);
        while self.has_room(state) {
            if let Some(other) = self.older(worker, since, &is_asleep) {
                return Entry::Older(other);
            }
            match self.swap(state, state + ONE) {
                Ok(_) => return Entry::Entered,
                Err(now) => state = now,
            }
        }
        Entry::Full
    }

    /// As [`Gate::admit`], but nobody goes through.
    pub(crate) fn look(
        &self,
        worker: usize,
        since: Timestamp,
        is_asleep: impl Fn(usize) -> bool,
    ) -> Entry {
        if !self.has_room(self.state.load(Ordering::SeqCst)) {
            return Entry::Full;
        }
        let older = self.older(worker, since, &is_asleep);
        older.map_or(Entry::Entered, Entry::Older)
    }

    /// `worker` lets somebody out. If somebody waits, the gate is put onto the worker's chain: see
    /// [`Gate::take_freed`].
    pub(crate) fn leave(&self, worker: usize) {
        let state = self.state.fetch_sub(ONE, Ordering::SeqCst);
        if waiting(state) == 0 {
            return;
        }
        let cell = &self.cells[worker];
        if !cell.is_freed.swap(true, Ordering::Relaxed) {
            let first = self.freed[worker].0.swap(self.id, Ordering::Relaxed);
            cell.next_freed.store(first, Ordering::Relaxed);
        }
    }

    /// The first gate on the worker's chain.
    pub(crate) fn first_freed(freed: &[Freed], worker: usize) -> Option<u32> {
        let first = freed[worker].0.load(Ordering::Relaxed);
        (first != LAST).then_some(first)
    }

    /// Takes this gate, the first one, off the worker's chain.
    pub(crate) fn take_freed(&self, worker: usize) {
        let cell = &self.cells[worker];
        let next = cell.next_freed.load(Ordering::Relaxed);
        self.freed[worker].0.store(next, Ordering::Relaxed);
        cell.is_freed.store(false, Ordering::Relaxed);
    }

    /// `worker` begins to wait; its oldest has waited since `oldest`. It must look again afterwards.
    pub(crate) fn wait(&self, worker: usize, oldest: Timestamp) {
        self.publish(worker, oldest);
        self.state.fetch_add(WORKER, Ordering::SeqCst);
    }

    /// The oldest waiter of a worker that waits is another one.
    pub(crate) fn publish(&self, worker: usize, oldest: Timestamp) {
        let cell = &self.cells[worker];
        cell.oldest_us.store(oldest.as_us(), Ordering::SeqCst);
    }

    /// Nobody waits at `worker` any more.
    pub(crate) fn stop_waiting(&self, worker: usize) {
        self.cells[worker].oldest_us.store(NOBODY, Ordering::SeqCst);
        self.state.fetch_sub(WORKER, Ordering::SeqCst);
    }

    /// The worker that has the oldest waiter of those that `counts` names, if there is room for it and
    /// it is not `worker` itself.
    pub(crate) fn next(&self, worker: usize, counts: impl Fn(usize) -> bool) -> Option<usize> {
        let state = self.state.load(Ordering::SeqCst);
        if waiting(state) == 0 || !self.has_room(state) {
            return None;
        }
        let (_, oldest) = self.oldest(counts)?;
        (oldest != worker).then_some(oldest)
    }

    /// Notes that `worker` is about to be sent mail; false if some is under way already. It writes in
    /// either case: the worker that reads its mail sees all that was done before.
    pub(crate) fn post(&self, worker: usize, now: Timestamp) -> bool {
        let cell = &self.cells[worker];
        if cell.mail.load(Ordering::SeqCst) & 1 == 0 {
            cell.posted_us.store(now.as_us(), Ordering::SeqCst);
        }
        cell.mail.fetch_or(1, Ordering::SeqCst) & 1 == 0
    }

    /// `worker` looks at its mail. Only what it reads of the gate afterwards counts.
    pub(crate) fn take_post(&self, worker: usize) {
        let mail = &self.cells[worker].mail;
        mail.fetch_or(1, Ordering::SeqCst);
        mail.fetch_add(1, Ordering::SeqCst);
    }

    /// The mail that `worker` has not looked at; `None` if there is none.
    pub(crate) fn unread(&self, worker: usize) -> Option<u32> {
        let mail = self.cells[worker].mail.load(Ordering::SeqCst);
        (mail & 1 == 1).then_some(mail)
    }

    /// For how long the worker has not looked at its mail.
    pub(crate) fn unread_for(&self, worker: usize, now: Timestamp) -> Span {
        let posted = self.cells[worker].posted_us.load(Ordering::SeqCst);
        now.since(Timestamp::from_us(posted))
    }

    /// How many more may come through.
    pub(crate) fn room(&self) -> usize {
        match self.limit.load(Ordering::SeqCst) {
            0 => usize::MAX,
            limit => limit.saturating_sub(self.running()) as usize,
        }
    }

    fn has_room(&self, state: u64) -> bool {
        let limit = self.limit.load(Ordering::SeqCst);
        limit == 0 || running(state) < limit
    }

    /// Another worker with somebody who has waited since before `since` by more than [`SLACK`].
    fn older(
        &self,
        worker: usize,
        since: Timestamp,
        is_asleep: &impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let (us, other) = self.oldest(|other| other != worker && !is_asleep(other))?;
        (us.saturating_add(SLACK.as_us()) < since.as_us()).then_some(other)
    }

    /// The worker with the oldest waiter, of those that `counts` names, and since when that waits.
    fn oldest(&self, counts: impl Fn(usize) -> bool) -> Option<(u64, usize)> {
        let cells = self.cells.iter().enumerate();
        let waiting = cells
            .filter(|(worker, _)| counts(*worker))
            .map(|(worker, cell)| (cell.oldest_us.load(Ordering::SeqCst), worker));
        waiting.min().filter(|(us, _)| *us != NOBODY)
    }

    fn swap(&self, from: u64, to: u64) -> Result<u64, u64> {
        let order = (Ordering::SeqCst, Ordering::SeqCst);
        self.state.compare_exchange_weak(from, to, order.0, order.1)
    }
}

const fn running(state: u64) -> u32 {
    state as u32
}

const fn waiting(state: u64) -> u32 {
    (state >> 32) as u32
}

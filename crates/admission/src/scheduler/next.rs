//! Who is served, and in which order: transactions in progress, then accounts by fair share, and
//! within an account whoever came first among those that can be served.

use events::{Span, Timestamp};
use membership::{Key, ListId};

use crate::gate::{Entry, Gate};
use crate::permit::Permit;
use crate::quota::Overload;
use crate::rejection::{Rejection, Why};

use super::account::{Waiter, gates, rejection};
use super::{IN_PROGRESS, Scheduler};

/// Whether there is a backend for a group of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// There is.
    Here,
    /// There is none for this group; there may be one for others.
    Elsewhere,
    /// There is none for anybody.
    Nowhere,
}

/// What happens to one waiter.
#[derive(Debug)]
#[must_use = "the waiter is off the queue"]
pub enum Step<T> {
    /// It may run.
    Run {
        /// Whose statement.
        who: T,
        /// What it holds while it runs.
        permit: Permit,
        /// How long it waited.
        waited: Span,
    },
    /// It does not run.
    Reject {
        /// Whose statement.
        who: T,
        /// Why not.
        rejection: Rejection,
    },
}

/// What an account can be given.
enum Choice {
    Try(u32, Key),
    Nobody,
    NotHere,
    Stop,
}

impl<T: Copy> Scheduler<T> {
    /// The next waiter to be dealt with; to be called until there is none after every event that may
    /// have changed something: an arrival, a permit or a backend given back, mail, time.
    /// `capacity` says whether a backend can be had for a group.
    pub fn next(
        &mut self,
        now: Timestamp,
        mut capacity: impl FnMut(u32) -> Capacity,
    ) -> Option<Step<T>> {
        if let Some(step) = self.next_overdue(now) {
            return Some(step);
        }
        if let Some(step) = self.next_in_progress(now, &mut capacity) {
            return Some(step);
        }
        self.poll(now);
        self.call_forward(&mut capacity);
        loop {
            let step = self.next_by_share(now, &mut capacity);
            while let Some(account) = self.aside.pop() {
                self.fair.take_back(account);
            }
            if step.is_some() || !self.reconcile(now) {
                return step;
            }
        }
    }

    fn next_overdue(&mut self, now: Timestamp) -> Option<Step<T>> {
        while let Some(key) = self.deadlines.due(now) {
            let Some(waiter) = self.waiters.get_mut(key) else {
                continue;
            };
            waiter.alarm = None;
            let (deadline, since) = (waiter.deadline, waiter.since);
            let account = waiter.key.account as usize;
            let mut why = waiter.why;
            if now < deadline {
                let account = &self.accounts[account];
                let target = account.quota.overload_target;
                if account.quota.overload != Overload::Codel || !account.is_overloaded(now) {
                    let look_at = deadline.min(now + target.max(Span::from_ms(1)));
                    waiter.alarm = Some(self.deadlines.insert(key, look_at, now));
                    continue;
                }
                why = Why::Overload(now.since(since));
            }
            let row = self.accounts[account].row;
            let Some(waiter) = self.remove(key) else {
                continue;
            };
            let counters = &mut self.accounts[account].counters;
            match why {
                Why::Overload(_) => counters.rejected += 1,
                _ => counters.timed_out += 1,
            }
            let rejection = rejection(row, why);
            return Some(Step::Reject {
                who: waiter.who,
                rejection,
            });
        }
        None
    }

    fn next_in_progress(
        &mut self,
        now: Timestamp,
        capacity: &mut impl FnMut(u32) -> Capacity,
    ) -> Option<Step<T>> {
        let list = ListId(IN_PROGRESS);
        let mut here = |waiter: &Waiter<T>| capacity(waiter.key.group) == Capacity::Here;
        let found = self.waiters.iter(list).find(|(_, waiter)| here(waiter));
        let (key, queue) = found.map(|(key, waiter)| (key, waiter.key))?;
        let rows = self.rows(queue.account, queue.schema);
        for gate in gates(rows, queue.needs) {
            gate.force();
        }
        self.run(key, Permit::new(rows, self.worker, queue.needs), now)
    }

    fn next_by_share(
        &mut self,
        now: Timestamp,
        capacity: &mut impl FnMut(u32) -> Capacity,
    ) -> Option<Step<T>> {
        while let Some(account) = self.fair.first() {
            match self.choose(account, now, capacity) {
                Choice::Try(queue, key) => match self.try_to_run(queue, key, now) {
                    Ok(permit) => return self.run_charged(key, permit, now),
                    Err(gate) => self.block(queue, gate),
                },
                Choice::Nobody => self.fair.rest(account),
                Choice::NotHere => {
                    self.block_all_at_limits(account);
                    if !self.accounts[account as usize].ready.is_empty() {
                        self.fair.set_aside(account);
                        self.aside.push(account);
                    }
                }
                Choice::Stop => return None,
            }
        }
        None
    }

    /// Whom to try of an account: whoever came first of those for whom there is a backend.
    fn choose(
        &self,
        account: u32,
        now: Timestamp,
        capacity: &mut impl FnMut(u32) -> Capacity,
    ) -> Choice {
        let account = &self.accounts[account as usize];
        let mut best = None;
        let mut choice = Choice::Nobody;
        for &queue in &account.ready {
            let Some((key, since)) = self.oldest(queue) else {
                continue;
            };
            if best.is_some_and(|(best, _)| best <= since) {
                continue;
            }
            match capacity(self.queues[queue as usize].key.group) {
                Capacity::Nowhere => return Choice::Stop,
                Capacity::Elsewhere if best.is_none() => choice = Choice::NotHere,
                Capacity::Elsewhere => {}
                Capacity::Here => {
                    best = Some((since, queue));
                    let newest = account.is_newest_first(since, now);
                    let newest = newest.then(|| self.waiters.last(ListId(queue)));
                    choice = Choice::Try(queue, newest.flatten().unwrap_or(key));
                }
            }
        }
        choice
    }

    /// Goes through all gates, or through none.
    fn try_to_run(
        &mut self,
        queue: u32,
        key: Key,
        now: Timestamp,
    ) -> Result<Permit, &'static Gate> {
        let (_, since) = self.oldest(queue).unwrap_or((key, now));
        let queue = self.queues[queue as usize].key;
        let rows = self.rows(queue.account, queue.schema);
        let gates = gates(rows, queue.needs);
        for (passed, gate) in gates.clone().enumerate() {
            let local = self.gates[gate.id() as usize].as_ref();
            let since = local.map_or(since, |local| local.claim(since));
            let is_asleep = |worker| self.peers.is_asleep(worker);
            let entry = gate.admit(self.worker, since, is_asleep);
            if entry != Entry::Entered {
                gates.take(passed).for_each(|gate| gate.leave(self.worker));
                return Err(gate);
            }
        }
        Ok(match rows {
            [None, None] => Permit::NONE,
            rows => Permit::new(rows, self.worker, queue.needs),
        })
    }

    fn run_charged(&mut self, key: Key, mut permit: Permit, now: Timestamp) -> Option<Step<T>> {
        let account = self.waiters.get(key)?.key.account;
        permit.charge = Some(self.charge(account, now));
        self.run(key, permit, now)
    }

    fn run(&mut self, key: Key, permit: Permit, now: Timestamp) -> Option<Step<T>> {
        let waiter = self.remove(key)?;
        let waited = now.since(waiter.since);
        let counters = &mut self.accounts[waiter.key.account as usize].counters;
        counters.admitted += 1;
        counters.waits.record(waited);
        Some(Step::Run {
            who: waiter.who,
            permit,
            waited,
        })
    }

    /// The oldest waiter of a queue, and since when it has waited.
    pub(super) fn oldest(&self, queue: u32) -> Option<(Key, Timestamp)> {
        let key = self.waiters.first(ListId(queue))?;
        Some((key, self.waiters.get(key)?.since))
    }
}

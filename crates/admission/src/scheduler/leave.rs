//! Waiters that go without having run, and what is taken off the lists with them.

use membership::{Key, ListId};

use super::account::Waiter;
use super::{IN_PROGRESS, Place, Scheduler, Seat};
use crate::permit::Permit;

/// Why a waiter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Its client hung up.
    Abandoned,
    /// Somebody ended it: KILL, a server that refuses the account, or a front door that closes.
    Killed,
    /// No backend became free in time.
    TimedOut,
}

impl<T: Copy> Scheduler<T> {
    /// A waiter goes and will not run. [`Scheduler::next`] is to be called. Returns whose it was;
    /// `None` if it does not wait any more.
    pub fn leave(&mut self, Place(key): Place, why: Left) -> Option<T> {
        let waiter = self.remove(key)?;
        self.count_left(waiter.key.account, why);
        Some(waiter.who)
    }

    /// A statement that was let through will not run: it waited for its backend in vain.
    pub fn forgo(&mut self, seat: &Seat, permit: Permit, why: Left) {
        drop(permit);
        let counters = &mut self.accounts[seat.account as usize].counters;
        counters.admitted = counters.admitted.saturating_sub(1);
        self.count_left(seat.account, why);
    }

    fn count_left(&mut self, account: u32, why: Left) {
        let counters = &mut self.accounts[account as usize].counters;
        match why {
            Left::Abandoned => counters.abandoned += 1,
            Left::Killed => counters.killed += 1,
            Left::TimedOut => counters.timed_out += 1,
        }
    }

    /// Takes any one waiter off the queue, so that it can be told that the front door closes.
    pub fn evict(&mut self) -> Option<T> {
        let lists = (0..self.waiters.lists()).map(ListId);
        let key = lists.filter_map(|list| self.waiters.first(list)).next()?;
        self.leave(Place(key), Left::Killed)
    }

    /// Takes a waiter off all lists.
    pub(super) fn remove(&mut self, key: Key) -> Option<Waiter<T>> {
        let ListId(queue) = self.waiters.list_of(key)?;
        let waiter = self.waiters.remove(key)?;
        if let Some(alarm) = waiter.alarm {
            self.deadlines.remove(alarm);
        }
        let account = &mut self.accounts[waiter.key.account as usize];
        account.waiting -= 1;
        account.row.stop_waiting();
        if let Some(schema) = waiter.key.schema {
            self.schemas[schema as usize].row.stop_waiting();
        }
        if queue == IN_PROGRESS {
            return Some(waiter);
        }
        let is_empty = self.waiters.len_of(ListId(queue)) == 0;
        match self.queues[queue as usize].blocked_at {
            Some(gate) => {
                if is_empty {
                    self.unblock(queue, gate);
                }
                self.touch(gate);
            }
            None if is_empty => self.make_unready(queue),
            None => {}
        }
        Some(waiter)
    }
}

//! The backend connections of each account on this worker, over all its keys: the figures that decide who gets the
//! next one. Owns the figures; the rules are in `pool`, and `lending` applies them.
//!
//! An account has several keys, since capability flags divide its sessions. Its weight, its turns and its
//! need belong to all of them together.

use events::{Io, Span, Timestamp};
use pool::{Claim, KEEP, KeyId, Need, Waiter};

use crate::client::State;
use crate::{Engine, Mail, Turn};

/// What one account has and needs here.
#[derive(Debug, Default)]
pub(crate) struct Share {
    /// Its number.
    pub(crate) account: u32,
    /// All keys of its sessions and backends.
    pub(crate) keys: Vec<KeyId>,
    /// Its share of the backends, relative to others'; 0 counts as 1.
    pub(crate) weight: u32,
    /// When one of its statements got a backend last.
    pub(crate) served: Option<Timestamp>,
    /// Since when it has had waiters that need a backend, without a break.
    short_since: Option<Timestamp>,
    /// Since when its oldest waiter has needed one; only meaningful while the worker's need is summed up.
    in_need: Option<Timestamp>,
    /// The sums that its weight was counted in.
    is_counted: Counted,
}

bitflags::bitflags! {
    /// Which sums of weights have that of an account in them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    struct Counted: u8 {
        /// The accounts of which statements wait for any backend.
        const WAITS = 1;
        /// The accounts of which statements wait to go alone.
        const ALONE = 1 << 1;
    }
}

impl Share {
    /// That of an account without keys.
    pub(crate) fn of(account: u32) -> Self {
        Self {
            account,
            ..Self::default()
        }
    }

    /// True if statements of it wait for backends.
    pub(crate) fn has_waiters(&self) -> bool {
        self.is_counted.contains(Counted::WAITS)
    }

    /// Its weight counts in this sum: returns it the first time.
    fn count(&mut self, counts: bool, sum: Counted) -> u64 {
        if !counts || self.is_counted.contains(sum) {
            return 0;
        }
        self.is_counted.insert(sum);
        u64::from(self.weight.max(1))
    }
}

impl Engine {
    /// The share of the account of `id`.
    pub(crate) fn share(&self, id: KeyId) -> &Share {
        &self.shares[self.keys[id.0 as usize].share]
    }

    pub(crate) fn share_mut(&mut self, id: KeyId) -> &mut Share {
        &mut self.shares[self.keys[id.0 as usize].share]
    }

    /// True if both are keys of one account.
    pub(crate) fn are_of_one_account(&self, one: KeyId, other: KeyId) -> bool {
        self.keys[one.0 as usize].share == self.keys[other.0 as usize].share
    }

    /// A statement of `id` gets a backend.
    pub(crate) fn served(&mut self, id: KeyId, now: Timestamp) {
        self.share_mut(id).served = Some(now);
    }

    /// The claim to one more backend that the waiters of `id` have, in the name of their account.
    pub(crate) fn claim(&self, id: KeyId, now: Timestamp) -> Claim {
        let share = self.share(id);
        let keys = share.keys.iter();
        Claim {
            owned: keys.map(|&key| self.pool.owned(key)).sum(),
            weight: share.weight,
            waiting_since: self.in_need_since(id),
            short_since: share.short_since,
            due: self.turn_of(id, now),
        }
    }

    /// The claim of the account that holds a backend of `id`: of all its waiters, those for lanes and for permits included.
    pub(crate) fn holder(&self, id: KeyId, now: Timestamp) -> Claim {
        let keys = || self.share(id).keys.iter().copied();
        Claim {
            waiting_since: keys().filter_map(|key| self.wanted_since(key)).min(),
            due: keys().filter_map(|key| self.turn_of(key, now)).min(),
            ..self.claim(id, now)
        }
    }

    /// Since when the oldest waiter has waited that a backend of `id` would help.
    pub(crate) fn wanted_since(&self, id: KeyId) -> Option<Timestamp> {
        let queued = self.scheduler.first_without_backend(id.0);
        let queued = queued.and_then(|key| Some(self.clients.get(key)?.since));
        let for_lane = self.clients.oldest(State::ForLane(id));
        let waiting = [self.in_need_since(id), for_lane, queued];
        waiting.into_iter().flatten().min()
    }

    /// Since when the oldest waiter of `id` has waited that another slot would help now: not while connections are
    /// coming anyway, nor while none can be opened.
    pub(crate) fn calls_since(&self, id: KeyId, now: Timestamp) -> Option<Timestamp> {
        let since = self.in_need_since(id)?;
        let comes = self.pool.coming(id, now) > 0;
        if comes || !self.may_open(id) || self.backing_off(now, id) {
            return None;
        }
        let can_open = self.next_relay_of(id).is_some() || !self.is_locked_out(id);
        can_open.then_some(since)
    }

    /// When a turn of the account is due, for a waiter of `id`.
    fn turn_of(&self, id: KeyId, now: Timestamp) -> Option<Timestamp> {
        let since = self.calls_since(id, now)?;
        let share = self.share(id);
        Some(self.turns.next(share.weight, since, share.served))
    }

    /// True if the next slot is not for `id`: another key of its account has an older waiter, or the turn of another
    /// account or worker has been due for longer. `opening`: how long it took to open the connection that makes room, as in
    /// [`is_overtaken`](pool::is_overtaken).
    pub(crate) fn is_owed<I: Io<Mail>>(
        &self,
        turn: &Turn<'_, I>,
        id: KeyId,
        opening: Span,
    ) -> bool {
        let now = turn.now;
        let own = self.claim(id, now);
        let since = self.in_need_since(id).unwrap_or(now);
        let comes_first = |other: KeyId| match self.are_of_one_account(id, other) {
            true => self
                .calls_since(other, now)
                .is_some_and(|at| at + KEEP + opening <= since),
            false => self.claim(other, now).is_due_before(&own, now),
        };
        let mut others = self.awake.iter().copied().filter(|&other| other != id);
        let ledger = &self.shared.ledger;
        others.any(comes_first) || ledger.is_owed_elsewhere(self.worker, own.due, now)
    }

    /// What this worker is short of. Sums up what its accounts need.
    pub(crate) fn sum_up_need(&mut self, now: Timestamp) -> Option<Need> {
        for &id in &self.awake {
            let share = &mut self.shares[self.keys[id.0 as usize].share];
            (share.in_need, share.is_counted) = (None, Counted::empty());
        }
        let (mut alone, mut all) = (0, 0);
        for at in 0..self.awake.len() {
            let id = self.awake[at];
            let since = self.in_need_since(id);
            let goes_alone =
                self.clients.count(State::Waiting(id)) + self.keys[id.0 as usize].queued > 0;
            if since.is_none() && self.first_listed_in_need(id).is_some() {
                // The gate has shut before a waiter that it had let through: nobody asks for it, so the gate looks again.
                self.busy.refuse(now);
            }
            let waits = goes_alone || self.clients.count(State::ForLane(id)) > 0;
            let share = self.share_mut(id);
            share.in_need = [share.in_need, since].into_iter().flatten().min();
            alone += share.count(goes_alone, Counted::ALONE);
            all += share.count(waits, Counted::WAITS);
        }
        self.busy.weigh(alone);
        self.turns.weights = all;
        let mut due = None;
        for at in 0..self.awake.len() {
            let id = self.awake[at];
            let share = self.share_mut(id);
            let since = share.in_need;
            share.short_since = since.map(|_| share.short_since.unwrap_or(now));
            due = [due, self.turn_of(id, now)].into_iter().flatten().min();
        }
        let waiters = self.awake.iter().filter_map(|&id| {
            let share = self.share(id);
            Some(Waiter {
                since: share.in_need?,
                account: share.account,
                weight: share.weight,
            })
        });
        let (oldest, other) = Need::oldest_of(waiters)?;
        Some(Need {
            oldest,
            other,
            short_since: self.lending.short_since().unwrap_or(now),
            due,
        })
    }
}

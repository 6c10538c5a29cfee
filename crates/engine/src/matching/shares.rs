//! Which account has the next claim to a backend.

use events::{Io, Span, Timestamp};
use pool::{Claim, KEEP, KeyId, Need, Waiter};

use crate::matching::Matching;
use crate::record::client::State;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::shares::{Counted, Share};
use crate::record::turn::Turn;

impl Records {
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
}

impl Matching {
    /// The claim to one more backend that the waiters of `id` have, in the name of their account.
    pub(crate) fn claim(&self, records: &Records, id: KeyId, now: Timestamp) -> Claim {
        let share = records.share(id);
        let keys = share.keys.iter();
        Claim {
            owned: keys.map(|&key| records.pool.owned(key)).sum(),
            weight: share.weight,
            waiting_since: self.in_need_since(records, id),
            short_since: share.short_since,
            due: self.turn_of(records, id, now),
        }
    }

    /// The claim of the account that holds a backend of `id`: of all its waiters, those for lanes and for permits included.
    pub(crate) fn holder(&self, records: &Records, id: KeyId, now: Timestamp) -> Claim {
        let keys = || records.share(id).keys.iter().copied();
        Claim {
            waiting_since: keys()
                .filter_map(|key| self.wanted_since(records, key))
                .min(),
            due: keys()
                .filter_map(|key| self.turn_of(records, key, now))
                .min(),
            ..self.claim(records, id, now)
        }
    }

    /// Since when the oldest waiter has waited that a backend of `id` would help.
    pub(crate) fn wanted_since(&self, records: &Records, id: KeyId) -> Option<Timestamp> {
        let queued = self.scheduler.first_without_backend(id.0);
        let queued = queued.and_then(|key| Some(records.clients.get(key)?.since));
        let for_lane = records.clients.oldest(State::ForLane(id));
        let waiting = [self.in_need_since(records, id), for_lane, queued];
        waiting.into_iter().flatten().min()
    }

    /// Since when the oldest waiter of `id` has waited that another slot would help now: not while connections are
    /// coming anyway, nor while none can be opened.
    pub(crate) fn calls_since(
        &self,
        records: &Records,
        id: KeyId,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let since = self.in_need_since(records, id)?;
        let comes = records.pool.coming(id, now) > 0;
        if comes || !self.may_open(records, id) || records.backing_off(now, id) {
            return None;
        }
        let can_open = self.next_relay_of(id).is_some() || !records.is_locked_out(id);
        can_open.then_some(since)
    }

    /// When a turn of the account is due, for a waiter of `id`.
    fn turn_of(&self, records: &Records, id: KeyId, now: Timestamp) -> Option<Timestamp> {
        let since = self.calls_since(records, id, now)?;
        let share = records.share(id);
        Some(self.turns.next(share.weight, since, share.served))
    }

    /// True if the next slot is not for `id`: another key of its account has an older waiter, or the turn of another
    /// account or worker has been due for longer. `opening`: how long it took to open the connection that makes room, as in
    /// [`is_overtaken`](pool::is_overtaken).
    pub(crate) fn is_owed<I: Io<Mail>>(
        &self,
        records: &Records,
        turn: &Turn<'_, I>,
        id: KeyId,
        opening: Span,
    ) -> bool {
        let now = turn.now;
        let own = self.claim(records, id, now);
        let since = self.in_need_since(records, id).unwrap_or(now);
        let comes_first = |other: KeyId| match records.are_of_one_account(id, other) {
            true => self
                .calls_since(records, other, now)
                .is_some_and(|at| at + KEEP + opening <= since),
            false => self.claim(records, other, now).is_due_before(&own, now),
        };
        let mut others = records.awake.iter().copied().filter(|&other| other != id);
        let ledger = &records.shared.ledger;
        others.any(comes_first) || ledger.is_owed_elsewhere(records.worker, own.due, now)
    }

    /// What this worker is short of. Sums up what its accounts need.
    pub(crate) fn sum_up_need(&mut self, records: &mut Records, now: Timestamp) -> Option<Need> {
        for &id in &records.awake {
            let share = &mut records.shares[records.keys[id.0 as usize].share];
            (share.in_need, share.is_counted) = (None, Counted::empty());
        }
        let (mut alone, mut all) = (0, 0);
        for at in 0..records.awake.len() {
            let id = records.awake[at];
            let since = self.in_need_since(records, id);
            let goes_alone =
                records.clients.count(State::Waiting(id)) + records.keys[id.0 as usize].queued > 0;
            if since.is_none() && records.first_listed_in_need(id).is_some() {
                // The gate has shut before a waiter that it had let through: nobody asks for it, so the gate looks again.
                self.busy.refuse(now);
            }
            let waits = goes_alone || records.clients.count(State::ForLane(id)) > 0;
            let share = records.share_mut(id);
            share.in_need = [share.in_need, since].into_iter().flatten().min();
            alone += share.count(goes_alone, Counted::ALONE);
            all += share.count(waits, Counted::WAITS);
        }
        self.busy.weigh(alone);
        self.turns.weights = all;
        let mut due = None;
        for at in 0..records.awake.len() {
            let id = records.awake[at];
            let share = records.share_mut(id);
            let since = share.in_need;
            share.short_since = since.map(|_| share.short_since.unwrap_or(now));
            due = [due, self.turn_of(records, id, now)]
                .into_iter()
                .flatten()
                .min();
        }
        let waiters = records.awake.iter().filter_map(|&id| {
            let share = records.share(id);
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

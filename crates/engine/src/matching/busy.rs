//! Whether one more statement may run alone: the gate that a session without a backend passes. While all places are taken, an
//! account may still have its share by weight; within an account the oldest waiter passes first, whatever its key.

use events::{Io, Span, Timestamp};
use membership::Key;
use pool::{Bounds, Concurrency, KEEP, KeyId, PATIENCE, Pool, State as BackendState};

use crate::matching::Matching;
use crate::record::backend::{Backend, PoolKey};
use crate::record::busy::Busy;
use crate::record::client::State;
use crate::record::key_state::KeyState;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::shares::Share;
use crate::record::turn::Turn;

/// A session that has had a backend for so long is not counted.
const LONG: Span = Span::from_ms(10);

/// How often it is looked which sessions have had one for so long.
const LOOK_AGAIN: Span = Span::from_ms(2);

impl Busy {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            limit: Concurrency::new(bounds),
            long: 0,
            looked: Timestamp::ZERO,
            weights: 0,
            refused: None,
        }
    }

    /// How many there may be now.
    pub(crate) fn limit(&self) -> usize {
        self.limit.limit()
    }

    /// When those who were refused are to be looked at again.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.refused
    }

    /// How many more sessions of an account may have a backend of their own, those in `states` being at work.
    pub(crate) fn room(
        &self,
        (pool, keys): (&Pool<PoolKey, Backend>, &[KeyState]),
        account: &Share,
        states: &[BackendState],
    ) -> usize {
        let all: usize = states.iter().map(|&of| pool.count_all(of)).sum();
        let limit = self.limit();
        let room = limit.saturating_sub(all.saturating_sub(self.long));
        if room > 0 {
            return room;
        }
        let own = account.keys.iter().map(|&id| {
            let at_work: usize = states.iter().map(|&of| pool.count(id, of)).sum();
            at_work.saturating_sub(keys[id.0 as usize].long)
        });
        let weight = u64::from(account.weight.max(1));
        let share = limit as u64 * weight / self.weights.max(weight);
        let share = usize::try_from(share.max(1)).unwrap_or(usize::MAX);
        share.saturating_sub(own.sum())
    }

    /// Somebody waits who could go if fewer were at work.
    pub(crate) fn refuse(&mut self, now: Timestamp) {
        self.refused = self.refused.or(Some(now + LONG));
    }

    /// A session left the next place to one that has waited for longer, which is looked at when the turn ends.
    fn leave_place(&mut self, now: Timestamp) {
        self.refused = Some(now + PATIENCE);
    }

    /// The weights of accounts with waiters are summed up anew.
    pub(crate) fn weigh(&mut self, weights: u64) {
        self.weights = weights;
    }
}

impl Records {
    /// True if a waiter of another key of the account was refused that came so much earlier, and that has a backend.
    fn is_behind_at_gate<I: Io<Mail>>(&self, turn: &Turn<'_, I>, id: KeyId) -> bool {
        let keys = &self.share(id).keys;
        if keys.len() < 2 {
            return false;
        }
        let ours = self.clients.oldest(State::Waiting(id)).unwrap_or(turn.now);
        let mut others = keys.iter().filter(|&&other| other != id);
        others.any(|&other| {
            let theirs = self.clients.oldest(State::Waiting(other));
            let has_idle = self.pool.count(other, BackendState::Idle) > 0;
            has_idle && theirs.is_some_and(|theirs| theirs + KEEP <= ours)
        })
    }
}

impl Matching {
    /// True if one more session of `id` may have a backend of its own.
    pub(crate) fn may_go_alone(&self, records: &Records, id: KeyId) -> bool {
        self.room_for(records, id, &[BackendState::Active]) > 0
    }

    /// True if one more session of `id` may have a backend of its own once all that are being opened and cleaned are at work.
    pub(crate) fn may_open(&self, records: &Records, id: KeyId) -> bool {
        const ALL: [BackendState; 3] = [
            BackendState::Active,
            BackendState::Connecting,
            BackendState::Resetting,
        ];
        self.room_for(records, id, &ALL) > 0
    }

    fn room_for(&self, records: &Records, id: KeyId, states: &[BackendState]) -> usize {
        let pool = (&records.pool, &records.keys[..]);
        self.busy.room(pool, records.share(id), states)
    }

    /// True if a session of `id` may have a backend of its own. If not, it waits, and is looked at again.
    pub(crate) fn passes_gate<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &Turn<'_, I>,
        id: KeyId,
    ) -> bool {
        if !self.may_go_alone(records, id) && turn.now.since(self.busy.looked) >= LOOK_AGAIN {
            self.look_who_takes_long(records, turn.now);
        }
        if !self.may_go_alone(records, id) {
            self.busy.refuse(turn.now);
            return false;
        }
        if self.busy.refused.is_some() && records.is_behind_at_gate(turn, id) {
            self.busy.leave_place(turn.now);
            return false;
        }
        true
    }

    /// A statement that ran alone was answered.
    pub(crate) fn answered_alone<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &Turn<'_, I>,
        backend: Key,
    ) {
        let id = records.pool.key_of(backend);
        let others = id.is_some_and(|id| records.clients.count(State::Waiting(id)) > 0);
        self.busy.limit.answered(others, turn.now);
    }

    /// True if as many are at work as are good, whatever single keys may.
    pub(crate) fn gate_is_shut(&self, records: &Records) -> bool {
        let active = records.pool.count_all(BackendState::Active);
        active.saturating_sub(self.busy.long) >= self.busy.limit()
    }

    pub(crate) fn look_who_takes_long(&mut self, records: &mut Records, now: Timestamp) {
        self.busy.looked = now;
        self.busy.long = 0;
        for id in records.pool.key_ids() {
            let active = records.pool.iter_since(id, BackendState::Active);
            let long = active.take_while(|&since| now.since(since) >= LONG).count();
            records.keys[id.0 as usize].long = long;
            self.busy.long += long;
        }
    }
}

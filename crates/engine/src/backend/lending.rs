//! Slots between workers, and between keys of one worker (rule 2): when they change hands is said by
//! [`gives_way`]; here is who asks, and who is asked.

use events::{Io, Span, Timestamp};
use membership::Key;
use pool::{Claim, KeyId, PATIENCE, gives_way};

use crate::client::State;
use crate::{Engine, Mail, Turn};

/// How often a worker that still waits asks again.
const ASK_AGAIN: Span = Span::from_ms(5);

/// What a worker has published of its need.
#[derive(Debug, Default)]
pub(crate) struct Lending {
    /// Since when its oldest waiter has waited.
    waiting_since: Option<Timestamp>,
    /// Since when it has had waiters without a break.
    short_since: Option<Timestamp>,
    /// When it last asked the others.
    asked: Option<Timestamp>,
    /// When it last looked at its waiters.
    seen: Timestamp,
}

impl Lending {
    /// Since when the oldest waiter has waited.
    pub(crate) fn waiting_since(&self) -> Option<Timestamp> {
        self.waiting_since
    }

    /// How long the oldest waiter has waited.
    pub(crate) fn oldest_wait(&self) -> Span {
        self.waiting_since
            .map_or(Span::ZERO, |since| self.seen.since(since))
    }

    /// When the others are to be asked for slots.
    pub(crate) fn ask_at(&self) -> Option<Timestamp> {
        let since = self.waiting_since?;
        Some(
            self.asked
                .map_or(since + PATIENCE, |asked| asked + ASK_AGAIN),
        )
    }
}

impl Engine {
    /// Tells the others since when somebody has waited here, at the end of each turn.
    pub(crate) fn publish_need<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let (mut oldest, mut weights, mut waiting) = (None, 0, 0);
        for at in 0..self.awake.len() {
            let id = self.awake[at];
            let alone = self.clients.count(State::Waiting(id)) + self.keys[id.0 as usize].queued;
            waiting += alone + self.clients.count(State::ForLane(id));
            if alone > 0 {
                weights += u64::from(self.keys[id.0 as usize].weight.max(1));
            }
            let since = self.in_need_since(id);
            let short = &mut self.keys[id.0 as usize].short_since;
            *short = since.map(|_| short.unwrap_or(turn.now));
            oldest = [oldest, since].into_iter().flatten().min();
        }
        self.busy.weigh(weights);
        self.publish_holders(waiting, turn.now);
        let lending = &mut self.lending;
        lending.seen = turn.now;
        let began = oldest.is_some() && lending.waiting_since.is_none();
        if oldest != lending.waiting_since {
            lending.waiting_since = oldest;
            lending.short_since = oldest.map(|_| lending.short_since.unwrap_or(turn.now));
            if oldest.is_none() {
                lending.asked = None;
            }
            let short_since = lending.short_since;
            let ledger = &self.shared.ledger;
            ledger.set_waiting(self.worker, oldest, short_since);
        }
        if began {
            // A slot that was given back a moment ago saw nobody waiting.
            self.serve_all(turn);
        } else if oldest.is_some_and(|since| self.finds_slots(since)) {
            self.each_awake(|engine, id| engine.grow(turn, id));
        }
    }

    /// True if there may be slots for whoever has waited here since `since`, and nobody elsewhere has waited
    /// longer.
    fn finds_slots(&mut self, since: Timestamp) -> bool {
        let ledger = &self.shared.ledger;
        let is_first = || {
            let other = ledger.neediest(self.worker);
            other.is_none_or(|(_, other)| other.waiting_since >= Some(since))
        };
        (ledger.taken() < ledger.total() && is_first()) || self.pool.resting() > 0
    }

    /// Patience is over: the others are asked.
    pub(crate) fn ask_for_slots<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        self.lending.asked = Some(turn.now);
        self.serve_all(turn);
        for other in (0..self.shared.ledger.workers()).filter(|&other| other != self.worker) {
            // A worker that has ended holds no slots.
            let _ended = turn.io.post(other, Mail::SlotWanted);
        }
    }

    /// Somebody asked: gives up an idle connection if nobody here wants it.
    pub(crate) fn lend<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let Some((idle, _)) = self.pool.oldest_idle() else {
            return;
        };
        let Some(id) = self.pool.key_of(idle) else {
            return;
        };
        self.give_way(turn, idle, id);
    }

    /// A backend of `id` is idle: if another key or worker has the better claim to its slot, it is
    /// closed. Returns true if it was.
    pub(crate) fn give_way<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        idle: Key,
        id: KeyId,
    ) -> bool {
        let rested = self.rested(turn, idle);
        let other = self.needier_key(turn, id, rested);
        let is_wanted = other.is_some() || self.worker_is_needier(turn, id, rested);
        if !is_wanted || self.is_down_to_one(id) {
            return false;
        }
        self.counters.slots_lent += 1;
        self.drop_backend(turn, idle);
        if let Some(other) = other {
            self.grow(turn, other);
            self.serve(turn, id);
        }
        true
    }

    /// The idle connection that makes room for one of `id`: one of its own, since none of those suits if
    /// another one is to be opened, or one that its key gives up.
    pub(crate) fn spare<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, id: KeyId) -> Option<Key> {
        let (mut oldest, mut keeps) = (None, None);
        let claim = self.claim(id);
        // Those that rest are on one list, which is not in the way of what is asked of their keys.
        for at in 0..self.pool.resting() {
            let Some((of, idle, since)) = self.pool.oldest_idle_at(at) else {
                continue;
            };
            let rested = turn.now.since(since);
            let is_older = oldest.is_none_or(|(_, before)| since < before);
            let is_given = match of == id {
                // A login that fails must not have cost its account a connection.
                true => !self.is_relayed(id),
                false => gives_way(self.holder(of), claim, rested, turn.now),
            };
            let mut keeps = || *keeps.get_or_insert_with(|| self.keeps_last_ones());
            if is_older && is_given && !(self.would_lose_sessions(of) && keeps()) {
                oldest = Some((idle, since));
            }
        }
        oldest.map(|(idle, _)| idle)
    }

    fn rested<I: Io<Mail>>(&self, turn: &Turn<'_, I>, idle: Key) -> Span {
        let since = self.pool.since(idle);
        since.map_or(Span::ZERO, |since| turn.now.since(since))
    }

    /// True if a lane of `id` gets no more for now: somebody has the better claim to its slot, or
    /// goes alone and finds none but lanes.
    pub(crate) fn must_yield<I: Io<Mail>>(&self, turn: &Turn<'_, I>, id: KeyId) -> bool {
        const OTHERS: [pool::State; 4] = [
            pool::State::Active,
            pool::State::Idle,
            pool::State::Connecting,
            pool::State::Resetting,
        ];
        let only_lanes = || OTHERS.iter().all(|&state| self.pool.count(id, state) == 0);
        (self.first_in_need(id).is_some() && only_lanes())
            || self.needier_key(turn, id, Span::ZERO).is_some()
            || self.worker_is_needier(turn, id, Span::ZERO)
    }

    /// The key with a better claim to a slot of `id` that has been idle for `rested`.
    fn needier_key<I: Io<Mail>>(
        &self,
        turn: &Turn<'_, I>,
        id: KeyId,
        rested: Span,
    ) -> Option<KeyId> {
        if self.awake.len() < 2 {
            return None;
        }
        let holder = self.holder(id);
        let ids = self.awake.iter().copied().filter(|&other| other != id);
        let needy = ids.filter(|&other| gives_way(holder, self.claim(other), rested, turn.now));
        needy.min_by_key(|&other| self.in_need_since(other))
    }

    /// True if another worker has a better claim to a slot of `id` that has been idle for `rested`.
    fn worker_is_needier<I: Io<Mail>>(&self, turn: &Turn<'_, I>, id: KeyId, rested: Span) -> bool {
        let ledger = &self.shared.ledger;
        let Some((_, theirs)) = ledger.neediest(self.worker) else {
            return false;
        };
        let mine = Claim {
            waiting_since: self.holder(id).waiting_since,
            ..ledger.claim(self.worker)
        };
        gives_way(mine, theirs, rested, turn.now)
    }

    /// A slot went back to the budget: whoever waits elsewhere is told.
    pub(crate) fn slot_returned<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if let Some((other, _)) = self.shared.ledger.neediest(self.worker) {
            let _ended = turn.io.post(other, Mail::SlotFree);
        }
    }

    /// Sessions that begin from now on must see a global variable's new value: connections of
    /// before are not given to anybody else.
    pub(crate) fn global_changed<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        self.retire_backends(turn);
        self.post_to_others(turn, || Mail::GlobalChanged);
    }

    /// Tells all other workers; those that have ended need not know.
    pub(crate) fn post_to_others<I: Io<Mail>>(
        &self,
        turn: &mut Turn<'_, I>,
        mail: impl Fn() -> Mail,
    ) {
        for other in (0..self.shared.ledger.workers()).filter(|&other| other != self.worker) {
            let _ended = turn.io.post(other, mail());
        }
    }

    /// A schema was dropped, or rights were taken away: logins are checked again, on all workers.
    /// `stored`: what the server runs by itself may be another one, too.
    pub(crate) fn forget_schemas<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, stored: bool) {
        self.schemas_changed(stored);
        self.post_to_others(turn, || Mail::SchemasChanged { stored });
    }

    /// The same of this worker.
    pub(crate) fn schemas_changed(&mut self, stored: bool) {
        self.known_schemas.forget_all();
        self.digests.forget_tables();
        self.stored_defined(stored);
        if stored {
            self.routines.defined();
        }
    }

    /// What connections have selected may be another schema by now, with the name of before but not its character set: they
    /// select one anew. The one that it was defined on knows already.
    pub(crate) fn reselect_schemas<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, own: Key) {
        self.schemas_defined(turn, Some(own));
        self.post_to_others(turn, || Mail::SchemasDefined);
    }

    /// The same of this worker.
    pub(crate) fn schemas_defined<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        own: Option<Key>,
    ) {
        let states = [
            pool::State::Idle,
            pool::State::Resetting,
            pool::State::Active,
            pool::State::Lane,
            pool::State::Draining,
        ];
        for id in self.pool.key_ids() {
            for state in states {
                let members: Vec<Key> = self.pool.iter(id, state).map(|(key, _)| key).collect();
                for key in members.into_iter().filter(|&key| Some(key) != own) {
                    self.schema_may_be_old(turn, key, state);
                }
            }
        }
    }

    fn schema_may_be_old<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        state: pool::State,
    ) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        if backend.session.schema.is_none() {
            return;
        }
        match state {
            pool::State::Idle => backend.session.reselects(&mut self.interner),
            // It may have been selected anew just before.
            pool::State::Resetting => self.put_reset(turn, key),
            // Its session keeps what it has.
            _ => backend.dirty = true,
        }
    }

    pub(crate) fn retire_backends<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        self.charsets.forget();
        let ids: Vec<_> = self.pool.key_ids().collect();
        for id in ids {
            match self.is_relayed(id) {
                true => self.clean_backends_of(turn, id),
                false => self.retire_backends_of(turn, id),
            }
        }
    }

    /// The backends of a key are not given to anybody else.
    pub(crate) fn retire_backends_of<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        while let Some((idle, _)) = self.pool.oldest_idle_of(id) {
            self.drop_backend(turn, idle);
        }
        let busy = [
            pool::State::Active,
            pool::State::Lane,
            pool::State::Draining,
            pool::State::Resetting,
            pool::State::Connecting,
        ];
        for state in busy {
            let members: Vec<Key> = self.pool.iter(id, state).map(|(key, _)| key).collect();
            for key in members {
                if let Some(backend) = self.pool.get_mut(key) {
                    backend.retired = true;
                }
            }
        }
    }

    /// The claim of a key that has slots: those who wait for its lanes have one, too.
    fn holder(&self, id: KeyId) -> Claim {
        let claim = self.claim(id);
        let queued = self.scheduler.first_without_backend(id.0);
        let queued = queued.and_then(|key| Some(self.clients.get(key)?.since));
        let for_lane = self.clients.oldest(State::ForLane(id));
        let waiting = [claim.waiting_since, for_lane, queued];
        Claim {
            waiting_since: waiting.into_iter().flatten().min(),
            ..claim
        }
    }

    fn claim(&self, id: KeyId) -> Claim {
        let waiting_since = self.in_need_since(id);
        Claim {
            owned: self.pool.owned(id),
            weight: self.keys[id.0 as usize].weight,
            waiting_since,
            short_since: self.keys[id.0 as usize].short_since,
        }
    }
}

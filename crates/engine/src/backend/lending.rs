//! Slots between workers, between accounts of one worker, and between keys of one account (rule 2): `pool` says when
//! they change hands; here is who asks, and who is asked.

use events::{Io, Span, Timestamp};
use membership::Key;
use pool::{Claim, KEEP, KeyId, Need, PATIENCE, Resting, gives_way, is_overtaken};

use crate::client::State;
use crate::shared::SchemaChange;
use crate::{Engine, Mail, Turn};

/// How often a worker that still waits asks again.
const ASK_AGAIN: Span = Span::from_ms(5);

/// What a worker has published of its need.
#[derive(Debug, Default)]
pub(crate) struct Lending {
    need: Option<Need>,
    /// When it last asked the others.
    asked: Option<Timestamp>,
    /// When it last looked at its waiters.
    seen: Timestamp,
}

impl Lending {
    /// Since when the oldest waiter has waited.
    pub(crate) fn waiting_since(&self) -> Option<Timestamp> {
        self.need.map(|need| need.oldest.since)
    }

    /// How long the oldest waiter has waited.
    pub(crate) fn oldest_wait(&self) -> Span {
        self.need
            .map_or(Span::ZERO, |need| self.seen.since(need.oldest.since))
    }

    /// Since when there have been waiters without a break.
    pub(crate) fn short_since(&self) -> Option<Timestamp> {
        self.need.map(|need| need.short_since)
    }

    /// When the others are to be asked for slots.
    pub(crate) fn ask_at(&self) -> Option<Timestamp> {
        let since = self.need?.oldest.since;
        Some(
            self.asked
                .map_or(since + PATIENCE, |asked| asked + ASK_AGAIN),
        )
    }
}

impl Engine {
    /// Tells the others what is needed here, at the end of each turn.
    pub(crate) fn publish_need<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let need = self.sum_up_need(turn.now);
        self.publish_holders(turn.now);
        let lending = &mut self.lending;
        lending.seen = turn.now;
        let before = std::mem::replace(&mut lending.need, need);
        if need != before {
            if need.is_none() {
                lending.asked = None;
            }
            self.shared.ledger.set_need(self.worker, need);
        }
        let Some(need) = need else { return };
        if before.is_none() {
            // A slot that was given back a moment ago saw nobody waiting.
            self.serve_all(turn);
        } else if self.finds_slots(turn, need) {
            self.each_awake(|engine, id| engine.grow(turn, id));
        }
    }

    /// True if there may be slots for those who wait here, and no other worker comes first.
    fn finds_slots<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, need: Need) -> bool {
        let ledger = &self.shared.ledger;
        let mine = ledger.claim(self.worker);
        let is_first = || match ledger.neediest(self.worker, turn.now) {
            None => true,
            Some((_, other)) if other.is_due_before(&mine, turn.now) => false,
            Some((_, other)) if mine.is_due_before(&other, turn.now) => true,
            Some((_, other)) => other.waiting_since >= Some(need.oldest.since),
        };
        (ledger.taken() < ledger.total() && is_first()) || self.pool.resting() > 0
    }

    /// Patience is over: the others are asked.
    pub(crate) fn ask_for_slots<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        self.lending.asked = Some(turn.now);
        self.serve_all(turn);
        self.relieve_backends(turn);
        for other in (0..self.shared.ledger.workers()).filter(|&other| other != self.worker) {
            // A worker that has ended holds no slots.
            let _ended = turn.io.post(other, Mail::SlotWanted);
        }
    }

    /// Another worker asked: gives up an idle connection to which that has the better claim.
    pub(crate) fn lend<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        self.relieve_backends(turn);
        for at in 0..self.pool.resting() {
            if let Some((id, idle, _)) = self.pool.oldest_idle_at(at)
                && self.give_way(turn, idle, id)
            {
                return;
            }
        }
    }

    /// A backend of `id` is idle: if another key or worker has the better claim to its slot, it is
    /// closed. Returns true if it was.
    pub(crate) fn give_way<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        idle: Key,
        id: KeyId,
    ) -> bool {
        let resting = self.resting(turn, idle);
        let other = self.needier_key(turn, id, resting);
        let is_wanted = other.is_some() || self.worker_is_needier(turn, id, resting);
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
        let claim = self.claim(id, turn.now);
        // Those that rest are on one list, which is not in the way of what is asked of their keys.
        for at in 0..self.pool.resting() {
            let Some((of, idle, since)) = self.pool.oldest_idle_at(at) else {
                continue;
            };
            let is_older = oldest.is_none_or(|(_, before)| since < before);
            let is_given = || match of == id {
                // A login that fails must not have cost its account a connection.
                true => !self.is_relayed(id),
                false => {
                    let holder = self.holder(of, turn.now);
                    self.yields(turn, (of, holder, self.resting(turn, idle)), (id, claim))
                }
            };
            let mut keeps = || *keeps.get_or_insert_with(|| self.keeps_last_ones());
            if is_older && is_given() && !(self.would_lose_sessions(of) && keeps()) {
                oldest = Some((idle, since));
            }
        }
        oldest.map(|(idle, _)| idle)
    }

    /// True if a connection of one key goes to another key.
    fn yields<I: Io<Mail>>(
        &self,
        turn: &Turn<'_, I>,
        (holder, has, resting): (KeyId, Claim, Resting),
        (other, needs): (KeyId, Claim),
    ) -> bool {
        if !self.are_of_one_account(holder, other) {
            return gives_way(has, needs, resting, turn.now);
        }
        let ours = self.wanted_since(holder);
        let theirs = match ours.is_none() && resting.idle >= KEEP {
            true => needs.waiting_since,
            false => self.calls_since(other, turn.now),
        };
        theirs.is_some_and(|theirs| is_overtaken(ours, theirs, resting, turn.now))
    }

    fn resting<I: Io<Mail>>(&self, turn: &Turn<'_, I>, idle: Key) -> Resting {
        let span = |since: Option<Timestamp>| since.map_or(Span::ZERO, |at| turn.now.since(at));
        let backend = self.pool.get(idle);
        Resting {
            idle: span(self.pool.since(idle)),
            age: span(backend.map(|backend| backend.opened)),
            opening: backend.map_or(Span::ZERO, |backend| backend.opening),
        }
    }

    /// True if a lane of `id` gets no more for now: another key or worker has the better claim to its slot, or
    /// a statement that goes alone finds nothing but lanes, or has waited for longer than those that wait for lanes.
    pub(crate) fn must_yield<I: Io<Mail>>(
        &self,
        turn: &Turn<'_, I>,
        (id, lane): (KeyId, Key),
    ) -> bool {
        const OTHERS: [pool::State; 4] = [
            pool::State::Active,
            pool::State::Idle,
            pool::State::Connecting,
            pool::State::Resetting,
        ];
        let only_lanes = || OTHERS.iter().all(|&state| self.pool.count(id, state) == 0);
        let at_work = Resting {
            idle: Span::ZERO,
            ..self.resting(turn, lane)
        };
        let overtaken = |since: Timestamp| {
            let for_lane = self.clients.oldest(State::ForLane(id));
            since + KEEP <= for_lane.unwrap_or(turn.now)
        };
        (self.first_in_need(id).is_some() && only_lanes())
            || self.calls_since(id, turn.now).is_some_and(overtaken)
            || self.needier_key(turn, id, at_work).is_some()
            || self.worker_is_needier(turn, id, at_work)
    }

    /// The key with a better claim to the slot of a connection of `id`: the one whose turn is due, or which has waited,
    /// for longest.
    fn needier_key<I: Io<Mail>>(
        &self,
        turn: &Turn<'_, I>,
        id: KeyId,
        resting: Resting,
    ) -> Option<KeyId> {
        if self.awake.len() < 2 {
            return None;
        }
        let holder = self.holder(id, turn.now);
        let others = self.awake.iter().copied().filter(|&other| other != id);
        let needy = others.filter_map(|other| {
            let claim = self.claim(other, turn.now);
            let yields = self.yields(turn, (id, holder, resting), (other, claim));
            let due = claim.due.filter(|&due| due <= turn.now);
            yields.then_some(((due.is_none(), due, claim.waiting_since), other))
        });
        needy.min().map(|(_, other)| other)
    }

    /// True if another worker has a better claim to the slot of a connection of `id`.
    fn worker_is_needier<I: Io<Mail>>(
        &self,
        turn: &Turn<'_, I>,
        id: KeyId,
        resting: Resting,
    ) -> bool {
        let ledger = &self.shared.ledger;
        let Some((_, theirs)) = ledger.neediest(self.worker, turn.now) else {
            return false;
        };
        let mine = Claim {
            waiting_since: self.holder(id, turn.now).waiting_since,
            ..ledger.claim(self.worker)
        };
        gives_way(mine, theirs, resting, turn.now)
    }

    /// A slot went back to the budget: whoever waits elsewhere is told.
    pub(crate) fn slot_returned<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if let Some((other, _)) = self.shared.ledger.neediest(self.worker, turn.now) {
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
    pub(crate) fn forget_schemas<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        change: SchemaChange,
    ) {
        self.schemas_changed(change);
        self.post_to_others(turn, || Mail::SchemasChanged(change));
    }

    /// The same of this worker.
    pub(crate) fn schemas_changed(&mut self, change: SchemaChange) {
        self.known.schemas.forget_all();
        self.known.digests.forget_tables();
        if change.done {
            self.stored_defined(change.stored);
        }
        if change.stored {
            self.known.routines.defined();
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
            pool::State::Idle => backend.session.reselects(&mut self.known.interner),
            // It may have been selected anew just before.
            pool::State::Resetting => self.put_reset(turn, key),
            // Its session keeps what it has.
            _ => backend.dirty = true,
        }
    }

    pub(crate) fn retire_backends<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        self.known.charsets.forget();
        self.known.told_at_login.forget();
        self.known.forget_beginning();
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
}

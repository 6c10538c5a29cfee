//! Slots between workers, and between keys of one worker (rule 2).

use events::{Io, Span, Timestamp};
use membership::Key;
use pool::{Claim, KeyId, PATIENCE, gives_way};

use crate::client::State;
use crate::{Engine, Mail, Turn};

/// How often a worker that still waits asks again.
const ASK_AGAIN: Span = Span::from_ms(2);

/// What a worker has published of its need.
#[derive(Debug, Default)]
pub(crate) struct Lending {
    /// Since when its oldest waiter has waited.
    waiting_since: Option<Timestamp>,
    /// When it last asked the others.
    asked: Option<Timestamp>,
    /// When it last looked at its waiters.
    seen: Timestamp,
}

impl Lending {
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
        let ids = self.pool.key_ids();
        let oldest = ids
            .filter_map(|id| self.clients.oldest(State::Waiting(id)))
            .min();
        self.lending.seen = turn.now;
        if oldest == self.lending.waiting_since {
            return;
        }
        let began = self.lending.waiting_since.is_none();
        self.lending.waiting_since = oldest;
        if oldest.is_none() {
            self.lending.asked = None;
        }
        self.shared.ledger.set_waiting(self.worker, oldest);
        if began {
            // A slot that was given back a moment ago saw nobody waiting.
            self.serve_all(turn);
        }
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
        let holder = self.claim(id);
        let ids = self.pool.key_ids().filter(|&other| other != id);
        let needy = ids.filter(|&other| gives_way(holder, self.claim(other), turn.now));
        if let Some(other) = needy.min_by_key(|&other| self.clients.oldest(State::Waiting(other))) {
            self.counters.slots_lent += 1;
            self.drop_backend(turn, idle);
            self.grow(turn, other);
            self.serve(turn, id);
            return true;
        }
        let ledger = &self.shared.ledger;
        let mine = Claim {
            waiting_since: holder.waiting_since,
            owned: ledger.claim(self.worker).owned,
        };
        // A connection that became idle just now is most likely wanted again in a moment, and a new
        // one costs more than the other's wait: whoever still waits asks again.
        let rested = self
            .pool
            .since(idle)
            .is_some_and(|since| turn.now.since(since) >= PATIENCE);
        let lends = |theirs: Claim| {
            (rested || mine.waiting_since.is_some() || theirs.owned == 0)
                && gives_way(mine, theirs, turn.now)
        };
        let neediest = ledger.neediest(self.worker);
        if neediest.is_some_and(|(_, theirs)| lends(theirs)) {
            self.counters.slots_lent += 1;
            self.drop_backend(turn, idle);
            return true;
        }
        false
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
        for other in (0..self.shared.ledger.workers()).filter(|&other| other != self.worker) {
            let _ended = turn.io.post(other, Mail::GlobalChanged);
        }
    }

    /// A schema was dropped, or rights were taken away: logins are checked again, on all workers.
    pub(crate) fn forget_schemas<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        self.known_schemas.forget_all();
        for other in (0..self.shared.ledger.workers()).filter(|&other| other != self.worker) {
            let _ended = turn.io.post(other, Mail::SchemasChanged);
        }
    }

    pub(crate) fn retire_backends<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while let Some((idle, _)) = self.pool.oldest_idle() {
            self.drop_backend(turn, idle);
        }
        let ids: Vec<_> = self.pool.key_ids().collect();
        let busy = [
            pool::State::Active,
            pool::State::Resetting,
            pool::State::Connecting,
        ];
        for (id, state) in ids.into_iter().flat_map(|id| busy.map(|state| (id, state))) {
            let members: Vec<Key> = self.pool.iter(id, state).map(|(key, _)| key).collect();
            for key in members {
                if let Some(backend) = self.pool.get_mut(key) {
                    backend.retired = true;
                }
            }
        }
    }

    fn claim(&self, id: KeyId) -> Claim {
        let waiting_since = self.clients.oldest(State::Waiting(id));
        Claim {
            owned: self.pool.owned(id),
            waiting_since,
        }
    }
}

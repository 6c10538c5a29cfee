//! Which slots are to spare, and who needs them most.

use events::{Io, Span, Timestamp};
use membership::Key;
use pool::{Claim, KEEP, KeyId, Need, Resting, gives_way, is_overtaken};

use crate::matching::Matching;
use crate::record::client::State;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// True if there may be slots for those who wait here, and no other worker comes first.
    pub(crate) fn finds_slots<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, need: Need) -> bool {
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

    pub(crate) fn resting<I: Io<Mail>>(&self, turn: &Turn<'_, I>, idle: Key) -> Resting {
        let span = |since: Option<Timestamp>| since.map_or(Span::ZERO, |at| turn.now.since(at));
        let backend = self.pool.get(idle);
        Resting {
            idle: span(self.pool.since(idle)),
            age: span(backend.map(|backend| backend.opened)),
            opening: backend.map_or(Span::ZERO, |backend| backend.opening),
        }
    }
}

impl Matching {
    /// The idle connection that makes room for one of `id`: one of its own, since none of those suits if
    /// another one is to be opened, or one that its key gives up.
    pub(crate) fn spare<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &Turn<'_, I>,
        id: KeyId,
    ) -> Option<Key> {
        let (mut oldest, mut keeps) = (None, None);
        let claim = self.claim(records, id, turn.now);
        // Those that rest are on one list, which is not in the way of what is asked of their keys.
        for at in 0..records.pool.resting() {
            let Some((of, idle, since)) = records.pool.oldest_idle_at(at) else {
                continue;
            };
            let is_older = oldest.is_none_or(|(_, before)| since < before);
            let is_given = || match of == id {
                // A login that fails must not have cost its account a connection.
                true => !records.is_relayed(id),
                false => {
                    let holder = self.holder(records, of, turn.now);
                    self.yields(
                        records,
                        turn,
                        of,
                        holder,
                        records.resting(turn, idle),
                        id,
                        claim,
                    )
                }
            };
            let mut keeps = || *keeps.get_or_insert_with(|| records.keeps_last_ones());
            if is_older && is_given() && !(records.would_lose_sessions(of) && keeps()) {
                oldest = Some((idle, since));
            }
        }
        oldest.map(|(idle, _)| idle)
    }

    /// True if a connection of one key goes to another key.
    fn yields<I: Io<Mail>>(
        &self,
        records: &Records,
        turn: &Turn<'_, I>,
        holder: KeyId,
        has: Claim,
        resting: Resting,
        other: KeyId,
        needs: Claim,
    ) -> bool {
        if !records.are_of_one_account(holder, other) {
            return gives_way(has, needs, resting, turn.now);
        }
        let ours = self.wanted_since(records, holder);
        let theirs = match ours.is_none() && resting.idle >= KEEP {
            true => needs.waiting_since,
            false => self.calls_since(records, other, turn.now),
        };
        theirs.is_some_and(|theirs| is_overtaken(ours, theirs, resting, turn.now))
    }

    /// True if a lane of `id` gets no more for now: another key or worker has the better claim to its slot, or
    /// a statement that goes alone finds nothing but lanes, or has waited for longer than those that wait for lanes.
    pub(crate) fn must_yield<I: Io<Mail>>(
        &self,
        records: &Records,
        turn: &Turn<'_, I>,
        id: KeyId,
        lane: Key,
    ) -> bool {
        const OTHERS: [pool::State; 4] = [
            pool::State::Active,
            pool::State::Idle,
            pool::State::Connecting,
            pool::State::Resetting,
        ];
        let only_lanes = || {
            OTHERS
                .iter()
                .all(|&state| records.pool.count(id, state) == 0)
        };
        let at_work = Resting {
            idle: Span::ZERO,
            ..records.resting(turn, lane)
        };
        let overtaken = |since: Timestamp| {
            let for_lane = records.clients.oldest(State::ForLane(id));
            since + KEEP <= for_lane.unwrap_or(turn.now)
        };
        (self.first_in_need(records, id).is_some() && only_lanes())
            || self
                .calls_since(records, id, turn.now)
                .is_some_and(overtaken)
            || self.needier_key(records, turn, id, at_work).is_some()
            || self.worker_is_needier(records, turn, id, at_work)
    }

    /// The key with a better claim to the slot of a connection of `id`: the one whose turn is due, or which has waited,
    /// for longest.
    pub(crate) fn needier_key<I: Io<Mail>>(
        &self,
        records: &Records,
        turn: &Turn<'_, I>,
        id: KeyId,
        resting: Resting,
    ) -> Option<KeyId> {
        if records.awake.len() < 2 {
            return None;
        }
        let holder = self.holder(records, id, turn.now);
        let others = records.awake.iter().copied().filter(|&other| other != id);
        let needy = others.filter_map(|other| {
            let claim = self.claim(records, other, turn.now);
            let yields = self.yields(records, turn, id, holder, resting, other, claim);
            let due = claim.due.filter(|&due| due <= turn.now);
            yields.then_some(((due.is_none(), due, claim.waiting_since), other))
        });
        needy.min().map(|(_, other)| other)
    }

    /// True if another worker has a better claim to the slot of a connection of `id`.
    pub(crate) fn worker_is_needier<I: Io<Mail>>(
        &self,
        records: &Records,
        turn: &Turn<'_, I>,
        id: KeyId,
        resting: Resting,
    ) -> bool {
        let ledger = &records.shared.ledger;
        let Some((_, theirs)) = ledger.neediest(records.worker, turn.now) else {
            return false;
        };
        let mine = Claim {
            waiting_since: self.holder(records, id, turn.now).waiting_since,
            ..ledger.claim(records.worker)
        };
        gives_way(mine, theirs, resting, turn.now)
    }
}

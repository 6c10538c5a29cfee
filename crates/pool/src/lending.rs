//! When somebody who holds slots gives one up for somebody who waits. One rule serves workers of
//! one process as well as accounts of one worker; keys of one account have a rule of their own, by age alone.

use events::{Span, Timestamp};

/// How long a waiter waits before others give up slots for it (rule 2).
pub const PATIENCE: Span = Span::from_ms(1);

/// How long a side that has slots keeps those it does not use at the moment, how long it must be
/// short of them without a break before it gets some of others by weight, and how long a connection that is in use
/// stays where it was opened. A slot that changes hands costs a login, so it must not follow every swing of demand.
pub const KEEP: Span = Span::from_ms(20);

/// What one side has and needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Slots it holds, also those that transactions, pins, long statements and slow clients hold.
    pub owned: usize,
    /// Its share relative to others'; 0 counts as 1.
    pub weight: u32,
    /// Since when its oldest waiter has waited.
    pub waiting_since: Option<Timestamp>,
    /// Since when it has had waiters without a break.
    pub short_since: Option<Timestamp>,
    /// From when on it may take a turn ([`Turns::next`]), whatever it holds. `None` if a slot would not help it.
    pub due: Option<Timestamp>,
}

impl Claim {
    /// Whether a turn is due for it, and was due earlier than one for `other`.
    pub fn is_due_before(&self, other: &Self, now: Timestamp) -> bool {
        let due = self.due.filter(|&due| due <= now);
        due.is_some_and(|due| other.due.is_none_or(|others| due < others))
    }
}

/// A connection that its holder does not use at this moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resting {
    /// For how long it has been idle.
    pub idle: Span,
    /// How long ago it was ready for its first statement.
    pub age: Span,
    /// How long it took to open it.
    pub opening: Span,
}

/// The turns of accounts on one worker. They bound how long an account waits: one that has waiters, and none of
/// whose waiters has got a backend for [`Turns::every`], gets the next backend that becomes idle, even if
/// its transactions, pins, long statements or slow clients hold more than its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// The weights of all accounts that have waiters.
    pub weights: u64,
    /// Slots of the worker, if all workers have as many.
    pub slots: usize,
}

impl Turns {
    /// How often an account with this weight has a turn: every [`KEEP`] × weights ÷ (weight × slots), but at most
    /// every [`KEEP`].
    pub fn every(&self, weight: u32) -> Span {
        let weight = u64::from(weight.max(1));
        let all = self.weights.max(weight);
        let slots = self.slots.max(1) as u64;
        Span::from_us(KEEP.as_us() * all / (weight * slots)).max(KEEP)
    }

    /// When the next turn is due of an account with this weight: its oldest waiter has waited since `waiting_since`,
    /// and one of its statements got a backend last at `served`.
    pub fn next(
        &self,
        weight: u32,
        waiting_since: Timestamp,
        served: Option<Timestamp>,
    ) -> Timestamp {
        let patient = waiting_since + PATIENCE;
        served.map_or(patient, |served| patient.max(served + self.every(weight)))
    }
}

/// True if the holder of a connection gives it up for `other`.
///
/// * What has been idle for [`KEEP`] goes to whoever waits: if the holder has waiters of its own, they cannot use it.
/// * What is in use stays for [`KEEP`] where it was opened.
/// * Then it goes to the side whose turn is due, unless one of the holder's own is due for longer.
/// * A holder gives up what it has beyond its share to whoever has been short for [`KEEP`], or what has been idle for
///   a moment to whoever has been patient. What would be the other way round afterwards (with equal weights, a
///   difference of less than two) stays as it is.
pub fn gives_way(holder: Claim, other: Claim, resting: Resting, now: Timestamp) -> bool {
    let Some(theirs) = other.waiting_since else {
        return false;
    };
    let is_wanted = holder.waiting_since.is_some();
    if resting.idle >= KEEP {
        return true;
    }
    let is_unused = !is_wanted && resting.idle >= PATIENCE;
    if now.since(theirs) < PATIENCE || (!is_unused && resting.age < KEEP) {
        return false;
    }
    let is_short = || other.short_since.is_some_and(|at| now.since(at) >= KEEP);
    other.is_due_before(&holder, now) || ((is_unused || is_short()) && is_ahead(holder, other))
}

/// True if a connection of one key goes to another key of the same account: first come, first served, to within
/// [`KEEP`] and the time that it takes to open a connection. One that has been idle for [`KEEP`] goes in any case, as
/// in [`gives_way`]. `ours` and `theirs`: since when the oldest waiters of both have waited.
pub fn is_overtaken(
    ours: Option<Timestamp>,
    theirs: Timestamp,
    resting: Resting,
    now: Timestamp,
) -> bool {
    resting.idle >= KEEP || theirs + KEEP + resting.opening <= ours.unwrap_or(now)
}

/// True if the holder has more slots for its weight than the other, even with one less.
fn is_ahead(holder: Claim, other: Claim) -> bool {
    let share = |slots: usize, of: Claim| slots as u64 * u64::from(of.weight.max(1));
    share(holder.owned.saturating_sub(1), other) >= share(other.owned + 1, holder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_us(1_000_000);
    const IN_USE: Resting = resting(0, 1_000);

    const fn resting(idle_ms: u64, age_ms: u64) -> Resting {
        Resting {
            idle: Span::from_ms(idle_ms),
            age: Span::from_ms(age_ms),
            opening: Span::ZERO,
        }
    }

    const fn ago(ms: u64) -> Timestamp {
        Timestamp::from_us(NOW.as_us() - ms * 1_000)
    }

    /// A side whose oldest waiter came so many milliseconds ago, the first one of a row so many. No turn is due.
    fn claim(owned: usize, waiting_ms: Option<u64>, short_ms: u64) -> Claim {
        Claim {
            owned,
            weight: 1,
            waiting_since: waiting_ms.map(ago),
            short_since: waiting_ms.map(|_| ago(short_ms)),
            due: None,
        }
    }

    /// The same, with a turn that was due so many milliseconds ago.
    fn due(owned: usize, waiting_ms: u64, due_ms: u64) -> Claim {
        Claim {
            due: Some(ago(due_ms)),
            ..claim(owned, Some(waiting_ms), waiting_ms)
        }
    }

    #[track_caller]
    fn check(holder: Claim, other: Claim, resting: Resting, expected: bool) {
        let gives = gives_way(holder, other, resting, NOW);
        assert_eq!(gives, expected, "{holder:?} {other:?} {resting:?}");
    }

    #[test]
    fn a_turn_is_taken_whatever_either_holds() {
        // The others' are held by transactions, say, and the one is in use without anybody waiting for it.
        check(claim(1, None, 0), due(30, 5, 0), IN_USE, true);
        check(claim(1, Some(500), 500), due(30, 5, 0), IN_USE, true);
        check(claim(1, None, 0), claim(30, Some(5), 500), IN_USE, false);
        // The holder's own turn is due for longer.
        check(due(1, 500, 3), due(30, 5, 2), IN_USE, false);
        check(due(1, 500, 2), due(30, 5, 3), IN_USE, true);
    }

    #[test]
    fn a_connection_in_use_stays_for_a_while_where_it_was_opened() {
        check(claim(9, None, 0), due(0, 50, 30), resting(0, 19), false);
        check(claim(9, None, 0), due(0, 50, 30), resting(0, 20), true);
        check(claim(9, Some(1), 1), due(0, 50, 30), resting(0, 19), false);
        check(claim(9, None, 0), due(0, 50, 30), resting(1, 19), true);
        check(claim(9, Some(1), 1), due(0, 50, 30), resting(1, 19), false);
    }

    #[test]
    fn whoever_has_just_come_is_patient() {
        let at = |due| Claim {
            due: Some(due),
            ..claim(0, Some(0), 0)
        };
        check(claim(1, None, 0), at(NOW + PATIENCE), IN_USE, false);
    }

    #[test]
    fn what_has_rested_goes_to_whoever_waits() {
        check(
            claim(1, None, 0),
            claim(5, Some(0), 0),
            resting(20, 20),
            true,
        );
        check(claim(1, None, 0), claim(5, None, 0), resting(90, 90), false);
        check(
            claim(1, Some(9), 9),
            claim(5, Some(5), 5),
            resting(20, 20),
            true,
        );
        check(
            claim(5, None, 0),
            claim(5, Some(9), 19),
            resting(19, 90),
            false,
        );
    }

    #[test]
    fn what_has_rested_for_a_moment_goes_only_if_it_is_beyond_the_share() {
        check(claim(7, None, 0), claim(5, Some(1), 1), resting(1, 1), true);
        check(
            claim(7, None, 0),
            claim(5, Some(1), 1),
            resting(0, 90),
            false,
        );
        check(
            claim(7, None, 0),
            claim(5, Some(0), 90),
            resting(1, 90),
            false,
        );
        check(
            claim(6, None, 0),
            claim(5, Some(9), 90),
            resting(1, 90),
            false,
        );
    }

    #[test]
    fn differences_are_evened_out_when_they_last() {
        check(claim(10, Some(1), 90), claim(6, Some(1), 20), IN_USE, true);
        check(claim(10, Some(1), 90), claim(6, Some(1), 19), IN_USE, false);
        check(claim(8, Some(1), 90), claim(7, Some(9), 90), IN_USE, false);
        check(claim(6, Some(1), 90), claim(10, Some(9), 90), IN_USE, false);
        // Whoever never lets go of them need not wait for them.
        check(claim(10, None, 0), claim(6, Some(1), 20), IN_USE, true);
    }

    #[test]
    fn slots_are_shared_by_weight() {
        for (weights, expected) in [((1, 1), 16), ((3, 1), 24), ((1, 31), 1)] {
            let mut slots = (32, 0);
            let of = |owned, weight| Claim {
                weight,
                ..claim(owned, Some(5), 90)
            };
            for _ in 0..100 {
                let (one, other) = (of(slots.0, weights.0), of(slots.1, weights.1));
                if gives_way(one, other, IN_USE, NOW) {
                    slots = (slots.0 - 1, slots.1 + 1);
                } else if gives_way(other, one, IN_USE, NOW) {
                    slots = (slots.0 + 1, slots.1 - 1);
                }
            }
            assert_eq!(slots, (expected, 32 - expected), "{weights:?}");
        }
    }

    #[test]
    fn turns_come_by_weight() {
        for (weight, weights, slots, every_us) in [
            (1, 1, 32, 20_000),
            (1, 2, 1, 40_000),
            (3, 4, 1, 26_666),
            (1, 4, 1, 80_000),
            (1, 100, 4, 500_000),
            (0, 0, 0, 20_000),
            // Never more often than a connection stays.
            (1, 2, 16, 20_000),
        ] {
            let turns = Turns { weights, slots };
            assert_eq!(turns.every(weight).as_us(), every_us, "{turns:?}");
        }
    }

    #[test]
    fn a_turn_is_due_that_long_after_the_last_and_not_before_whoever_waits_was_patient() {
        let turns = Turns {
            weights: 2,
            slots: 1,
        };
        let [at, patient] = [ago(100), ago(99)];
        assert_eq!(turns.next(1, at, None), patient);
        assert_eq!(turns.next(1, at, Some(ago(150))), patient);
        assert_eq!(turns.next(1, at, Some(ago(60))), ago(20));
    }

    /// Two accounts with one slot for both, one of them with three times the weight, and never without waiters.
    #[test]
    fn a_single_slot_is_shared_by_weight_in_time() {
        let weights = [3, 1];
        let turns = Turns {
            weights: 4,
            slots: 1,
        };
        let (mut holder, mut opened, mut had) = (0, 0, [0_u64; 2]);
        let mut served = [None; 2];
        for ms in 1..8_000 {
            let now = Timestamp::from_us(ms * 1_000);
            had[holder] += 1;
            served[holder] = Some(now);
            let of = |side: usize| Claim {
                owned: usize::from(side == holder),
                weight: weights[side],
                waiting_since: Some(Timestamp::ZERO),
                short_since: Some(Timestamp::ZERO),
                due: (side != holder)
                    .then(|| turns.next(weights[side], Timestamp::ZERO, served[side])),
            };
            if gives_way(of(holder), of(1 - holder), resting(0, ms - opened), now) {
                (holder, opened) = (1 - holder, ms);
            }
        }
        let [three, one] = had.map(|ms| ms as f64);
        assert!((2.7..3.3).contains(&(three / one)), "{had:?}");
    }

    #[test]
    fn among_keys_of_an_account_the_oldest_is_first_give_or_take_a_moment() {
        let check = |ours: Option<u64>, theirs, resting, expected| {
            let overtaken = is_overtaken(ours.map(ago), ago(theirs), resting, NOW);
            assert_eq!(overtaken, expected, "{ours:?} {theirs} {resting:?}");
        };
        check(None, 20, IN_USE, true);
        check(None, 19, IN_USE, false);
        check(Some(30), 50, IN_USE, true);
        check(Some(31), 50, IN_USE, false);
        // However short ago it was opened; but not if that takes longer than the statements.
        check(None, 20, resting(0, 1), true);
        let slow = Resting {
            opening: Span::from_ms(30),
            ..IN_USE
        };
        check(None, 49, slow, false);
        check(None, 50, slow, true);
        check(None, 0, resting(20, 20), true);
        // Its own have waited for less time than it takes to open one, and cannot use this one.
        let slow = |idle_ms| Resting {
            opening: Span::from_ms(30),
            ..resting(idle_ms, 90)
        };
        check(Some(25), 50, slow(19), false);
        check(Some(25), 50, slow(20), true);
    }
}

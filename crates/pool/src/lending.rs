//! When somebody who holds slots gives one up for somebody who waits. One rule serves workers of
//! one process as well as keys of one worker.

use events::{Span, Timestamp};

/// How long a waiter waits before others give up slots for it (rule 2).
pub const PATIENCE: Span = Span::from_ms(1);

/// How long a side that has slots keeps those it does not use at the moment, and how long it must be
/// short of them without a break before it gets some of others that are short, too. A slot that
/// changes hands costs a login, so it must not follow every swing of what is wanted.
pub const KEEP: Span = Span::from_ms(20);

/// What one side has and needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Slots it holds.
    pub owned: usize,
    /// Its share relative to others'; 0 counts as 1.
    pub weight: u32,
    /// Since when its oldest waiter has waited.
    pub waiting_since: Option<Timestamp>,
    /// Since when it has had waiters without a break.
    pub short_since: Option<Timestamp>,
}

/// True if the holder of a slot that has been idle for `rested` gives it up for `other`.
///
/// * What has been idle for [`KEEP`] goes to whoever waits.
/// * Whoever has none at all gets one as soon as it has been patient, unless it is the holder's only
///   one and somebody waits for that for longer.
/// * What has been idle for a moment goes to a patient one only if the holder has more than its share.
/// * A holder with waiters of its own gives up what it has beyond its share to whoever has been short
///   for [`KEEP`]. What would be the other way round afterwards (with equal weights, a difference of
///   less than two) stays as it is.
pub fn gives_way(holder: Claim, other: Claim, rested: Span, now: Timestamp) -> bool {
    let Some(theirs) = other.waiting_since else {
        return false;
    };
    let is_patient = now.since(theirs) >= PATIENCE;
    let is_short = || other.short_since.is_some_and(|at| now.since(at) >= KEEP);
    match holder.waiting_since {
        None if rested >= KEEP => true,
        None if other.owned == 0 => is_patient,
        None => is_patient && rested >= PATIENCE && is_ahead(holder, other),
        Some(ours) if other.owned == 0 => {
            is_patient && (theirs + PATIENCE <= ours || holder.owned > 1)
        }
        Some(_) => is_short() && is_ahead(holder, other),
    }
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

    /// A side whose oldest waiter came so many milliseconds ago, the first one of a row so many.
    fn claim(owned: usize, waiting_ms: Option<u64>, short_ms: u64) -> Claim {
        let ago = |ms: u64| Timestamp::from_us(NOW.as_us() - ms * 1_000);
        Claim {
            owned,
            weight: 1,
            waiting_since: waiting_ms.map(ago),
            short_since: waiting_ms.map(|_| ago(short_ms)),
        }
    }

    #[track_caller]
    fn check(holder: Claim, other: Claim, rested_ms: u64, expected: bool) {
        let gives = gives_way(holder, other, Span::from_ms(rested_ms), NOW);
        assert_eq!(gives, expected, "{holder:?} {other:?}");
    }

    #[test]
    fn whoever_has_none_gets_one_as_soon_as_it_was_patient() {
        let none = |waiting, short| claim(0, Some(waiting), short);
        check(claim(1, None, 0), none(1, 1), 0, true);
        check(claim(1, None, 0), none(0, 0), 19, false);
        // The only slot changes hands by age.
        check(claim(1, Some(5), 5), none(6, 6), 0, true);
        check(claim(1, Some(6), 90), none(5, 90), 0, false);
        // Nobody stays without any while another has several.
        check(claim(2, Some(6), 90), none(5, 5), 0, true);
    }

    #[test]
    fn what_has_rested_goes_to_whoever_waits() {
        check(claim(1, None, 0), claim(5, Some(0), 0), 20, true);
        check(claim(1, None, 0), claim(5, None, 0), 90, false);
        check(claim(5, None, 0), claim(5, Some(9), 90), 19, false);
    }

    #[test]
    fn what_has_rested_for_a_moment_goes_only_if_it_is_beyond_the_share() {
        check(claim(7, None, 0), claim(5, Some(1), 1), 1, true);
        check(claim(7, None, 0), claim(5, Some(1), 1), 0, false);
        check(claim(7, None, 0), claim(5, Some(0), 90), 1, false);
        check(claim(6, None, 0), claim(5, Some(9), 90), 1, false);
    }

    #[test]
    fn differences_between_those_that_wait_are_evened_out_when_they_last() {
        check(claim(10, Some(1), 90), claim(6, Some(1), 20), 0, true);
        check(claim(10, Some(1), 90), claim(6, Some(1), 19), 0, false);
        check(claim(8, Some(1), 90), claim(7, Some(9), 90), 0, false);
        check(claim(6, Some(1), 90), claim(10, Some(9), 90), 9, false);
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
                if gives_way(one, other, Span::ZERO, NOW) {
                    slots = (slots.0 - 1, slots.1 + 1);
                } else if gives_way(other, one, Span::ZERO, NOW) {
                    slots = (slots.0 + 1, slots.1 - 1);
                }
            }
            assert_eq!(slots, (expected, 32 - expected), "{weights:?}");
        }
    }
}

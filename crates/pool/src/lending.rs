//! When somebody who holds slots gives one up for somebody who waits. One rule serves workers of
//! one process as well as keys of one worker.

use events::{Span, Timestamp};

/// How long a waiter waits before others give up slots for it (rule 2).
pub const PATIENCE: Span = Span::from_ms(1);

/// What one side has and needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Slots it holds.
    pub owned: usize,
    /// Its share relative to others'; 0 counts as 1.
    pub weight: u32,
    /// Since when its oldest waiter has waited.
    pub waiting_since: Option<Timestamp>,
}

/// True if the holder of a slot that just became idle gives it up for `other`.
///
/// Without waiters of its own it does so as soon as the other has been patient. With waiters it
/// does so only for somebody who has none at all and waited longer, or to even out a difference that is
/// not the other way round afterwards: with equal weights, of two or more. A smaller one would only swap
/// places, at the cost of a new connection each time.
pub fn gives_way(holder: Claim, other: Claim, now: Timestamp) -> bool {
    let Some(theirs) = other.waiting_since else {
        return false;
    };
    if now.since(theirs) < PATIENCE {
        return false;
    }
    match holder.waiting_since {
        None => true,
        Some(ours) if other.owned == 0 => theirs + PATIENCE <= ours || holder.owned > 1,
        Some(_) => {
            let share = |slots: usize, of: Claim| slots as u64 * u64::from(of.weight.max(1));
            share(holder.owned.saturating_sub(1), other) >= share(other.owned + 1, holder)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_gives_way_to_whom() {
        let claim = |owned, since: Option<u64>| Claim {
            owned,
            weight: 1,
            waiting_since: since.map(|ms| Timestamp::from_us(ms * 1_000)),
        };
        let now = Timestamp::from_us(100_000);
        for (holder, other, expected) in [
            // An idle slot goes to whoever has waited long enough.
            (claim(1, None), claim(5, Some(99)), true),
            (claim(1, None), claim(0, None), false),
            (
                Claim {
                    owned: 1,
                    weight: 1,
                    waiting_since: None,
                },
                Claim {
                    owned: 0,
                    weight: 1,
                    waiting_since: Some(Timestamp::from_us(99_500)),
                },
                false,
            ),
            // The only slot changes hands by age.
            (claim(1, Some(50)), claim(0, Some(40)), true),
            (claim(1, Some(40)), claim(0, Some(50)), false),
            // Nobody stays without any while another has several.
            (claim(2, Some(40)), claim(0, Some(50)), true),
            // Differences are evened out, and then it stops.
            (claim(10, Some(90)), claim(6, Some(90)), true),
            (claim(8, Some(90)), claim(7, Some(10)), false),
        ] {
            assert_eq!(
                gives_way(holder, other, now),
                expected,
                "{holder:?} {other:?}"
            );
        }
    }

    #[test]
    fn slots_are_shared_by_weight() {
        let waiting_since = Some(Timestamp::ZERO);
        let now = Timestamp::from_us(1_000_000);
        for (weights, expected) in [((1, 1), 16), ((3, 1), 24), ((1, 31), 1)] {
            let mut slots = (32, 0);
            let claim = |owned, weight| Claim {
                owned,
                weight,
                waiting_since,
            };
            for _ in 0..100 {
                let (one, other) = (claim(slots.0, weights.0), claim(slots.1, weights.1));
                if gives_way(one, other, now) {
                    slots = (slots.0 - 1, slots.1 + 1);
                } else if gives_way(other, one, now) {
                    slots = (slots.0 + 1, slots.1 - 1);
                }
            }
            assert_eq!(slots, (expected, 32 - expected), "{weights:?}");
        }
    }
}

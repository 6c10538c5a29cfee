//! When transactions arrive in an open loop: at random times, whatever became of those before.

use events::{Span, Timestamp};
use fastrand::Rng;

/// The arrivals at one worker. Only the next one is kept: what has arrived and was not begun yet
/// is a span of time, however long it grows.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// Microseconds between two of them, on average.
    mean_us: f64,
    /// When the next one to be begun arrives or arrived, in microseconds.
    next_us: f64,
    rng: Rng,
}

impl Arrivals {
    /// So many per second.
    pub(crate) fn new(per_second: f64, rng: Rng) -> Self {
        Self {
            mean_us: 1e6 / per_second,
            next_us: f64::INFINITY,
            rng,
        }
    }

    /// They begin now.
    pub(crate) fn begin(&mut self, now: Timestamp) {
        self.next_us = now.as_us() as f64;
        self.advance();
    }

    /// When the next one comes or came; `None` as long as they have not begun.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        // Rounded up, so that a timer for it is not early.
        self.next_us
            .is_finite()
            .then(|| Timestamp::from_us(self.next_us.ceil() as u64))
    }

    /// Takes one that has arrived. Returns when it did.
    pub(crate) fn take(&mut self, now: Timestamp) -> Option<Timestamp> {
        let next = self.next().filter(|next| *next <= now)?;
        self.advance();
        Some(next)
    }

    /// About how many have arrived and were not taken.
    pub(crate) fn backlog(&self, now: Timestamp) -> u64 {
        let since: Span = self.next().map_or(Span::ZERO, |next| now.since(next));
        (since.as_us() as f64 / self.mean_us) as u64
    }

    /// Times between arrivals are distributed exponentially: arrivals do not know of each other.
    fn advance(&mut self) {
        self.next_us -= (1.0 - self.rng.f64()).ln() * self.mean_us;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_at_their_rate_and_wait_if_they_must() {
        let mut arrivals = Arrivals::new(1_000.0, Rng::with_seed(1));
        let later = Timestamp::from_us(10_000_000);
        assert_eq!((arrivals.next(), arrivals.take(later)), (None, None));
        arrivals.begin(Timestamp::ZERO);
        let backlog = arrivals.backlog(later);
        let mut last = Timestamp::ZERO;
        let mut count = 0;
        while let Some(arrival) = arrivals.take(later) {
            assert!(arrival >= last && arrival <= later);
            (last, count) = (arrival, count + 1);
        }
        assert!((9_700..10_300).contains(&count), "{count}");
        assert!(backlog.abs_diff(10_000) < 10, "{backlog}");
        assert_eq!(arrivals.backlog(later), 0);
    }
}

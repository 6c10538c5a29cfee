//! How long the head of a lane may take. Owns that time, and what it follows from.
//!
//! `lane_stall` is the least. Where processors are scarce, a thread of the server waits for one now
//! and then for about as long, whatever it executes: to send the followers elsewhere would only give
//! the processors more to do. So the time is twice the longest that reads in lanes took of late.
//! Those that took longer than the time do not count, however many there are: they are what it is
//! there for.

use events::{Span, Timestamp};

/// It becomes so many times `lane_stall` at most.
const TIMES_MAX: u64 = 8;

/// What was the longest counts for half as much after so long.
const HALF_LIFE: Span = Span::from_secs(1);

/// How long the head of a lane may take.
#[derive(Debug)]
pub(crate) struct LanePatience {
    least: Span,
    /// The longest of late, in microseconds.
    longest_us: u64,
    faded: Timestamp,
}

impl LanePatience {
    /// At least `lane_stall`.
    pub(crate) fn new(least: Span) -> Self {
        Self {
            least,
            longest_us: 0,
            faded: Timestamp::ZERO,
        }
    }

    /// A lane head that exceeds this loses its followers.
    pub(crate) fn limit(&self) -> Span {
        let least = self.least.as_us();
        Span::from_us((2 * self.longest_us).clamp(least, TIMES_MAX * least))
    }

    /// A read took so long.
    pub(crate) fn note(&mut self, service: Span, now: Timestamp) {
        let us = service.as_us();
        if us <= self.longest_us {
            return self.fade(now);
        }
        if service < self.limit() {
            (self.longest_us, self.faded) = (us, now);
        }
    }

    fn fade(&mut self, now: Timestamp) {
        if now.since(self.faded) >= HALF_LIFE {
            (self.longest_us, self.faded) = (self.longest_us / 2, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STALL: Span = Span::from_ms(10);

    fn after(samples: impl IntoIterator<Item = u64>) -> u64 {
        let mut patience = LanePatience::new(STALL);
        let mut now = 0;
        for ms in samples {
            now += ms.max(1) * 1_000;
            patience.note(Span::from_ms(ms), Timestamp::from_us(now));
        }
        patience.limit().as_us() / 1_000
    }

    #[test]
    fn what_is_slow_itself_does_not_count() {
        assert_eq!(after([0; 100]), 10);
        assert_eq!(after([4; 100]), 10);
        let one_of_a_thousand = (0..5_000).map(|n| if n % 1_000 == 0 { 100 } else { 1 });
        assert_eq!(after(one_of_a_thousand), 10);
    }

    #[test]
    fn it_follows_a_server_that_is_short_of_processors_and_comes_back() {
        assert_eq!(after([6, 8, 9]), 18);
        assert_eq!(after([6, 9, 15, 25, 45, 70, 79]), 80);
        let better = [6, 9, 15].into_iter().chain([1; 4_000]);
        assert_eq!(after(better), 10);
    }
}

//! How many backend connections are busy at once: found by trying, since only the server knows how much
//! it can do at a time. Owns the number, not the connections. There is one such number for lanes, and
//! one for what runs alone.
//!
//! What is compared is answers per second, while there is more to do than they take. A quarter more
//! are kept if they brought a good part of a quarter, a quarter less if they cost a small part: the
//! fewer there are, the longer a lane stays filled, and the less the server has to switch.
//!
//! The time that an answer takes says less: where the server shares its processors with others, more
//! connections take a larger share of them, and seem to bring more than they do.

use events::{Span, Timestamp};

/// What is measured is measured for so long, and over so many answers, at least.
const WINDOW: Span = Span::from_ms(40);
const ANSWERS: u64 = 200;
/// One that took longer had a pause in it, and says nothing.
const WINDOW_MAX: Span = Span::from_ms(1_000);

/// More of them must bring so many percent of what they would bring to a server that is idle.
const GAIN: u64 = 25;
/// Fewer may cost so many percent of what they would cost it.
const LOSS: u64 = 20;

/// Windows between attempts, at first and at most.
const REST: u32 = 4;
const REST_MAX: u32 = 128;

/// Between which numbers the best is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Never fewer than these, unless `most` is less.
    pub least: usize,
    /// To begin with.
    pub first: usize,
    /// Never more.
    pub most: usize,
}

/// The number, and what was seen so far.
#[derive(Debug)]
pub struct Concurrency {
    limit: usize,
    bounds: Bounds,
    window: Window,
    /// What is being tried.
    attempt: Attempt,
    /// Windows until the next attempt, and how many it will be after one in vain.
    rest: u32,
    next_rest: u32,
    /// The last attempt was to have more.
    went_up: bool,
}

/// What is measured now.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    began: Timestamp,
    answers: u64,
    followers: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    /// None.
    None,
    /// The number was just changed: this window has both in it.
    Settling { from: usize, rate: u64 },
    /// This window shows what it brought.
    Measuring { from: usize, rate: u64 },
}

impl Concurrency {
    /// The number is at least 1.
    pub fn new(bounds: Bounds) -> Self {
        let most = bounds.most.max(1);
        let least = bounds.least.clamp(1, most);
        let first = bounds.first.clamp(least, most);
        Self {
            limit: first,
            bounds: Bounds { least, first, most },
            window: Window::default(),
            attempt: Attempt::None,
            rest: REST,
            next_rest: REST,
            went_up: false,
        }
    }

    /// How many may be busy now.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// One was answered, behind which there were others that waited or not.
    pub fn answered(&mut self, followed: bool, now: Timestamp) {
        self.window.answers += 1;
        self.window.followers += u64::from(followed);
        if self.window.answers >= ANSWERS && now.since(self.window.began) >= WINDOW {
            if now.since(self.window.began) <= WINDOW_MAX {
                self.measured(now);
            }
            self.window = Window {
                began: now,
                ..Window::default()
            };
        }
    }

    fn measured(&mut self, now: Timestamp) {
        let window = self.window;
        let rate = 1_000_000 * window.answers / now.since(window.began).as_us().max(1);
        match self.attempt {
            Attempt::Settling { from, rate } => {
                self.attempt = Attempt::Measuring { from, rate };
            }
            Attempt::Measuring { from, rate: before } => self.judge(from, (before, rate)),
            // Without others behind them, more would have nothing to do.
            Attempt::None if window.followers * 2 < window.answers => {}
            Attempt::None if self.rest > 0 => self.rest -= 1,
            Attempt::None => self.try_another(rate),
        }
    }

    fn try_another(&mut self, rate: u64) {
        let from = self.limit;
        let step = (from / 4).max(1);
        let Bounds { least, most, .. } = self.bounds;
        self.went_up = from < most && (from <= least || !self.went_up);
        match self.went_up {
            true => self.limit = (from + step).min(most),
            false if from > least => self.limit = (from - step).max(least),
            false => return,
        }
        self.attempt = Attempt::Settling { from, rate };
    }

    /// Stays with what was tried, or goes back.
    fn judge(&mut self, from: usize, (before, after): (u64, u64)) {
        self.attempt = Attempt::None;
        let (now, then) = (self.limit as u64, from as u64);
        // Before × (1 ± share of the difference), in percent of `then`.
        let wanted = match now > then {
            true => 100 * then + GAIN * (now - then),
            false => 100 * then - LOSS * (then - now),
        };
        if after * 100 * then >= before * wanted {
            // What helped once may help again.
            self.went_up = self.limit < from;
            (self.rest, self.next_rest) = (0, REST);
        } else {
            self.limit = from;
            self.rest = self.next_rest;
            self.next_rest = (self.next_rest * 2).min(REST_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: usize = 2;

    fn up_to(most: usize) -> Concurrency {
        Concurrency::new(Bounds {
            least: LEAST,
            first: LEAST,
            most,
        })
    }

    /// Lanes that are never empty for two seconds, on a server with so many processors.
    fn run(concurrency: &mut Concurrency, processors: usize, from: u64) -> Vec<usize> {
        let (mut now, mut seen) = (0, Vec::new());
        while now < 2_000_000_000 {
            let lanes = concurrency.limit();
            // In ns. Beyond the processors, each takes its share of them, and switching costs a little.
            let service = match lanes.saturating_sub(processors) {
                0 => 50_000,
                over => 50_000 * lanes / processors + 1_000 * over,
            };
            now += (service / lanes) as u64;
            concurrency.answered(true, Timestamp::from_us(from + now / 1_000));
            seen.push(concurrency.limit());
        }
        seen
    }

    /// How many there are most of the time towards the end.
    fn usual(seen: &[usize]) -> usize {
        let last = &seen[seen.len() / 2..];
        let count = |lanes: usize| last.iter().filter(|&&at| at == lanes).count();
        (1..100).max_by_key(|&lanes| count(lanes)).unwrap()
    }

    #[test]
    fn as_many_as_the_server_has_use_for() {
        for (processors, lanes) in [(1, LEAST), (2, 2), (3, 3), (6, 6)] {
            let mut concurrency = up_to(16);
            let seen = run(&mut concurrency, processors, 0);
            assert_eq!(usual(&seen), lanes);
            let stray = seen[seen.len() / 2..].iter().filter(|&&n| n != lanes);
            assert!(
                stray.count() < seen.len() / 5,
                "it swings with {processors}"
            );
        }
    }

    /// Where more lanes bring nothing, what chance brings does not add up.
    #[test]
    fn few_where_more_bring_nothing() {
        let mut concurrency = up_to(16);
        let (mut now, mut chance, mut seen) = (0, 1_u64, Vec::new());
        while now < 60_000_000 {
            // A rate of 25,000 a second, give or take a tenth, changing every 50 ms.
            if seen.len() % 1_250 == 0 {
                chance = chance
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
            }
            now += 36 + (chance >> 33) % 9;
            concurrency.answered(true, Timestamp::from_us(now));
            seen.push(concurrency.limit());
        }
        let few = seen.iter().filter(|&&lanes| lanes <= 4).count();
        assert!(few * 10 > seen.len() * 9, "{few} of {}", seen.len());
    }

    #[test]
    fn a_pause_says_nothing() {
        let mut concurrency = up_to(16);
        let mut now = 0;
        for _ in 0..50 {
            for _ in 0..ANSWERS - 1 {
                now += 1;
                concurrency.answered(true, Timestamp::from_us(now));
            }
            now += 5_000_000;
            concurrency.answered(true, Timestamp::from_us(now));
        }
        assert_eq!(concurrency.limit(), 2);
    }

    #[test]
    fn it_follows_when_the_server_changes() {
        let mut concurrency = up_to(16);
        assert_eq!(usual(&run(&mut concurrency, 6, 0)), 6);
        run(&mut concurrency, 1, 2_000_000);
        assert!(usual(&run(&mut concurrency, 1, 4_000_000)) <= 2);
    }

    #[test]
    fn lanes_in_which_nobody_follows_stay_as_they_are() {
        let mut concurrency = up_to(16);
        for at in 0..100_000 {
            concurrency.answered(false, Timestamp::from_us(at * 100));
        }
        assert_eq!(concurrency.limit(), 2);
    }

    /// Connections that run one statement each, from the most on.
    #[test]
    fn no_more_than_bring_something() {
        for (processors, least, expected) in [(6, 2, 6), (6, 10, 10), (2, 4, 4), (80, 4, 64)] {
            let mut concurrency = Concurrency::new(Bounds {
                least,
                first: 64,
                most: 64,
            });
            assert_eq!(concurrency.limit(), 64);
            run(&mut concurrency, processors, 0);
            let found = usual(&run(&mut concurrency, processors, 2_000_000));
            let (low, high) = (expected, expected + expected / 3);
            assert!((low..=high).contains(&found), "{found}, not {expected}");
        }
    }

    #[test]
    fn bounds_that_contradict_each_other() {
        for (least, first, most) in [(0, 0, 0), (5, 1, 3), (1, 9, 4), (4, 1, 9)] {
            let limit = Concurrency::new(Bounds { least, first, most }).limit();
            assert!((1..=most.max(1)).contains(&limit), "{limit}");
        }
    }

    #[test]
    fn never_more_than_there_may_be() {
        let mut concurrency = up_to(3);
        assert!(run(&mut concurrency, 50, 0).iter().all(|&lanes| lanes <= 3));
        assert_eq!(concurrency.limit(), 3);
    }
}

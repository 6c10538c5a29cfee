//! What was learned of plain reads, by what they have in common: how long they take, how large their
//! answers are, and whether they read base tables only. Decides which of them may share a lane.
//!
//! Bounded: what is not seen again makes room. Nothing is allocated after the start.

use events::{Span, Timestamp};
use pool::KeyId;

use crate::conditions::Does;

/// Where one digest may stand: the table has so many sets of so many places.
const SETS: usize = 1_024;

const WAYS: usize = 4;

/// Unknown digests run alone so often before they may share a lane.
const RUNS_MIN: u32 = 3;

/// For so long it is taken for granted that a name is still that of a base table (rule 6).
const TABLES_FRESH: Span = Span::from_secs(60);

/// After so long they are asked about anew.
const TABLES_ASKED: Span = Span::from_secs(45);

/// A question that was not answered is asked again after so long.
const ASK_AGAIN: Span = Span::from_secs(5);

/// Of the time, questions about reads that share no lane take a 20th part at most: there may be more of these than the table
/// has room for, and where a server has very many tables its answers take long.
const ASK_SHARE: u64 = 20;

/// The shortest time between two questions about reads that share no lane.
const ASK_PAUSE: Span = Span::from_ms(20);

/// So large a share of executions may be slow: about one of 32. One that gave an error or a warning
/// counts like many, since whoever asks for those makes it run twice.
const SLOW_MAX: u32 = ALL / 32;

const ALL: u32 = 1 << 16;

/// Names what statements of one account and schema have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// No plain read.
    pub const NONE: Self = Self(0);
    const REPLACES: u64 = 1 << 63;

    /// The digest of a statement's number within a key of the pool and a schema, and what such a read does to
    /// the list of conditions.
    pub fn new(number: u64, (id, schema): (KeyId, Option<&[u8]>), does: Does) -> Self {
        let mut hash = number ^ u64::from(id.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for &byte in schema.unwrap_or_default() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let hash = (hash ^ hash >> 32) & !Self::REPLACES | 1;
        Self(if does == Does::Replaces {
            hash | Self::REPLACES
        } else {
            hash
        })
    }

    /// The digest of a prepared statement, which shares no lane.
    pub fn prepared(number: u64, within: (KeyId, Option<&[u8]>)) -> Self {
        Self::new(number.rotate_left(32), within, Does::Keeps)
    }

    /// What such a read does to the list of conditions.
    pub fn does(self) -> Does {
        match self.0 & Self::REPLACES {
            0 => Does::Keeps,
            _ => Does::Replaces,
        }
    }
}

/// How one execution did.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// From when the backend could begin until the answer was complete.
    pub service: Span,
    /// Bytes of the answer.
    pub bytes: usize,
    /// It ended with an error, or with warnings.
    pub odd: bool,
}

/// What counts as fast and small.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// A lane head that exceeds this loses its followers.
    pub stall: Span,
    /// The largest answer.
    pub bytes: usize,
}

/// What is known of one digest.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    digest: Digest,
    runs: u32,
    /// A moving average.
    service_us: u32,
    /// The share of executions that took too long, of 65,536.
    slow: u32,
    /// A maximum that fades.
    bytes: u32,
    /// What was known of the tables in another epoch is forgotten.
    epoch: u32,
    /// The next alone execution is followed by the question.
    asks: bool,
    /// When the tables are to be asked about.
    ask_at: Timestamp,
    /// Until then all are known to be base tables.
    base_until: Timestamp,
}

/// The table of one worker.
pub struct Digests {
    entries: Box<[Entry]>,
    epoch: u32,
    /// No question about what shares no lane is asked before.
    next_question: Timestamp,
    /// Since when one is under way.
    asked: Option<Timestamp>,
}

impl Default for Digests {
    fn default() -> Self {
        Self {
            entries: vec![Entry::default(); SETS * WAYS].into(),
            epoch: 0,
            next_question: Timestamp::ZERO,
            asked: None,
        }
    }
}

impl Digests {
    /// True if an execution may share a lane. Now and then one is sent alone so that its tables can
    /// be asked about before what is known is old.
    pub fn is_fast(&mut self, digest: Digest, bounds: &Bounds, now: Timestamp) -> bool {
        let epoch = self.epoch;
        let Some(entry) = self.find(digest) else {
            return false;
        };
        if !entry.is_small(bounds) || entry.epoch != epoch || now >= entry.base_until {
            return false;
        }
        if now < entry.ask_at {
            return true;
        }
        (entry.asks, entry.ask_at) = (true, now + ASK_AGAIN);
        false
    }

    /// Takes an execution in. Returns true if it is time to ask about its tables; only after an
    /// execution that was `alone` is there an occasion.
    pub fn learn(
        &mut self,
        digest: Digest,
        sample: &Sample,
        (bounds, alone): (&Bounds, bool),
        now: Timestamp,
    ) -> bool {
        let epoch = self.epoch;
        let entry = self.find_or_make(digest);
        entry.take_in(sample, bounds);
        entry.bring_to(epoch);
        let unknown = now >= entry.base_until && now >= entry.ask_at;
        if !alone || !entry.is_small(bounds) || !(unknown || entry.asks) {
            return false;
        }
        (entry.asks, entry.ask_at) = (false, now + ASK_AGAIN);
        true
    }

    /// A backend said whether a statement with this digest reads base tables only.
    pub fn learn_tables(&mut self, digest: Digest, (base, epoch): (bool, u32), now: Timestamp) {
        if let Some(asked) = self.asked.take() {
            let pause = Span::from_us(now.since(asked).as_us() * ASK_SHARE);
            self.next_question = self.next_question.max(now + pause.min(TABLES_FRESH));
        }
        if epoch != self.epoch {
            // Something was defined meanwhile.
            return;
        }
        let Some(entry) = self.find(digest) else {
            return;
        };
        entry.epoch = epoch;
        entry.base_until = if base {
            now + TABLES_FRESH
        } else {
            Timestamp::ZERO
        };
        entry.ask_at = match base {
            true => now + TABLES_ASKED,
            false => now + TABLES_FRESH,
        };
    }

    /// True if the digest is known to read base tables only.
    pub fn is_base(&mut self, digest: Digest, now: Timestamp) -> bool {
        let epoch = self.epoch;
        self.find(digest)
            .is_some_and(|entry| entry.epoch == epoch && now < entry.base_until)
    }

    /// True if it is time to ask about the tables of a read, which are not known, whether or not it could share a lane.
    pub fn asks(&mut self, digest: Digest, now: Timestamp) -> bool {
        if now < self.next_question {
            return false;
        }
        let epoch = self.epoch;
        let entry = self.find_or_make(digest);
        entry.bring_to(epoch);
        if now < entry.ask_at {
            return false;
        }
        entry.ask_at = now + ASK_AGAIN;
        self.next_question = now + ASK_PAUSE;
        true
    }

    /// A question about the tables of a read that shares no lane was sent.
    pub fn asked(&mut self, now: Timestamp) {
        self.asked = Some(now);
    }

    /// What is known of tables now is of this epoch.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Something was defined: what is known of tables is old.
    pub fn forget_tables(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    fn set(digest: Digest) -> usize {
        (digest.0 >> 8) as usize % SETS * WAYS
    }

    fn find(&mut self, digest: Digest) -> Option<&mut Entry> {
        let set = Self::set(digest);
        let entries = self.entries.get_mut(set..set + WAYS)?;
        entries.iter_mut().find(|entry| entry.digest == digest)
    }

    /// The entry of `digest`, in place of the one that was used least if there was none. The others
    /// fade, so that what is not seen any more makes room one day.
    fn find_or_make(&mut self, digest: Digest) -> &mut Entry {
        let set = Self::set(digest);
        let entries = &self.entries[set..set + WAYS];
        let known = entries.iter().position(|entry| entry.digest == digest);
        let place = known.unwrap_or_else(|| {
            let least = (0..WAYS).min_by_key(|&place| entries[place].runs);
            least.unwrap_or_default()
        });
        if known.is_none() {
            for entry in &mut self.entries[set..set + WAYS] {
                entry.runs -= entry.runs / 4;
            }
            self.entries[set + place] = Entry {
                digest,
                ..Entry::default()
            };
        }
        &mut self.entries[set + place]
    }
}

impl Entry {
    /// Forgets what was known of tables in another epoch.
    fn bring_to(&mut self, epoch: u32) {
        if self.epoch != epoch {
            (self.epoch, self.asks) = (epoch, false);
            (self.ask_at, self.base_until) = (Timestamp::ZERO, Timestamp::ZERO);
        }
    }

    fn is_small(&self, bounds: &Bounds) -> bool {
        self.runs >= RUNS_MIN
            && u64::from(self.service_us) * 4 <= bounds.stall.as_us()
            && self.slow <= SLOW_MAX
            && self.bytes as usize <= bounds.bytes
    }

    fn take_in(&mut self, sample: &Sample, bounds: &Bounds) {
        let us = sample.service.as_us().min(bounds.stall.as_us());
        let us = u32::try_from(us).unwrap_or(u32::MAX);
        let bytes = u32::try_from(sample.bytes).unwrap_or(u32::MAX);
        self.service_us = match self.runs {
            0 => us,
            _ => self.service_us - self.service_us / 16 + us / 16,
        };
        self.slow -= self.slow / 64;
        if sample.odd {
            self.slow = ALL;
        } else if sample.service >= bounds.stall {
            self.slow += ALL / 64;
        }
        self.bytes = bytes.max(self.bytes - self.bytes / 32);
        self.runs = self.runs.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        stall: Span::from_ms(10),
        bytes: 1_000,
    };
    const FAST: Sample = Sample {
        service: Span::from_us(100),
        bytes: 100,
        odd: false,
    };

    fn digest(number: u64) -> Digest {
        Digest::new(number, (KeyId(0), Some(b"shop")), Does::Replaces)
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(ms * 1_000)
    }

    /// Runs it alone until it is asked about, and answers.
    fn known(digests: &mut Digests, digest: Digest, now: Timestamp) {
        let asks = |digests: &mut Digests| digests.learn(digest, &FAST, (&BOUNDS, true), now);
        assert!((0..10).any(|_| asks(digests)));
        digests.learn_tables(digest, (true, digests.epoch()), now);
    }

    #[test]
    fn questions_about_what_shares_no_lane_take_a_small_part_of_the_time() {
        let mut digests = Digests::default();
        assert!(digests.asks(digest(1), at(0)) && !digests.asks(digest(2), at(19)));
        // It was sent when the session left its backend, and took 10 ms.
        digests.asked(at(30));
        digests.learn_tables(digest(1), (true, 0), at(40));
        assert!(digests.is_base(digest(1), at(40)) && !digests.is_base(digest(2), at(40)));
        assert!(!digests.asks(digest(2), at(239)) && digests.asks(digest(2), at(240)));
        // That one was never sent.
        assert!(digests.asks(digest(3), at(260)) && !digests.asks(digest(2), at(1_000)));
        digests.forget_tables();
        assert!(!digests.is_base(digest(1), at(1_000)));
    }

    #[test]
    fn only_what_is_known_to_be_fast_small_and_of_base_tables() {
        let mut digests = Digests::default();
        let a = digest(1);
        assert!(!digests.is_fast(a, &BOUNDS, at(1)));
        assert!(!digests.learn(a, &FAST, (&BOUNDS, true), at(1)));
        known(&mut digests, a, at(1));
        assert!(digests.is_fast(a, &BOUNDS, at(2)) && !digests.is_fast(digest(2), &BOUNDS, at(2)));
        let slow = Sample {
            service: Span::from_ms(20),
            ..FAST
        };
        let large = Sample {
            bytes: 5_000,
            ..FAST
        };
        let odd = Sample { odd: true, ..FAST };
        for (times, worse) in [(3, slow), (1, large), (1, odd)] {
            for _ in 0..times {
                assert!(digests.is_fast(a, &BOUNDS, at(3)), "{worse:?}");
                digests.learn(a, &worse, (&BOUNDS, false), at(3));
            }
            assert!(!digests.is_fast(a, &BOUNDS, at(3)), "{worse:?}");
            for _ in 0..400 {
                digests.learn(a, &FAST, (&BOUNDS, true), at(3));
            }
            assert!(
                digests.is_fast(a, &BOUNDS, at(3)),
                "{worse:?} was not forgotten"
            );
        }
    }

    #[test]
    fn a_view_is_not_fast_however_fast_it_is() {
        let mut digests = Digests::default();
        let a = digest(1);
        let mut questions = 0;
        for ms in 0..100 {
            if digests.learn(a, &FAST, (&BOUNDS, true), at(ms)) {
                questions += 1;
                digests.learn_tables(a, (false, digests.epoch()), at(ms));
            }
            assert!(!digests.is_fast(a, &BOUNDS, at(ms)));
        }
        assert_eq!(questions, 1);
    }

    #[test]
    fn what_is_known_of_tables_is_forgotten_with_definitions_and_with_time() {
        let mut digests = Digests::default();
        let (a, b) = (digest(1), digest(2));
        known(&mut digests, a, at(0));
        let before = digests.epoch();
        digests.forget_tables();
        assert!(!digests.is_fast(a, &BOUNDS, at(1)));
        digests.learn_tables(a, (true, before), at(1));
        assert!(
            !digests.is_fast(a, &BOUNDS, at(1)),
            "an answer of before counts"
        );
        known(&mut digests, b, at(0));
        assert!(digests.is_fast(b, &BOUNDS, at(44_999)));
        assert!(
            !digests.is_fast(b, &BOUNDS, at(45_000)),
            "nobody asks ahead"
        );
        assert!(
            digests.is_fast(b, &BOUNDS, at(45_001)),
            "more than one asks ahead"
        );
        assert!(digests.learn(b, &FAST, (&BOUNDS, true), at(45_001)));
        assert!(!digests.is_fast(b, &BOUNDS, at(60_000)));
    }

    #[test]
    fn what_is_frequent_stays_when_others_come() {
        let mut digests = Digests::default();
        let a = digest(1);
        known(&mut digests, a, at(0));
        for number in 2..100_000 {
            digests.learn(digest(number), &FAST, (&BOUNDS, true), at(1));
            if number % 50 == 0 {
                digests.learn(a, &FAST, (&BOUNDS, false), at(1));
            }
        }
        assert!(digests.is_fast(a, &BOUNDS, at(2)));
    }
}

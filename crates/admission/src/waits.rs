//! How long waiters waited: counts by length, and percentiles of them.
//!
//! Lengths are told apart by an eighth; everything is in place, so counting allocates nothing.

use events::Span;

/// Parts that each power of two is divided into.
const PARTS: u64 = 8;
const BUCKETS: usize = 256;

/// Waits by length.
#[derive(Clone, PartialEq, Eq)]
pub struct Waits {
    buckets: [u32; BUCKETS],
    count: u64,
    max: Span,
}

impl Waits {
    /// Counts one.
    pub fn record(&mut self, wait: Span) {
        let bucket = &mut self.buckets[bucket(wait.as_us())];
        *bucket = bucket.saturating_add(1);
        self.count += 1;
        self.max = self.max.max(wait);
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        for (bucket, more) in self.buckets.iter_mut().zip(other.buckets) {
            *bucket = bucket.saturating_add(more);
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest.
    pub fn max(&self) -> Span {
        self.max
    }

    /// What `percent` % of them did not exceed, up to an eighth too long; zero if there are none.
    pub fn percentile(&self, percent: u64) -> Span {
        let rank = (self.count * percent.min(100)).div_ceil(100).max(1);
        let mut seen = 0;
        for (bucket, &count) in self.buckets.iter().enumerate() {
            seen += u64::from(count);
            if seen >= rank {
                return self.max.min(Span::from_us(ceiling(bucket as u64)));
            }
        }
        self.max
    }
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            buckets: [0; BUCKETS],
            count: 0,
            max: Span::ZERO,
        }
    }
}

impl std::fmt::Debug for Waits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waits")
            .field("count", &self.count)
            .field("p50", &self.percentile(50))
            .field("p95", &self.percentile(95))
            .field("max", &self.max)
            .finish()
    }
}

fn bucket(us: u64) -> usize {
    if us < PARTS {
        return us as usize;
    }
    let power = u64::from(us.ilog2());
    let part = (us >> (power - 3)) - PARTS;
    (((power - 2) * PARTS + part) as usize).min(BUCKETS - 1)
}

/// The longest wait of a bucket, in µs.
fn ceiling(bucket: u64) -> u64 {
    if bucket < PARTS {
        return bucket;
    }
    let (power, part) = (bucket / PARTS + 2, bucket % PARTS);
    ((PARTS + part + 1) << (power - 3)) - 1
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_in_a_bucket_that_is_not_too_long() {
        for us in (0..5_000).chain([1 << 20, 1_000_000_007, 3_000_000_000]) {
            let ceiling = ceiling(bucket(us) as u64);
            assert!((us..=us + us / 8).contains(&ceiling), "{us}: {ceiling}");
        }
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_list_up_to_an_eighth() {
        let mut waits = Waits::default();
        assert_eq!(waits.percentile(95), Span::ZERO);
        for us in 1..=1_000 {
            waits.record(Span::from_us(us));
        }
        let [p50, p95] = [50, 95].map(|percent| waits.percentile(percent).as_us());
        assert!((500..=562).contains(&p50) && (950..=1_000).contains(&p95));
        let mut twice = waits.clone();
        twice.add(&waits);
        assert_eq!((twice.count(), twice.max()), (2_000, Span::from_us(1_000)));
        assert_eq!(twice.percentile(50).as_us(), p50);
    }
}

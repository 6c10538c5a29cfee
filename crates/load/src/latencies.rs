//! A histogram of latencies in microseconds. Recording allocates nothing.

use events::Span;
use hdrhistogram::{CreationError, Histogram};

/// Longer latencies count as this one: ten minutes.
const US_MAX: u64 = 600_000_000;

/// Digits that are kept of each latency.
const DIGITS: u8 = 3;

/// How long how many statements took.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    histogram: Histogram<u64>,
}

impl Latencies {
    /// No latencies yet.
    pub(crate) fn new() -> Result<Self, CreationError> {
        let histogram = Histogram::new_with_bounds(1, US_MAX, DIGITS)?;
        Ok(Self { histogram })
    }

    /// No latencies yet, in a table of the same size.
    pub(crate) fn new_empty(&self) -> Self {
        let histogram = Histogram::new_from(&self.histogram);
        Self { histogram }
    }

    /// Counts one.
    pub(crate) fn record(&mut self, latency: Span) {
        self.histogram.saturating_record(latency.as_us());
    }

    /// Counts all of another.
    pub(crate) fn add(&mut self, other: &Self) {
        if !other.histogram.is_empty() {
            let added = self.histogram.add(&other.histogram);
            debug_assert!(added.is_ok(), "all tables have the same size");
        }
    }

    /// The latency, in microseconds, that this part of the statements did not exceed; 0 if there
    /// are none.
    pub(crate) fn quantile_us(&self, quantile: f64) -> u64 {
        self.histogram.value_at_quantile(quantile)
    }

    /// Parts of the whole, ever closer to 1, each with the latency it did not exceed, in
    /// milliseconds.
    pub(crate) fn distribution_ms(&self) -> Vec<(f64, f64)> {
        if self.histogram.is_empty() {
            return Vec::new();
        }
        let count = self.histogram.len() as f64;
        // Eight steps for each nine, up to the longest latency.
        let steps = (0..).map(|step| 1.0 - 10f64.powf(-f64::from(step) / 8.0));
        let parts = steps.take_while(|part| (1.0 - part) * count >= 1.0);
        let latency = |part: f64| (part, self.quantile_us(part) as f64 / 1_000.0);
        parts.chain([1.0 - 1.0 / count]).map(latency).collect()
    }

    /// The longest, in microseconds.
    pub(crate) fn max_us(&self) -> u64 {
        self.histogram.max()
    }
}

//! The limits of `[[quota]]` and `[[schema]]`: their keys, ranges and what is not written.
//!
//! Whom they are for is the matter of `quota`; what they do is admission's.

use std::time::Duration;

use toml::de::DeValue;

use crate::error::Wrong;
use crate::section::Section;
use crate::value;

const CLIENTS_MAX: u32 = 16_000_000;
const RUNNING_MAX: u32 = 1_000_000;
const WEIGHT_MAX: u32 = 1_000;

/// Limits as written; `None` where nothing is, and 0 where there shall be no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Client connections.
    pub max_connections: Option<u32>,
    /// Statements that run at once.
    pub max_concurrent_queries: Option<u32>,
    /// Transactions that are open at once.
    pub max_concurrent_transactions: Option<u32>,
    /// Statements that wait at once.
    pub max_queued: Option<u32>,
    /// How long a statement may wait.
    pub queue_timeout: Option<Duration>,
    /// How long a statement may take, its wait included.
    pub max_statement_time: Option<Duration>,
    /// Client connections that may begin within a second; accounts only.
    pub max_connects_per_second: Option<u32>,
    /// The share of the backends relative to other accounts'; accounts only.
    pub weight: Option<u32>,
    /// What becomes of waiters under overload; accounts only.
    pub overload: Option<Overload>,
    /// A wait longer than this is taken for overload; accounts only, never zero.
    pub overload_target: Option<Duration>,
}

/// What becomes of waiters when there are more than can be served in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overload {
    /// First come, first served.
    #[default]
    Fifo,
    /// Newest first.
    Lifo,
    /// Whoever waited for too long is rejected.
    Codel,
}

/// The words for [`Overload`].
pub(crate) const OVERLOAD: [(&str, Overload); 3] = [
    ("fifo", Overload::Fifo),
    ("lifo", Overload::Lifo),
    ("codel", Overload::Codel),
];

impl Limits {
    /// The same, where `over` says nothing else.
    #[must_use]
    pub fn overlaid(&self, over: &Self) -> Self {
        Self {
            max_connections: over.max_connections.or(self.max_connections),
            max_concurrent_queries: over.max_concurrent_queries.or(self.max_concurrent_queries),
            max_concurrent_transactions: over
                .max_concurrent_transactions
                .or(self.max_concurrent_transactions),
            max_queued: over.max_queued.or(self.max_queued),
            queue_timeout: over.queue_timeout.or(self.queue_timeout),
            max_statement_time: over.max_statement_time.or(self.max_statement_time),
            max_connects_per_second: over
                .max_connects_per_second
                .or(self.max_connects_per_second),
            weight: over.weight.or(self.weight),
            overload: over.overload.or(self.overload),
            overload_target: over.overload_target.or(self.overload_target),
        }
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn read_of_account(section: &mut Section<'_, '_>) -> Self {
        let mut limits = Self::read_of_schema(section);
        limits.max_connects_per_second =
            number(section, "max_connects_per_second", 0..=RUNNING_MAX);
        limits.weight = number(section, "weight", 1..=WEIGHT_MAX);
        limits.overload = section.read("overload", None, |v| value::choice(v, &OVERLOAD).map(Some));
        limits.overload_target = section.read("overload_target", None, |v| {
            value::duration_above_zero(v, "take every wait for overload").map(Some)
        });
        limits
    }

    pub(crate) fn read_of_schema(section: &mut Section<'_, '_>) -> Self {
        Self {
            max_connections: number(section, "max_connections", 0..=CLIENTS_MAX),
            max_concurrent_queries: number(section, "max_concurrent_queries", 0..=RUNNING_MAX),
            max_concurrent_transactions: number(
                section,
                "max_concurrent_transactions",
                0..=RUNNING_MAX,
            ),
            max_queued: number(section, "max_queued", 0..=CLIENTS_MAX),
            queue_timeout: section.read("queue_timeout", None, duration),
            max_statement_time: section.read("max_statement_time", None, duration),
            ..Self::default()
        }
    }
}

fn number(
    section: &mut Section<'_, '_>,
    key: &'static str,
    range: std::ops::RangeInclusive<u32>,
) -> Option<u32> {
    section.read(key, None, |v| value::number(v, range).map(Some))
}

fn duration(written: &DeValue<'_>) -> Result<Option<Duration>, Wrong> {
    let duration = value::duration_unless_zero(written)?;
    Ok(Some(duration.unwrap_or_default()))
}

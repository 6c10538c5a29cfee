//! How many backends run statements alone at once: a number that is found by trying (`pool::Concurrency`), between
//! `min_connections` and `max_connections`. A statement that takes long is not counted: fewer neighbours would not make it
//! any faster. The rules are in `matching::busy`.

use events::Timestamp;
use pool::Concurrency;

/// The gate, and what is known of those that have passed it.
#[derive(Debug)]
pub(crate) struct Busy {
    pub limit: Concurrency,
    /// Those that are not counted any more, when that was last looked at.
    pub long: usize,
    pub looked: Timestamp,
    /// The weights of all accounts that have waiters.
    pub weights: u64,
    /// Somebody was refused; it is looked again then at the latest.
    pub refused: Option<Timestamp>,
}

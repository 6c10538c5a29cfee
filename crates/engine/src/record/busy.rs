//! How many backends run statements alone at once: a number that is found by trying
//! (`pool::Concurrency`), between `min_connections` and `max_connections`. Owns the gate that a session without a backend
//! passes; not who is next there.
//!
//! A statement that takes long is no longer counted: what it waits for (a lock, a disk, a timer) is
//! nothing that fewer neighbours would give it sooner, and short ones must not wait for it. Nor do
//! sessions that have a backend pass the gate: what they hold is given up by letting them go on.
//!
//! While all are taken, an account may still have its share by weight, so that neither number of clients
//! nor earlier arrival decides between accounts. Within an account the oldest waiter passes first, whatever its key.

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

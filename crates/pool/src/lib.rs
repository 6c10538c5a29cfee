//! Backend connections: which there are, what state each is in, who may have how many.
//!
//! The pool knows keys, not accounts, and nothing of the protocol: what a backend connection *is*
//! belongs to the engine and is a type parameter here. All workers share one budget of slots, the
//! [`Ledger`]; each worker's [`Pool`] owns the connections that it opened with slots of its own.

mod concurrency;
mod ledger;
mod lending;
mod members;

pub use concurrency::{Bounds, Concurrency};
pub use ledger::{Ledger, Need, Slot, Waiter};
pub use lending::{Claim, KEEP, PATIENCE, Resting, Turns, gives_way, is_overtaken};
pub use members::{Choice, Fit, KeyId, Pool, Preference, State};

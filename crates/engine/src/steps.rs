//! The steps of a command that need nothing but records: getting ready, sent, answered. The desk takes them.

mod dispatch;
pub(crate) mod invariants;
mod sending;
mod settle;
pub(crate) mod stalls;
pub(crate) mod timers;

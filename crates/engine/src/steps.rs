//! The steps of a command that need nothing but records: getting ready, sent, answered. The desk takes them.

pub(crate) mod dispatch;
pub(crate) mod invariants;
pub(crate) mod sending;
pub(crate) mod settle;
pub(crate) mod stalls;
pub(crate) mod timers;

//! User-level locks (`GET_LOCK`): what a session holds, what answers say of that, and who waits for which.

pub mod answer;
pub mod effect;
pub mod held;
pub mod registry;

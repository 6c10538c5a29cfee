//! Statements that run for longer than their account's `max_statement_time`: they are ended by a KILL
//! QUERY, as the server ends those that exceed its own limit, and answered with its error.
//!
//! Each backend has its limit beside the command that runs there, so what is looked at when one is due
//! does not grow with the number of statements. A COMMIT or ROLLBACK is never ended.

use admission::Permit;
use events::Timestamp;

/// What a command that is sent now is counted as, and until when it may run.
pub(crate) struct Allowance {
    /// What is counted.
    pub permit: Permit,
    /// `None` if it may run for as long as it likes.
    pub until: Option<Timestamp>,
}

impl Allowance {
    /// Of a command that nothing limits.
    pub(crate) const NONE: Self = Self {
        permit: Permit::NONE,
        until: None,
    };
}

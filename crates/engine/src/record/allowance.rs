//! What a command that is sent now is counted as, and until when it may run (`max_statement_time`).

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

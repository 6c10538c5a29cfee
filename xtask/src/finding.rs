//! One thing that is wrong, and what to do about it.

use std::fmt;

/// Printed as `file:line: what; what to do`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Relative to the workspace.
    pub(crate) path: String,
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) what: String,
    pub(crate) fix: String,
}

impl Finding {
    pub(crate) fn new(
        path: &str,
        line: usize,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            line,
            what: what.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}; {}",
            self.path, self.line, self.what, self.fix
        )
    }
}

//! What is kept of a session's last statement, for whoever asks about it afterwards: its counts, and where its
//! conditions are. Asks nobody.

use session::statement::{Flavor, Known};

use crate::conditions::Conditions;

/// What a session knows of its last statement.
#[derive(Debug, Default)]
pub struct Capture {
    /// What SHOW WARNINGS tells, and where that is.
    pub conditions: Conditions,
    /// `ROW_COUNT()`
    pub row_count: i64,
    /// `FOUND_ROWS()`, as far as a backend does not hold a newer one for it; `None` in a new session.
    pub found_rows: Option<u64>,
}

impl Capture {
    /// The captured number, as a number of 64 bits.
    pub fn count(&self, known: Known, flavor: Flavor) -> Option<i64> {
        match known {
            Known::RowCount => Some(self.row_count),
            Known::FoundRows => {
                // A session that has run nothing has found one row on MariaDB, and none on MySQL.
                let new = u64::from(flavor == Flavor::MariaDb);
                Some(self.found_rows.unwrap_or(new) as i64)
            }
            Known::WarningCount => Some(self.conditions.count(false)),
            Known::ErrorCount => Some(self.conditions.count(true)),
            Known::ConnectionId
            | Known::LastGtid
            | Known::Socket
            | Known::Port
            | Known::Hostname
            | Known::BindAddress
            | Known::PseudoThreadId => None,
        }
    }

    /// What is done for the session's command failed, and that is the command's answer.
    pub fn failed(&mut self) {
        self.conditions.failed();
        self.row_count = -1;
    }
}

//! What is kept of a session's last statement, for whoever asks about it afterwards: its counts, and where its
//! conditions are. Asks nobody.

use session::statement::{Flavor, Kind, Known, Traits};

use crate::backend::ClientCommand;
use crate::conditions::Conditions;
use crate::diagnostics::keeps_found_rows;

/// What a session knows of its last statement.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    /// What SHOW WARNINGS tells, and where that is.
    pub(crate) conditions: Conditions,
    /// `ROW_COUNT()`
    pub(crate) row_count: i64,
    /// `FOUND_ROWS()`, as far as a backend does not hold a newer one for it; `None` in a new session.
    pub(crate) found_rows: Option<u64>,
}

impl Capture {
    /// The captured number, as a number of 64 bits.
    pub(crate) fn count(&self, known: Known, flavor: Flavor) -> Option<i64> {
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

    /// Takes over what an answer said of rows.
    pub(crate) fn answered(&mut self, command: &ClientCommand, failed: bool) {
        let counts = command.counts;
        // GET DIAGNOSTICS leaves the number, unless it gives a condition itself.
        let gets =
            command.kind == Kind::Diagnostics && command.traits.contains(Traits::READS_DIAGNOSTICS);
        let gets_nothing = gets && counts.warned;
        let leaves = command.prepares() || gets || counts.text;
        if failed || gets_nothing || !leaves {
            self.row_count = match failed || gets_nothing || counts.result_set {
                true => -1,
                false => counts.affected as i64,
            };
        }
        if let (Some(found), false) = (counts.found, keeps_found_rows(command)) {
            self.found_rows = Some(found);
        }
    }
}

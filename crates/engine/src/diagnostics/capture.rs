//! What is kept of a session's last statement, for whoever asks about it afterwards: its counts, and where its
//! conditions are. Asks nobody.

use session::statement::{Flavor, Kind, Known, Traits};
use wire::{Capabilities, code};

use crate::backend::ClientCommand;
use crate::client::Client;
use crate::commands::answers::Ending;
use crate::conditions::{Conditions, Does};
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

/// More rows are not counted only so that FOUND_ROWS() tells of them.
const AGAIN_MAX: i64 = 64;

/// True for `EXPLAIN` of a SELECT without tables, which MariaDB runs as if it had found no row. Nothing else that
/// explains keeps the list of conditions.
fn explains_no_table(command: &ClientCommand) -> bool {
    command.kind == Kind::Explain
        && command.traits.contains(Traits::KEEPS_FOUND_ROWS)
        && command.does == Does::Keeps
}

/// True for SHOW COLUMNS and its like of a table or schema that is not there: MariaDB notices while it reads the text,
/// and leaves `ROW_COUNT()`. Without names of schemas (CLIENT_NO_SCHEMA) it may be one of its own that it does not find,
/// later.
fn leaves_row_count(
    command: &ClientCommand,
    code: Option<u16>,
    (flavor, capabilities): (Flavor, Capabilities),
) -> bool {
    let counts = Traits::KEEPS_FOUND_ROWS | Traits::COUNTS_UNSENT_ROWS;
    flavor == Flavor::MariaDb
        && !capabilities.contains(Capabilities::NO_SCHEMA)
        && matches!(command.kind, Kind::Show | Kind::Explain)
        && !command.traits.intersects(counts)
        && matches!(code, Some(code::NO_SUCH_TABLE | code::UNKNOWN_SCHEMA))
}

impl Client {
    /// Takes over what an answer said of rows that ended like this.
    pub(crate) fn note_rows(&mut self, command: &ClientCommand, ending: &Ending, flavor: Flavor) {
        if !leaves_row_count(command, ending.code(), (flavor, self.capabilities)) {
            let failed = matches!(ending, Ending::Err(_));
            self.capture.answered(command, failed);
        }
    }
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

    /// As many rows as `FOUND_ROWS()` says can be counted again.
    pub(crate) fn found_few(&self, flavor: Flavor) -> bool {
        let rows = self.count(Known::FoundRows, flavor);
        rows.is_some_and(|rows| (0..=AGAIN_MAX).contains(&rows))
    }

    /// The statement that does it.
    pub(crate) fn found_again(&self, flavor: Flavor) -> String {
        let rows = self.count(Known::FoundRows, flavor).unwrap_or_default();
        let more = usize::try_from(rows).unwrap_or_default().saturating_sub(1);
        format!(
            "SELECT 1{} LIMIT {rows}",
            " UNION ALL SELECT 1".repeat(more)
        )
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
        } else if explains_no_table(command) && counts.found.is_some() {
            self.found_rows = Some(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_can_be_counted_again() {
        let again = |found_rows, flavor| {
            let capture = Capture {
                found_rows,
                ..Capture::default()
            };
            let text = capture.found_again(flavor);
            capture.found_few(flavor).then_some(text)
        };
        for (found, expected) in [
            (Some(0), "SELECT 1 LIMIT 0"),
            (Some(1), "SELECT 1 LIMIT 1"),
            (Some(2), "SELECT 1 UNION ALL SELECT 1 LIMIT 2"),
            (None, "SELECT 1 LIMIT 1"),
        ] {
            let told = again(found, Flavor::MariaDb);
            assert_eq!(told.as_deref(), Some(expected), "{found:?}");
        }
        let new = again(None, Flavor::MySql);
        assert_eq!(new.as_deref(), Some("SELECT 1 LIMIT 0"));
        assert!(again(Some(64), Flavor::MySql).is_some());
        assert_eq!(again(Some(65), Flavor::MySql), None);
    }
}

//! Prepared statements that ask for a count of the session's last statement.

use carry::prepared::named::executes;
use carry::prepared::stays;
use membership::Key;
use session::statement::{Dialect, Flavor, Known, Statement, lone};

use crate::record::client::Client;
use crate::record::records::Records;

/// Longer texts are prepared as they are.
const TEXT_MAX: usize = 64 << 10;

impl Records {
    /// The count that a text asks for, if LAST_INSERT_ID() can bring it to any backend.
    pub(crate) fn counted(&self, key: Key, text: &[u8], statement: &Statement) -> Option<Known> {
        if !stays(statement) || text.len() > TEXT_MAX {
            return None;
        }
        let client = self.clients.get(key)?;
        let dialect = self.known.facts.as_ref()?.dialect(&client.session)?;
        counted_in(text, &dialect)
    }
}

impl Client {
    /// The count that a command asks for, as the execution of such a statement.
    pub(crate) fn counted(&self, payload: &[u8], statement: &Statement) -> Option<Known> {
        if !stays(statement) || !executes(payload) {
            return None;
        }
        self.statement(payload)?.template.meaning.counted
    }
}

fn counted_in(text: &[u8], dialect: &Dialect) -> Option<Known> {
    let (known, _) = lone(text, dialect)?;
    match known {
        Known::RowCount | Known::FoundRows => Some(known),
        // On MySQL preparing a statement empties the list of conditions.
        Known::WarningCount | Known::ErrorCount if dialect.flavor == Flavor::MariaDb => Some(known),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carry::prepared::counting::counting_text;

    #[test]
    fn one_count_alone_is_brought_as_the_last_id() {
        let [mariadb, mysql] = [
            Dialect::new(Flavor::MariaDb, 101_119),
            Dialect::new(Flavor::MySql, 90_700),
        ];
        for (text, on_mariadb, on_mysql) in [
            ("SELECT ROW_COUNT()", true, true),
            ("SELECT FOUND_ROWS() AS n", true, true),
            ("SELECT @@error_count", true, false),
            ("SHOW COUNT(*) WARNINGS", true, false),
            ("SELECT ROW_COUNT() + 1", false, false),
            ("SELECT ROW_COUNT(), FOUND_ROWS()", false, false),
            ("SELECT id FROM t WHERE id < FOUND_ROWS()", false, false),
            ("SELECT CONNECTION_ID()", false, false),
            ("SELECT 1", false, false),
        ] {
            let carried = [mariadb, mysql].map(|dialect| counted_in(text.as_bytes(), &dialect));
            let carried = carried.map(|known| known.is_some());
            assert_eq!(carried, [on_mariadb, on_mysql], "{text}");
        }
    }

    #[test]
    fn another_text_is_prepared_for_one_count() {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        for (text, expected) in [
            (
                "SELECT ROW_COUNT()",
                "SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS `ROW_COUNT()`",
            ),
            (
                "SHOW COUNT(*) WARNINGS",
                "SELECT @@last_insert_id AS `@@session.warning_count`",
            ),
        ] {
            let told = counting_text(text.as_bytes(), &dialect);
            assert_eq!(told.as_deref(), Some(expected.as_bytes()), "{text}");
        }
    }
}

//! Prepared statements that ask for one count of the session's last statement (rule 10): what is prepared in their
//! place asks for LAST_INSERT_ID() instead, which is the count for as long as they run. So they run on any backend. Owns
//! which statements those are, and their texts; counting is in `diagnostics` and `conditions`, and `sending` brings the
//! count across.

use std::cell::Cell;

use membership::Key;
use session::statement::{
    Dialect, Flavor, Kind, Known, Statement, Traits, lone, quoted_name, substitute,
};

use crate::Engine;
use crate::client::Client;
use crate::commands::rewrite::select_of_one;
use crate::conditions::uses_tables;
use crate::prepared::named::executes;
use crate::prepared::stays;

/// Longer texts are prepared as they are.
const TEXT_MAX: usize = 64 << 10;

impl Engine {
    /// The one count that a text asks for.
    pub(crate) fn counted(&self, key: Key, text: &[u8], statement: &Statement) -> Option<Known> {
        if !stays(statement) || text.len() > TEXT_MAX {
            return None;
        }
        let client = self.clients.get(key)?;
        let dialect = self.facts.as_ref()?.dialect(&client.session)?;
        let known = match lone(text, &dialect) {
            Some((known, _)) => known,
            None => count_in(text, statement, &dialect)?,
        };
        // On MySQL preparing a statement empties the list of conditions.
        let of_rows = matches!(known, Known::RowCount | Known::FoundRows);
        let is_carried = self.flavor() == Flavor::MariaDb || of_rows;
        (is_carried && is_count(known)).then_some(known)
    }
}

impl Client {
    /// The count that a command asks for, as the execution of such a statement.
    pub(crate) fn counted(&self, payload: &[u8], statement: &Statement) -> Option<Known> {
        if !stays(statement) || !executes(payload) {
            return None;
        }
        self.statement(payload)?.template.meaning.count
    }
}

/// The one count that a SELECT uses besides other things, of which none is LAST_INSERT_ID().
fn count_in(text: &[u8], statement: &Statement, dialect: &Dialect) -> Option<Known> {
    let others = Traits::READS_LAST_INSERT_ID
        | Traits::SETS_LAST_INSERT_ID
        | Traits::UNKNOWN_CALL
        | Traits::ASSIGNS_USER_VARIABLES
        | Traits::OWN_CONDITIONS
        | Traits::TELLS_SEQUENCE
        | Traits::MAY_WRITE;
    let plain = statement.pins.is_empty() && !statement.traits.intersects(others);
    if statement.kind != Kind::Select || !plain {
        return None;
    }
    let (found, several) = (Cell::new(None), Cell::new(false));
    let note = |known| {
        if is_count(known) {
            let before = found.replace(Some(known));
            several.set(several.get() || before.is_some_and(|before| before != known));
        }
        None
    };
    substitute(text, dialect, note);
    // Conditions are emptied by reading tables, before they are counted.
    let empties = |known| {
        matches!(known, Known::WarningCount | Known::ErrorCount) && uses_tables(statement, text)
    };
    found
        .get()
        .filter(|&known| !several.get() && !empties(known))
}

/// The text that is prepared in place of one that asks for a count and nothing else.
pub(crate) fn counting_text(text: &[u8], dialect: &Dialect) -> Option<Vec<u8>> {
    let (known, name) = lone(text, dialect).filter(|(known, _)| is_count(*known))?;
    Some(select_of_one(known, &quoted_name(&name, dialect.charset)))
}

/// True for what is about the session's last statement.
pub(crate) fn is_count(known: Known) -> bool {
    matches!(
        known,
        Known::RowCount | Known::FoundRows | Known::WarningCount | Known::ErrorCount
    )
}

#[cfg(test)]
mod tests {
    use session::statement::classify;

    use super::*;

    #[test]
    fn one_count_is_asked_for_as_the_last_id() {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        for (text, expected) in [
            (
                "SELECT ROW_COUNT()",
                Some("SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS `ROW_COUNT()`"),
            ),
            (
                "SHOW COUNT(*) WARNINGS",
                Some("SELECT @@last_insert_id AS `@@session.warning_count`"),
            ),
            ("SELECT @@error_count > ?", None),
            ("SELECT ROW_COUNT(), FOUND_ROWS()", None),
            ("SELECT CONNECTION_ID()", None),
            ("SELECT 1", None),
        ] {
            let told = counting_text(text.as_bytes(), &dialect);
            let expected = expected.map(|text| text.as_bytes().to_vec());
            assert_eq!(told, expected, "{text}");
        }
    }

    #[test]
    fn one_count_in_an_expression_is_carried_if_nothing_else_sees_the_last_id() {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        for (text, expected) in [
            ("SELECT ROW_COUNT() + 1, ROW_COUNT()", Some(Known::RowCount)),
            (
                "SELECT id FROM t WHERE id < FOUND_ROWS()",
                Some(Known::FoundRows),
            ),
            ("SELECT @@error_count > ?", Some(Known::ErrorCount)),
            ("SELECT id FROM t WHERE id < @@error_count", None),
            ("SELECT ROW_COUNT() + FOUND_ROWS()", None),
            ("SELECT ROW_COUNT(), LAST_INSERT_ID()", None),
            ("SELECT ROW_COUNT(), @a := 1", None),
            ("SELECT f(ROW_COUNT())", None),
            ("INSERT INTO t VALUES (ROW_COUNT())", None),
            ("SELECT 1", None),
        ] {
            let statement = classify(text.as_bytes(), &dialect);
            let found = count_in(text.as_bytes(), &statement, &dialect);
            assert_eq!(found, expected, "{text}");
        }
    }
}

//! Prepared statements that ask for counts of the session's last statement (rule 10): what is prepared in their place
//! asks for what the front door can give to any backend. That is LAST_INSERT_ID() if they ask for one count alone, and
//! user variables with names of the front door's own if they ask for several, or for that id, too. So they run on any
//! backend. Owns which statements those are, and their texts; counting is in `diagnostics` and `conditions`, and `sending`
//! brings the counts across.

use std::cell::Cell;

use bitflags::bitflags;
use membership::Key;
use session::statement::{
    Dialect, Flavor, Kind, Known, Statement, Traits, lone, quoted_name, substitute,
};

use crate::Engine;
use crate::client::Client;
use crate::commands::rewrite::{in_place_of, of_last_id, select_of_one};
use crate::conditions::uses_tables;
use crate::diagnostics::capture::Capture;
use crate::prepared::named::executes;
use crate::prepared::stays;

/// Longer texts are prepared as they are.
const TEXT_MAX: usize = 64 << 10;

bitflags! {
    /// Some of the counts.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub(crate) struct CountSet: u8 {
        const ROW_COUNT = 1;
        const FOUND_ROWS = 1 << 1;
        const WARNING_COUNT = 1 << 2;
        const ERROR_COUNT = 1 << 3;
        /// Those about conditions.
        const OF_CONDITIONS = Self::WARNING_COUNT.bits() | Self::ERROR_COUNT.bits();
    }
}

impl CountSet {
    /// Each of them as a text asks for it, and the user variable that may bring it across. No session's own can be
    /// carried that has a blank in its name.
    const EACH: [(Self, Known, &str); 4] = [
        (Self::ROW_COUNT, Known::RowCount, "@`myriad row_count`"),
        (Self::FOUND_ROWS, Known::FoundRows, "@`myriad found_rows`"),
        (
            Self::WARNING_COUNT,
            Known::WarningCount,
            "@`myriad warning_count`",
        ),
        (
            Self::ERROR_COUNT,
            Known::ErrorCount,
            "@`myriad error_count`",
        ),
    ];

    /// What is about the session's last statement, and nothing else.
    pub(crate) fn of(known: Known) -> Self {
        let found = Self::EACH.iter().find(|(_, other, _)| *other == known);
        found.map_or(Self::empty(), |(count, _, _)| *count)
    }

    fn each(self) -> impl Iterator<Item = (Known, &'static str)> {
        let own = Self::EACH
            .into_iter()
            .filter(move |(count, _, _)| self.contains(*count));
        own.map(|(_, known, variable)| (known, variable))
    }
}

/// The counts that a prepared statement asks for, and what brings them across.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Counted {
    /// One, which LAST_INSERT_ID() is for it.
    ByLastId(Known),
    /// User variables of the front door's own.
    ByVariables(CountSet),
}

impl Counted {
    /// True if `FOUND_ROWS()` is among them.
    pub(crate) fn tells_found_rows(self) -> bool {
        match self {
            Self::ByLastId(known) => known == Known::FoundRows,
            Self::ByVariables(counts) => counts.contains(CountSet::FOUND_ROWS),
        }
    }

    /// The expression for a count, of its type and length.
    pub(crate) fn expression(self, known: Known) -> Option<String> {
        let is_of_rows = !CountSet::of(known).intersects(CountSet::OF_CONDITIONS);
        let source = match self {
            Self::ByLastId(_) if !is_of_rows => return Some(of_last_id(known).to_owned()),
            Self::ByLastId(_) => of_last_id(known),
            Self::ByVariables(counts) => counts.each().find(|(other, _)| *other == known)?.1,
        };
        // An expression counts how many digits a part may have: a CAST alone has one more, and from text it could be NULL,
        // as the counts of conditions could. MySQL warns of FOUND_ROWS().
        let text = format!("CAST({source} AS CHAR(20) CHARACTER SET latin1)");
        let value = match is_of_rows {
            true => format!("COALESCE(CAST({text} AS SIGNED),0)"),
            false => format!("CAST({text} AS UNSIGNED)"),
        };
        Some(in_place_of(known, &value))
    }
}

impl Engine {
    /// The counts that a text asks for, if they can be brought to any backend.
    pub(crate) fn counted(&self, key: Key, text: &[u8], statement: &Statement) -> Option<Counted> {
        if !stays(statement) || text.len() > TEXT_MAX {
            return None;
        }
        let client = self.clients.get(key)?;
        let dialect = self.facts.as_ref()?.dialect(&client.session)?;
        counted_in(text, statement, &dialect)
    }
}

impl Client {
    /// The counts that a command asks for, as the execution of such a statement.
    pub(crate) fn counted(&self, payload: &[u8], statement: &Statement) -> Option<Counted> {
        if !stays(statement) || !executes(payload) {
            return None;
        }
        self.statement(payload)?.template.meaning.counted
    }
}

impl Capture {
    /// The statement that gives a backend these counts.
    pub(crate) fn setting_of(&self, counts: CountSet, flavor: Flavor) -> String {
        let assign = |(known, variable)| {
            let count = self.count(known, flavor).unwrap_or_default();
            format!("{variable}={count}")
        };
        let assigned: Vec<_> = counts.each().map(assign).collect();
        format!("SET {}", assigned.join(","))
    }
}

fn counted_in(text: &[u8], statement: &Statement, dialect: &Dialect) -> Option<Counted> {
    let counted = match lone(text, dialect) {
        Some((known, _)) => Counted::ByLastId(known),
        None => counts_in(text, statement, dialect)?,
    };
    let counts = match counted {
        Counted::ByLastId(known) => CountSet::of(known),
        Counted::ByVariables(counts) => counts,
    };
    // On MySQL preparing a statement empties the list of conditions.
    let is_emptied = dialect.flavor == Flavor::MySql && counts.intersects(CountSet::OF_CONDITIONS);
    (!counts.is_empty() && !is_emptied).then_some(counted)
}

/// The counts that a SELECT uses besides other things.
fn counts_in(text: &[u8], statement: &Statement, dialect: &Dialect) -> Option<Counted> {
    let others = Traits::SETS_LAST_INSERT_ID
        | Traits::UNKNOWN_CALL
        | Traits::ASSIGNS_USER_VARIABLES
        | Traits::OWN_CONDITIONS
        | Traits::TELLS_SEQUENCE
        | Traits::MAY_WRITE;
    let plain = statement.pins.is_empty() && !statement.traits.intersects(others);
    if statement.kind != Kind::Select || !plain {
        return None;
    }
    let found = Cell::new((CountSet::empty(), None));
    let note = |known| {
        let count = CountSet::of(known);
        if !count.is_empty() {
            found.set((found.get().0 | count, Some(known)));
        }
        None
    };
    substitute(text, dialect, note);
    let (counts, last) = found.get();
    // Conditions are emptied by reading tables, before they are counted.
    if counts.intersects(CountSet::OF_CONDITIONS) && uses_tables(statement, text) {
        return None;
    }
    let sees_last_id = statement.traits.contains(Traits::READS_LAST_INSERT_ID);
    let is_one = counts.bits().count_ones() == 1 && !sees_last_id;
    match is_one {
        true => last.map(Counted::ByLastId),
        false => Some(Counted::ByVariables(counts)),
    }
}

/// The text that is prepared in place of one that asks for a count and nothing else.
pub(crate) fn counting_text(text: &[u8], dialect: &Dialect) -> Option<Vec<u8>> {
    let (known, name) = lone(text, dialect).filter(|(known, _)| is_count(*known))?;
    Some(select_of_one(known, &quoted_name(&name, dialect.charset)))
}

/// True for what is about the session's last statement.
pub(crate) fn is_count(known: Known) -> bool {
    !CountSet::of(known).is_empty()
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
    fn counts_in_expressions_are_carried_if_nothing_else_is_asked_or_done() {
        use Counted::{ByLastId, ByVariables};
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        let both = CountSet::ROW_COUNT | CountSet::FOUND_ROWS;
        for (text, expected) in [
            (
                "SELECT ROW_COUNT() + 1, ROW_COUNT()",
                Some(ByLastId(Known::RowCount)),
            ),
            (
                "SELECT id FROM t WHERE id < FOUND_ROWS()",
                Some(ByLastId(Known::FoundRows)),
            ),
            (
                "SELECT @@error_count > ?",
                Some(ByLastId(Known::ErrorCount)),
            ),
            ("SELECT id FROM t WHERE id < @@error_count", None),
            ("SELECT ROW_COUNT() + FOUND_ROWS()", Some(ByVariables(both))),
            (
                "SELECT ROW_COUNT(), LAST_INSERT_ID()",
                Some(ByVariables(CountSet::ROW_COUNT)),
            ),
            (
                "SELECT FOUND_ROWS(), @@warning_count",
                Some(ByVariables(CountSet::FOUND_ROWS | CountSet::WARNING_COUNT)),
            ),
            ("SELECT ROW_COUNT(), @@warning_count FROM t", None),
            ("SELECT ROW_COUNT(), LAST_INSERT_ID(5)", None),
            ("SELECT ROW_COUNT(), @a := 1", None),
            ("SELECT f(ROW_COUNT())", None),
            ("INSERT INTO t VALUES (ROW_COUNT())", None),
            ("SELECT 1", None),
        ] {
            let statement = classify(text.as_bytes(), &dialect);
            let found = counted_in(text.as_bytes(), &statement, &dialect);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn preparing_a_statement_on_mysql_leaves_no_conditions_to_count() {
        let dialect = Dialect::new(Flavor::MySql, 90_700);
        for (text, carried) in [
            ("SELECT ROW_COUNT(), FOUND_ROWS()", true),
            ("SELECT ROW_COUNT(), @@warning_count", false),
            ("SELECT @@error_count", false),
        ] {
            let statement = classify(text.as_bytes(), &dialect);
            let found = counted_in(text.as_bytes(), &statement, &dialect);
            assert_eq!(found.is_some(), carried, "{text}");
        }
    }

    #[test]
    fn one_statement_gives_a_backend_all_counts_that_are_asked_for() {
        let capture = Capture {
            row_count: -1,
            found_rows: Some(7),
            ..Capture::default()
        };
        let counts = CountSet::ROW_COUNT | CountSet::FOUND_ROWS | CountSet::ERROR_COUNT;
        assert_eq!(
            capture.setting_of(counts, Flavor::MariaDb),
            "SET @`myriad row_count`=-1,@`myriad found_rows`=7,@`myriad error_count`=0"
        );
    }
}

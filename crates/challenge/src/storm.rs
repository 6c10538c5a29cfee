//! What a retry storm runs on: a table of which each row is locked for as long as a statement takes, and
//! which counts them.
//!
//! Not here: the clients, which are the load generator's.

use std::path::PathBuf;

use crate::case::STORM_QUERIES;
use crate::database::{Database, SCHEMA};
use crate::error::ChallengeError;
use crate::{Course, Plan, Way};

/// How long a statement takes.
const STATEMENT_S: f64 = 0.01;
/// Statements that can be run per second.
pub(crate) const CAPACITY_PER_S: f64 = STORM_QUERIES as f64 / STATEMENT_S;
/// Statements that clients want per second.
pub(crate) const OFFERED_PER_S: f64 = 3.0 * CAPACITY_PER_S;
/// Patient clients that ask without a storm: enough that as many statements run as may.
pub(crate) const PATIENT: u32 = 4 * STORM_QUERIES;
/// How long a client waits, in milliseconds.
pub(crate) const PATIENCE_MS: u32 = 1_000;
/// A statement that ends so long after it was sent, in microseconds, was begun for a client that had hung
/// up: patience, the statement itself, and a tenth of a second for the machine to be late.
const LATE_US: u64 = 1_110_000;
/// Rows where statements are not to wait for each other in the database.
const ROWS: u32 = 10_000;

/// What the database has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Statements that ran.
    pub(crate) ran: u64,
    /// Those of them that were begun for nobody.
    pub(crate) late: u64,
}

/// How many rows there are. With Myriad before it, so many that no two statements meet in one; the
/// database alone has nothing that holds it to 16 at a time, but that there are 16 rows.
fn rows(way: Way) -> u32 {
    match way {
        Way::Myriad => ROWS,
        Way::Alone | Way::ThreadPool => STORM_QUERIES,
    }
}

/// Makes the table anew.
pub(crate) fn prepare(database: &Database, course: &Course) -> Result<(), ChallengeError> {
    let rows = rows(course.way);
    let text = format!(
        "CREATE OR REPLACE TABLE {SCHEMA}.slot (id INT PRIMARY KEY, runs BIGINT NOT NULL, \
         late BIGINT NOT NULL) ENGINE=InnoDB;
         INSERT INTO {SCHEMA}.slot SELECT seq, 0, 0 FROM {SCHEMA}.seq_1_to_{rows};"
    );
    database.execute(&text).map(drop)
}

/// The generator's script.
pub(crate) fn file(plan: &Plan) -> PathBuf {
    plan.out.join("storm.sql")
}

/// Writes it.
pub(crate) fn write_script(plan: &Plan, course: &Course) -> Result<(), ChallengeError> {
    let file = file(plan);
    let text = statement(course.way);
    std::fs::write(&file, text).map_err(ChallengeError::system("write", &file))
}

/// The row is locked from when it was found until the end, also while it sleeps.
fn statement(way: Way) -> String {
    let rows = rows(way);
    format!(
        "-- affected: 1\nUPDATE slot SET runs = runs + 1, \
         late = late + (UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 > '{{now}}' + {LATE_US}) \
         WHERE id = {{uniform:1..{rows}}} AND SLEEP({STATEMENT_S}) = 0;\n"
    )
}

/// What ran so far.
pub(crate) fn counted(database: &Database) -> Result<Counted, ChallengeError> {
    let said = database.execute(&format!("SELECT SUM(runs), SUM(late) FROM {SCHEMA}.slot"))?;
    let mut numbers = said.split_whitespace().map(str::parse::<u64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(ran)), Some(Ok(late))) => Ok(Counted { ran, late }),
        _ => Err(ChallengeError::Child {
            name: "the database",
            what: "does not tell what it ran".to_owned(),
            said,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_alone_has_as_many_rows_as_statements_that_may_run() {
        assert!(statement(Way::Alone).contains("{uniform:1..16} AND SLEEP(0.01) = 0;"));
        assert!(statement(Way::Myriad).contains("{uniform:1..10000}"));
        assert_eq!((CAPACITY_PER_S, OFFERED_PER_S), (1_600.0, 4_800.0));
    }
}

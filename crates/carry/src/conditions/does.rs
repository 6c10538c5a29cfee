//! What a command does to the list of conditions, by its class and the server's flavor. Keeps nothing itself.
//!
//! MySQL empties the list before every statement that is not about it; MariaDB for those that use tables, and
//! before the first condition that a statement gives.

use session::statement::{Flavor, Kind, PinReason, Statement, Traits};
use wire::Command;

/// Words one of which is in each definition that uses tables.
const DEFINE: [&[u8]; 7] = [
    b"table",
    b"tables",
    b"truncate",
    b"view",
    b"index",
    b"trigger",
    b"sequence",
];

/// One of these words, or of [`DEFINE`], is in each text of several statements, or of a compound one, that uses tables.
const READ_OR_WRITE: [&[u8]; 18] = [
    b"call",
    b"from",
    b"into",
    b"insert",
    b"replace",
    b"update",
    b"delete",
    b"load",
    b"execute",
    b"show",
    b"explain",
    b"describe",
    b"desc",
    b"analyze",
    b"handler",
    b"nextval",
    b"lastval",
    b"setval",
];

/// The words of [`READ_OR_WRITE`] that are functions, too.
const FUNCTIONS: [&[u8]; 2] = [b"insert", b"replace"];

/// What a command does to the list of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// What there was is gone; what it gives itself is the list.
    Replaces,
    /// What there was stays, unless it gives some itself: then those are the list.
    Keeps,
    /// Several statements, each of which keeps it or replaces it: their answers do not tell whether one of them has emptied
    /// the list on the backend.
    Several {
        /// One of them empties it, as far as the text tells.
        empties: bool,
    },
    /// It tells of the list, and leaves it.
    Asks,
    /// It tells of the list, and adds what goes wrong with that: GET DIAGNOSTICS, RESIGNAL.
    Gets,
    /// It adds what it gives.
    Adds,
    /// It adds what it gives, if it can be read and has a schema; else it empties the list.
    Defines,
    /// It adds its error, if it fails.
    AddsError,
    /// It is no statement, and leaves the list.
    Tells,
}

impl Does {
    /// What a command does that runs no statement; `None` of one that runs or prepares a statement.
    pub fn of_command(command: Command, flavor: Flavor) -> Option<Self> {
        match (command, flavor) {
            (
                Command::Query
                | Command::StmtPrepare
                | Command::StmtExecute
                | Command::StmtBulkExecute,
                _,
            ) => None,
            (_, Flavor::MariaDb) => Some(Self::Keeps),
            (Command::InitDb, Flavor::MySql) => Some(Self::AddsError),
            // At least that the command will be given up.
            (Command::FieldList, Flavor::MySql) => Some(Self::Adds),
            (_, Flavor::MySql) => Some(Self::Tells),
        }
    }

    /// What it does to prepare a statement, by text or by command: its tables are opened.
    pub fn of_preparing(prepared: &Statement, text: &[u8], flavor: Flavor) -> Self {
        let uses_tables = match prepared.kind {
            _ if prepared.traits.contains(Traits::READS_DIAGNOSTICS) => false,
            // A body is not looked at.
            Kind::Call => prepared.traits.contains(Traits::HAS_FROM),
            _ => uses_tables(prepared, text),
        };
        if flavor == Flavor::MySql || uses_tables {
            Self::Replaces
        } else {
            Self::Keeps
        }
    }

    /// What a statement does.
    pub fn of_statement(statement: &Statement, text: &[u8], flavor: Flavor) -> Self {
        let asks = statement.traits.contains(Traits::READS_DIAGNOSTICS);
        let is_mysql = flavor == Flavor::MySql;
        match statement.kind {
            Kind::Multiple if asks => Self::Several { empties: is_mysql },
            Kind::Multiple => Self::Several {
                empties: is_mysql || uses_tables(statement, text),
            },
            Kind::Unknown if !is_mysql => Self::Several {
                empties: uses_tables(statement, text),
            },
            Kind::Diagnostics if asks => Self::Gets,
            Kind::Ddl if statement.traits.contains(Traits::OWN_CONDITIONS) => Self::Defines,
            // MySQL forgets the list with the statement that reads its length as a variable.
            Kind::Select | Kind::Do | Kind::Set if asks && is_mysql => Self::Replaces,
            _ if asks => Self::Asks,
            Kind::Prepared if !is_mysql && statement.pins.contains(PinReason::Call) => {
                Self::Several {
                    empties: runs_what_uses_tables(text),
                }
            }
            _ if is_mysql || uses_tables(statement, text) => Self::Replaces,
            _ => Self::Keeps,
        }
    }
}

/// True if a statement of MariaDB uses tables, as far as the words of its text tell.
pub fn uses_tables(statement: &Statement, text: &[u8]) -> bool {
    let has = |wanted: &[&[u8]]| has_one_of(text, &[wanted]);
    let reads = statement.traits.contains(Traits::HAS_FROM);
    // A sequence is a table.
    let of_sequence = Traits::DRAWS_SEQUENCE | Traits::TELLS_SEQUENCE;
    match statement.kind {
        Kind::Select | Kind::Do | Kind::Set => {
            let uses = of_sequence | Traits::BODY_USES_TABLES;
            reads || statement.traits.intersects(uses) || has(&[b"setval"])
        }
        Kind::Explain => reads || !has(&[b"select"]),
        Kind::Show if statement.traits.contains(Traits::KEEPS_FOUND_ROWS) => {
            has(&[b"table", b"view", b"sequence"])
        }
        // A body is read, but its tables are not opened.
        Kind::Ddl if statement.traits.contains(Traits::DEFINES_PROGRAM) => {
            statement.traits.contains(Traits::BODY_INSERTS)
        }
        Kind::Ddl if begins_with(text, &[b"drop", b"trigger"]) => false,
        Kind::Ddl | Kind::Admin => has(&DEFINE),
        Kind::Lock => !statement.traits.contains(Traits::RELEASES_TABLE_LOCKS),
        Kind::Insert
        | Kind::Replace
        | Kind::Update
        | Kind::Delete
        | Kind::Load
        | Kind::Show
        | Kind::Handler => true,
        Kind::Call if statement.traits.contains(Traits::RUNS_KNOWN_BODY) => {
            reads || statement.traits.contains(Traits::BODY_USES_TABLES)
        }
        Kind::Call | Kind::Multiple | Kind::Unknown => has_one_of(text, &[&READ_OR_WRITE, &DEFINE]),
        Kind::Empty
        | Kind::Use
        | Kind::Begin
        | Kind::Commit
        | Kind::Rollback
        | Kind::Savepoint
        | Kind::Account
        | Kind::Kill
        | Kind::Xa
        | Kind::Prepared
        | Kind::Diagnostics => false,
    }
}

/// True if a text may read tables: MySQL reads them without FROM, too.
pub fn may_name_tables(text: &[u8]) -> bool {
    has_one_of(text, &[&[b"from", b"table"]])
}

/// True if these are the first words of a text.
fn begins_with(text: &[u8], wanted: &[&[u8]]) -> bool {
    let mut found = words(text);
    let mut wanted = wanted.iter();
    wanted.all(|word| {
        found
            .next()
            .is_some_and(|found| found.eq_ignore_ascii_case(word))
    })
}

/// True if EXECUTE may run a text that uses tables: unless it has that text with it, that is not known, and most do.
fn runs_what_uses_tables(text: &[u8]) -> bool {
    let Some(quote) = text.iter().position(|&byte| byte == b'\'') else {
        return true;
    };
    let (before, prepared) = text.split_at(quote);
    let immediate: [&[u8]; 2] = [b"execute", b"immediate"];
    let has_text = words(before).count() == immediate.len()
        && words(before)
            .zip(immediate)
            .all(|(found, word)| found.eq_ignore_ascii_case(word))
        && !before.contains(&b'@');
    !has_text || has_one_of(prepared, &[&READ_OR_WRITE, &DEFINE])
}

/// True if one of the words is in a text, and not as the name of a function.
fn has_one_of(text: &[u8], wanted: &[&[&[u8]]]) -> bool {
    let mut found = text.split_inclusive(ends_word);
    found.any(|found| {
        let mut wanted = wanted.iter().copied().flatten();
        let calls = found.ends_with(b"(");
        let word = found.split(ends_word).next().unwrap_or_default();
        wanted.any(|wanted| {
            word.eq_ignore_ascii_case(wanted) && !(calls && FUNCTIONS.contains(wanted))
        })
    })
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = text.split(ends_word);
    words.filter(|word| !word.is_empty())
}

fn ends_word(byte: &u8) -> bool {
    !byte.is_ascii_alphanumeric() && !b"_$".contains(byte)
}

#[cfg(test)]
mod tests {
    use session::statement::{Dialect, classify};

    use super::*;

    const SEVERAL: Does = Does::Several { empties: true };
    const SEVERAL_KEEP: Does = Does::Several { empties: false };

    fn check(text: &str, mariadb: Does, mysql: Does) {
        for (flavor, version, expected) in [
            (Flavor::MariaDb, 101_119, mariadb),
            (Flavor::MySql, 90_700, mysql),
        ] {
            let statement = classify(text.as_bytes(), &Dialect::new(flavor, version));
            let does = Does::of_statement(&statement, text.as_bytes(), flavor);
            assert_eq!(does, expected, "{text} on {flavor:?}");
        }
    }

    #[test]
    fn what_a_statement_does_depends_on_its_class_and_the_server() {
        for (text, mariadb, mysql) in [
            ("SELECT 1", Does::Keeps, Does::Replaces),
            ("SELECT a FROM t", Does::Replaces, Does::Replaces),
            ("SET @a = 1", Does::Keeps, Does::Replaces),
            ("SET @a = 'b from t'", Does::Keeps, Does::Replaces),
            ("SET @a = TRIM('b' FROM 'c')", Does::Keeps, Does::Replaces),
            ("DO SETVAL(s, 1)", Does::Replaces, Does::Replaces),
            ("SELECT 1; SELECT SETVAL(s, 1)", SEVERAL, SEVERAL),
            ("DO (SELECT 1 FROM t)", Does::Replaces, Does::Replaces),
            ("BEGIN", Does::Keeps, Does::Replaces),
            ("COMMIT", Does::Keeps, Does::Replaces),
            ("RELEASE SAVEPOINT s", Does::Keeps, Does::Replaces),
            ("USE shop", Does::Keeps, Does::Replaces),
            ("INSERT INTO t VALUES (1)", Does::Replaces, Does::Replaces),
            ("CREATE TABLE t (a INT)", Does::Replaces, Does::Replaces),
            ("CREATE DATABASE d", Does::Keeps, Does::Replaces),
            ("UNLOCK TABLES", Does::Keeps, Does::Replaces),
            ("SHOW TABLES", Does::Replaces, Does::Replaces),
            ("SHOW GRANTS", Does::Keeps, Does::Replaces),
            ("CALL p()", Does::Replaces, Does::Replaces),
            ("SIGNAL SQLSTATE '45000'", Does::Keeps, Does::Replaces),
            ("SHOW WARNINGS", Does::Asks, Does::Asks),
            ("SHOW ERRORS LIMIT 1", Does::Asks, Does::Asks),
            ("SHOW COUNT(*) WARNINGS", Does::Asks, Does::Asks),
            ("SELECT @@warning_count", Does::Asks, Does::Replaces),
            ("GET DIAGNOSTICS @a = NUMBER", Does::Gets, Does::Gets),
            ("SELECT 1; SELECT 2", SEVERAL_KEEP, SEVERAL),
            ("SET @a = 'open", SEVERAL_KEEP, Does::Replaces),
            ("SELECT a FROM t WHERE b = 'open", SEVERAL, Does::Replaces),
            ("SELECT 1; SELECT a FROM t", SEVERAL, SEVERAL),
            ("SELECT 1; SHOW WARNINGS", SEVERAL_KEEP, SEVERAL),
            (
                "EXECUTE IMMEDIATE 'SELECT ?' USING 1",
                SEVERAL_KEEP,
                Does::Replaces,
            ),
            (
                "EXECUTE IMMEDIATE 'SELECT a FROM t'",
                SEVERAL,
                Does::Replaces,
            ),
            (
                "EXECUTE IMMEDIATE @a USING 'SELECT'",
                SEVERAL,
                Does::Replaces,
            ),
            (
                "EXECUTE IMMEDIATE CONCAT(a, 'SELECT 1')",
                SEVERAL,
                Does::Replaces,
            ),
        ] {
            check(text, mariadb, mysql);
        }
    }

    #[test]
    fn a_definition_does_what_its_body_makes_it_do() {
        for (text, mariadb, mysql) in [
            (
                "CREATE PROCEDURE p() SELECT REPLACE(a, b, c) FROM t",
                Does::Keeps,
                Does::Replaces,
            ),
            (
                "CREATE OR REPLACE FUNCTION f() RETURNS INT BEGIN INSERT INTO t VALUES (1); RETURN 1; END",
                Does::Replaces,
                Does::Replaces,
            ),
            (
                "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR 1062 SELECT 1; END",
                Does::Keeps,
                Does::Defines,
            ),
            (
                "CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW BEGIN DECLARE EXIT HANDLER FOR 1062 SET @a = 1; END",
                Does::Replaces,
                Does::Defines,
            ),
        ] {
            check(text, mariadb, mysql);
        }
    }

    #[test]
    fn what_a_command_does_that_runs_no_statement_is_known_by_its_name() {
        for (command, mysql) in [
            (Command::InitDb, Does::AddsError),
            (Command::FieldList, Does::Adds),
            (Command::SetOption, Does::Tells),
            (Command::StmtReset, Does::Tells),
            (Command::StmtFetch, Does::Tells),
            (Command::Statistics, Does::Tells),
        ] {
            assert_eq!(Does::of_command(command, Flavor::MySql), Some(mysql));
            assert_eq!(
                Does::of_command(command, Flavor::MariaDb),
                Some(Does::Keeps)
            );
        }
        assert_eq!(Does::of_command(Command::Query, Flavor::MySql), None);
        assert_eq!(Does::of_command(Command::StmtExecute, Flavor::MySql), None);
        assert_eq!(Does::of_command(Command::StmtPrepare, Flavor::MySql), None);
    }

    #[test]
    fn to_prepare_a_statement_opens_its_tables() {
        for (text, mariadb) in [
            ("SELECT 1", Does::Keeps),
            ("SELECT 1 FROM DUAL", Does::Keeps),
            ("SELECT (SELECT 1 FROM dual), a FROM t", Does::Replaces),
            ("SET @a = (SELECT 1 FROM t)", Does::Replaces),
            ("DROP TABLE IF EXISTS t", Does::Replaces),
            ("DROP TRIGGER IF EXISTS t", Does::Keeps),
            ("CALL p()", Does::Keeps),
            ("CALL p((SELECT 1 FROM t))", Does::Replaces),
            ("SHOW TABLES", Does::Replaces),
            ("SHOW COUNT(*) WARNINGS", Does::Keeps),
            ("BEGIN", Does::Keeps),
        ] {
            let expected = [(Flavor::MariaDb, mariadb), (Flavor::MySql, Does::Replaces)];
            for (flavor, expected) in expected {
                let statement = classify(text.as_bytes(), &Dialect::new(flavor, 101_119));
                let does = Does::of_preparing(&statement, text.as_bytes(), flavor);
                assert_eq!(does, expected, "{text} on {flavor:?}");
            }
        }
    }

    #[test]
    fn words_are_found_whole_and_in_any_case() {
        let finds = |text: &str| has_one_of(text.as_bytes(), &[&READ_OR_WRITE, &DEFINE]);
        assert!(finds("SELECT 1 From t"));
        assert!(finds("  call p()"));
        assert!(finds("REPLACE t VALUES (1)"));
        assert!(finds("SELECT 1 FROM(SELECT 2) d"));
        assert!(!finds("SET @a = REPLACE('a', 'b', INSERT('c', 1, 1, ''))"));
        assert!(!finds("SELECT from_unixtime(1), @table_x"));
        assert!(!finds(""));
    }
}

//! What is replaced, and what questions are about.

use super::super::{
    Diagnostics, Known, Trail, lone, quoted_name, show_diagnostics, substitute, use_schema,
};
use super::*;

fn value(known: Known) -> Option<String> {
    match known {
        Known::RowCount => Some("1".into()),
        Known::FoundRows => Some("2".into()),
        Known::WarningCount => Some("3".into()),
        Known::ErrorCount => Some("4".into()),
        Known::Socket => Some("''".into()),
        Known::Port => Some("6033".into()),
        Known::ConnectionId => Some("5".into()),
        Known::PseudoThreadId => Some("6".into()),
        Known::LastGtid => Some("'0-1-2'".into()),
        Known::Hostname | Known::BindAddress => None,
    }
}

#[test]
fn the_gtid_of_the_last_write_is_replaced_before_there_may_be_another() {
    for (text, expected) in [
        (
            "SELECT @@last_gtid; SELECT @@last_gtid",
            "SELECT '0-1-2' AS `@@last_gtid`; SELECT @@last_gtid",
        ),
        (
            "SELECT @@global.last_gtid, @@port",
            "SELECT @@global.last_gtid, 6033 AS `@@port`",
        ),
    ] {
        let told = substitute(text.as_bytes(), &MARIADB, value);
        assert_eq!(told.as_deref(), Some(expected.as_bytes()), "{text}");
    }
}

#[test]
fn the_id_of_a_connection_is_replaced_where_it_is_the_sessions() {
    for (text, expected) in [
        (
            "SELECT @@pseudo_thread_id, @@global.pseudo_thread_id",
            "SELECT 6 AS `@@pseudo_thread_id`, @@global.pseudo_thread_id",
        ),
        (
            "SET pseudo_thread_id = 7, @a = @@session.pseudo_thread_id",
            "SET pseudo_thread_id = 7, @a = 6",
        ),
    ] {
        let told = substitute(text.as_bytes(), &MARIADB, value);
        assert_eq!(told.as_deref(), Some(expected.as_bytes()), "{text}");
    }
}

#[test]
fn values_take_the_place_and_columns_keep_their_names() {
    for (text, expected) in [
        ("SELECT ROW_COUNT()", "SELECT 1 AS `ROW_COUNT()`"),
        (
            "SELECT DISTINCT sql_big_result ROW_COUNT(), all_of FROM t",
            "SELECT DISTINCT sql_big_result 1 AS `ROW_COUNT()`, all_of FROM t",
        ),
        (
            "SELECT ALL -ROW_COUNT() INTERSECT SELECT 7",
            "SELECT ALL -1 AS `-ROW_COUNT()` INTERSECT SELECT 7",
        ),
        (
            "SELECT row_count( ) + 1, 7",
            "SELECT 1 + 1 AS `row_count( ) + 1`, 7",
        ),
        (
            "SELECT ROW_COUNT() n, found_rows() AS m",
            "SELECT 1 n, 2 AS m",
        ),
        (
            "SELECT a, IF(ROW_COUNT()>0,'y','n') FROM t",
            "SELECT a, IF(1>0,'y','n') AS `IF(ROW_COUNT()>0,'y','n')` FROM t",
        ),
        ("SELECT (SELECT ROW_COUNT() x) y", "SELECT (SELECT 1 x) y"),
        (
            "SELECT @@warning_count, @@session.error_count",
            "SELECT 3 AS `@@warning_count`, 4 AS `@@session.error_count`",
        ),
        (
            "SELECT @@max_allowed_packet,@@wait_timeout,@@socket",
            "SELECT @@max_allowed_packet,@@wait_timeout,'' AS `@@socket`",
        ),
        (
            "SET @a = @@port, @b = 1, @@port = @@port",
            "SET @a = 6033, @b = 1, @@port = 6033",
        ),
        (
            "SET STATEMENT lock_wait_timeout = 1 FOR SELECT @@port, @@port",
            "SET STATEMENT lock_wait_timeout = 1 FOR SELECT 6033, 6033",
        ),
        ("SELECT@@port", "SELECT 6033 AS `@@port`"),
        ("SELECT @@port--, 1", "SELECT 6033--, 1"),
        ("SELECT @@`port`", "SELECT 6033 AS `@@``port```"),
        (
            "INSERT INTO log VALUES (ROW_COUNT(), 'ROW_COUNT()')",
            "INSERT INTO log VALUES (1, 'ROW_COUNT()')",
        ),
        ("SELECT 1 WHERE ROW_COUNT() > 0", "SELECT 1 WHERE 1 > 0"),
        (
            "SELECT ROW_COUNT() IS NULL",
            "SELECT 1 IS NULL AS `ROW_COUNT() IS NULL`",
        ),
        (
            "CREATE TABLE t (a INT DEFAULT CONNECTION_ID()) SELECT CONNECTION_ID() AS b",
            "CREATE TABLE t (a INT DEFAULT CONNECTION_ID()) SELECT 5 AS b",
        ),
        (
            "CREATE VIEW v AS SELECT @@port; CREATE USER u; SELECT @@port",
            "CREATE VIEW v AS SELECT @@port; CREATE USER u; SELECT 6033 AS `@@port`",
        ),
        (
            "SELECT @@port; SELECT ROW_COUNT(), @@port",
            "SELECT 6033 AS `@@port`; SELECT ROW_COUNT(), 6033 AS `@@port`",
        ),
    ] {
        let found = substitute(text.as_bytes(), &MARIADB, value).map(String::from_utf8);
        assert_eq!(found, Some(Ok(expected.to_owned())), "{text}");
    }
}

#[test]
fn nothing_else_is_replaced() {
    for text in [
        "CREATE TABLE t (a INT DEFAULT CONNECTION_ID(), b INT AS (CONNECTION_ID()))",
        "SET STATEMENT lock_wait_timeout = 1 FOR ALTER TABLE t ADD a INT DEFAULT CONNECTION_ID()",
        "CREATE OR REPLACE VIEW v AS SELECT CONNECTION_ID()",
        "CREATE PROCEDURE p() BEGIN DO 1; SELECT CONNECTION_ID(); END; SELECT @@port",
        "SELECT row_count, t.row_count() FROM t",
        "SELECT '@@port', `row_count`()",
        "SELECT @@hostname",
        "SELECT @port, @@report",
        "SELECT @@session.port, @@LOCAL . socket",
        "SELECT @@global.warning_count",
        "SET @@port = 1, @@global.socket = ''",
        "UPDATE t SET a = 1; SELECT ROW_COUNT()",
        "SELECT ROW_COUNT() + 'open",
        "SELECT /*!50000 ROW_COUNT( */ )",
        "SELECT ROW_COUNT( /*!50000 ) */",
        "SELECT @@/*!50000 port */",
        "",
    ] {
        assert_eq!(substitute(text.as_bytes(), &MARIADB, value), None, "{text}");
    }
}

#[test]
fn questions_and_what_only_looks_like_one() {
    for (text, expected) in [
        ("SELECT ROW_COUNT()", Some((Known::RowCount, "ROW_COUNT()"))),
        (
            "select found_rows() as `n` ;",
            Some((Known::FoundRows, "n")),
        ),
        ("select found_rows() as n", Some((Known::FoundRows, "n"))),
        (
            "SELECT @@warning_count",
            Some((Known::WarningCount, "@@warning_count")),
        ),
        (
            "select @@local . error_count",
            Some((Known::ErrorCount, "@@local . error_count")),
        ),
        (
            "SHOW COUNT(*) WARNINGS",
            Some((Known::WarningCount, "@@session.warning_count")),
        ),
        (
            "show count(*) errors;",
            Some((Known::ErrorCount, "@@session.error_count")),
        ),
        ("SELECT @@global.error_count", None),
        ("select found_rows() n", None),
        ("SELECT ROW_COUNT(), 1", None),
        ("SELECT ROW_COUNT()+1", None),
        ("SELECT ROW_COUNT(); SELECT 1", None),
        ("SHOW WARNINGS", None),
        ("SHOW", None),
        ("", None),
    ] {
        let expected = expected.map(|(known, name)| (known, name.as_bytes().to_vec()));
        assert_eq!(lone(text.as_bytes(), &MARIADB), expected, "{text}");
    }
}

#[test]
fn lists_of_diagnostics() {
    let all = Diagnostics {
        errors: false,
        offset: 0,
        rows: u64::MAX,
    };
    for (text, expected) in [
        ("SHOW WARNINGS", Some(all)),
        (" show  warnings ; ", Some(all)),
        (
            "SHOW ERRORS",
            Some(Diagnostics {
                errors: true,
                ..all
            }),
        ),
        (
            "SHOW WARNINGS LIMIT 1",
            Some(Diagnostics { rows: 1, ..all }),
        ),
        (
            "SHOW WARNINGS LIMIT 2, 1",
            Some(Diagnostics {
                rows: 1,
                offset: 2,
                ..all
            }),
        ),
        (
            "SHOW ERRORS LIMIT 1 OFFSET 2",
            Some(Diagnostics {
                errors: true,
                rows: 1,
                offset: 2,
            }),
        ),
        ("SHOW WARNINGS LIMIT", None),
        ("SHOW WARNINGS WHERE 1", None),
        ("SHOW TABLES", None),
        ("SHOW WARNINGS; SELECT 1", None),
    ] {
        assert_eq!(
            show_diagnostics(text.as_bytes(), &MARIADB),
            expected,
            "{text}"
        );
    }
}

/// In GBK the byte of a backtick can be the second one of a character.
#[test]
fn backticks_within_characters_are_no_quotes() {
    let gbk = Dialect {
        charset: Trail::Gbk,
        ..MARIADB
    };
    let replaced = substitute(b"SELECT '\x81`' + ROW_COUNT()", &gbk, value);
    let expected = &b"SELECT '\x81`' + 1 AS `'\x81`' + ROW_COUNT()`"[..];
    assert_eq!(replaced.as_deref(), Some(expected));
    let asked = lone(b"SELECT ROW_COUNT() AS `\x81`b```", &gbk);
    assert_eq!(asked, Some((Known::RowCount, b"\x81`b`".to_vec())));
    let schema = use_schema(b"USE `\x81`b`", &gbk);
    assert_eq!(schema.as_deref(), Some(&b"\x81`b"[..]));
    assert_eq!(quoted_name(b"\x81``", Trail::Gbk), b"`\x81````");
}

#[test]
fn a_column_whose_text_cannot_be_a_name_gets_its_value_all_the_same() {
    let replaced = substitute(b"SELECT ROW_COUNT() + '\0', ROW_COUNT()", &MARIADB, value);
    let expected = &b"SELECT 1 + '\0', 1 AS `ROW_COUNT()`"[..];
    assert_eq!(replaced.as_deref(), Some(expected));
}

//! What is taken hold of, and let go of.

use super::super::{Holding, TableName, holding};
use super::*;

fn table(name: &str) -> TableName {
    let (schema, table) = match name.split_once('.') {
        Some((schema, table)) => (Some(schema), table),
        None => (None, name),
    };
    TableName {
        schema: schema.map(|schema| schema.as_bytes().into()),
        table: table.as_bytes().into(),
    }
}

#[test]
fn what_is_held_has_a_name() {
    let drops =
        |names: &[&str]| Holding::DropsTables(names.iter().map(|name| table(name)).collect());
    for (text, expected) in [
        (
            "CREATE TEMPORARY TABLE t (a INT)",
            Holding::CreatesTable(table("t")),
        ),
        (
            "create or replace temporary table `a`.`b` select 1",
            Holding::CreatesTable(table("a.b")),
        ),
        (
            "CREATE TEMPORARY TABLE IF NOT EXISTS a.t LIKE u",
            Holding::CreatesTable(table("a.t")),
        ),
        ("DROP TABLE t", drops(&["t"])),
        (
            "DROP TEMPORARY TABLE IF EXISTS t, a.u CASCADE;",
            drops(&["t", "a.u"]),
        ),
        ("HANDLER t OPEN", Holding::OpensHandler(b"t"[..].into())),
        (
            "HANDLER a.t OPEN AS h",
            Holding::OpensHandler(b"h"[..].into()),
        ),
        ("HANDLER h READ FIRST", Holding::ReadsHandler),
        ("HANDLER h CLOSE", Holding::ClosesHandler(b"h"[..].into())),
        ("SELECT GET_LOCK('a', 1)", Holding::GetsLock),
        ("select get_lock(concat_ws, 1) as got", Holding::GetsLock),
        ("SELECT GET_LOCK('1357', 0) LIMIT 1", Holding::GetsLock),
        (
            "SELECT GET_LOCK(SUBSTRING(CONCAT('a', 'b'), 1, 64), 0), 'prefix'",
            Holding::GetsLock,
        ),
        (
            "SELECT IF(GET_LOCK('a',5),UNIX_TIMESTAMP(SYSDATE(6)),NULL) AS acquired",
            Holding::GetsLockOrNull,
        ),
        (
            "SELECT RELEASE_LOCK('1357') AS v LIMIT 1",
            Holding::ReleasesLock,
        ),
        ("SELECT RELEASE_LOCK('a') 'freed'", Holding::ReleasesLock),
        ("DO RELEASE_ALL_LOCKS()", Holding::ReleasesAllLocks),
        ("SELECT RELEASE_ALL_LOCKS()", Holding::ReleasesAllLocks),
    ] {
        assert_eq!(holding(text.as_bytes(), &MARIADB), Some(expected), "{text}");
    }
}

#[test]
fn in_doubt_nothing_is_said() {
    for text in [
        "SELECT GET_LOCK('a', 1), GET_LOCK('b', 1)",
        "SELECT GET_LOCK(GET_LOCK('b', 1), 1)",
        "SELECT GET_LOCK(`get_lock`('b', 1), 1)",
        "SELECT GET_LOCK('a', 1), RELEASE_LOCK('b')",
        "SELECT GET_LOCK('a', 1), a FROM t",
        "SELECT IF(GET_LOCK('a', 1), 1, 0)",
        "SELECT IF(GET_LOCK('a', 1), `NULL`, NULL, 1)",
        "SELECT IF(GET_LOCK('a', 1), (GET_LOCK('b', 1)), NULL)",
        "SELECT IF(RELEASE_LOCK('a'), 1, NULL)",
        "SELECT IF(GET_LOCK('a', 1) = 0, 1, NULL)",
        "SELECT IF(GET_LOCK('a', 1), 1, NULL) FROM t",
        "SELECT GET_LOCK('a', 1) FROM t",
        "SELECT GET_LOCK('a', 1) + 1",
        "SELECT GET_LOCK('a', 1) LIMIT 0",
        "SELECT GET_LOCK('a', 1) LIMIT 1, 1",
        "SELECT 1; SELECT RELEASE_ALL_LOCKS()",
        "DO RELEASE_LOCK('a')",
        "CREATE TABLE t (a INT)",
        "DROP TABLE t; SELECT 1",
        "CREATE TEMPORARY SEQUENCE s",
        "SELECT GET_LOCK('a",
        "",
    ] {
        assert_eq!(holding(text.as_bytes(), &MARIADB), None, "{text}");
    }
}

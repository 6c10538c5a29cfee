//! What is taken hold of, and let go of.

use super::super::{Argument, Holding, TableName, holding, lock_call};
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
    ] {
        assert_eq!(holding(text.as_bytes(), &MARIADB), Some(expected), "{text}");
    }
}

/// What a call does, its arguments, what its answer tells, and its column: as short as it can be said.
fn told(text: &str) -> Option<String> {
    let call = lock_call(text.as_bytes(), &MARIADB)?;
    let argument = |argument: &Argument| match argument {
        Argument::Text(text) => format!("'{}'", text.escape_ascii()),
        Argument::Number(number) => number.to_string(),
        Argument::Negative => "-".to_owned(),
        Argument::Parameter(number) => format!("?{number}"),
        Argument::Other => "…".to_owned(),
    };
    let column = call.column.map_or(String::new(), |column| {
        format!(" {}", String::from_utf8(column.into()).unwrap())
    });
    let (name, timeout) = (argument(&call.name), argument(&call.timeout));
    Some(format!(
        "{:?} {name} {timeout} {:?}{column}",
        call.does, call.tells
    ))
}

#[test]
fn calls_of_locks_are_read_from_many_forms() {
    for (text, expected) in [
        ("SELECT GET_LOCK('a', 1)", "Gets 'a' 1 One GET_LOCK('a', 1)"),
        ("select get_lock(concat_ws, 1) as got", "Gets … 1 One got"),
        (
            "SELECT GET_LOCK('13', 0) LIMIT 1;",
            "Gets '13' 0 One GET_LOCK('13', 0)",
        ),
        (
            "SELECT GET_LOCK ('it''s\\n', -1) FROM DUAL",
            "Gets 'it\\'s\\n' - One GET_LOCK ('it''s\\n', -1)",
        ),
        ("SELECT GET_LOCK(?, 10)", "Gets ?0 10 One GET_LOCK(?, 10)"),
        ("SELECT GET_LOCK('?', ?) `a b`", "Gets '?' ?0 One a b"),
        ("SELECT GET_LOCK(?, ?)", "Gets ?0 ?1 One GET_LOCK(?, ?)"),
        (
            "SELECT GET_LOCK('a', 0.5)",
            "Gets 'a' … One GET_LOCK('a', 0.5)",
        ),
        (
            "SELECT GET_LOCK(_utf8'a', 1)",
            "Gets … 1 One GET_LOCK(_utf8'a', 1)",
        ),
        (
            "SELECT GET_LOCK(SUBSTRING(CONCAT(?, 'b'), 1, 64), ?) AS x",
            "Gets … ?1 One x",
        ),
        ("SELECT COALESCE(GET_LOCK('a', 1), 0) got", "Gets 'a' 1 One"),
        ("SELECT IFNULL(RELEASE_LOCK('a'), 0)", "Releases 'a' … One"),
        ("SELECT RELEASE_LOCK('a') = 1", "Releases 'a' … One"),
        ("SELECT IF(GET_LOCK('a', 1), 1, 0)", "Gets 'a' 1 One"),
        (
            "SELECT IF(GET_LOCK('a', 1), 'x', NULL)",
            "Gets 'a' 1 NotNull",
        ),
        (
            "SELECT IF(GET_LOCK('a',5),UNIX_TIMESTAMP(SYSDATE(6)),NULL) AS acquired",
            "Gets 'a' 5 NotNull",
        ),
        (
            "SELECT RELEASE_LOCK('13') AS v LIMIT 1",
            "Releases '13' … One v",
        ),
        (
            "SELECT RELEASE_LOCK('a') 'freed' FROM dual",
            "Releases 'a' … One freed",
        ),
        ("DO RELEASE_LOCK('a')", "Releases 'a' … Nothing"),
        ("DO GET_LOCK('a', 10)", "Gets 'a' 10 Nothing"),
        ("DO RELEASE_ALL_LOCKS()", "ReleasesAll … … Nothing"),
        (
            "SELECT RELEASE_ALL_LOCKS()",
            "ReleasesAll … … Nothing RELEASE_ALL_LOCKS()",
        ),
    ] {
        assert_eq!(told(text).as_deref(), Some(expected), "{text}");
        let holding = holding(text.as_bytes(), &MARIADB);
        assert!(matches!(holding, Some(Holding::Lock(_))), "{text}");
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
        "SELECT IF(GET_LOCK('a', 1), `NULL`, NULL, 1)",
        "SELECT IF(GET_LOCK('a', 1), (GET_LOCK('b', 1)), NULL)",
        "SELECT IF(GET_LOCK('a', 1) = 0, 1, NULL)",
        "SELECT IF(GET_LOCK('a', 1), 1, NULL) FROM t",
        "SELECT GET_LOCK('a', 1) FROM t",
        "SELECT GET_LOCK('a', 1) + 1",
        "SELECT GET_LOCK('a', 1) = 0",
        "SELECT -GET_LOCK('a', 1)",
        "SELECT NOT GET_LOCK('a', 1)",
        "SELECT COALESCE(GET_LOCK('a', 1), 1)",
        "SELECT IF(GET_LOCK('a', 1), NULLIF(1, 1), NULL)",
        "SELECT IF(GET_LOCK('a', 1), 0, 1)",
        "SELECT IF(GET_LOCK('a', 1), 5, NULL) IS TRUE",
        "SELECT CAST(GET_LOCK('a', 1) AS SIGNED)",
        "SELECT (GET_LOCK('a', 1))",
        "SELECT 1 = GET_LOCK('a', 1)",
        "SELECT GET_LOCK('a', 1) IS TRUE",
        "SELECT GET_LOCK('a', 1), 1",
        "DO IF(GET_LOCK('a', 1), 1, 0)",
        "SELECT GET_LOCK('a', 1) INTO @x",
        "SELECT GET_LOCK('a', 1) UNION SELECT 1",
        "DO GET_LOCK('a', 1), RELEASE_LOCK('a')",
        "DO RELEASE_LOCK('a'); SELECT 1",
        "SELECT GET_LOCK('a', 1) LIMIT 0",
        "SELECT GET_LOCK('a', 1) LIMIT 1, 1",
        "SELECT 1; SELECT RELEASE_ALL_LOCKS()",
        "CREATE TABLE t (a INT)",
        "DROP TABLE t; SELECT 1",
        "CREATE TEMPORARY SEQUENCE s",
        "SELECT GET_LOCK('a",
        "",
    ] {
        assert_eq!(holding(text.as_bytes(), &MARIADB), None, "{text}");
    }
}

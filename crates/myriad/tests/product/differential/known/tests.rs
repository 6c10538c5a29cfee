use super::*;
use crate::support::differences;

#[test]
fn what_is_known_to_differ_is_told_to_users() {
    let differences = differences();
    for (words, _) in KNOWN {
        assert!(differences.contains(words), "{words}");
    }
}

fn is_known(session: &str, direct: &str, through: &str) -> bool {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (session, direct, through) = (lines(session), lines(direct), lines(through));
    let before = vec![vec!["Ok".to_owned()]; session.len() - 1];
    let case = Case {
        lines: &session,
        direct: &direct,
        through: &through,
        before: &before,
    };
    case.known().is_some()
}

#[test]
fn a_difference_is_known_only_where_it_is_said_to_be() {
    let column = |length: u8, kind: u8| {
        format!(
            r"Column #2 [9] \x03def\x0c?\x00\x{length:02x}\x00\x00\x00\x{kind:02x}\x80\x00\'\x00\x00"
        )
    };
    let rows = |length, kind, value| format!("{}\nRow {value}", column(length, kind));
    assert!(is_known("x\nSELECT @a", &rows(1, 2, 3), &rows(9, 2, 3)));
    assert!(!is_known("x\nSELECT @a", &rows(1, 2, 3), &rows(9, 2, 4)));
    assert!(is_known("x\nSELECT @a", &rows(1, 2, 3), &rows(1, 4, 3)));
    assert!(!is_known("x\nSELECT a", &rows(1, 2, 3), &rows(9, 2, 3)));
    let tracks = |lines: &str| format!("\\login +SESSION_TRACK,-DEPRECATE_EOF 45 -\n{lines}");
    let prepared = tracks("\\prepare p DO 1\n\\cursor p\nSET a = 1");
    let told = r#"Ok #1 OkPacket { 0 } ["USE d", "a=1"]"#;
    assert!(is_known(&prepared, told, r#"Ok #1 OkPacket { 0 } ["a=1"]"#));
    assert!(!is_known(
        &prepared,
        told,
        r#"Ok #1 OkPacket { 0 } ["a=2"]"#
    ));
    assert!(!is_known(
        &tracks("DO 2\nSET a = 1"),
        told,
        r#"Ok #1 OkPacket { 0 } ["a=1"]"#
    ));
    let names = "x\nSET CHARACTER SET latin1\nSET NAMES utf8mb4";
    let told = |rest: &str| format!(r#"Ok #1 OkPacket {{ 0 }} ["a=1", {rest}"b=2"]"#);
    let direct = told(r#""character_set_connection=utf8mb4", "#);
    let known = is_known(names, &direct, &told(""));
    assert_eq!(known, !Server::chosen().tells_flags());
    assert!(!is_known(names, &direct, &told(r#""c=3", "#)));
    let gone = [
        "Err #1 [9] #42S02Table d.t",
        "Err #1 [9] #42000Unknown database d",
    ];
    assert!(is_known(
        "x\nDROP DATABASE d\n\\execute p",
        gone[0],
        gone[1]
    ));
    assert!(!is_known("x\n\\execute p", gone[0], gone[1]));
    let (direct, through) = ("Err x at row 0", "Err x at row 1");
    assert!(is_known("x\nCALL p()", direct, through));
    assert!(!is_known("x\nCALL p()", direct, "Err y at row 0"));
    assert!(is_known("x\nCALL p(1)\nSHOW WARNINGS", direct, through));
    let known = is_known("x\nCALL p()\nSHOW WARNINGS", r"Row #3 [2] \x011", "End");
    assert_eq!(known, Server::is_mariadb());
    assert!(!is_known("x\nCALL p()\nSHOW WARNINGS", "Row 1", "Row 2"));
    assert!(!is_known("x\nSELECT 5\nSHOW WARNINGS", "Row 1", "Row 2"));
    assert!(!is_known("x\nCALL p()\nSELECT 5", "Row 1", "Row 2"));
    let asks = |write: &str| format!("x\n{write}\nSELECT FOUND_ROWS()");
    let reads = asks("UPDATE t SET a = (SELECT 1)");
    assert!(is_known(&reads, r"Row #3 [2] \x011", r"Row #3 [2] \x013"));
    let plain = asks("INSERT INTO c VALUES (1)");
    assert!(!is_known(&plain, r"Row #3 [2] \x011", r"Row #3 [2] \x013"));
    let asks = &asks("DO 1");
    // On MySQL DO may change it.
    assert!(is_known(asks, r"Row #3 [2] \x010", r"Row #3 [2] \x011"));
    let known = is_known(asks, r"Row #3 [2] \x011", r"Row #3 [2] \x010");
    assert_eq!(known, !Server::is_mariadb());
}

#[test]
fn the_number_of_rows_of_a_call_is_known_also_if_it_was_prepared() {
    let [one, none] = [1, 0].map(|rows| format!(r"Ok #1 [7] \x00\x{rows:02x}\x00"));
    let session = |line: &str| format!("x\n\\prepare p {line}\nDO 1\n\\execute p i8:5");
    let known = is_known(&session("CALL gives(?, ?, ?)"), &one, &none);
    assert_eq!(known, !Server::is_mariadb());
    assert!(!is_known(&session("UPDATE t SET n = ?"), &one, &none));
}

#[test]
fn what_lock_tables_locks_is_known_only_on_mysql_also_in_procedures() {
    let row = r"Row #3 [2] \x011";
    let [read, none] = [
        "was locked with a READ lock",
        "was not locked with LOCK TABLES",
    ]
    .map(|words| format!("{row}\nErr #5 [67] Table 'u' {words}"));
    let locked = "x\nLOCK TABLES t WRITE\nCALL fails()";
    assert_eq!(is_known(locked, &read, &none), !Server::is_mariadb());
    assert_eq!(is_known(locked, &none, &read), !Server::is_mariadb());
    let anew = "x\n\\reset_connection\nLOCK TABLES t WRITE\nCALL fails()";
    assert_eq!(is_known(anew, &none, &read), !Server::is_mariadb());
    assert!(!is_known("x\nCALL fails()", &read, &none));
    let [quoted, plain] = ["`u`", "u"].map(|name| format!("Err #1 [9] #23000Cannot {name}"));
    let set = "x\nSET sql_quote_show_create = 0\nDELETE FROM t";
    assert_eq!(is_known(set, &quoted, &plain), !Server::is_mariadb());
    assert!(!is_known("x\nDELETE FROM t", &quoted, &plain));
}

#[test]
fn what_is_set_without_a_scope_may_be_told_only_on_mariadb() {
    let session = |set: &str| format!("\\login +SESSION_TRACK 45 $s\n{set}");
    let set = session("SET a = '', @@b = 1; SELECT 1");
    let (untold, told) = ("Ok #1 [7] 0", "Ok #1 OkPacket { 0 } [\"b=1\"]");
    assert_eq!(is_known(&set, untold, told), Server::is_mariadb());
    assert!(!is_known(&set, untold, "Err #1 [7] 0"));
    assert!(!is_known(&session("SET @@session.b = 1"), untold, told));
}

#[test]
fn what_is_told_of_keys_and_of_types_is_known_only_on_mysql() {
    let foreign = r"Err #1 [9] \xff\xac\x05#23000Cannot add or update a child row";
    let unique = r"Err #1 [9] \xff&\x04#23000Duplicate entry";
    let insert = "x\nINSERT INTO u VALUES (1, 999)";
    assert_eq!(is_known(insert, foreign, unique), !Server::is_mariadb());
    assert!(!is_known(insert, unique, foreign));
    let anew = format!("x\n\\reset_connection\n{}", insert.lines().last().unwrap());
    assert_eq!(is_known(&anew, unique, foreign), !Server::is_mariadb());
    assert!(!is_known(insert, foreign, "Ok #1"));
    let column = |kind: u8| {
        format!(r"Column #2 [9] \x03def\x0c?\x00\x01\x00\x00\x00\x{kind:02x}\x80\x00\'\x00\x00")
    };
    let told = |kind, row: &str| format!("{}\nRow #3 [2] {row}", column(kind));
    let session = "x\n\\prepare p SELECT @a\nSET @a = 1\n\\execute p";
    let known = is_known(session, &told(0xfa, r"\x011"), &told(8, r"\x01"));
    assert_eq!(known, !Server::is_mariadb());
    assert!(!is_known(session, &told(8, r"\x011"), &told(8, r"\x01")));
    let unset = "x\n\\prepare p SELECT @a\n\\execute p";
    assert!(!is_known(unset, &told(0xfa, r"\x011"), &told(8, r"\x01")));
}

#[test]
fn an_unsaid_transaction_is_known_only_behind_columns_and_before_an_err() {
    let answer = |status: u8, last: &str| {
        format!("ColumnsEnd #3 [5] \\xfe\\x00\\x00\\x{status:02x}\\x00\n{last}")
    };
    let off = "x\nSET autocommit = 0\nSELECT f()";
    let (err, row) = ("Err #4 [47] e", "Row #4 [2] r");
    assert!(is_known(off, &answer(1, err), &answer(0, err)));
    assert!(!is_known(off, &answer(1, row), &answer(0, row)));
    assert!(!is_known(off, &answer(0, err), &answer(1, err)));
    assert!(!is_known("x\nSELECT f()", &answer(1, err), &answer(0, err)));
}

#[test]
fn what_tells_of_engines_variables_and_counts_is_known_only_on_its_server() {
    let mixed = r"Row #3 [9] \x07Warning\x046414\xa9Combining";
    let end = "RowsEnd #4 [7] e";
    let ok = |affected: u8, warnings: u8| {
        format!(
            r"Ok #1 [8] \x00\x{affected:02x}\x00\x02\x00\x{warnings:02x}\x00( Warnings: {warnings}"
        )
    };
    let after = "x\nDELETE FROM m\nUPDATE t SET n = 1";
    let shown = is_known(
        "x\nDELETE FROM m\nSHOW WARNINGS",
        &format!("{mixed}\n{end}"),
        end,
    );
    assert_eq!(shown, !Server::is_mariadb());
    assert_eq!(is_known(after, &ok(2, 1), &ok(2, 0)), !Server::is_mariadb());
    assert!(!is_known(after, &ok(2, 2), &ok(2, 0)));
    let of_another = is_known("x\nUPDATE t SET n = 1", &ok(2, 0), &ok(2, 1));
    assert_eq!(of_another, !Server::is_mariadb());
    assert!(!is_known("x\nSELECT 1", &ok(2, 0), &ok(2, 1)));
    assert!(!is_known("x\nUPDATE t SET n = 1", &ok(2, 0), &ok(2, 2)));
    assert!(!is_known(after, &ok(3, 1), &ok(2, 0)));
    assert!(!is_known("x\nUPDATE t SET n = 1", &ok(2, 1), &ok(2, 0)));
    assert!(!is_known(
        "x\nSET max = 1\nUPDATE t SET n = 1",
        &ok(2, 1),
        &ok(2, 0)
    ));
    let shown = ["6414", "6415"].map(|code| mixed.replace("6414", code));
    assert!(!is_known(
        "x\nDELETE FROM m\nSHOW WARNINGS",
        &shown[0],
        &shown[1]
    ));
    let collation = "x\nSELECT @a := n FROM t WHERE 0\nSELECT COLLATION(@a)";
    let (own, binary) = ("Row #3 [4] own", "Row #3 [7] binary");
    assert_eq!(is_known(collation, own, binary), !Server::is_mariadb());
    assert!(!is_known("x\nSELECT @a\nSELECT COLLATION(@a)", own, binary));
    let double = r"Row #5 [9] \x041292%Truncated incorrect DOUBLE value: \'x\'";
    let integer = r"Row #5 [9] \x041292&Truncated incorrect INTEGER value: \'x\'";
    let altered =
        |line: &str| format!("x\n\\prepare p DO ?\n{line}\n\\execute p s:x\nSHOW WARNINGS");
    let known = is_known(&altered("ALTER TABLE t MODIFY n INT"), double, integer);
    assert_eq!(known, !Server::is_mariadb());
    assert!(!is_known(
        &altered("ALTER TABLE t MODIFY n INT"),
        integer,
        double
    ));
    assert!(!is_known(&altered("DO 1"), double, integer));
    let count = "x\nSET max_error_count = 0\n\\reset_connection\nSELECT @@warning_count";
    let (one, none) = (r"Row #3 [2] \x011", r"Row #3 [2] \x010");
    assert_eq!(is_known(count, one, none), Server::is_mariadb());
}

#[test]
fn what_is_null_finds_is_known_only_of_ids_from_before_it_looked() {
    let finds = |lines: &str| {
        is_known(
            &format!("x\n{lines}SELECT * FROM c WHERE id IS NULL"),
            "Row 1",
            "End",
        )
    };
    let (on, insert) = ("SET sql_auto_is_null = 1\n", "INSERT INTO c () VALUES ()\n");
    assert_eq!(finds(&[insert, on].concat()), Server::is_mariadb());
    assert_eq!(
        finds(&[on, "SELECT LAST_INSERT_ID(7)\n"].concat()),
        Server::is_mariadb()
    );
    assert!(!finds(&[on, insert].concat()));
    assert!(!finds(&[on, insert, "SELECT LAST_INSERT_ID()\n"].concat()));
    assert!(!finds(insert));
}

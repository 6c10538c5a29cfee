//! What a session can ask of the conditions of its last statement by GET DIAGNOSTICS: in the transaction of that statement,
//! as the server tells it; elsewhere it is refused. SHOW WARNINGS and its like are told anywhere.

use crate::session_state::{compare, pinned};
use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, Server};

const STATE: &str = "GET DIAGNOSTICS CONDITION 1 @s = RETURNED_SQLSTATE, @m = MESSAGE_TEXT, \
                     @e = MYSQL_ERRNO, @c = CLASS_ORIGIN, @u = SUBCLASS_ORIGIN, @t = TABLE_NAME";
const COUNTS: &str = "GET CURRENT DIAGNOSTICS @n = NUMBER";
const TOLD: &str = "SELECT @n, @r, @s, @m, @e, @c, @u, @t, @k";

#[test]
fn conditions_are_told_in_the_transaction_of_their_statement() {
    let scripts: &[(&str, &[&str])] = &[
        (
            "errors",
            &[
                "SELECT 1 / 0",
                "BEGIN",
                "SELECT * FROM nowhere",
                STATE,
                TOLD,
                "SELECT COLLATION(@m), COLLATION(@e), COERCIBILITY(@s), LENGTH(@t)",
                "INSERT INTO t VALUES (1, 'again')",
                "GET DIAGNOSTICS CONDITION 1 @s = RETURNED_SQLSTATE, @s = MYSQL_ERRNO",
                "SELECT @s",
                "INSERT INTO t VALUES (4, 'far too long for this column')",
                STATE,
                TOLD,
                "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'loud', TABLE_NAME = 't'",
                STATE,
                "SHOW WARNINGS",
                TOLD,
                "COMMIT",
                TOLD,
            ],
        ),
        (
            "warnings",
            &[
                "SET @k = 1, @n = 0, @r = 0, @m = '', @e = 0, @c = '', @u = '', @t = ''",
                "BEGIN",
                "INSERT IGNORE INTO t VALUES (1, 'again'), (5, 'far too long for this column')",
                COUNTS,
                STATE,
                TOLD,
                "GET DIAGNOSTICS CONDITION 2 @s = RETURNED_SQLSTATE, @m = MESSAGE_TEXT",
                "GET DIAGNOSTICS CONDITION 3 @s = RETURNED_SQLSTATE, @m = MESSAGE_TEXT",
                "SHOW WARNINGS",
                "GET DIAGNOSTICS CONDITION @k @s = RETURNED_SQLSTATE, @k = MYSQL_ERRNO",
                TOLD,
                "GET DIAGNOSTICS nothing = NUMBER",
                "GET STACKED DIAGNOSTICS @n = NUMBER",
                "RESIGNAL",
                "SHOW WARNINGS",
                "ROLLBACK",
            ],
        ),
        (
            "rows",
            &[
                "SET autocommit = 0",
                "UPDATE t SET a = 'more' WHERE id < 4",
                "GET DIAGNOSTICS @n = NUMBER, @r = ROW_COUNT",
                TOLD,
                "SELECT id FROM t WHERE id < 4",
                "GET DIAGNOSTICS @r = ROW_COUNT, @n = NUMBER",
                TOLD,
                "ROLLBACK",
            ],
        ),
    ];
    for (name, script) in scripts {
        let (door, _clients) = compare(&format!("carried_{name}"), &[*script]);
        assert_eq!(pinned(&door, "user_variable"), 0);
    }
}

#[test]
fn a_pinned_session_is_told_of_its_conditions() {
    let script = &[
        "CREATE TEMPORARY TABLE held (a TINYINT)",
        "INSERT IGNORE INTO held VALUES (1000), (2000)",
        COUNTS,
        STATE,
        TOLD,
        "SELECT * FROM nowhere",
        STATE,
        TOLD,
    ];
    let (door, _clients) = compare("carried_pinned", &[&script[..]]);
    assert_eq!(pinned(&door, "temporary_table"), 1);
}

#[test]
fn conditions_are_not_told_outside_of_the_transaction() {
    let database = Database::shared();
    database.schema("conditions_refused");
    database.execute("CREATE TABLE conditions_refused.t (a TINYINT)");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut client = Client::new(&door.address(), "conditions_refused");
    let mut other = Client::new(&door.address(), "conditions_refused");
    for gets in [COUNTS, STATE, "get diagnostics @r = row_count"] {
        for before in [
            &["SELECT * FROM nowhere"][..],
            &["INSERT IGNORE INTO t VALUES (1000)"],
            &["DO 1"],
            &["SELECT * FROM nowhere", "BEGIN"],
            &["BEGIN", "SELECT * FROM nowhere", "ROLLBACK"],
        ] {
            if before.last() == Some(&"BEGIN") && !Server::is_mariadb() {
                // There it is the statement that they are about.
                continue;
            }
            before.iter().for_each(|text| drop(client.run(text)));
            let told = client.run(gets);
            let [Outcome::Err(1235, words)] = &told[..] else {
                panic!("{before:?}, {gets}: {told:?}");
            };
            assert!(words.contains("transaction"), "{words}");
            client.run("ROLLBACK");
            // Whoever has the connection next is told nothing of that.
            assert_eq!(other.run("SHOW WARNINGS"), [Outcome::Rows(Vec::new())]);
        }
    }
    client.run("SELECT * FROM nowhere");
    let Some(Outcome::Rows(shown)) = client.run("SHOW WARNINGS").pop() else {
        panic!("no list");
    };
    assert_eq!(shown[0][1], "1146");
    assert_eq!(
        client.value("SELECT @n IS NULL AND @r IS NULL AND @s IS NULL"),
        "1"
    );
    assert_eq!(pinned(&door, "user_variable"), 0);
}

/// Variables that were set here must be brought to the backend that has the conditions, where they would be lost.
#[test]
fn conditions_outlast_what_is_brought_to_their_backend() {
    let script = &[
        "SET @m = '', @n = 0",
        "BEGIN",
        "INSERT INTO t VALUES (1, 'again')",
        "GET DIAGNOSTICS CONDITION 1 @m = MESSAGE_TEXT, @n = MYSQL_ERRNO",
        "SELECT @m, @n",
        "INSERT INTO t VALUES (1, 'again')",
        "SHOW WARNINGS",
        "ROLLBACK",
    ];
    compare("carried_brought", &[&script[..]]);
}

#[test]
fn what_a_condition_is_put_into_is_not_left_to_others() {
    let database = Database::shared();
    database.schema("conditions_left");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let [mut own, mut other] = [(); 2].map(|()| Client::new(&door.address(), "conditions_left"));
    own.run("BEGIN");
    own.run("SET @a = 'left'");
    own.run("GET DIAGNOSTICS @a = NUMBER");
    own.run("COMMIT");
    assert_eq!(other.value("SELECT COALESCE(@a, 'nothing')"), "nothing");
    assert_eq!(own.value("SELECT @a"), "0");
}

/// What EXECUTE IMMEDIATE has emptied is not told from what was known before.
#[test]
fn what_a_text_runs_unseen_empties_the_list() {
    if Server::is_mariadb() {
        let script = &[
            "INSERT IGNORE INTO t VALUES (1, 'again')",
            "EXECUTE IMMEDIATE 'UPDATE t SET a = 1 WHERE id = 1'",
            "SHOW WARNINGS",
        ];
        let (_door, _clients) = compare("carried_immediate", &[&script[..]]);
    }
}

#[test]
fn long_lists_of_conditions_are_told_as_far_as_they_are_kept() {
    let database = Database::shared();
    database.schema("long_lists");
    database.execute("CREATE TABLE long_lists.narrow (a TINYINT)");
    let door = FrontDoor::start(database.address(), &[]);
    let listed = |address: &Address, rows: u32| {
        let login = Login {
            user: "admin",
            password: "all",
            ..Login::to("long_lists")
        };
        let mut client = Client::login(address, &login).unwrap();
        client.run("SET max_error_count = 65535, sql_mode = ''");
        client.run(&format!(
            "INSERT INTO narrow SELECT seq + 1000 FROM shop.seq_1_to_{rows}"
        ));
        match client.run("SHOW WARNINGS").pop() {
            Some(Outcome::Rows(rows)) => rows,
            other => panic!("{other:?}"),
        }
    };
    let cut = || door.metric("myriad_conditions_cut_total");
    let direct = listed(database.address(), 3_000);
    assert_eq!(direct.len(), 3_000);
    assert_eq!(listed(&door.address(), 1_000)[..], direct[..1_000]);
    assert_eq!(cut(), 0);
    let through = listed(&door.address(), 70_000);
    assert!(
        (3_000..10_000).contains(&through.len()),
        "{}",
        through.len()
    );
    assert_eq!(through[..3_000], direct);
    assert_eq!(cut(), 1);
}

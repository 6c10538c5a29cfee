//! What a session can ask of the conditions of its last statement, by GET DIAGNOSTICS: told wherever it runs, as
//! the server tells it.

use session::sqlstate;
use session::statement::Flavor;

use crate::session_state::{Scripts, compare, pinned};
use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, Server};

const STATE: &str = "GET DIAGNOSTICS CONDITION 1 @s = RETURNED_SQLSTATE, @m = MESSAGE_TEXT, \
                     @e = MYSQL_ERRNO, @c = CLASS_ORIGIN, @u = SUBCLASS_ORIGIN, @t = TABLE_NAME";
const COUNTS: &str = "GET CURRENT DIAGNOSTICS @n = NUMBER, @r = ROW_COUNT";
const TOLD: &str = "SELECT @n, @r, @s, @m, @e, @c, @u, @t, @k";

/// What sessions do at the same time.
const SCRIPTS: Scripts<'_> = &[
    &[
        "SELECT * FROM nowhere",
        STATE,
        TOLD,
        "SELECT COLLATION(@m), COLLATION(@e), COERCIBILITY(@s), LENGTH(@t)",
        "CREATE TABLE kept AS SELECT @e AS e, @m AS m, @n AS n, @r AS r",
        "SHOW CREATE TABLE kept",
        "INSERT INTO t VALUES (1, 'again')",
        "GET DIAGNOSTICS CONDITION 1 @s = RETURNED_SQLSTATE, @s = MYSQL_ERRNO",
        "SELECT @s, ROW_COUNT()",
        "XA COMMIT 'nobody'",
        STATE,
        TOLD,
        "INSERT INTO t VALUES (4, 'far too long for this column')",
        STATE,
        TOLD,
    ],
    &[
        "INSERT IGNORE INTO t VALUES (1, 'again'), (5, 'far too long for this column')",
        COUNTS,
        STATE,
        TOLD,
        "GET DIAGNOSTICS CONDITION 2 @s = RETURNED_SQLSTATE, @m = MESSAGE_TEXT",
        TOLD,
        "GET DIAGNOSTICS CONDITION 3 @s = RETURNED_SQLSTATE, @m = MESSAGE_TEXT",
        TOLD,
        "SHOW WARNINGS",
        "GET DIAGNOSTICS CONDITION NULL @s = RETURNED_SQLSTATE",
        COUNTS,
        "SHOW COUNT(*) ERRORS",
        TOLD,
        "SHOW WARNINGS",
    ],
    &[
        "UPDATE t SET a = 'more' WHERE id < 4",
        COUNTS,
        TOLD,
        COUNTS,
        TOLD,
        "SELECT id FROM t WHERE id < 4",
        COUNTS,
        TOLD,
        "GET DIAGNOSTICS CONDITION 1 @s = RETURNED_SQLSTATE",
        "SHOW WARNINGS",
        "SELECT 1 / 0, CAST('x' AS SIGNED)",
        "GET DIAGNOSTICS CONDITION '2' @s = RETURNED_SQLSTATE, @m = MESSAGE_TEXT",
        "GET DIAGNOSTICS nothing = NUMBER",
        "SHOW WARNINGS",
        "SELEC",
        STATE,
        TOLD,
    ],
    &[
        "SET @k = 1, @n = 0, @r = 0, @m = '', @e = 0, @c = '', @u = '', @t = ''",
        "DROP TABLE IF EXISTS nowhere",
        "GET DIAGNOSTICS CONDITION @k @s = RETURNED_SQLSTATE, @k = MYSQL_ERRNO",
        "SELECT @s, @k",
        "DROP TABLE IF EXISTS nowhere",
        "GET STACKED DIAGNOSTICS @n = NUMBER",
        "SHOW WARNINGS",
        "RESIGNAL",
        "SHOW WARNINGS",
        "SELECT @@error_count",
        "DROP TABLE IF EXISTS nowhere",
        "GET DIAGNOSTICS CONDITION 1 @s = MESSAGE_TEXT, @n = NUMBER",
        "SHOW WARNINGS",
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'loud'",
        STATE,
        TOLD,
        "SIGNAL SQLSTATE '01000' SET MYSQL_ERRNO = 1146, TABLE_NAME = 't'",
        STATE,
        "SHOW WARNINGS",
        TOLD,
    ],
];

/// Conditions are told as the server tells them, wherever the session runs: the values with their types, and
/// what GET DIAGNOSTICS itself adds.
#[test]
fn conditions_follow_their_session() {
    let (door, _clients) = compare("carried_conditions", SCRIPTS);
    assert_eq!(pinned(&door, "user_variable"), 0);
}

#[test]
fn conditions_are_told_in_transactions() {
    const STATE: &str = "GET DIAGNOSTICS CONDITION 1 @s = RETURNED_SQLSTATE, @m = MESSAGE_TEXT";
    compare(
        "carried_within",
        &[&[
            "SELECT 1 / 0",
            "BEGIN",
            "SELECT @s := 'x', @e := 1.5",
            "SELECT * FROM nowhere",
            STATE,
            "SELECT @n, @r, @s, @m, @e",
            "UPDATE t SET a = 'most' WHERE id < 4",
            "GET DIAGNOSTICS @n = NUMBER, @r = ROW_COUNT",
            "SELECT @n := 7",
            "GET DIAGNOSTICS @r = ROW_COUNT, @n = NUMBER",
            "COMMIT",
            "SELECT @n, @r, @s, @m, @e",
            "SET NAMES latin1",
            "SELECT * FROM nowhere",
            STATE,
            "SELECT HEX(@m), COLLATION(@m)",
        ]],
    );
}

/// Variables that were set here must be brought to the backend that has the conditions, where they would be lost.
#[test]
fn conditions_outlast_what_is_brought_to_their_backend() {
    let script = &[
        "SET @r = 0, @m = '', @n = 0",
        "BEGIN",
        "INSERT INTO t VALUES (1, 'again')",
        "GET DIAGNOSTICS @r = ROW_COUNT",
        "GET DIAGNOSTICS CONDITION 1 @m = MESSAGE_TEXT, @n = MYSQL_ERRNO",
        "SELECT @r, @m, @n",
        "INSERT INTO t VALUES (1, 'again')",
        "GET DIAGNOSTICS @r = ROW_COUNT",
        "SHOW WARNINGS",
        "ROLLBACK",
    ];
    compare("carried_brought", &[&script[..]]);
}

/// A variable that the front door has set is another on the backend, and that is left to nobody.
#[test]
fn what_a_condition_has_replaced_is_not_left_to_others() {
    let database = Database::shared();
    database.schema("conditions_left");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let [mut own, mut other] = [(); 2].map(|()| Client::new(&door.address(), "conditions_left"));
    own.run("BEGIN");
    own.run("SET @a = 'left'");
    own.run("GET DIAGNOSTICS @a = ROW_COUNT");
    own.run("COMMIT");
    assert_eq!(other.value("SELECT COALESCE(@a, 'nothing')"), "nothing");
    assert_eq!(own.value("SELECT @a"), "0");
    own.run("GET DIAGNOSTICS @a = ROW_COUNT");
    assert_eq!(other.value("SELECT COALESCE(@a, 'nothing')"), "nothing");
    assert_eq!(own.value("SELECT @a"), "-1");
}

/// A ROLLBACK keeps the list on MariaDB; what the error said besides its row in it is kept with it.
#[test]
fn what_gave_a_condition_is_kept_as_long_as_the_condition() {
    let script = &[
        "BEGIN",
        "INSERT INTO t VALUES (1, 'again')",
        "ROLLBACK",
        "GET DIAGNOSTICS CONDITION 1 @s = RETURNED_SQLSTATE, @e = MYSQL_ERRNO",
        "SELECT @s, @e",
        "BEGIN",
        "SIGNAL SQLSTATE '45001' SET MESSAGE_TEXT = 'loud', MYSQL_ERRNO = 1062",
        "ROLLBACK",
        "GET DIAGNOSTICS CONDITION 1 @s = RETURNED_SQLSTATE, @e = MYSQL_ERRNO",
        "SELECT @s, @e",
    ];
    compare("carried_source", &[&script[..]]);
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

/// The numbers and SQLSTATEs of all conditions that the server knows; `None` where there is no list.
fn states(database: &Database) -> Option<Vec<(u16, String)>> {
    let list = match Server::is_mariadb() {
        true => std::fs::read_to_string(Server::chosen().states()?).unwrap(),
        false => database.execute(
            "SELECT ERROR_NUMBER, SQL_STATE FROM performance_schema.events_errors_summary_global_by_error",
        ),
    };
    let line = |line: &str| {
        let (number, state) = line.split_once(['\t', ' '])?;
        Some((number.parse().ok()?, state.to_owned()))
    };
    Some(list.lines().filter_map(line).collect())
}

#[test]
fn conditions_have_the_states_that_the_server_gives_them() {
    let flavor = match Server::is_mariadb() {
        true => Flavor::MariaDb,
        false => Flavor::MySql,
    };
    let Some(states) = states(&Database::shared()) else {
        println!("left out: no list of the server's errors; run scripts/setup clients");
        return;
    };
    assert!(states.len() > 1_000, "{}", states.len());
    for (code, state) in states {
        let known = sqlstate(code, flavor);
        assert_eq!(String::from_utf8_lossy(&known), state, "{code}");
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

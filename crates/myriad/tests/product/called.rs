//! Routines that call others, functions in all places of a statement, and CALLs that are prepared, in a transaction or
//! one of several statements: as long as their bodies leave nothing behind unseen, nobody is pinned for them.

use crate::carried::Mover;
use crate::packets::shown;
use crate::session_state::{Scripts, compare, pinned};
use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, eventually};

/// By the account that is to see the bodies.
const ROUTINES: [&str; 8] = [
    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT)",
    "INSERT INTO t VALUES (1, 10), (2, 20)",
    "CREATE PROCEDURE gives(i INT, OUT o INT, INOUT io INT) BEGIN SET o = i * 2, io = io + i; END",
    "CREATE FUNCTION finds(i INT) RETURNS INT READS SQL DATA BEGIN DECLARE r INT DEFAULT 0; \
     SELECT n INTO r FROM t WHERE id = i; RETURN r; END",
    "CREATE FUNCTION adds(i INT) RETURNS INT MODIFIES SQL DATA BEGIN \
     INSERT INTO t (n) VALUES (i); RETURN LAST_INSERT_ID(); END",
    "CREATE PROCEDURE keeps(i INT) SET @kept = i",
    "CREATE PROCEDURE nests(i INT, OUT o INT) BEGIN DECLARE io INT DEFAULT 1; CALL gives(i, o, io); \
     CALL keeps(io); SELECT finds(1), o; END",
    "CREATE PROCEDURE descends(i INT) IF i > 0 THEN SELECT i; CALL descends(i - 1); END IF",
];

const SCRIPTS: Scripts<'_> = &[
    &[
        "CREATE FUNCTION adds(i INT) RETURNS INT MODIFIES SQL DATA BEGIN \
         INSERT INTO audit (tag) VALUES ('of a function'); RETURN i + 1; END",
        "CREATE FUNCTION knows() RETURNS INT READS SQL DATA RETURN LAST_INSERT_ID()",
        "INSERT INTO audit (tag) VALUES ('own')",
        "SELECT id FROM t WHERE id < 3",
        "SELECT adds(1), knows()",
        "SELECT LAST_INSERT_ID(), FOUND_ROWS()",
        "UPDATE t SET a = knows() WHERE adds(id) < 3",
        "SELECT ROW_COUNT(), LAST_INSERT_ID()",
        "SET @sum = adds(5)",
        "SELECT @sum, a FROM t WHERE adds(id) = 2",
        "DO adds(1)",
        "SELECT adds('x')",
        "SHOW WARNINGS",
    ],
    &[
        "CREATE PROCEDURE inner_one(i INT, OUT o INT) BEGIN SET o = i + 1; SET @seen = i; END",
        "CREATE PROCEDURE outer_one(i INT) BEGIN DECLARE r INT; CALL inner_one(i, r); SELECT r, @seen; END",
        "CALL outer_one(4)",
        "SELECT @seen, FOUND_ROWS()",
        "CALL inner_one(1, @out); SELECT @out, @seen",
        "SET @out = 0; CALL inner_one(2, @out); SELECT '', @out",
        "BEGIN; UPDATE t SET a = 'mine' WHERE id = 3; CALL outer_one(7); ROLLBACK",
        "SELECT FOUND_ROWS(), @seen",
        "CALL nowhere()",
        "CALL outer_one(8); CALL nowhere(); SELECT 1",
        "SHOW ERRORS",
    ],
    &["SELECT @seen, @out, @sum, LAST_INSERT_ID()"; 14],
];

#[test]
fn routines_that_call_others_pin_nobody() {
    let (door, _clients) = compare("called_others", SCRIPTS);
    let reasons = ["call", "unknown_function", "user_variable"];
    assert_eq!(reasons.map(|reason| pinned(&door, reason)), [0; 3]);
}

/// Each statement prepared and executed by commands, on a connection of the database each.
#[test]
fn what_is_prepared_may_call() {
    const STATEMENTS: [&str; 9] = [
        "CALL gives(3, @o, @io)",
        "SELECT @o, @io",
        "CALL nests(4, @o)",
        "SELECT @o, @kept",
        "SELECT finds(2), adds(7) > 0",
        "UPDATE t SET n = finds(1) WHERE id = 2",
        "SELECT finds(2)",
        "INSERT INTO t (n) VALUES (finds(1))",
        "SELECT LAST_INSERT_ID() > 0, @kept",
    ];
    let told = |address: &Address, mut between: Box<dyn FnMut() + '_>| {
        let mut client = Client::new(address, "called_prepared");
        ROUTINES.iter().for_each(|text| succeeds(&mut client, text));
        STATEMENTS.map(|text| shown(&client.execute(text, &mut between)))
    };
    let database = Database::shared();
    database.schema("called_prepared");
    let direct = told(database.address(), Box::new(|| {}));
    database.schema("called_prepared");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
    let mut mover = Mover::new(&door, "called_prepared");
    let through = told(&door.address(), Box::new(|| mover.turn()));
    for ((text, direct), through) in STATEMENTS.iter().zip(direct).zip(through) {
        assert_eq!(through, direct, "{text}");
    }
    let reasons = ["call", "unknown_function", "user_variable"];
    assert_eq!(reasons.map(|reason| pinned(&door, reason)), [0; 3]);
}

/// What a routine is when a statement is prepared may be another thing when that is executed.
#[test]
fn a_routine_that_was_defined_anew_is_looked_at_again() {
    let database = Database::shared();
    database.schema("called_anew");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let mut client = Client::new(&door.address(), "called_anew");
    ROUTINES.iter().for_each(|text| succeeds(&mut client, text));
    client.execute("CALL nests(1, @o)", || {
        let mut other = Client::new(&door.address(), "called_anew");
        succeeds(&mut other, "DROP PROCEDURE keeps");
        let makes = "CREATE PROCEDURE keeps(i INT) CREATE TEMPORARY TABLE made (a INT)";
        succeeds(&mut other, makes);
    });
    assert_eq!(pinned(&door, "call"), 1);
    assert_eq!(client.value("SELECT COUNT(*) FROM made"), "0");
}

/// The server does not tell of what was set before a statement failed.
#[test]
fn what_a_routine_has_set_before_it_failed_stays_with_its_session() {
    let database = Database::shared();
    database.schema("called_failing");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let client = || Client::new(&door.address(), "called_failing");
    let mut first = client();
    ROUTINES.iter().for_each(|text| succeeds(&mut first, text));
    for text in [
        "CREATE PROCEDURE fails(i INT, OUT o INT) BEGIN SET div_precision_increment = i, o = i; \
         SIGNAL SQLSTATE '45000'; END",
        "CREATE PROCEDURE fails_alone(i INT, OUT o INT) BEGIN SET o = i; SIGNAL SQLSTATE '45000'; END",
        "CREATE PROCEDURE leads() CALL fails(7, @o)",
    ] {
        succeeds(&mut first, text);
    }
    // Who has set nothing goes on as before.
    fails(&mut first, "CALL fails_alone(1, @o)");
    assert_eq!(pinned(&door, "call"), 0);
    for (number, call) in ["CALL fails(6, @o)", "CALL leads()"]
        .into_iter()
        .enumerate()
    {
        let mut setting = client();
        fails(&mut setting, call);
        let ask = "SELECT @@div_precision_increment";
        assert_eq!(client().value(ask), "4");
        assert_eq!(setting.value(ask), ["6", "7"][number]);
        drop(setting);
        assert_eq!([client().value(ask), client().value(ask)], ["4", "4"]);
    }
    assert_eq!(pinned(&door, "call"), 2);
}

/// Also with a value that sessions began with before somebody changed the global one.
#[test]
fn what_a_routine_sets_to_a_former_global_value_stays_with_its_session() {
    let database = Database::private();
    database.schema("called_former");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let client = || Client::new(&door.address(), "called_former");
    let sets = "CREATE PROCEDURE sets() SET div_precision_increment = 4";
    succeeds(&mut client(), sets);
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::to("called_former")
    };
    let mut admin = Client::login(&door.address(), &login).unwrap();
    succeeds(&mut admin, "SET GLOBAL div_precision_increment = 7");
    let ask = "SELECT @@div_precision_increment";
    let mut setting = client();
    assert_eq!(setting.value(ask), "7");
    succeeds(&mut setting, "CALL sets()");
    let mut mover = Mover::new(&door, "called_former");
    for _ in 0..3 {
        mover.turn();
        assert_eq!(setting.value(ask), "4");
    }
    assert_eq!(client().value(ask), "7");
}

/// What a trigger leaves behind that fires for a routine is the session's, which keeps its connection.
#[test]
fn who_fires_what_leaves_something_behind_is_pinned() {
    let database = Database::shared();
    database.schema("called_firing");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
    let client = || Client::new(&door.address(), "called_firing");
    let mut first = client();
    for text in [
        "CREATE TABLE held (id INT PRIMARY KEY AUTO_INCREMENT)",
        "CREATE TRIGGER takes AFTER INSERT ON held FOR EACH ROW DO GET_LOCK('called_firing', 0)",
        "CREATE FUNCTION fills() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO held () VALUES (); RETURN 1; END",
        "CREATE PROCEDURE leads() SELECT fills()",
    ] {
        succeeds(&mut first, text);
    }
    let free = "SELECT IS_FREE_LOCK('called_firing')";
    for call in ["SELECT fills()", "CALL leads()", "DO fills()"] {
        let mut holder = client();
        holder.run(call);
        assert_eq!(first.value(free), "0", "{call}");
        drop(holder);
        eventually("the end of the lock", || {
            (first.value(free) == "1").then_some(())
        });
    }
    assert_eq!(pinned(&door, "stored_object"), 3);
}

/// The bodies are asked for within the transaction, which goes on as it was.
#[test]
fn the_first_call_of_a_transaction_pins_nobody() {
    let database = Database::shared();
    database.schema("called_within");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut client = Client::new(&door.address(), "called_within");
    ROUTINES.iter().for_each(|text| succeeds(&mut client, text));
    succeeds(&mut client, "SET max_sp_recursion_depth = 5");
    for begin in ["START TRANSACTION", "SET autocommit = 0"] {
        // They are to be asked for again.
        succeeds(&mut client, "DROP PROCEDURE keeps");
        succeeds(&mut client, ROUTINES[5]);
        succeeds(&mut client, begin);
        if begin == "START TRANSACTION" {
            succeeds(
                &mut client,
                "INSERT INTO t (id, n) VALUES (100, 1), (101, 1)",
            );
            assert!(matches!(
                client.run("SELECT no_column")[..],
                [Outcome::Err(1054, _)]
            ));
        }
        let nested = client.run("CALL nests(5, @o)");
        assert!(
            matches!(&nested[..], [Outcome::Rows(rows), Outcome::Ok(_)] if rows[0] == ["10", "10"])
        );
        client.run("CALL descends(2)");
        assert_eq!(client.value("SELECT finds(1)"), "10");
        succeeds(&mut client, "ROLLBACK");
        succeeds(&mut client, "SET autocommit = 1");
        assert_eq!(client.value("SELECT COUNT(*) FROM t WHERE id > 2"), "0");
    }
    let reasons = ["call", "unknown_function", "user_variable"];
    assert_eq!(reasons.map(|reason| pinned(&door, reason)), [0; 3]);
    let mut other = Client::new(&door.address(), "called_within");
    assert_eq!(other.value("SELECT 1"), "1");
    assert_eq!(other.value("SELECT @kept IS NULL"), "1");
}

fn succeeds(client: &mut Client, text: &str) {
    let told = client.run(text);
    assert!(matches!(told[..], [Outcome::Ok(_)]), "{text}: {told:?}");
}

fn fails(client: &mut Client, text: &str) {
    let told = client.run(text);
    assert!(
        matches!(told[..], [Outcome::Err(1644, _)]),
        "{text}: {told:?}"
    );
}

//! Sequences, which MariaDB has: values are drawn on any connection, and what a session has drawn last is its own,
//! packet by packet as if its connection were.

use std::sync::Arc;

use wire::Capabilities;

use crate::binary::Life;
use crate::binary::Step::{self, Close, Command, Execute, Prepare, Text};
use crate::session_state::pinned;
use crate::support::{Address, Client, Database, FrontDoor, Packet, Server};

const COM_RESET_CONNECTION: u8 = 0x1f;

/// One of two sessions does something.
type Act = (usize, Step<'static>);

/// Two sequences, a table that takes values of one of them, and one that takes each value once.
fn begin(schema: &str) -> Arc<Database> {
    let database = Database::shared();
    define(&database, schema);
    database
}

fn define(database: &Database, schema: &str) {
    database.schema(schema);
    database.execute(&format!(
        "USE `{schema}`; CREATE SEQUENCE s START WITH 5; CREATE SEQUENCE other START WITH -3 INCREMENT BY -2;
         CREATE SEQUENCE `a ``b` START WITH 70;
         CREATE TABLE t (id BIGINT PRIMARY KEY, a INT);
         CREATE TABLE narrow (a TINYINT)"
    ));
}

/// What both are told in turn.
fn play(address: &Address, schema: &str, acts: &[Act]) -> Vec<Vec<Packet>> {
    let flags = Capabilities::DEPRECATE_EOF | crate::support::USUAL;
    let mut both = [0, 1].map(|_| Life::begin(address, schema, flags));
    acts.iter()
        .map(|&(who, step)| both[who].step(step))
        .collect()
}

/// Plays directly, and through one connection of the front door.
fn compare(schema: &str, acts: &[Act]) -> Option<FrontDoor> {
    if !Server::is_mariadb() {
        return None;
    }
    let direct = play(begin(schema).address(), schema, acts);
    let database = begin(schema);
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let through = play(&door.address(), schema, acts);
    for ((act, direct), through) in acts.iter().zip(&direct).zip(&through) {
        assert_eq!(direct, through, "{act:?}");
    }
    Some(door)
}

#[test]
fn what_was_drawn_last_follows_its_session_and_pins_nothing() {
    let counts = "SELECT ROW_COUNT(), FOUND_ROWS(), LAST_INSERT_ID(), @@warning_count";
    let acts = [
        (
            0,
            Text("SELECT LASTVAL(s), PREVIOUS VALUE FOR other AS p, LASTVAL(nothing)"),
        ),
        (0, Text("SELECT NEXTVAL(s)")),
        (1, Text("SELECT LASTVAL(s)")),
        (1, Text("SELECT LASTVAL(s) UNION SELECT 1")),
        (
            1,
            Text("SELECT NEXT VALUE FOR s, NEXTVAL(other), NEXTVAL(`a ``b`)"),
        ),
        (
            0,
            Text(
                "SELECT LASTVAL(s), lastval ( `s` ) + 1, PREVIOUS VALUE FOR s 'named', CONNECTION_ID() > 0",
            ),
        ),
        (
            1,
            Text("SELECT LASTVAL(s), LASTVAL(other), LASTVAL(`a ``b`) FROM t WHERE LASTVAL(s) > 0"),
        ),
        (
            1,
            Text("SELECT LASTVAL(s), LASTVAL(other), LASTVAL(`a ``b`)"),
        ),
        (
            0,
            Text("INSERT INTO t VALUES (NEXTVAL(s), LASTVAL(other)), (NEXT VALUE FOR s, 2)"),
        ),
        (0, Text("SELECT * FROM t")),
        (
            0,
            Text("INSERT INTO t (id, a) VALUES (NEXTVAL(s), 1), (NEXTVAL(s), 2)"),
        ),
        (0, Text(counts)),
        (1, Text("SELECT NEXTVAL(s)")),
        (
            0,
            Text("INSERT INTO t (id, a) VALUES (PREVIOUS VALUE FOR s, 9)"),
        ),
        (0, Text(counts)),
        (0, Text("SHOW WARNINGS")),
        (0, Text("DO SETVAL(s, 100)")),
        (0, Text("SET @drawn = NEXTVAL(s)")),
        (1, Text("SELECT SETVAL(s, 200), LASTVAL(s)")),
        (0, Text("SELECT @drawn, LASTVAL(s)")),
        (0, Text("INSERT INTO narrow VALUES (NEXTVAL(s))")),
        (0, Text("SHOW WARNINGS")),
        (0, Text("INSERT IGNORE INTO narrow VALUES (NEXTVAL(s))")),
        (0, Text("SHOW WARNINGS")),
        (0, Text(counts)),
        (0, Text("SELECT LASTVAL(s)")),
        (0, Text("ALTER SEQUENCE s RESTART 300")),
        (0, Text("SELECT LASTVAL(s)")),
        (1, Text("SELECT LASTVAL(s), LASTVAL(other)")),
        (0, Command(COM_RESET_CONNECTION, b"")),
        (0, Text("SELECT LASTVAL(s)")),
    ];
    let Some(door) = compare("sequences_follow", &acts) else {
        return;
    };
    assert_eq!(pinned(&door, "sequence_value"), 0);
}

#[test]
fn values_are_drawn_in_transactions_and_without_autocommit() {
    let acts = [
        (0, Text("BEGIN")),
        (0, Text("SELECT NEXTVAL(s)")),
        (0, Text("SELECT LASTVAL(s)")),
        (0, Text("SELECT NEXTVAL(nothing)")),
        (0, Text("INSERT INTO nothing VALUES (NEXTVAL(other))")),
        (0, Text("SELECT LASTVAL(s), LASTVAL(other)")),
        (0, Text("ROLLBACK")),
        (1, Text("SET autocommit = 0")),
        (1, Text("INSERT INTO nothing VALUES (NEXTVAL(s))")),
        (1, Text("SELECT LASTVAL(s)")),
        (1, Text("SELECT NEXTVAL(other)")),
        (1, Text("COMMIT")),
        (0, Text("SELECT LASTVAL(s), LASTVAL(other)")),
        (1, Text("SELECT LASTVAL(s), LASTVAL(other)")),
        (1, Text("COMMIT")),
        (0, Text("SET TRANSACTION READ ONLY")),
        (0, Text("SELECT NEXTVAL(s)")),
        (0, Text("SELECT LASTVAL(s)")),
    ];
    let Some(door) = compare("sequences_within", &acts) else {
        return;
    };
    assert_eq!(pinned(&door, "sequence_value"), 0);
}

#[test]
fn prepared_statements_draw_and_those_that_ask_keep_their_connection() {
    let acts = [
        (0, Prepare("SELECT NEXTVAL(s), ?")),
        (0, Execute(0, &[1])),
        (1, Text("SELECT NEXTVAL(s)")),
        (0, Text("SELECT LASTVAL(s)")),
        (0, Execute(0, &[2])),
        (0, Text("USE shop")),
        (0, Execute(0, &[3])),
        (0, Text("SELECT LASTVAL(sequences_prepared.s)")),
        (1, Text("SELECT LASTVAL(s)")),
        (0, Close),
        (1, Prepare("SELECT LASTVAL(other)")),
        (1, Execute(0, &[])),
        (1, Text("SELECT NEXTVAL(other)")),
        (1, Execute(0, &[])),
        (1, Text("SELECT NEXTVAL(s), LASTVAL(s)")),
        (1, Close),
    ];
    let Some(door) = compare("sequences_prepared", &acts) else {
        return;
    };
    assert_eq!(pinned(&door, "prepared_statement"), 1);
}

/// The name of a sequence may be another one's after a while.
#[test]
fn a_sequence_that_is_gone_has_no_last_value() {
    let acts = [
        (0, Text("SELECT NEXTVAL(s), NEXTVAL(other)")),
        (0, Text("DROP PROCEDURE IF EXISTS other")),
        (0, Text("DROP SEQUENCE s")),
        (0, Text("SELECT LASTVAL(s)")),
        (0, Text("CREATE SEQUENCE s")),
        (0, Text("CREATE SEQUENCE IF NOT EXISTS other")),
        (0, Text("SELECT LASTVAL(s), LASTVAL(other)")),
        (0, Text("SELECT NEXTVAL(s)")),
        (1, Text("SELECT NEXTVAL(s)")),
        (1, Text("DROP SEQUENCE s")),
        (1, Text("CREATE SEQUENCE s START WITH 2")),
        (1, Text("SELECT NEXTVAL(s)")),
        (1, Text("SELECT LASTVAL(s)")),
        (1, Text("BEGIN")),
        (1, Text("SELECT NEXTVAL(s)")),
        (1, Text("DROP SEQUENCE s")),
        (1, Text("CREATE SEQUENCE s START WITH 3")),
        (1, Text("SELECT NEXTVAL(s)")),
        (1, Text("SELECT LASTVAL(s)")),
        (0, Text("CREATE OR REPLACE SEQUENCE s")),
        (0, Text("SELECT LASTVAL(s), LASTVAL(other)")),
        (0, Text("RENAME TABLE other TO another")),
        (0, Text("SELECT LASTVAL(another)")),
    ];
    let Some(door) = compare("sequences_gone", &acts) else {
        return;
    };
    assert_eq!(pinned(&door, "sequence_value"), 0);
}

/// What a trigger is told is the connection's: so whoever draws values keeps it.
#[test]
fn where_a_trigger_asks_for_last_values_who_draws_some_is_pinned() {
    if !Server::is_mariadb() {
        return;
    }
    // Its account sees no triggers of other tests.
    let database = Database::private();
    define(&database, "sequences_asked");
    database.execute(
        "USE sequences_asked;
         CREATE TRIGGER asks BEFORE INSERT ON narrow FOR EACH ROW SET NEW.a = PREVIOUS VALUE FOR s",
    );
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 4"]);
    let [mut a, mut b] = [0, 1].map(|_| Client::new(&door.address(), "sequences_asked"));
    for (drawn, other) in [("5", "6"), ("7", "8")] {
        assert_eq!(a.value("SELECT NEXTVAL(s)"), drawn);
        assert_eq!(b.value("SELECT NEXTVAL(s)"), other);
        a.run("INSERT INTO narrow VALUES (0)");
        assert_eq!(b.value("SELECT LASTVAL(s)"), other);
        assert_eq!(a.value("SELECT MAX(a) FROM narrow"), drawn);
    }
    assert_eq!(pinned(&door, "sequence_value"), 2);
}

/// The name of the schema is not the same in all character sets, so what was drawn there cannot be asked for.
#[test]
fn in_a_schema_that_is_not_of_ascii_who_draws_is_pinned() {
    if !Server::is_mariadb() {
        return;
    }
    let database = Database::shared();
    define(&database, "sequences_höher");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 4"]);
    let [mut a, mut b] = [0, 1].map(|_| Client::new(&door.address(), "sequences_höher"));
    a.run("SET NAMES latin1");
    assert_eq!(a.value("SELECT NEXTVAL(s)"), "5");
    assert_eq!(b.value("SELECT NEXTVAL(s)"), "6");
    assert_eq!(a.value("SELECT LASTVAL(s)"), "5");
    assert_eq!(b.value("SELECT LASTVAL(s)"), "6");
    assert_eq!(pinned(&door, "sequence_value"), 2);
}

//! Sequences, which MariaDB has: sessions draw values on any connection, and ask for the last one in the transaction that
//! drew it. Elsewhere that is refused, and nobody gets another session's value.

use std::sync::Arc;

use wire::Capabilities;

use crate::binary::Life;
use crate::binary::Step::{self, Close, Command, Execute, Prepare, Text};
use crate::session_state::pinned;
use crate::support::{Address, Client, Database, FrontDoor, Outcome, Packet, Server, eventually};

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

/// Plays directly, and through so many connections of the front door.
fn compare(schema: &str, connections: usize, acts: &[Act]) -> Option<(Arc<Database>, FrontDoor)> {
    if !Server::is_mariadb() {
        return None;
    }
    let direct = play(begin(schema).address(), schema, acts);
    let database = begin(schema);
    let connections = format!("backend.max_connections = {connections}");
    let door = FrontDoor::start(database.address(), &[&connections]);
    let through = play(&door.address(), schema, acts);
    for ((act, direct), through) in acts.iter().zip(&direct).zip(&through) {
        assert_eq!(direct, through, "{act:?}");
    }
    Some((database, door))
}

/// A front door with one connection to a database with the sequences in `schema`.
fn narrow(schema: &str) -> Option<(Arc<Database>, FrontDoor)> {
    Server::is_mariadb().then(|| {
        let database = begin(schema);
        let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
        (database, door)
    })
}

/// How often sessions were pinned, whatever for.
fn pins(door: &FrontDoor) -> f64 {
    let metrics = door.http("/metrics");
    let samples = metrics.lines().filter_map(|line| line.rsplit_once(' '));
    let pins = samples.filter(|(name, _)| name.starts_with("myriad_pins_total"));
    pins.map(|(_, value)| value.parse::<f64>().unwrap()).sum()
}

fn is_refused(outcomes: &[Outcome]) -> bool {
    matches!(outcomes, [Outcome::Err(1235, _)])
}

#[test]
fn values_are_drawn_on_any_connection_and_pin_nobody() {
    let counts = "SELECT ROW_COUNT(), FOUND_ROWS(), LAST_INSERT_ID(), @@warning_count";
    let acts = [
        (0, Text("SELECT NEXTVAL(s)")),
        (
            1,
            Text("SELECT NEXT VALUE FOR s, NEXTVAL(other), NEXTVAL(`a ``b`)"),
        ),
        (
            0,
            Text("INSERT INTO t VALUES (NEXTVAL(s), 1), (NEXT VALUE FOR s, 2)"),
        ),
        (0, Text(counts)),
        (0, Text("SHOW WARNINGS")),
        (1, Text("SELECT NEXTVAL(s); SELECT NEXTVAL(other)")),
        (0, Text("DO SETVAL(s, 100)")),
        (0, Text("SET @drawn = NEXTVAL(s)")),
        (1, Text("SELECT SETVAL(s, 200)")),
        (0, Text("SELECT @drawn")),
        (0, Text("INSERT INTO narrow VALUES (NEXTVAL(s))")),
        (0, Text("SHOW WARNINGS")),
        (0, Text("INSERT IGNORE INTO narrow VALUES (NEXTVAL(s))")),
        (0, Text("SHOW WARNINGS")),
        (0, Text(counts)),
        (0, Prepare("SELECT NEXTVAL(s), ?")),
        (0, Execute(0, &[1])),
        (1, Text("SELECT NEXTVAL(s)")),
        (0, Text("USE shop")),
        (0, Execute(0, &[2])),
        (0, Text("SELECT NEXTVAL(s)")),
        (0, Close),
        (1, Text("BEGIN")),
        (1, Text("SELECT NEXTVAL(s)")),
        (1, Text("SELECT NEXTVAL(nothing)")),
        (1, Text("ROLLBACK")),
        (1, Text("ALTER SEQUENCE s RESTART 300")),
        (1, Text("SELECT NEXTVAL(s)")),
        (1, Text("CREATE VIEW asks AS SELECT LASTVAL(s)")),
        (1, Prepare("SELECT LASTVAL(s)")),
        (1, Close),
    ];
    let Some((_database, door)) = compare("sequences_drawn", 1, &acts) else {
        return;
    };
    let mut client = Client::new(&door.address(), "sequences_drawn");
    // What was defined is asked about meanwhile, now and then.
    eventually("draws that ask nothing", || {
        let before = door.metric("myriad_read_backs_total");
        for text in ["SELECT NEXTVAL(s)", "INSERT INTO t VALUES (NEXTVAL(s), 9)"] {
            client.run(text);
        }
        (door.metric("myriad_read_backs_total") == before).then_some(())
    });
    assert_eq!(pins(&door), 0.0);
}

#[test]
fn the_transaction_that_drew_a_value_is_told_the_last_one() {
    let acts = [
        (1, Text("SELECT NEXTVAL(s), NEXTVAL(other)")),
        (0, Text("BEGIN")),
        (0, Text("SELECT NEXTVAL(s)")),
        (1, Text("SELECT NEXTVAL(s)")),
        (
            0,
            Text("SELECT LASTVAL(s), lastval ( `s` ) + 1, PREVIOUS VALUE FOR s 'named'"),
        ),
        (
            0,
            Text("INSERT INTO t (id, a) VALUES (NEXT VALUE FOR other, LASTVAL(s))"),
        ),
        (
            0,
            Text("INSERT INTO t (id, a) VALUES (NEXTVAL(other), PREVIOUS VALUE FOR s)"),
        ),
        (
            0,
            Text("INSERT INTO t (id, a) VALUES (NEXTVAL(`a ``b`), 1), (NEXTVAL(`a ``b`), 2)"),
        ),
        (0, Text("SELECT * FROM t WHERE a >= LASTVAL(`a ``b`)")),
        (0, Text("SELECT NEXTVAL(nothing)")),
        (0, Text("INSERT INTO nothing VALUES (NEXTVAL(s))")),
        (
            0,
            Text("SELECT LASTVAL(s), LASTVAL(other), LASTVAL(sequences_within.s)"),
        ),
        (0, Text("SET @last = LASTVAL(s)")),
        (0, Prepare("SELECT LASTVAL(s), ?")),
        (0, Execute(0, &[1])),
        (0, Text("SAVEPOINT a")),
        (0, Text("DO NEXTVAL(s)")),
        (0, Text("ROLLBACK TO SAVEPOINT a")),
        (0, Execute(0, &[2])),
        (0, Close),
        (0, Prepare("INSERT INTO t VALUES (NEXTVAL(s), ?)")),
        (0, Execute(0, &[3])),
        (0, Text("SELECT LASTVAL(s), @last")),
        (0, Text("ROLLBACK")),
        (1, Text("SET autocommit = 0")),
        (1, Text("SELECT NEXTVAL(other)")),
        (1, Text("SELECT LASTVAL(other)")),
        (1, Text("COMMIT")),
    ];
    let Some((_database, door)) = compare("sequences_within", 2, &acts) else {
        return;
    };
    assert_eq!(pins(&door), 0.0);
}

#[test]
fn a_pinned_session_is_told_what_it_has_drawn() {
    let acts = [
        (1, Text("SELECT NEXTVAL(s), NEXTVAL(other)")),
        (0, Text("CREATE TEMPORARY TABLE held (a INT)")),
        (0, Text("SELECT NEXTVAL(s)")),
        (1, Text("SELECT NEXTVAL(s)")),
        (0, Text("SELECT LASTVAL(s)")),
        (0, Text("DROP SEQUENCE s")),
        (0, Text("CREATE SEQUENCE s START WITH 30")),
        (0, Text("SELECT LASTVAL(s)")),
        (1, Text("SELECT NEXTVAL(s)")),
        (0, Text("SELECT LASTVAL(s)")),
        (0, Text("SELECT NEXTVAL(s)")),
        (0, Text("SELECT LASTVAL(s)")),
    ];
    let compared = compare("sequences_pinned", 2, &acts);
    assert!(compared.is_none_or(|(_database, door)| pinned(&door, "temporary_table") == 1));
}

/// Each is asked of the connection on which somebody else has drawn.
#[test]
fn nobody_is_told_what_another_session_has_drawn() {
    let Some((_database, door)) = narrow("sequences_refused") else {
        return;
    };
    let [mut a, mut b] = [0, 1].map(|_| Client::new(&door.address(), "sequences_refused"));
    let outside = [
        "SELECT LASTVAL(s)",
        "SELECT PREVIOUS VALUE FOR s FROM t",
        "SET @last = LASTVAL(s)",
        "DO LASTVAL(s)",
        "INSERT INTO t VALUES (LASTVAL(s), 1)",
        "SELECT NEXTVAL(s), LASTVAL(s)",
        "SELECT LASTVAL(s), GET_LOCK('sequences', 0)",
        "SELECT NEXTVAL(s); SELECT LASTVAL(s)",
        "CREATE TABLE copied AS SELECT LASTVAL(s)",
    ];
    for text in outside {
        a.value("SELECT NEXTVAL(s)");
        let [told @ Outcome::Err(1235, words)] = &b.run(text)[..] else {
            panic!("{text}");
        };
        assert!(words.contains("transaction"), "{text}: {told:?}");
    }
    let within: &[&[&str]] = &[
        &["SELECT LASTVAL(s)"],
        &["SELECT NEXTVAL(other)", "SELECT LASTVAL(s)"],
        &["SELECT NEXTVAL(s) FROM t", "SELECT LASTVAL(s)"],
        &[
            "INSERT INTO t SELECT NEXTVAL(s), 1 FROM narrow",
            "SELECT LASTVAL(s)",
        ],
        &[
            "INSERT INTO t VALUES (IF(0, NEXTVAL(s), 7), 1)",
            "SELECT LASTVAL(s)",
        ],
        &[
            "INSERT INTO nothing VALUES (NEXTVAL(s))",
            "SELECT LASTVAL(s)",
        ],
        &["SELECT NEXTVAL(s) LIMIT 0", "SELECT LASTVAL(s)"],
        &["SELECT NEXTVAL(s)", "SELECT LASTVAL(s), LASTVAL(other)"],
        &["SELECT NEXTVAL(s)", "SELECT LASTVAL(S)"],
        &["SELECT NEXTVAL(s)", "SELECT LASTVAL(s); SELECT 1"],
    ];
    for texts in within {
        a.value("SELECT NEXTVAL(s) + NEXTVAL(other)");
        b.run("BEGIN");
        let (asks, before) = texts.split_last().unwrap();
        before.iter().for_each(|text| drop(b.run(text)));
        assert!(is_refused(&b.run(asks)), "{texts:?}");
        // It is still in its transaction.
        b.value("SELECT NEXTVAL(`a ``b`)");
        assert!(!is_refused(&b.run("SELECT LASTVAL(`a ``b`)")), "{texts:?}");
        b.run("ROLLBACK");
        assert!(is_refused(&b.run("SELECT LASTVAL(`a ``b`)")), "{texts:?}");
    }
    assert_eq!(pins(&door), 0.0);
}

#[test]
fn a_prepared_statement_is_refused_where_its_text_is() {
    let Some((_database, door)) = narrow("sequences_prepared") else {
        return;
    };
    let flags = Capabilities::DEPRECATE_EOF | crate::support::USUAL;
    let [mut a, mut b] = [0, 1].map(|_| Life::begin(&door.address(), "sequences_prepared", flags));
    let is_err = |told: &[Packet]| told.last().unwrap().payload[..3] == [0xff, 0xd3, 0x04];
    a.step(Text("SELECT NEXTVAL(s)"));
    assert!(!is_err(&b.step(Prepare("SELECT LASTVAL(s)"))));
    assert!(is_err(&b.step(Execute(0, &[]))));
    b.step(Text("BEGIN"));
    assert!(is_err(&b.step(Execute(0, &[]))));
    b.step(Text("SELECT NEXTVAL(s)"));
    assert!(!is_err(&b.step(Execute(0, &[]))));
    b.step(Text("COMMIT"));
    assert!(is_err(&b.step(Execute(0, &[]))));
    assert_eq!(pins(&door), 0.0);
}

/// A body or a text that asks is told what its own session has drawn, or nothing: such a session begins on a clean connection.
#[test]
fn what_asks_unseen_is_not_told_what_others_have_drawn() {
    if !Server::is_mariadb() {
        return;
    }
    // Its account sees no triggers of other tests.
    let database = Database::private();
    define(&database, "sequences_asked");
    database.execute(
        "USE sequences_asked;
         CREATE TRIGGER asks BEFORE INSERT ON narrow FOR EACH ROW SET NEW.a = PREVIOUS VALUE FOR s;
         CREATE FUNCTION last() RETURNS INT RETURN LASTVAL(s)",
    );
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 4"]);
    let [mut a, mut b, mut c, mut d] =
        [0; 4].map(|_| Client::new(&door.address(), "sequences_asked"));
    a.value("SELECT NEXTVAL(s)");
    b.run("INSERT INTO narrow VALUES (0)");
    assert_eq!(b.value("SELECT COUNT(*) FROM narrow WHERE a IS NULL"), "1");
    a.value("SELECT NEXTVAL(s)");
    assert_eq!(c.value("SELECT last() IS NULL"), "1");
    a.value("SELECT NEXTVAL(s)");
    let asks = "EXECUTE IMMEDIATE 'SELECT LASTVAL(s) IS NULL'";
    assert_eq!(d.value(asks), "1");
    let drawn = b.value("SELECT NEXTVAL(s)");
    b.run("INSERT INTO narrow VALUES (0)");
    assert_eq!(b.value("SELECT MAX(a) FROM narrow"), drawn);
}

/// What is asked on a cleaned connection relies on that.
#[test]
fn the_server_forgets_last_values_when_a_connection_is_reset() {
    if !Server::is_mariadb() {
        return;
    }
    let database = begin("sequences_reset");
    let flags = Capabilities::DEPRECATE_EOF | crate::support::USUAL;
    let mut direct = Life::begin(database.address(), "sequences_reset", flags);
    direct.step(Text("SELECT NEXTVAL(s)"));
    let row = |told: Vec<Packet>| told[told.len() - 2].payload.clone();
    assert_eq!(row(direct.step(Text("SELECT LASTVAL(s)"))), b"\x015");
    direct.step(Command(COM_RESET_CONNECTION, b""));
    assert_eq!(row(direct.step(Text("SELECT LASTVAL(s)"))), b"\xfb");
}

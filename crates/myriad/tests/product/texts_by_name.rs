//! How many and how long texts a session may prepare by name before it is pinned for them. What they do is the
//! matter of `session_state`.

use crate::session_state::{compare, pinned};
use crate::support::{Client, Database, FrontDoor, Outcome, Server, eventually};

/// A text of so many bytes that selects a number.
fn text(len: usize, number: usize) -> String {
    let begin = format!("SELECT {number}");
    let filling = len - begin.len() - 4;
    format!("{begin}/*{}*/", "x".repeat(filling))
}

fn prepare(name: &str, text: &str) -> String {
    format!("PREPARE {name} FROM '{text}'")
}

/// Runs the script beside another session; how often one was pinned for it.
fn pins(schema: &str, script: &[String]) -> u64 {
    let script: Vec<_> = script.iter().map(String::as_str).collect();
    let other = vec!["SELECT 1"; script.len().min(20)];
    let (door, _clients) = match script.len() {
        // What pins would keep the one backend.
        0..6 => compare(schema, &[&script]),
        _ => compare(schema, &[&script, &other]),
    };
    pinned(&door, "text_prepared")
}

#[test]
fn a_text_that_replaces_another_needs_no_room_for_both() {
    let mut script = Vec::new();
    for number in 0..4 {
        script.push(prepare("p", &text(9 << 10, number)));
        script.push("EXECUTE p".to_owned());
    }
    assert_eq!(pins("texts_replaced", &script), 0);
}

#[test]
fn as_much_text_as_is_kept_pins_nobody() {
    let script = ["a", "b", "c"].map(|name| prepare(name, &text(5 << 10, 7)));
    let mut script = script.to_vec();
    script.extend(["EXECUTE a", "EXECUTE b", "EXECUTE c"].map(str::to_owned));
    assert_eq!(pins("texts_kept", &script), 0);
}

#[test]
fn more_text_than_that_pins() {
    let script = ["a", "b"].map(|name| prepare(name, &text(9 << 10, 7)));
    let executes = ["EXECUTE a", "EXECUTE b"].map(str::to_owned);
    assert_eq!(pins("texts_too_long", &[script, executes].concat()), 1);
}

#[test]
fn a_33rd_text_pins() {
    let names: Vec<_> = (0..33).map(|n| format!("p{n}")).collect();
    let all: Vec<_> = names.iter().map(|name| prepare(name, "SELECT 1")).collect();
    assert_eq!(pins("texts_32", &all[..32]), 0);
    let again = [&all[..32], &all[..1]].concat();
    assert_eq!(pins("texts_32_again", &again), 0);
    let (door, _clients) = {
        let all: Vec<_> = all.iter().map(String::as_str).collect();
        compare("texts_33", &[&all])
    };
    assert_eq!(pinned(&door, "text_prepared"), 1);
}

/// A text is prepared anew on a connection that has no schema, for a session that has lost its own: the connection
/// has one from then on.
#[test]
fn a_text_prepared_in_a_schema_leaves_no_other_session_there() {
    let database = Database::shared();
    for name in ["texts_left", "texts_gone"] {
        database.schema(name);
    }
    database.execute("CREATE TABLE texts_left.t (a INT); INSERT INTO texts_left.t VALUES (7)");
    let settings = ["backend.max_connections = 2", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let [mut homeless, mut holds, mut other] =
        ["texts_left", "", ""].map(|schema| Client::new(&door.address(), schema));
    for sql in [
        "PREPARE p FROM 'SELECT a FROM t'",
        "USE texts_gone",
        "DROP DATABASE texts_gone",
    ] {
        homeless.run(sql);
    }
    // The connection that has lost its schema with the session.
    holds.run("BEGIN");
    holds.run("SELECT * FROM texts_left.t");
    assert_eq!(homeless.value("EXECUTE p"), "7");
    for client in [&mut homeless, &mut other] {
        assert_eq!(client.value("SELECT COUNT(DATABASE())"), "0");
    }
    holds.run("COMMIT");
    assert_eq!(homeless.value("EXECUTE p"), "7");
}

/// Who ends a PREPARE cannot tell whether it took away what another session has under the name.
#[test]
fn a_prepare_that_was_killed_leaves_nothing_on_its_connection() {
    let database = Database::shared();
    database.schema("texts_killed");
    database.execute("CREATE TABLE texts_killed.t (a INT)");
    let settings = ["backend.max_connections = 1", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let [mut owner, mut victim] = [(); 2].map(|()| Client::new(&door.address(), "texts_killed"));
    let [mut holder, mut dropper] =
        [(); 2].map(|()| Client::new(database.address(), "texts_killed"));
    owner.run("PREPARE p FROM 'SELECT 7'");
    // Who waits to drop a table lets nobody look at it.
    holder.run("BEGIN");
    holder.run("SELECT * FROM t");
    dropper.query("DROP TABLE t");
    let mut waits = |what: &str| {
        let waits = format!(
            "SELECT id FROM information_schema.processlist
            WHERE db = 'texts_killed' AND state LIKE 'Waiting%' AND info {what} 'DROP%'"
        );
        eventually("somebody who waits", || match &holder.run(&waits)[..] {
            [Outcome::Rows(rows)] => Some(rows.first()?[0].clone()),
            other => panic!("{other:?}"),
        })
    };
    waits("LIKE");
    let cleaned = door.metric("myriad_backend_resets_total");
    victim.query("PREPARE p FROM 'SELECT a FROM t'");
    let id = waits("NOT LIKE");
    holder.run(&format!("KILL QUERY {id}"));
    let outcomes = victim.answer().unwrap().outcomes();
    assert!(
        matches!(outcomes[..], [Outcome::Err(1317, _)]),
        "{outcomes:?}"
    );
    eventually("a clean connection", || {
        (door.metric("myriad_backend_resets_total") > cleaned).then_some(())
    });
    assert_eq!(owner.value("EXECUTE p"), "7");
    let outcomes = victim.run("EXECUTE p");
    assert!(
        matches!(outcomes[..], [Outcome::Err(1243, _)]),
        "{outcomes:?}"
    );
}

/// What MariaDB reads of a table with system versioning is bound to the time zone of the PREPARE.
#[test]
fn a_text_is_prepared_with_the_variables_of_then() {
    if !Server::is_mariadb() {
        return;
    }
    let reads = [
        "SET time_zone = '+00:00'",
        "CREATE TABLE v (a INT) WITH SYSTEM VERSIONING",
        "INSERT INTO v VALUES (1)",
        "PREPARE p FROM 'SELECT a FROM v'",
        "EXECUTE p",
        "EXECUTE p",
        "SET time_zone = '+05:00'",
        "EXECUTE p",
    ];
    let other = [
        "SET time_zone = '+03:00'",
        "PREPARE p FROM 'SELECT 1'",
        "EXECUTE p",
        "SELECT @@time_zone",
        "EXECUTE p",
        "EXECUTE p",
        "SELECT @@time_zone",
        "EXECUTE p",
    ];
    let (door, _clients) = compare("texts_bound", &[&reads, &other]);
    assert_eq!(pinned(&door, "text_prepared"), 0);
}

/// A transaction that begins without a BEGIN, and that `SET TRANSACTION` was for, goes on when a text is prepared within
/// it that the connection does not have.
#[test]
fn what_is_prepared_within_a_transaction_does_not_end_it() {
    let database = Database::shared();
    database.schema("texts_within");
    database.execute("USE texts_within; CREATE TABLE t (a INT); INSERT INTO t VALUES (1)");
    for next in ["ISOLATION LEVEL SERIALIZABLE", "READ ONLY"] {
        let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
        let address = door.address();
        let [mut client, mut other] = [(); 2].map(|()| Client::new(&address, "texts_within"));
        client.run("PREPARE p FROM 'SELECT 7'");
        client.run("SET autocommit = 0");
        // It keeps the connection that has the text.
        other.run("BEGIN");
        client.run(&format!("SET TRANSACTION {next}"));
        assert_eq!(client.value("SELECT a FROM t"), "1");
        let write = "UPDATE t SET a = 2";
        let written = client.run(write);
        let found = client.value("SELECT a FROM t");
        assert_eq!(client.value("EXECUTE p"), "7", "{next}");
        assert_eq!(client.value("SELECT a FROM t"), found, "{next}");
        if let [Outcome::Err(..)] = written[..] {
            assert_eq!(client.run(write), written, "it only reads");
        }
        client.run("ROLLBACK");
        assert_eq!(client.value("SELECT a FROM t"), "1");
        other.run("COMMIT");
    }
}

/// A savepoint may come first, and be all that there is of it; or a write that fails, of which no flag tells.
#[test]
fn what_is_prepared_ends_no_transaction_that_flags_do_not_tell_of() {
    let database = Database::shared();
    database.schema("texts_untold");
    database.execute("USE texts_untold; CREATE TABLE t (a INT PRIMARY KEY)");
    database.execute("INSERT INTO texts_untold.t VALUES (1)");
    for (begins, next) in [
        ("SAVEPOINT s", "READ ONLY"),
        ("SAVEPOINT s", "ISOLATION LEVEL SERIALIZABLE"),
        ("INSERT INTO t VALUES (1)", "ISOLATION LEVEL SERIALIZABLE"),
    ] {
        let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
        let address = door.address();
        let [mut client, mut other] = [(); 2].map(|()| Client::new(&address, "texts_untold"));
        client.run("PREPARE p FROM 'INSERT INTO t VALUES (2)'");
        client.run("SET autocommit = 0");
        // It keeps the connection that has the text.
        other.run("BEGIN");
        client.run(&format!("SET TRANSACTION {next}"));
        client.run(begins);
        client.run("SAVEPOINT later");
        let told = client.run("EXECUTE p");
        let refused = matches!(told[..], [Outcome::Err(..)]);
        assert_eq!(refused, next == "READ ONLY", "{begins}, {next}: {told:?}");
        let told = client.run("ROLLBACK TO later");
        assert!(
            matches!(told[..], [Outcome::Ok(..)]),
            "{begins}, {next}: {told:?}"
        );
        client.run("ROLLBACK");
        other.run("COMMIT");
    }
}

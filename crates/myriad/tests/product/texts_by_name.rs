//! Texts that are prepared by name. They pin their session from PREPARE until it has deallocated all of them, and are
//! answered as the server answers them.

use crate::session_state::{compare, pinned};
use crate::support::{Client, Database, FrontDoor, Outcome, Server, eventually};

const COM_RESET_CONNECTION: u8 = 0x1f;

/// The session's only backend connection is free, and another session finds no text on it.
fn assert_free(door: &FrontDoor) {
    let mut other = Client::new(&door.address(), "");
    assert_unknown(&mut other);
    assert_eq!(other.value("SELECT 'free'"), "free");
}

fn assert_unknown(client: &mut Client) {
    let unknown = client.run("DEALLOCATE PREPARE p");
    assert!(
        matches!(unknown[..], [Outcome::Err(1243, _)]),
        "{unknown:?}"
    );
}

/// Runs the script on one backend connection; how often its session was pinned for texts, and for good. The last pin is over.
fn pins(schema: &str, script: &[&str]) -> (u64, u64) {
    let _database = Database::shared();
    let (door, _clients) = compare(schema, &[script]);
    assert_free(&door);
    (pinned(&door, "text_prepared"), pinned(&door, "call"))
}

#[test]
fn texts_are_answered_as_by_the_server() {
    const DEFINES: &[&str] = &[
        "PREPARE p FROM 'CREATE TABLE made AS SELECT id FROM t'",
        "EXECUTE p",
        "EXECUTE p",
        "SHOW WARNINGS",
        "DROP TABLE made",
        "EXECUTE p",
        "SELECT ROW_COUNT(), FOUND_ROWS()",
        "DROP TABLE t",
        "EXECUTE p",
        "DEALLOCATE PREPARE p",
        "DEALLOCATE PREPARE nothing",
    ];
    const NAMES: &[&str] = &[
        "SET @sql = CONCAT('SELECT COUNT(*) FROM ', 'audit')",
        "PREPARE `P` FROM @sql",
        "SET @sql = 'SELECT 5'",
        "EXECUTE p",
        "PREPARE w FROM 'SELECT \"a\", ''it''''s'''",
        "SET sql_mode = 'ANSI_QUOTES'",
        "EXECUTE w",
        "SELECT @@sql_mode, @sql",
        "DEALLOCATE PREPARE w",
        "DEALLOCATE PREPARE p",
        "SELECT @@sql_mode, @sql",
    ];
    const SCHEMAS: &[&str] = &[
        "USE shop",
        "PREPARE p FROM 'SELECT DATABASE(), COUNT(*) FROM product'",
        "USE texts_answered",
        "EXECUTE p",
        "SELECT DATABASE()",
        "PREPARE i FROM 'INSERT INTO audit (tag) VALUES (?)'",
        "SET @tag = 'tag'",
        "EXECUTE i USING @tag",
        "SELECT LAST_INSERT_ID(), ROW_COUNT()",
        "PREPARE f FROM 'SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1'",
        "EXECUTE f",
        "SELECT FOUND_ROWS()",
        "DROP PREPARE i",
        "DROP PREPARE f",
        "DROP PREPARE p",
        "SELECT LAST_INSERT_ID(), DATABASE()",
    ];
    for script in [DEFINES, NAMES, SCHEMAS] {
        assert_eq!(pins("texts_answered", script), (1, 0), "{script:#?}");
    }
}

/// As migrations do, for what the server knows no IF NOT EXISTS for.
#[test]
fn a_migration_is_pinned_while_it_prepares() {
    const ADDS: &str = "SET @s = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() \
                        AND table_name = 't' AND column_name = 'n') = 0, 'ALTER TABLE t ADD COLUMN n INT', 'SELECT 1')";
    let script = [
        ADDS,
        "PREPARE stmt FROM @s",
        "EXECUTE stmt",
        "DEALLOCATE PREPARE stmt",
        ADDS,
        "PREPARE stmt FROM @s",
        "EXECUTE stmt",
        "DROP PREPARE stmt",
        "SELECT * FROM t",
        "SELECT @s",
    ];
    assert_eq!(pins("texts_migrated", &script), (2, 0));
}

#[test]
fn the_pin_ends_with_the_last_text() {
    let script = [
        "PREPARE p FROM 'SELECT id, a FROM t WHERE id = ?'",
        "SET @id = 2",
        "EXECUTE p USING @id",
        "EXECUTE p",
        "PREPARE w FROM 'UPDATE t SET a = UPPER(a) WHERE id = ?'",
        "EXECUTE w USING @id",
        "SELECT ROW_COUNT()",
        "EXECUTE P USING @id",
        "DEALLOCATE PREPARE p",
        "DEALLOCATE PREPARE p",
        "EXECUTE w USING @id",
        "DROP PREPARE w",
        "SELECT @id",
    ];
    assert_eq!(pins("texts_both", &script), (1, 0));
}

#[test]
fn a_prepare_that_fails_takes_away_what_had_the_name() {
    let script = [
        "PREPARE p FROM 'SELEC'",
        "DEALLOCATE PREPARE p",
        "PREPARE p FROM 'SELECT 1'",
        "EXECUTE p",
        "PREPARE p FROM 'SELECT a FROM nothing'",
        "DEALLOCATE PREPARE p",
    ];
    assert_eq!(pins("texts_failed", &script), (2, 0));
}

#[test]
fn texts_are_prepared_and_run_within_transactions() {
    let script = [
        "SET autocommit = 0",
        "INSERT INTO t VALUES (7, 'seven')",
        "PREPARE p FROM 'SELECT a FROM t WHERE id = 7'",
        "EXECUTE p",
        "ROLLBACK",
        "EXECUTE p",
        "DEALLOCATE PREPARE p",
        "COMMIT",
        "BEGIN",
        "PREPARE c FROM 'COMMIT'",
        "INSERT INTO t VALUES (8, 'eight')",
        "EXECUTE c",
        "ROLLBACK",
        "DEALLOCATE PREPARE c",
        "SELECT a FROM t",
        "COMMIT",
    ];
    assert_eq!(pins("texts_within", &script), (2, 0));
}

/// Nobody knows what it leaves in its session.
#[test]
fn an_execute_of_another_text_than_a_harmless_one_pins_until_a_reset() {
    const SETS: &[&str] = &[
        "PREPARE p FROM 'SET @x = 5'",
        "EXECUTE p",
        "DEALLOCATE PREPARE p",
        "SELECT @x",
    ];
    // The transaction's backend alone knows the variable.
    const SET_WITHIN: &[&str] = &[
        "BEGIN",
        "SELECT CONCAT('SELECT a FROM t ', 'WHERE id = 1') INTO @x FROM t LIMIT 1",
        "PREPARE p FROM @x",
        "EXECUTE p",
        "DEALLOCATE PREPARE p",
        "COMMIT",
        "SELECT @x",
    ];
    const UNKNOWN: &[&str] = &["SET @x = 5", "EXECUTE p", "SELECT @x"];
    let _database = Database::shared();
    for script in [SETS, SET_WITHIN, UNKNOWN] {
        let (door, mut clients) = compare("texts_hidden", &[script]);
        assert_eq!(pinned(&door, "call"), 1, "{script:#?}");
        reset(&mut clients[0]);
        assert_free(&door);
        assert_eq!(clients[0].value("SELECT @x"), "NULL");
    }
}

#[test]
fn what_one_command_prepares_among_others_pins_until_a_reset() {
    let _database = Database::shared();
    let (door, mut clients) = compare(
        "texts_among",
        &[&[
            "SET @s = 'SELECT 7'; PREPARE p FROM @s; EXECUTE p; DEALLOCATE PREPARE p",
            "EXECUTE p",
            "PREPARE p FROM 'SELECT 8'",
            "DEALLOCATE PREPARE p",
        ]],
    );
    assert_eq!(pinned(&door, "text_prepared"), 1);
    assert_eq!(door.metric("myriad_pins_ended_total"), 0);
    reset(&mut clients[0]);
    assert_free(&door);
}

#[test]
fn more_texts_than_are_listed_pin_until_a_reset() {
    let _database = Database::shared();
    let names: Vec<_> = (0..33).map(|n| format!("p{n}")).collect();
    for (count, ends) in [(32, true), (33, false)] {
        let verbs = |verb: &str, rest: &str| {
            let names = names[..count].iter();
            names
                .map(|name| format!("{verb} {name}{rest}"))
                .collect::<Vec<_>>()
        };
        let mut script = verbs("PREPARE", " FROM 'SELECT 1'");
        script.extend(verbs("EXECUTE", ""));
        script.extend(verbs("DEALLOCATE PREPARE", ""));
        let script: Vec<_> = script.iter().map(String::as_str).collect();
        let (door, mut clients) = compare("texts_many", &[&script]);
        assert_eq!(door.metric("myriad_pins_ended_total"), u64::from(ends));
        reset(&mut clients[0]);
        assert_free(&door);
    }
}

fn reset(client: &mut Client) {
    client.send(COM_RESET_CONNECTION, b"");
    client.answer().unwrap();
}

/// Sessions end in all ways, and whoever has their connection next finds no text.
#[test]
fn no_session_finds_the_texts_of_another() {
    let database = Database::shared();
    database.schema("texts_foreign");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    for text in ["SELECT 7", "SET @x = 1", "SELEC"] {
        for ends in ["DEALLOCATE PREPARE p", "SELECT nothing", "reset"] {
            let mut client = Client::new(&door.address(), "texts_foreign");
            client.run(&format!("PREPARE p FROM '{text}'"));
            client.run("EXECUTE p");
            match ends {
                "reset" => reset(&mut client),
                ends => drop(client.run(ends)),
            }
            drop(client);
            assert_free(&door);
        }
    }
}

/// Of three connections, one is kept for sessions that are not pinned.
#[test]
fn sessions_use_the_same_names_side_by_side() {
    let database = Database::shared();
    database.schema("texts_beside");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
    let mut clients = [(); 2].map(|()| Client::new(&door.address(), "texts_beside"));
    for round in 0..3 {
        for (place, client) in clients.iter_mut().enumerate() {
            client.run(&format!("PREPARE p FROM 'SELECT {place} + {round}'"));
        }
        for (place, client) in clients.iter_mut().enumerate() {
            assert_eq!(client.value("EXECUTE p"), (place + round).to_string());
        }
        for client in &mut clients {
            client.run("DEALLOCATE PREPARE p");
            assert_unknown(client);
        }
    }
    assert_eq!(pinned(&door, "text_prepared"), 6);
    assert_eq!(pinned(&door, "call"), 0);
}

#[test]
fn a_prepare_that_was_killed_leaves_nothing_on_its_connection() {
    let database = Database::shared();
    database.schema("texts_killed");
    database.execute("CREATE TABLE texts_killed.t (a INT)");
    let settings = ["backend.max_connections = 1", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let mut victim = Client::new(&door.address(), "texts_killed");
    let [mut holder, mut dropper] =
        [(); 2].map(|()| Client::new(database.address(), "texts_killed"));
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
    victim.query("PREPARE p FROM 'SELECT a FROM t'");
    let id = waits("NOT LIKE");
    holder.run(&format!("KILL QUERY {id}"));
    let outcomes = victim.answer().unwrap().outcomes();
    assert!(
        matches!(outcomes[..], [Outcome::Err(1317, _)]),
        "{outcomes:?}"
    );
    assert_free(&door);
    assert_unknown(&mut victim);
}

/// The backend connection has the conditions of somebody else.
#[test]
fn conditions_that_a_text_asks_for_are_the_sessions() {
    // MySQL cannot prepare the question.
    if !Server::is_mariadb() {
        return;
    }
    let database = Database::shared();
    database.schema("texts_asked");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let none = [Outcome::Rows(Vec::new())];
    for asks in [
        "PREPARE w FROM 'SHOW WARNINGS'",
        "EXECUTE IMMEDIATE 'SHOW WARNINGS'",
    ] {
        let [mut own, mut other] = [(); 2].map(|()| Client::new(&door.address(), "texts_asked"));
        other.run("DROP TABLE IF EXISTS nothing_of_yours");
        let told = own.run(asks);
        if asks.starts_with("EXECUTE") {
            assert_eq!(told, none, "{asks}");
            continue;
        }
        assert_eq!(own.run("EXECUTE w"), none);
        own.run("DROP TABLE IF EXISTS nothing_of_mine");
        for _ in 0..2 {
            let told = own.run("EXECUTE w");
            assert!(format!("{told:?}").contains("nothing_of_mine"), "{told:?}");
        }
    }
}

/// Another session has used the connection before the pin begins.
#[test]
fn counts_that_a_text_asks_for_are_the_sessions() {
    const BEFORE: [&str; 2] = [
        "SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1",
        "DROP TABLE IF EXISTS nothing_of_mine",
    ];
    const WITHIN: [&str; 6] = [
        "PREPARE p FROM 'SELECT ROW_COUNT(), FOUND_ROWS(), @@warning_count'",
        "EXECUTE p",
        "SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 2",
        "EXECUTE p",
        "DROP TABLE IF EXISTS nothing_of_mine",
        "EXECUTE p",
    ];
    let database = Database::shared();
    database.schema("texts_counted");
    database.execute(
        "CREATE TABLE texts_counted.t (a INT);
         INSERT INTO texts_counted.t VALUES (1), (2), (3)",
    );
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    for before in BEFORE {
        let [direct, through] = [database.address(), &door.address()].map(|address| {
            let [mut own, mut other] = [(); 2].map(|()| Client::new(address, "texts_counted"));
            own.run(before);
            other.run("SELECT 1 UNION SELECT 2");
            other.run("DROP TABLE IF EXISTS nothing_of_yours");
            WITHIN.map(|sql| own.run(sql))
        });
        let [Outcome::Rows(first)] = &through[1][..] else {
            panic!("{before}: {:?}", through[1]);
        };
        // What was before the pin is not on its connection, and no condition of somebody else is told.
        assert_eq!(first[0][2], "0", "{before}");
        assert_eq!(through[2..], direct[2..], "{before}");
    }
}

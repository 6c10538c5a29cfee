//! A session that says what the session tracker tells is told that, and moves all the same: MariaDB's driver for Java
//! begins each of its sessions so.

use wire::Capabilities;

use crate::packets::shown;
use crate::session_state::pinned;
use crate::support::{Client, Database, FrontDoor, Login, Server, USUAL};

/// What MariaDB Connector/J sends first, from version 3.4.1 on; its older versions set `session_track_schema`.
const OF_JAVA: &str = "set sql_mode=CONCAT(@@sql_mode,',STRICT_TRANS_TABLES'),\
    session_track_system_variables = CONCAT(@@global.session_track_system_variables,',ISOLATION'),NAMES utf8mb4";

const SCRIPT: [&str; 36] = [
    "SELECT @@session_track_system_variables, @@session_track_schema, @@session_track_state_change",
    OF_JAVA,
    "SELECT @@sql_mode, @@session_track_system_variables, @@character_set_client",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET sql_mode = 'ANSI'",
    "SET time_zone = '+01:00'",
    "USE tracked",
    "SET session_track_schema = 0, session_track_state_change = 1",
    "USE shop",
    "SET @a = 1",
    "SET sql_mode = ''",
    "SET session_track_system_variables = 'nonsense'",
    "SHOW WARNINGS",
    "SELECT @@session_track_system_variables",
    "SET session_track_system_variables = NULL",
    "SELECT @@session_track_system_variables",
    "SET time_zone = '+02:00'",
    "SET session_track_system_variables = '*', time_zone = '+03:00', autocommit = 0, sql_mode = 'NO_ZERO_DATE'",
    "SELECT @@time_zone, @@sql_mode, @@autocommit",
    "SET wait_timeout = 77, autocommit = 1",
    "BEGIN",
    "INSERT INTO tracked.t VALUES (1)",
    "SET session_track_system_variables = 'wait_timeout'",
    "SET wait_timeout = 78",
    "ROLLBACK",
    "SELECT @@wait_timeout, @@sql_mode, @@time_zone",
    "SELECT 1/0, @@session_track_state_change",
    "SHOW WARNINGS",
    "SET sql_select_limit = 0, session_track_state_change = 0",
    "SET wait_timeout = 79",
    "SET session_track_system_variables = DEFAULT, session_track_schema = DEFAULT, sql_select_limit = DEFAULT",
    "USE tracked",
    "SET autocommit = 0",
    "SET session_track_schema = 2",
    "SET session_track_schema = 0, bogus = 1",
    "SELECT @@session_track_schema, @@session_track_system_variables",
];

/// One variable that a new number belongs to with every statement.
fn comparable(shown: Vec<String>) -> Vec<String> {
    let without = |line: String| match line.find("\"statement_id=") {
        Some(begin) => {
            let end = line[begin..]
                .find(", ")
                .map_or(line.len(), |length| begin + length + 2);
            line[..begin].to_owned() + &line[end..]
        }
        None => line,
    };
    shown.into_iter().map(without).collect()
}

/// The answer to a text.
fn told(client: &mut Client, text: &str) -> Vec<String> {
    client.query(text);
    comparable(shown(&client.answer().unwrap()))
}

fn login() -> Login<'static> {
    Login {
        capabilities: USUAL | Capabilities::SESSION_TRACK | Capabilities::CONNECT_WITH_DB,
        ..Login::to("shop")
    }
}

#[test]
fn a_session_that_says_what_is_tracked_is_told_so_and_moves() {
    let database = Database::shared();
    database.schema("tracked");
    database.execute("CREATE TABLE tracked.t (a INT)");
    for restless in ["off", "on"] {
        let restless = format!("backend.restless = \"{restless}\"");
        let door = FrontDoor::start(
            database.address(),
            &["backend.max_connections = 2", &restless],
        );
        let mut direct = Client::login(database.address(), &login()).unwrap();
        let mut client = Client::login(&door.address(), &login()).unwrap();
        let mut other = Client::login(&door.address(), &login()).unwrap();
        let isolation = match Server::is_mariadb() {
            true => "tx_isolation",
            false => "transaction_isolation",
        };
        for statement in SCRIPT {
            let statement = statement.replace("ISOLATION", isolation);
            let expected = told(&mut direct, &statement);
            let through = told(&mut client, &statement);
            assert_eq!(through, expected, "{statement}, {restless}");
            other.run("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO', @a = 7, wait_timeout = 1000");
        }
        assert_eq!(pinned(&door, "session_tracking"), 0);
        // The backend tells of all that others change.
        other.run("SET sql_mode = 'ANSI', time_zone = '+05:00'");
        client.run("SELECT 1");
        assert_eq!(
            other.value("SELECT CONCAT(@@sql_mode LIKE '%ANSI%', @@time_zone)"),
            "1+05:00"
        );
    }
}

/// So many sessions of that driver are there as there are backends, and more.
#[test]
fn sessions_of_mariadbs_driver_for_java_are_not_pinned() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let begin = OF_JAVA.replace("ISOLATION", "autocommit");
    let mut clients: Vec<_> = (0..8)
        .map(|_| Client::login(&door.address(), &login()).unwrap())
        .collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.run(&begin);
        client.run(&format!("SET time_zone = '+0{number}:00'"));
    }
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.value("SELECT @@time_zone"), format!("+0{number}:00"));
        let mode = client.value("SELECT @@sql_mode LIKE '%STRICT_TRANS_TABLES%'");
        assert_eq!(mode, "1");
    }
    assert_eq!(
        door.metric("myriad_pinned_sessions{reason=\"session_tracking\"}"),
        0
    );
}

/// Nobody needs so many; but what they are does not grow for ever.
#[test]
fn one_list_too_many_pins_and_is_told_all_the_same() {
    const NAMES: [&str; 9] = [
        "autocommit",
        "character_set_client",
        "character_set_results",
        "time_zone",
        "sql_mode",
        "wait_timeout",
        "foreign_key_checks",
        "unique_checks",
        "max_error_count",
    ];
    let database = Database::shared();
    let settings = ["backend.max_connections = 2", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let mut direct = Client::login(database.address(), &login()).unwrap();
    let mut client = Client::login(&door.address(), &login()).unwrap();
    for number in 0..253 {
        let chosen = NAMES.iter().enumerate();
        let chosen = chosen.filter(|(bit, _)| (number >> bit) & 1 == 1);
        let names: Vec<_> = chosen.map(|(_, name)| *name).collect();
        let list = names.join(",");
        let sets = format!("SET session_track_system_variables = '{list}'");
        for client in [&mut direct, &mut client] {
            client.run(&sets);
        }
        if number < 252 {
            continue;
        }
        for statement in [
            "SET sql_mode = 'ANSI', time_zone = '+01:00', wait_timeout = 77, unique_checks = 0",
            "BEGIN",
            "SELECT COUNT(*) FROM shop.customer",
            "COMMIT",
        ] {
            let expected = told(&mut direct, statement);
            assert_eq!(told(&mut client, statement), expected, "{statement}");
        }
    }
    assert_eq!(pinned(&door, "session_tracking"), 1);
}

/// What is not carried still pins, beginning with what the session has said before.
#[test]
fn what_cannot_be_carried_of_what_is_tracked_pins() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let mut direct = Client::login(database.address(), &login()).unwrap();
    let mut client = Client::login(&door.address(), &login()).unwrap();
    for statement in [
        "SET session_track_system_variables = 'sql_mode', session_track_schema = 0",
        "SET session_track_transaction_info = 'STATE'",
        "SET sql_mode = 'ANSI', time_zone = '+01:00'",
        "USE shop",
        "BEGIN",
        "COMMIT",
    ] {
        let expected = told(&mut direct, statement);
        let through = told(&mut client, statement);
        assert_eq!(through, expected, "{statement}");
    }
    assert_eq!(pinned(&door, "session_tracking"), 1);
    for client in [&mut direct, &mut client] {
        client.send(0x1f, b"");
        client.answer().unwrap();
    }
    let statement = "SET sql_mode = 'ANSI', time_zone = '+01:00'";
    let expected = told(&mut direct, statement);
    assert_eq!(told(&mut client, statement), expected);
    assert_eq!(
        door.metric("myriad_pinned_sessions{reason=\"session_tracking\"}"),
        0
    );
}

//! A session that says what the session tracker tells is told that, and moves all the same: MariaDB's driver for Java
//! begins each of its sessions so.

use wire::{Capabilities, OkPacket, StateChange};

use crate::binary::{ENDINGS, Life, Step};
use crate::packets::{plain, shown};
use crate::session_state::pinned;
use crate::support::{
    Address, Client, Database, FrontDoor, Login, Outcome, Packet, Part, Server, USUAL, in_time,
};

/// What MariaDB Connector/J sends first, from version 3.4.1 on; its older versions set `session_track_schema`.
const OF_JAVA: &str = "set sql_mode=CONCAT(@@sql_mode,',STRICT_TRANS_TABLES'),\
    session_track_system_variables = CONCAT(@@global.session_track_system_variables,',ISOLATION'),NAMES utf8mb4";

/// What MariaDB Connector/ODBC 3.1 sends first.
const OF_ODBC: &str =
    "SET session_track_schema= ON;SET session_track_system_variables='autocommit,ISOLATION'";

const SCRIPT: [&str; 42] = [
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
    OF_ODBC,
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET autocommit = 1; SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET time_zone = '+04:00'; SET session_track_schema = 0; SET wait_timeout = 99, @b = 2",
    "SELECT @@time_zone, @@wait_timeout, @b",
    "SET session_track_system_variables = 'wait_timeout'; SET session_track_schema = 2; SET session_track_schema = 1",
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
        capabilities: USUAL
            | Capabilities::SESSION_TRACK
            | Capabilities::CONNECT_WITH_DB
            | Capabilities::MULTI_STATEMENTS,
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
            "SET sql_mode = 'ANSI', time_zone = '+01:00', wait_timeout = 77, max_error_count = 77",
            "BEGIN",
            "SELECT COUNT(*) FROM shop.customer",
            "COMMIT",
        ] {
            let expected = told(&mut direct, statement);
            assert_eq!(told(&mut client, statement), expected, "{statement}");
        }
    }
    if Server::chosen().tells_flags() {
        assert_eq!(pinned(&door, "session_tracking"), 1);
    }
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
        "SET wait_timeout = 98; SET session_track_system_variables = '*'; SET bogus = 1; SET wait_timeout = 97",
        "SET session_track_transaction_info = 'STATE'",
        "SELECT @@wait_timeout",
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

/// What is told of its login, and of changes, to a session that says nothing about that at first.
fn told_of_a_life(address: &Address, with_schema: bool) -> Vec<String> {
    let schema = Capabilities::CONNECT_WITH_DB;
    let mut login = login();
    login.capabilities.set(schema, with_schema);
    let mut client = Client::login(address, &login).unwrap();
    let mut lines = vec![plain(Part::Ok, &client.welcome)];
    for statement in [
        "SET time_zone = '+01:00'",
        "SET sql_mode = ''",
        "USE tracked",
        "SET @a = 1, wait_timeout = 77",
        "SET session_track_state_change = 1 - @@session_track_state_change",
        "SET sql_mode = 'ANSI'",
        "BEGIN",
        "USE shop",
        "SET wait_timeout = 78, time_zone = '+02:00'",
        "COMMIT",
    ] {
        lines.push(statement.into());
        lines.extend(told(&mut client, statement));
        if statement == "SET sql_mode = 'ANSI'" {
            client.send(0x1f, b"");
            lines.extend(comparable(shown(&client.answer().unwrap())));
        }
    }
    lines
}

/// What is tracked of sessions that begin is the server's to say.
#[test]
fn sessions_begin_with_what_the_server_has_tracked() {
    let database = Database::private();
    database.schema("tracked");
    let restless = ["backend.max_connections = 2", "backend.restless = \"on\""];
    let mut changed = FrontDoor::start(database.address(), &restless);
    for (number, global) in [
        "session_track_state_change = 1",
        "session_track_system_variables = '*'",
        "session_track_schema = 0",
        "session_track_system_variables = 'sql_mode'",
        "session_track_state_change = 0, session_track_schema = DEFAULT",
        "session_track_system_variables = ''",
        "session_track_system_variables = DEFAULT",
    ]
    .into_iter()
    .enumerate()
    {
        // MariaDB tracks nothing then, see below.
        if global.ends_with("''") && Server::is_mariadb() {
            continue;
        }
        // Somebody changes it elsewhere, or here, where a session is that has begun before.
        if number % 2 == 0 {
            database.execute(&format!("SET GLOBAL {global}"));
            changed = FrontDoor::start(database.address(), &restless);
        } else {
            let mut admin = Client::login(
                &changed.address(),
                &Login {
                    user: "admin",
                    password: "all",
                    ..login()
                },
            )
            .unwrap();
            let mut older = [database.address().clone(), changed.address()]
                .map(|address| Client::login(&address, &login()).unwrap());
            // What it begins with is known by now.
            for client in &mut older {
                client.run("DO 1");
            }
            admin.run(&format!("SET GLOBAL {global}"));
            for statement in ["SET sql_mode = 'ANSI', time_zone = '+01:00'", "USE tracked"] {
                let [expected, through] = older.each_mut().map(|client| told(client, statement));
                assert_eq!(through, expected, "{global}: {statement}");
            }
        }
        for with_schema in [true, false] {
            let expected = told_of_a_life(database.address(), with_schema);
            let through = told_of_a_life(&changed.address(), with_schema);
            assert_eq!(through, expected, "{global}, {with_schema}");
        }
    }
    assert_eq!(pinned(&changed, "session_tracking"), 0);
}

/// MySQL tells whoever asks by which id its commits can be found elsewhere.
#[test]
fn a_session_that_asks_for_its_gtids_is_told_them_and_moves() {
    if Server::is_mariadb() {
        return;
    }
    let database = Database::private_with(&[
        "--log-bin=binary",
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
    ]);
    database.execute("CREATE TABLE shop.gtids (a INT)");
    let restless = ["backend.max_connections = 2", "backend.restless = \"on\""];
    let door = FrontDoor::start(database.address(), &restless);
    let told_ids = |client: &mut Client, statement: &str| {
        client.query(statement);
        let answer = client.answer().unwrap();
        let ok = OkPacket::parse(&answer.packets.last().unwrap().1.payload).unwrap();
        ok.changes()
            .filter(|change| *change == StateChange::Other)
            .count()
    };
    let mut client = Client::login(&door.address(), &login()).unwrap();
    let mut other = Client::login(&door.address(), &login()).unwrap();
    let write = "INSERT INTO shop.gtids VALUES (1)";
    assert_eq!(told_ids(&mut client, write), 0);
    client.run("SET session_track_gtids = OWN_GTID");
    for _ in 0..4 {
        assert_eq!(told_ids(&mut client, write), 1);
        assert_eq!(told_ids(&mut other, write), 0);
    }
    database.execute("SET GLOBAL session_track_gtids = OWN_GTID");
    let door = FrontDoor::start(database.address(), &restless);
    let mut client = Client::login(&door.address(), &login()).unwrap();
    let mut other = Client::login(&door.address(), &login()).unwrap();
    other.run("SET session_track_gtids = OFF");
    for _ in 0..4 {
        assert_eq!(told_ids(&mut client, write), 1);
        assert_eq!(told_ids(&mut other, write), 0);
    }
    assert_eq!(
        door.metric("myriad_pinned_sessions{reason=\"session_tracking\"}"),
        0
    );
}

/// MariaDB tracks nothing in sessions that begin while its list is empty: what they set would be whoever's comes next.
#[test]
fn a_server_that_tracks_nothing_is_not_used_and_it_is_said_why() {
    if !Server::is_mariadb() {
        return;
    }
    let database = Database::private();
    let settings = [
        "backend.max_connections = 1",
        "backend.queue_timeout = \"1s\"",
    ];
    let door = FrontDoor::start(database.address(), &settings);
    let mut before = Client::login(&door.address(), &login()).unwrap();
    before.run("SET time_zone = '+01:00'");
    database.execute("SET GLOBAL session_track_system_variables = ''");
    assert_eq!(before.value("SELECT @@time_zone"), "+01:00");
    // Whoever comes after this one would get its connection, cleaned.
    before.run("CREATE TEMPORARY TABLE mine (a INT)");
    drop(before);
    let mut client = Client::login(&door.address(), &login()).unwrap();
    let told = client.run("SET time_zone = '+02:00'");
    let [Outcome::Err(1235, words)] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(
        words.contains("session_track_system_variables is empty"),
        "{words}"
    );
    database.execute("SET GLOBAL session_track_system_variables = DEFAULT");
    let served = || {
        let mut client = Client::login(&door.address(), &login()).ok()?;
        matches!(client.run("DO 1")[..], [Outcome::Ok(_)]).then_some(())
    };
    in_time(served).expect("the server is used again");
}

/// Runs in another schema.
const MOVES: &str = "SELECT tracked_late.two()";

/// What a client without `CLIENT_DEPRECATE_EOF` sends; nothing is COM_PING.
const LATE: [&str; 17] = [
    MOVES,
    "SET autocommit = 0",
    MOVES,
    "SELECT 1",
    "DO 1",
    "DO 1",
    MOVES,
    "",
    MOVES,
    "USE tracked",
    "DO 1",
    "SELECT tracked_late.two(); SET time_zone = '+01:00'; SELECT 1; DO 1",
    "COMMIT",
    "SET autocommit = 1",
    "CALL tracked_late.sets()",
    "DO 1",
    MOVES,
];

/// The end of rows has no place for it: libmariadb, and what is built on it, is told with the next OK packet by MySQL,
/// and with the next change by MariaDB.
#[test]
fn who_has_eof_packets_is_told_behind_rows_what_changed_with_them() {
    let database = Database::shared();
    database.schema("tracked_late");
    let mut login = login();
    login.capabilities.remove(Capabilities::DEPRECATE_EOF);
    let mut direct = Client::login(database.address(), &login).unwrap();
    direct.run("CREATE FUNCTION tracked_late.two() RETURNS INT DETERMINISTIC RETURN 2");
    direct.run(
        "CREATE PROCEDURE tracked_late.sets() BEGIN SELECT 1; SET lock_wait_timeout = 77; SELECT 2; END",
    );
    for restless in ["off", "on"] {
        let restless = format!("backend.restless = \"{restless}\"");
        let door = FrontDoor::start(
            database.address(),
            &["backend.max_connections = 2", &restless],
        );
        let mut direct = Client::login(database.address(), &login).unwrap();
        let mut client = Client::login(&door.address(), &login).unwrap();
        let mut other = Client::login(&door.address(), &login).unwrap();
        let mut told_late = 0;
        for statement in LATE {
            let [expected, through] = [&mut direct, &mut client].map(|client| {
                match statement {
                    "" => client.send(0x0e, b""),
                    text => client.query(text),
                }
                let lines = comparable(shown(&client.answer().unwrap()));
                // MariaDB has a flag in EOF packets (docs/CORNERS.md).
                let is_eof =
                    |line: &String| line.starts_with("ColumnsEnd ") || line.starts_with("RowsEnd ");
                lines
                    .into_iter()
                    .filter(|line| !is_eof(line))
                    .collect::<Vec<_>>()
            });
            assert_eq!(through, expected, "{statement}, {restless}");
            let of_others = ["", "DO 1"].contains(&statement);
            told_late +=
                usize::from(of_others && expected.iter().any(|line| line.contains("USE ")));
            other.run("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO', @a = 7, wait_timeout = 1000");
        }
        // Three as a rule; definitions of other tests may have MySQL tell one earlier.
        let expected = if Server::is_mariadb() { 0..=0 } else { 1..=3 };
        assert!(
            expected.contains(&told_late),
            "{told_late} OK packets tell what is not their own"
        );
        // A session that begins anew owes nothing.
        for client in [&mut direct, &mut client] {
            client.query(MOVES);
            client.answer().unwrap();
            client.send(0x1f, b"");
            client.answer().unwrap();
        }
        assert_eq!(told(&mut client, "DO 1"), told(&mut direct, "DO 1"));
    }
}

const COM_PING: u8 = 0x0e;

const READ: &str = "SELECT a FROM t WHERE id = 2";

/// MariaDB has a flag in EOF packets (docs/CORNERS.md).
fn without_eof(packets: Vec<Packet>) -> Vec<Packet> {
    let is_eof = |packet: &Packet| packet.payload[0] == 0xfe && packet.payload.len() == 5;
    packets
        .into_iter()
        .filter(|packet| !is_eof(packet))
        .collect()
}

/// The server selects the schema that a statement was prepared in, then the session's own again. MySQL tells the session's
/// schema with the answer, and drivers read it there.
#[test]
fn a_statement_that_was_prepared_in_another_schema_tells_the_schema_as_on_the_server() {
    let database = Database::shared();
    for schema in ["tracked_home", "tracked_away"] {
        database.schema(schema);
        database.execute(&format!(
            "CREATE TABLE {schema}.t (id INT PRIMARY KEY, a INT); INSERT INTO {schema}.t VALUES (1, 1), (2, 2)"
        ));
    }
    for capabilities in ENDINGS {
        let capabilities = capabilities | Capabilities::SESSION_TRACK;
        for restless in ["off", "on"] {
            let restless = format!("backend.restless = \"{restless}\"");
            let settings = ["backend.max_connections = 2", &restless];
            let door = FrontDoor::start(database.address(), &settings);
            let mut direct = Life::begin(database.address(), "tracked_home", capabilities);
            let mut through = Life::begin(&door.address(), "tracked_home", capabilities);
            let mut other = Client::login(&door.address(), &login()).unwrap();
            let mut same = |step: Step<'_>, text: &str| {
                let [expected, told] = [&mut direct, &mut through].map(|life| life.step(step));
                assert_eq!(
                    without_eof(told),
                    without_eof(expected),
                    "{text}: {step:?}, {capabilities:?}, {restless}"
                );
            };
            for text in [
                "UPDATE t SET a = a + 1 WHERE id = 1",
                "DELETE FROM t WHERE id = 9",
                READ,
                "DO 1",
                "SET @a = 1",
            ] {
                for step in [
                    Step::Text("USE tracked_home"),
                    Step::Prepare(text),
                    Step::Execute(0, &[]),
                    Step::Text("USE tracked_away"),
                    Step::Execute(0, &[]),
                    Step::Text("DO 1"),
                    Step::Text("USE tracked_home"),
                    Step::Execute(0, &[]),
                    Step::Close,
                    Step::Text("DO 1"),
                ] {
                    same(step, text);
                    other.run("SET time_zone = '+01:00'");
                }
            }
            // The session keeps its backend, which has the other schema.
            for step in [
                Step::Prepare(READ),
                Step::Text("USE tracked_away"),
                Step::Text("SET autocommit = 0"),
                Step::Execute(0, &[]),
                Step::Reset,
                Step::Command(COM_PING, b""),
                Step::Text("DO 1"),
                Step::Execute(0, &[]),
                Step::Text("COMMIT"),
            ] {
                same(step, READ);
            }
        }
    }
}

//! What a session sets for its next transaction, for one statement, or about replication, while others do
//! otherwise on the same backend.

use std::sync::Arc;

use wire::{Capabilities, OkPacket, ServerStatus};

use crate::packets::shown;
use crate::session_state::{Scripts, compare, compare_as, pinned};
use crate::support::{
    Address, Client, Database, FrontDoor, Login, Outcome, Server, USUAL, eventually,
};

const COM_CHANGE_USER: u8 = 0x11;
const COM_RESET_CONNECTION: u8 = 0x1f;

/// Compares, and sees to it that none of it pins.
fn carries(schema: &str, scripts: Scripts<'_>) {
    let (door, _clients) = compare(schema, scripts);
    nothing_pins(&door);
}

fn nothing_pins(door: &FrontDoor) {
    for reason in [
        "replication_variable",
        "untracked_variable",
        "unknown",
        "user_variable",
        "call",
    ] {
        assert_eq!(pinned(door, reason), 0, "{reason}");
    }
}

/// A session that may set global variables.
fn admin(address: &Address) -> Client {
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::default()
    };
    Client::login(address, &login).unwrap()
}

#[test]
fn the_next_transaction_is_what_its_session_wants_it_to_be() {
    const WRITE: &str = "UPDATE t SET a = CONCAT(a, 'x') WHERE id = 0";
    carries(
        "carried_next",
        &[
            &[
                "SET TRANSACTION READ ONLY",
                "SELECT 1",
                WRITE,
                "BEGIN; SELECT 1; COMMIT",
                WRITE,
                "SET TRANSACTION READ ONLY",
                "COMMIT",
                "SET TRANSACTION READ ONLY, ISOLATION LEVEL SERIALIZABLE",
                "SHOW WARNINGS",
                WRITE,
                "SELECT id FROM t",
                WRITE,
                "SET SESSION TRANSACTION READ ONLY",
                "SET TRANSACTION READ WRITE",
                WRITE,
                WRITE,
            ],
            &[
                WRITE,
                "SET sql_mode = ''",
                WRITE,
                "SET TRANSACTION READ ONLY",
                "SET autocommit = 0",
                "ROLLBACK; UPDATE t SET a = 'x' WHERE id = 0; COMMIT",
                "SET TRANSACTION READ ONLY",
                "SET autocommit = 1",
                WRITE,
                "ROLLBACK",
                "SET TRANSACTION READ ONLY",
                "ROLLBACK",
                WRITE,
                "SET TRANSACTION READ ONLY",
                "INSERT INTO t (id) VALUES (1)",
                WRITE,
            ],
            &[
                WRITE,
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
                "INSERT INTO t (id) VALUES (1)",
                "SET TRANSACTION READ ONLY; SELECT 5",
                "SELECT (SELECT 1 UNION SELECT 2) FROM t",
                WRITE,
                "SET @@tx_isolation = 'SERIALIZABLE'",
                "SELECT @@tx_isolation",
                "BEGIN; SELECT id FROM t; COMMIT AND CHAIN; ROLLBACK",
                "SET TRANSACTION READ ONLY",
                "SELECT nothing FROM t",
                WRITE,
                "SELECT nothing",
                WRITE,
                WRITE,
                WRITE,
            ],
            &[WRITE; 16],
        ],
    );
}

/// A front door with so many connections to the database, both to be kept, and sessions in a schema with a table `t` of
/// five rows.
fn few<const N: usize>(
    schema: &str,
    connections: usize,
) -> ((FrontDoor, Arc<Database>), [Client; N]) {
    let database = Database::shared();
    database.schema(schema);
    database.execute(&format!(
        "USE {schema}; CREATE TABLE t (a INT PRIMARY KEY, n INT);
        INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)"
    ));
    let settings = format!("backend.max_connections = {connections}");
    let door = FrontDoor::start(database.address(), &[&settings]);
    let clients = [(); N].map(|()| Client::new(&door.address(), schema));
    ((door, database), clients)
}

/// The code of the ERR that a statement gets, or 0.
fn code(client: &mut Client, sql: &str) -> u16 {
    match client.run(sql)[..] {
        [Outcome::Err(code, _)] => code,
        _ => 0,
    }
}

const READ_ONLY: u16 = 1792;
const WRITE: &str = "UPDATE t SET n = n + 1 WHERE a = 1";

/// Both servers give it to the next one of the connection, if `SET autocommit = 1` ends the transaction.
#[test]
fn what_one_transaction_was_to_have_is_not_that_of_another_session() {
    let (_kept, [mut client, mut other]) = few("carried_next_ended", 1);
    for begins in ["SET autocommit = 0", "SET autocommit = 0; BEGIN"] {
        for statement in [
            "SET TRANSACTION READ ONLY",
            begins,
            "SELECT * FROM t",
            "SET autocommit = 1",
        ] {
            assert_eq!(code(&mut client, statement), 0, "{statement}");
        }
        assert_eq!(code(&mut other, WRITE), 0, "{begins}");
        assert_eq!(code(&mut client, WRITE), READ_ONLY, "{begins}");
        client.run("ROLLBACK");
        assert_eq!(code(&mut client, WRITE), 0, "{begins}");
    }
    // What its session has set within it is that of later ones.
    for statement in [
        "SET SESSION TRANSACTION READ ONLY",
        "SET autocommit = 0",
        "SELECT * FROM t",
        "SET SESSION TRANSACTION READ WRITE",
        "SET autocommit = 1",
    ] {
        assert_eq!(code(&mut client, statement), 0, "{statement}");
    }
    assert_eq!(code(&mut other, WRITE), 0);
}

/// The same of a transaction that is rolled back because of a deadlock.
#[test]
fn what_the_victim_of_a_deadlock_was_to_have_is_not_that_of_another_session() {
    const DEADLOCK: u16 = 1213;
    for begins in ["BEGIN", "SET autocommit = 0"] {
        let (_kept, [mut heavy, mut victim, mut other]) = few("carried_next_victim", 2);
        heavy.run("BEGIN");
        for row in [2, 3, 4] {
            heavy.run(&format!("UPDATE t SET n = 0 WHERE a = {row}"));
        }
        let locks = |row| format!("SELECT n FROM t WHERE a = {row} LOCK IN SHARE MODE");
        for statement in ["SET TRANSACTION READ ONLY", begins, &locks(5)] {
            assert_eq!(code(&mut victim, statement), 0, "{statement}");
        }
        heavy.query("UPDATE t SET n = 0 WHERE a = 5");
        assert_eq!(code(&mut victim, &locks(2)), DEADLOCK, "{begins}");
        heavy.answer().unwrap();
        assert_eq!(code(&mut other, WRITE), 0, "{begins}");
        assert_eq!(code(&mut victim, WRITE), READ_ONLY, "{begins}");
        victim.run("ROLLBACK");
        assert_eq!(code(&mut victim, WRITE), 0, "{begins}");
    }
}

/// To set for all transactions what another session had set ends that of the next one.
#[test]
fn what_the_next_transaction_is_to_have_stays_beside_what_others_set_for_theirs() {
    let (_kept, [mut client, mut other]) = few("carried_next_beside", 1);
    other.run("SET SESSION TRANSACTION READ WRITE");
    for client in [&mut client, &mut other] {
        client.run("SET TRANSACTION READ ONLY");
    }
    assert_eq!(code(&mut client, WRITE), READ_ONLY);
}

#[test]
fn what_is_about_replication_follows_its_session() {
    const ASKS: &str =
        "SELECT @@sql_log_bin, @@binlog_format, @@binlog_row_image, @@sort_buffer_size";
    let mut script = vec![
        ASKS,
        "SET sql_log_bin = 0",
        "SET SESSION binlog_row_image = 'MINIMAL', sort_buffer_size = 70000",
        ASKS,
        "SELECT id FROM t",
        "SHOW WARNINGS",
        "SET binlog_format = 'STATEMENT'",
        "SELECT id FROM t",
        "SHOW WARNINGS",
        ASKS,
        "SET sql_log_bin = 1, binlog_format = 'ROW', sort_buffer_size = DEFAULT",
        ASKS,
    ];
    if Server::is_mariadb() {
        script.extend([
            "SET gtid_domain_id = 7, server_id = 77, skip_replication = 1",
            "SELECT @@gtid_domain_id, @@server_id, @@skip_replication",
        ]);
    }
    let others: Vec<_> = script.iter().map(|_| ASKS).collect();
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::to("carried_replication")
    };
    let (door, _clients) = compare_as(&login, &[&others, &script, &others]);
    nothing_pins(&door);
}

#[test]
fn what_is_null_stays_null() {
    let names: &[_] = match Server::is_mariadb() {
        true => &["enforce_storage_engine", "default_tmp_storage_engine"],
        false => &[],
    };
    let names = [names, &["innodb_tmpdir"]].concat();
    for name in names {
        let set = format!("SET {name} = NULL");
        let asks = format!("SELECT @@session.{name}");
        let script = [&asks, &set[..], &asks, "CREATE TABLE n (a INT)", &asks];
        carries("carried_null", &[&[&asks[..]; 5], &script]);
    }
}

/// The server asks for the table when the variable is set, and not later.
#[test]
fn the_table_that_a_variable_names_may_be_gone() {
    let login = Login::to("carried_stopwords");
    let set = "SET innodb_ft_user_stopword_table = 'carried_stopwords/words'";
    let asks = "SELECT @@innodb_ft_user_stopword_table";
    let words = "CREATE TABLE words (value VARCHAR(30)) ENGINE=InnoDB";
    let script = [words, set, asks, "DROP TABLE words", asks, "DO 1", asks];
    let (door, _clients) = compare_as(&login, &[&script]);
    assert_eq!(pinned(&door, "untracked_variable"), 1);
}

/// The server keeps what a definition says, for everybody.
#[test]
fn what_is_defined_is_not_about_the_session_that_defines_it() {
    let script = [
        "CREATE TABLE d (a BIGINT DEFAULT (CONNECTION_ID()))",
        "SHOW CREATE TABLE d",
        "ALTER TABLE d ADD b BIGINT DEFAULT (CONNECTION_ID())",
        "SHOW CREATE TABLE d",
        "CREATE VIEW c AS SELECT CONNECTION_ID() AS c; SHOW CREATE VIEW c",
    ];
    carries("carried_definitions", &[&script]);
}

#[test]
fn a_default_that_may_not_be_set_by_value_pins() {
    let login = Login::to("carried_default");
    let script = [
        "SET sql_log_bin = DEFAULT",
        "SELECT @@sql_log_bin, @@binlog_format",
        "DO RELEASE_ALL_LOCKS()",
    ];
    let (door, _clients) = compare_as(&login, &[&script]);
    assert_eq!(pinned(&door, "replication_variable"), 1);
}

#[test]
fn what_holds_for_one_statement_outlives_it_in_no_session() {
    if !Server::is_mariadb() {
        return;
    }
    const ASKS: &str = "SELECT @@sql_mode, @@sort_buffer_size, @@timestamp > 100, @last, @x";
    const ONCE: &str = "SET STATEMENT sql_mode = 'ANSI', sort_buffer_size = 100000 FOR ";
    let once = |text: &str| format!("{ONCE}{text}");
    let texts = [
        once("SELECT @@sql_mode, @@sort_buffer_size, \"a\" FROM t"),
        ASKS.to_owned(),
        once("INSERT INTO audit (tag) VALUES ('x')"),
        ASKS.to_owned(),
        once("INSERT INTO plain VALUES (50, 'x')"),
        ASKS.to_owned(),
        once("SELECT nothing"),
        ASKS.to_owned(),
        "SET STATEMENT timestamp = 7 FOR SELECT NOW() < 20000101, @x := 5".to_owned(),
        ASKS.to_owned(),
        "SET STATEMENT max_statement_time = 1 FOR SELECT SLEEP(0)".to_owned(),
        "SET sort_buffer_size = 200000".to_owned(),
        once("UPDATE t SET a = @@sort_buffer_size WHERE id = 1"),
        ASKS.to_owned(),
        "SELECT a FROM t".to_owned(),
    ];
    let script: Vec<_> = texts.iter().map(|text| &text[..]).collect();
    let others: Vec<_> = texts.iter().map(|_| ASKS).collect();
    carries("carried_once", &[&others, &script, &others]);
}

/// The server tells of what SET STATEMENT has put back only with whatever it tells next.
#[test]
fn what_was_put_back_after_a_statement_is_told_to_no_other_session() {
    if !Server::is_mariadb() {
        return;
    }
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let login = Login {
        capabilities: USUAL | Capabilities::SESSION_TRACK,
        ..Login::default()
    };
    let [mut one, mut other] = [(); 2].map(|()| Client::login(&door.address(), &login).unwrap());
    let mut told = |text: &str| {
        one.run("SET STATEMENT time_zone = '+02:00', character_set_results = ascii FOR SELECT 1");
        other.send(0x03, text.as_bytes());
        shown(&other.answer().unwrap()).concat()
    };
    assert!(
        !told("SET @a = 1").contains("[\""),
        "{}",
        told("SET @a = 1")
    );
    assert!(told("SET autocommit = 1").ends_with("[\"autocommit=ON\"]"));
}

#[test]
fn what_a_view_sets_follows_its_session() {
    if !Server::is_mariadb() {
        return;
    }
    let script = [
        "CREATE FUNCTION notes(a INT) RETURNS INT NO SQL BEGIN SET @noted = a; SET @other = NULL; RETURN a; END",
        "CREATE VIEW noting AS SELECT notes(id) AS id FROM t",
        "SELECT * FROM noting",
        "SELECT @noted, @other",
        "SET @noted = NULL",
        "SELECT * FROM noting LIMIT 1",
        "SELECT @noted, @other",
    ];
    let others = ["SELECT @noted, @other"; 7];
    let _database = Database::shared();
    let (door, mut clients) = compare("carried_view", &[&script, &others]);
    nothing_pins(&door);
    let asks = |client: &mut Client| client.value("SELECT @noted");
    assert_eq!(
        clients.iter_mut().map(asks).collect::<Vec<_>>(),
        ["1", "NULL"]
    );
}

/// What a session begins with stays, also where its statements run on connections that were opened later.
#[test]
fn autocommit_of_all_concerns_sessions_that_begin_after_it() {
    let database = Database::private();
    let settings = ["backend.max_connections = 4", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let [mut before, mut busy, mut other] = [(); 3].map(|()| Client::new(&door.address(), "shop"));
    before.run("CREATE TABLE begun (a INT)");
    database.execute("SET GLOBAL autocommit = 0");
    // The connections that were open, two at most, are taken, and another one opened.
    busy.run("BEGIN; SELECT * FROM begun");
    other.run("BEGIN; SELECT * FROM begun");
    before.run("INSERT INTO begun VALUES (1)");
    assert_eq!(database.execute("SELECT a FROM shop.begun").trim(), "1");
    for settings in ["", "SET autocommit = 1", "SET autocommit = DEFAULT"] {
        let mut after = Client::new(&door.address(), "shop");
        after.run(settings);
        let expected = if settings.ends_with('1') { "1" } else { "0" };
        assert_eq!(after.value("SELECT @@autocommit"), expected, "{settings}");
        after.send(COM_RESET_CONNECTION, b"");
        after.answer().unwrap();
        assert_eq!(after.value("SELECT @@autocommit"), "0", "{settings}");
        after.run("INSERT INTO begun VALUES (2)");
        assert_eq!(before.value("SELECT COUNT(*) FROM begun"), "1");
        assert_eq!(before.value("SELECT @@autocommit"), "1");
    }
}

/// Also where no connection is opened meanwhile: the change that comes through the front door is asked about.
#[test]
fn autocommit_of_all_is_known_as_soon_as_somebody_has_changed_it() {
    let database = Database::private();
    let settings = ["backend.max_connections = 1", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let mut admin = admin(&door.address());
    for value in ["0", "1", "OFF", "ON"] {
        admin.run(&format!("SET GLOBAL autocommit = {value}"));
        // Asked behind it, on the same connection.
        admin.run("SELECT 1");
        let after = Client::new(&door.address(), "shop");
        let status = OkPacket::parse(&after.welcome.payload).unwrap().status;
        let is_on = ["1", "ON"].contains(&value);
        assert_eq!(status.contains(ServerStatus::AUTOCOMMIT), is_on, "{value}");
    }
    assert_eq!(door.metric("myriad_backend_resets_total"), 0);
}

/// Drivers quote what they put into texts by a flag that the login tells first, and must be read so.
#[test]
fn how_backslashes_are_read_is_told_at_the_login() {
    let database = Database::private();
    let settings = ["backend.max_connections = 1", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let mut admin = admin(&door.address());
    let usual = admin.value("SELECT @@sql_mode");
    let modes = [
        (format!("{usual},NO_BACKSLASH_ESCAPES"), true),
        (usual, false),
    ];
    for (sql_mode, plain) in modes {
        admin.run(&format!("SET GLOBAL sql_mode = '{sql_mode}'"));
        // Asked behind it, on the same connection.
        admin.run("SELECT 1");
        for address in [database.address(), &door.address()] {
            let mut after = Client::new(address, "shop");
            let status = OkPacket::parse(&after.welcome.payload).unwrap().status;
            let flag = ServerStatus::NO_BACKSLASH_ESCAPES;
            assert_eq!(status.contains(flag), plain, "{sql_mode}");
            let (asks, read) = (r"SELECT LENGTH('\\')", if plain { "2" } else { "1" });
            assert_eq!(after.value(asks), read, "{sql_mode}");
            after.send(COM_RESET_CONNECTION, b"");
            after.answer().unwrap();
            assert_eq!(after.value(asks), read, "{sql_mode}");
        }
    }
}

/// So do drivers for Java.
#[test]
fn sessions_that_ignore_spaces_begin_with_the_mode_that_all_have() {
    let database = Database::private();
    let settings = ["backend.max_connections = 2", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let login = Login {
        capabilities: USUAL | Capabilities::IGNORE_SPACE,
        ..Login::default()
    };
    let begin = || Client::login(&door.address(), &login).unwrap();
    let mut admin = admin(&door.address());
    let usual = admin.value("SELECT @@sql_mode");
    let [mut early, mut unused] = [(); 2].map(|()| begin());
    let first = early.value("SELECT @@sql_mode");
    for sql_mode in ["NO_ZERO_DATE", "ANSI", &usual, ""] {
        admin.run(&format!("SET GLOBAL sql_mode = '{sql_mode}'"));
        // Asked behind it, on the same connection.
        admin.run("SELECT 1");
        let mut direct = Client::login(database.address(), &login).unwrap();
        let expected = direct.value("SELECT @@sql_mode");
        assert!(expected.contains("IGNORE_SPACE"));
        for _ in 0..2 {
            assert_eq!(begin().value("SELECT @@sql_mode"), expected);
        }
    }
    for client in [&mut early, &mut unused] {
        assert_eq!(client.value("SELECT @@sql_mode"), first);
    }
}

/// Whether a session that begins anew has what the flags of its login ask for differs between servers, and between
/// the ways in which it does so.
#[test]
fn sessions_that_begin_anew_have_of_their_flags_what_they_have_directly() {
    const ASK: &str = "SELECT CONCAT_WS(' ', @@sql_mode, @@wait_timeout)";
    let database = Database::private();
    database.execute("SET GLOBAL interactive_timeout = 29801");
    let settings = ["backend.max_connections = 2", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    // What interactive sessions begin with is known from the first connection on.
    Client::new(&door.address(), "shop").run("DO 1");
    let flags = Capabilities::IGNORE_SPACE | Capabilities::INTERACTIVE;
    let told = |address: &Address, ways: &[u8]| -> Vec<String> {
        let login = Login {
            capabilities: USUAL | flags,
            ..Login::default()
        };
        let mut client = Client::login(address, &login).unwrap();
        let mut told = vec![client.value(ASK)];
        for &way in ways {
            if way == COM_CHANGE_USER {
                // The plugin is nobody's, so the client is asked to switch.
                client.send(way, b"app\0\0shop\0\x2d\0none_of_these\0");
                client.finish_login("secret").unwrap().unwrap();
            } else {
                client.send(way, b"");
                client.answer().unwrap();
            }
            told.push(client.value(ASK));
            client.run("SET sql_mode = 'ANSI', wait_timeout = 1000");
        }
        told
    };
    for ways in [
        [COM_RESET_CONNECTION, COM_RESET_CONNECTION],
        [COM_RESET_CONNECTION, COM_CHANGE_USER],
        [COM_CHANGE_USER, COM_RESET_CONNECTION],
        [COM_CHANGE_USER, COM_CHANGE_USER],
    ] {
        let through = told(&door.address(), &ways);
        assert_eq!(through, told(database.address(), &ways), "{ways:?}");
    }
}

/// A session keeps the collation of the server that it has set, whoever sets another one for all.
#[test]
fn the_servers_collation_is_what_the_session_has_set() {
    const ASK: &str = "SELECT CONCAT(@@character_set_server, ' ', @@collation_server)";
    let database = Database::private();
    let settings = ["backend.max_connections = 2", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let mut admin = admin(&door.address());
    let [mut before, mut own] = [(); 2].map(|()| Client::new(&door.address(), "shop"));
    before.run("DO 1");
    own.run("SET collation_server = latin1_german1_ci");
    own.run("SET character_set_server = cp1251");
    admin.run("SET GLOBAL collation_server = latin2_croatian_ci");
    let mut after = Client::new(&door.address(), "shop");
    for _ in 0..3 {
        assert_eq!(after.value(ASK), "latin2 latin2_croatian_ci");
        assert_eq!(own.value(ASK), "cp1251 cp1251_general_ci");
        assert_eq!(before.value(ASK), "latin2 latin2_croatian_ci");
        assert_eq!(admin.value(ASK), "latin2 latin2_croatian_ci");
    }
    own.run("SET collation_server = cp1251_bin");
    admin.run("SET GLOBAL character_set_server = greek");
    for _ in 0..3 {
        assert_eq!(own.value(ASK), "cp1251 cp1251_bin");
        assert_eq!(after.value(ASK), "greek greek_general_ci");
    }
    after.send(COM_RESET_CONNECTION, b"");
    after.answer().unwrap();
    assert_eq!(after.value(ASK), "greek greek_general_ci");
    nothing_pins(&door);
}

/// The character sets of all are those of whoever logs in with the one that the server has: it is asked anew.
#[test]
fn character_sets_of_all_are_those_of_logins_after_it() {
    const ASK: &str = "SELECT CONCAT_WS(' ', @@character_set_client, @@character_set_results, @@collation_connection)";
    let database = Database::private();
    let settings = ["backend.max_connections = 2", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let [mut setter, mut before] = [(); 2].map(|()| admin(&door.address()));
    let began = before.value(ASK);
    setter.run("SET GLOBAL character_set_results = latin2");
    setter.run("SET GLOBAL collation_connection = latin1_german1_ci");
    let [mut after, mut reference] = [&door.address(), database.address()].map(admin);
    for _ in 0..3 {
        assert_eq!(after.value(ASK), reference.value(ASK));
        assert_eq!(before.value(ASK), began);
        assert_eq!(setter.value(ASK), began);
    }
    nothing_pins(&door);
}

/// What the front door asks is answered in the character set of results, whatever that is.
#[test]
fn results_of_several_bytes_for_each_letter_follow_their_session() {
    let script = |(id, charset): (u32, &str)| {
        [
            &format!("SET @@session.character_set_results = {charset}"),
            "SHOW WARNINGS",
            "SELECT @@character_set_client, @@character_set_results, @@collation_connection",
            "SET @a = 'text', @b = 5, @c = 1.50",
            &format!("INSERT INTO t (id, a) VALUES ({id}, 'x')"),
            "SELECT @a, @b, @c, LAST_INSERT_ID()",
            "SELECT CAST('x1' AS SIGNED), 1 / 0",
            "SHOW WARNINGS",
            "SHOW ERRORS",
            "SELECT * FROM nosuch",
            "SHOW ERRORS",
            "SELECT FOUND_ROWS()",
            "SET time_zone = '+03:00'",
            "SELECT @@time_zone, DATABASE()",
            "SET NAMES utf8mb4",
            "SELECT @@character_set_results",
        ]
        .map(str::to_owned)
    };
    let scripts = [(71, "ucs2"), (72, "utf16"), (73, "utf32"), (74, "latin1")].map(script);
    let scripts = scripts
        .each_ref()
        .map(|script| script.each_ref().map(String::as_str));
    let scripts: Vec<&[&str]> = scripts.iter().map(<[&str; 16]>::as_slice).collect();
    carries("carried_wide", &scripts);
}

/// A backend connection is cleaned while its schema is gone, and used in the one that has its name afterwards.
#[test]
fn a_schema_that_is_made_anew_has_its_character_set() {
    const DROP: &str = "DROP DATABASE IF EXISTS carried_anew";
    const CREATE: &str = "CREATE DATABASE carried_anew CHARACTER SET koi8r";
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut owner = admin(database.address());
    owner.run(DROP);
    owner.run(CREATE);
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::to("carried_anew")
    };
    let session = || Client::login(&door.address(), &login).unwrap();
    let mut first = session();
    assert_eq!(first.value("SELECT GET_LOCK('carried_anew', 0)"), "1");
    owner.run(DROP);
    drop(first);
    eventually("a clean backend", || {
        let is_clean = door.metric("myriad_backend_resets_total") > 0;
        let rests = door.metric("myriad_backends{state=\"idle\"}") == 1;
        (is_clean && rests || door.metric("myriad_backend_slots_taken") == 0).then_some(())
    });
    owner.run(CREATE);
    let mut second = session();
    second.run("SET CHARACTER SET gbk");
    let collation = second.value("SELECT @@collation_connection");
    assert_eq!(collation, "koi8r_general_ci");
    owner.run(DROP);
}

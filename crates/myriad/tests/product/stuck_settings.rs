//! Sessions with variables that the server does not let anybody set any more: it lets them keep their values.

use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, Server, eventually};

const ACCOUNT: &str = "[[account]]\nuser = \"staff\"\npassword = \"secret\"";

fn login(address: &Address) -> Client {
    let login = Login {
        user: "staff",
        ..Login::default()
    };
    Client::login(address, &login).unwrap()
}

/// A front door before a single connection, and two sessions.
fn begin(database: &Database) -> (FrontDoor, Client, Client) {
    database.execute("CREATE USER 'staff'@'localhost' IDENTIFIED BY 'secret'");
    drop(login(database.address()));
    let settings = ["backend.max_connections = 1", ACCOUNT];
    let door = FrontDoor::start(database.address(), &settings);
    let (one, other) = (login(&door.address()), login(&door.address()));
    (door, one, other)
}

fn fine(client: &mut Client, text: &str) {
    let told = client.run(text);
    assert!(
        !told.iter().any(|told| matches!(told, Outcome::Err(..))),
        "{text}: {told:?}"
    );
}

#[test]
fn a_variable_whose_plugin_is_gone_hurts_nobody() {
    // Of MariaDB's plugins that the tests have none has a variable of the session.
    if Server::is_mariadb() {
        return;
    }
    let database = Database::private();
    let (_door, mut one, mut other) = begin(&database);
    let install = "INSTALL PLUGIN simple_parser SONAME 'mypluglib.so'";
    let set = "SET SESSION simple_parser_simple_thdvar_one = 5, sort_buffer_size = 65536";
    let gone = "SELECT @@simple_parser_simple_thdvar_one";
    let keeps = "SELECT @@sort_buffer_size";
    database.execute(install);
    let mut direct = login(database.address());
    fine(&mut direct, set);
    fine(&mut one, set);
    database.execute("UNINSTALL PLUGIN simple_parser");
    // The connection has it, and is to lose it.
    fine(&mut other, "SELECT 1");
    fine(&mut one, "SELECT 1");
    assert_eq!(one.run(gone), direct.run(gone));
    for _ in 0..2 {
        assert_eq!(one.value(keeps), direct.value(keeps));
        assert_ne!(other.value(keeps), one.value(keeps));
    }
}

#[test]
fn what_has_no_effect_any_more_is_given_up() {
    if !Server::is_mariadb() {
        return;
    }
    let database = Database::private_with(&["--query-cache-type=ON"]);
    let (_door, mut one, mut other) = begin(&database);
    fine(&mut one, "SET query_cache_type = DEMAND");
    fine(
        &mut one,
        "SET max_delayed_threads = 20, sort_buffer_size = 65536",
    );
    database.execute("SET GLOBAL query_cache_type = OFF; SET GLOBAL max_delayed_threads = 7");
    for _ in 0..2 {
        fine(&mut other, "DO 1");
        fine(&mut one, "DO 2");
        assert_eq!(one.value("SELECT @@sort_buffer_size"), "65536");
    }
    assert_eq!(one.value("SELECT @@max_delayed_threads"), "7");
    assert_eq!(one.value("SELECT @@query_cache_type"), "OFF");
}

/// Only whoever may set them could have them again.
#[test]
fn a_privilege_that_was_taken_away_leaves_ways_out() {
    let database = Database::private();
    let (door, mut one, mut other) = begin(&database);
    let right = match Server::is_mariadb() {
        true => "BINLOG ADMIN",
        false => "SESSION_VARIABLES_ADMIN",
    };
    let lose = |one: &mut Client, other: &mut Client, text: &str| {
        database.execute(&format!("GRANT {right} ON *.* TO 'staff'@'localhost'"));
        close_backends(&database);
        fine(other, "DO 1");
        fine(one, text);
        database.execute(&format!("REVOKE {right} ON *.* FROM 'staff'@'localhost'"));
        close_backends(&database);
        fine(other, "DO 1");
        for text in ["DO 1", "SELECT 1", "SET sort_buffer_size = @@sql_log_bin"] {
            let told = one.run(text);
            let [Outcome::Err(1227, words)] = &told[..] else {
                panic!("{text}: {told:?}");
            };
            assert!(words.contains("set it anew"), "{words}");
            fine(other, "DO 1");
        }
        fine(one, "ROLLBACK");
    };
    let off = "SET SESSION sql_log_bin = 0, sql_mode = 'ANSI'";
    let (logs, mode) = ("SELECT @@sql_log_bin", "SELECT @@sql_mode LIKE '%ANSI%'");
    lose(&mut one, &mut other, off);
    reset(&mut one);
    assert_eq!((one.value(logs), one.value(mode)), ("1".into(), "0".into()));
    lose(&mut one, &mut other, off);
    // It is not for this account to say, but it can have what all have.
    let told = one.run("SET SESSION sql_log_bin = 0");
    assert!(matches!(told[..], [Outcome::Err(1227, _)]), "{told:?}");
    let told = one.run("DO 1");
    assert!(matches!(told[..], [Outcome::Err(1227, _)]), "{told:?}");
    fine(&mut other, "DO 1");
    // MySQL wants the privilege for that, too.
    let default = "SET SESSION sql_log_bin = DEFAULT";
    match Server::is_mariadb() {
        true => fine(&mut one, default),
        false => {
            let told = one.run(default);
            assert!(matches!(told[..], [Outcome::Err(1227, _)]), "{told:?}");
            reset(&mut one);
            fine(&mut one, "SET sql_mode = 'ANSI'");
        }
    }
    assert_eq!((one.value(logs), one.value(mode)), ("1".into(), "1".into()));
    // Who has left the value on a connection, where it may not be put back.
    database.execute(&format!("GRANT {right} ON *.* TO 'staff'@'localhost'"));
    drop(one);
    close_backends(&database);
    fine(&mut other, "DO 1");
    let mut one = login(&door.address());
    fine(&mut one, off);
    fine(&mut other, "DO 1");
    assert_eq!(
        (other.value(logs), other.value(mode)),
        ("1".into(), "0".into())
    );
}

fn reset(client: &mut Client) {
    client.send(wire::Command::ResetConnection as u8, b"");
    client.answer().unwrap();
}

/// Ends the connections of `staff`, so that what was granted since holds.
fn close_backends(database: &Database) {
    let ids = "SELECT id FROM information_schema.PROCESSLIST WHERE user = 'staff'";
    eventually("the connections to end", || {
        let ids = database.execute(ids);
        let ids: Vec<_> = ids.split_whitespace().collect();
        // Some end by themselves meanwhile.
        let kills = ids.iter().map(|id| format!("KILL {id};"));
        let _ended = database.try_execute(&kills.collect::<String>());
        ids.is_empty().then_some(())
    });
}

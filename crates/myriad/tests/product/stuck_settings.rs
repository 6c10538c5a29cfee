//! Sessions with variables that the server does not let them set any more. Directly they keep the values; through Myriad their
//! statements are refused until they begin anew.

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

/// The session's statements are refused, and other sessions' are not.
fn is_stuck(one: &mut Client, other: &mut Client, code: u16) {
    fine(other, "DO 1");
    for text in [
        "DO 1",
        "SELECT 1",
        "ROLLBACK",
        "SET sort_buffer_size = 65536",
    ] {
        let told = one.run(text);
        let words = match &told[..] {
            [Outcome::Err(told, words)] if *told == code => words,
            told => panic!("{text}: {told:?}"),
        };
        assert!(words.contains("reset the session"), "{words}");
        fine(other, "DO 1");
    }
    reset(one);
    fine(one, "SELECT 1");
}

#[test]
fn a_variable_whose_plugin_is_gone_hurts_no_other_session() {
    // Of MariaDB's plugins that the tests have none has a variable of the session.
    if Server::is_mariadb() {
        return;
    }
    let database = Database::private();
    let (_door, mut one, mut other) = begin(&database);
    database.execute("INSTALL PLUGIN simple_parser SONAME 'mypluglib.so'");
    let set = "SET SESSION simple_parser_simple_thdvar_one = 5, sort_buffer_size = 65536";
    fine(&mut one, set);
    // The connection has it, and is to lose it.
    database.execute("UNINSTALL PLUGIN simple_parser");
    is_stuck(&mut one, &mut other, 1193);
    let keeps = "SELECT @@sort_buffer_size";
    assert_eq!(one.value(keeps), other.value(keeps));
}

/// Only whoever may set them could have them again.
#[test]
fn a_privilege_that_was_taken_away_refuses_what_may_write() {
    let database = Database::private();
    let (door, mut one, mut other) = begin(&database);
    let right = match Server::is_mariadb() {
        true => "BINLOG ADMIN",
        false => "SESSION_VARIABLES_ADMIN",
    };
    let off = "SET SESSION sql_log_bin = 0, sql_mode = 'ANSI'";
    let (logs, mode) = ("SELECT @@sql_log_bin", "SELECT @@sql_mode LIKE '%ANSI%'");
    database.execute(&format!("GRANT {right} ON *.* TO 'staff'@'localhost'"));
    close_backends(&database);
    fine(&mut other, "DO 1");
    fine(&mut one, off);
    database.execute(&format!("REVOKE {right} ON *.* FROM 'staff'@'localhost'"));
    close_backends(&database);
    is_stuck(&mut one, &mut other, 1227);
    assert_eq!((one.value(logs), one.value(mode)), ("1".into(), "0".into()));
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

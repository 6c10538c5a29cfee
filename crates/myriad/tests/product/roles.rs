//! Sessions of one account that have different roles, on one backend.

use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, Server};

const ACCOUNT: &str = "[[account]]\nuser = \"staff\"\npassword = \"secret\"";

/// Tables that only a role may read, and an account that has both and one of them from the start.
fn begin(database: &Database) {
    let default = match Server::is_mariadb() {
        true => "SET DEFAULT ROLE clerk FOR 'staff'@'localhost'",
        false => "SET DEFAULT ROLE clerk TO 'staff'@'localhost'",
    };
    database.execute(&format!(
        "CREATE DATABASE clerks; CREATE TABLE clerks.t (a INT); INSERT INTO clerks.t VALUES (1);
         CREATE DATABASE auditors; CREATE TABLE auditors.t (a INT); INSERT INTO auditors.t VALUES (2);
         CREATE ROLE clerk, auditor; CREATE USER 'staff'@'localhost' IDENTIFIED BY 'secret';
         GRANT SELECT ON clerks.* TO clerk; GRANT SELECT, INSERT ON auditors.* TO auditor;
         GRANT clerk TO 'staff'@'localhost'; GRANT auditor TO 'staff'@'localhost'; {default}"
    ));
}

fn login(address: &Address) -> Client {
    let login = Login {
        user: "staff",
        ..Login::default()
    };
    Client::login(address, &login).unwrap()
}

const ROLE: &str = "SELECT CURRENT_ROLE()";
const CLERKS: &str = "SELECT a FROM clerks.t";
const AUDITORS: &str = "SELECT a FROM auditors.t";

#[test]
fn a_role_follows_its_session() {
    let database = Database::private();
    begin(&database);
    drop(login(database.address()));
    let changing = [
        ROLE,
        "SET ROLE auditor",
        ROLE,
        CLERKS,
        AUDITORS,
        "SET ROLE nobody_has_this",
        ROLE,
        "INSERT INTO auditors.t VALUES (3)",
        "SELECT 1",
        "SET ROLE NONE",
        ROLE,
        CLERKS,
        "SET ROLE 'clerk'",
        CLERKS,
        "SET ROLE DEFAULT",
        "SET ROLE ALL EXCEPT clerk",
        AUDITORS,
        "SET sql_mode = ''; SET ROLE clerk; SELECT CURRENT_ROLE()",
        CLERKS,
    ];
    let staying = [ROLE, CLERKS, AUDITORS].repeat(7);
    let scripts: [&[&str]; 3] = [&staying[..19], &changing, &staying[1..20]];
    let direct = scripts.map(|script| {
        let mut client = login(database.address());
        let told = script.iter().map(|text| client.run(text));
        told.collect::<Vec<_>>()
    });
    database.execute("DELETE FROM auditors.t WHERE a = 3");
    let door = FrontDoor::start(
        database.address(),
        &["backend.max_connections = 1", ACCOUNT],
    );
    let mut clients = scripts.map(|_| login(&door.address()));
    for place in 0..changing.len() {
        for which in [0, 1, 2] {
            let told = clients[which].run(scripts[which][place]);
            let script = &scripts[which][..=place];
            // What the changing session has inserted meanwhile, the others did not see.
            if script[place] != AUDITORS {
                assert_eq!(told, direct[which][place], "after {script:#?}");
            }
        }
    }
    assert_eq!(door.metric("myriad_pins_total{reason=\"role\"}"), 0);
    assert_eq!(door.metric("myriad_backend_connections_total"), 2);
}

#[test]
fn a_reset_keeps_the_role_and_a_login_begins_with_its_own() {
    let (database, door) = one_connection();
    for address in [database.address(), &door.address()] {
        let mut client = login(address);
        client.run("SET ROLE auditor");
        let role = client.value(ROLE);
        client.send(wire::Command::ResetConnection as u8, b"");
        client.answer().unwrap();
        assert_eq!(client.value(ROLE), role, "{address:?}");
        // Whatever cleans the backend leaves it the role.
        client.run("CREATE TEMPORARY TABLE auditors.mine (a INT)");
        client.run("SELECT GET_LOCK('roles', 1)");
        client.send(wire::Command::ResetConnection as u8, b"");
        client.answer().unwrap();
        assert_eq!(client.value(ROLE), role, "{address:?}");
        drop(client);
        assert_ne!(login(address).value(ROLE), role, "{address:?}");
    }
}

/// A front door that has one backend connection for all.
fn one_connection() -> (Database, FrontDoor) {
    let database = Database::private();
    begin(&database);
    drop(login(database.address()));
    let settings = ["backend.max_connections = 1", ACCOUNT];
    let door = FrontDoor::start(database.address(), &settings);
    (database, door)
}

#[test]
fn a_role_that_was_taken_away_lets_no_write_through() {
    let (database, door) = one_connection();
    let mut client = login(&door.address());
    client.run("SET ROLE auditor");
    let mut other = login(&door.address());
    assert!(other.value(ROLE).contains("clerk"));
    database.execute("REVOKE auditor FROM 'staff'@'localhost'");
    database.execute("GRANT INSERT ON auditors.* TO 'staff'@'localhost'");
    let told = client.run("INSERT INTO auditors.t VALUES (4)");
    assert!(matches!(told[..], [Outcome::Err(..)]), "{told:?}");
    assert!(other.value(ROLE).contains("clerk"));
    let count = || database.execute("SELECT COUNT(*) FROM auditors.t");
    assert_eq!(count().trim(), "1");
    // Another role is the way out, and one that cannot be had is none.
    let told = client.run("SET ROLE auditor");
    assert!(matches!(told[..], [Outcome::Err(..)]), "{told:?}");
    let told = client.run(ROLE);
    assert!(matches!(told[..], [Outcome::Err(..)]), "{told:?}");
    let told = client.run("SET ROLE NONE");
    assert!(matches!(told[..], [Outcome::Ok(_)]), "{told:?}");
    assert!(other.value(ROLE).contains("clerk"));
    let told = client.run("INSERT INTO auditors.t VALUES (4)");
    assert!(matches!(told[..], [Outcome::Ok(_)]), "{told:?}");
    assert_eq!(count().trim(), "2");
}

#[test]
fn a_role_opens_its_schema_for_as_long_as_its_session_has_it() {
    let (_database, door) = one_connection();
    let mut client = login(&door.address());
    let mut other = login(&door.address());
    client.run("SET ROLE auditor");
    client.run("USE auditors");
    for role in ["nobody_has_this", "auditor", "auditor"] {
        assert!(other.value(ROLE).contains("clerk"));
        client.run(&format!("SET ROLE {role}"));
        assert!(other.value(ROLE).contains("clerk"));
        assert_eq!(client.value("SELECT a FROM t"), "2");
        assert!(client.value(ROLE).contains("auditor"));
    }
}

/// On the server it stays selected; on another backend connection it cannot be selected again.
#[test]
fn a_schema_that_its_role_does_not_open_is_refused_until_another_role_or_schema_is_taken() {
    let (_database, door) = one_connection();
    let mut client = login(&door.address());
    let mut other = login(&door.address());
    other.run("SET ROLE auditor");
    other.run("USE auditors");
    for (way_out, row) in [("USE auditors", "2"), ("SET ROLE clerk", "1")] {
        client.run("SET ROLE clerk");
        client.run("USE clerks");
        assert_eq!(client.value("SELECT a FROM t"), "1");
        client.run("SET ROLE auditor");
        assert_eq!(other.value("SELECT a FROM t"), "2");
        for text in [AUDITORS, ROLE] {
            let told = client.run(text);
            assert!(matches!(told[..], [Outcome::Err(1044, _)]), "{told:?}");
        }
        let told = client.run(way_out);
        assert!(matches!(told[..], [Outcome::Ok(_)]), "{told:?}");
        assert_eq!(other.value("SELECT a FROM t"), "2");
        assert_eq!(client.value("SELECT a FROM t"), row);
    }
}

//! Sessions whose password has expired, beside those that have it directly.

use crate::from_server::{MONITOR, add_monitor};
use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, Server};
use wire::Capabilities;

/// Logs in as somebody who can handle an expired password, to the schema `xp`.
fn log_in(address: &Address, user: &str) -> Client {
    let usual = Login::to("xp");
    let login = Login {
        user,
        password: "right",
        capabilities: usual.capabilities | Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS,
        ..usual
    };
    Client::login(address, &login).unwrap()
}

/// The schema `xp`, and accounts for it.
fn add(database: &Database, users: &[&str]) {
    database.schema("xp");
    add_monitor(database);
    for user in users {
        database.execute(&format!(
            "CREATE USER '{user}'@'localhost' IDENTIFIED BY 'right';
             GRANT ALL ON xp.* TO '{user}'@'localhost'"
        ));
    }
}

fn expire(database: &Database, user: &str) {
    database.execute(&format!("ALTER USER '{user}'@'localhost' PASSWORD EXPIRE"));
}

/// MySQL runs nothing else for a session that does so, and nobody else may get its connection.
#[test]
fn whoever_lets_its_own_password_expire_leaves_others_alone() {
    let database = Database::shared();
    add(&database, &["xp_own"]);
    database.execute("GRANT CREATE USER ON *.* TO 'xp_own'@'localhost'");
    let settings = [MONITOR, "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let [mut other, mut own] = [(); 2].map(|()| log_in(&door.address(), "xp_own"));
    // It has a connection of its own.
    assert_eq!(
        told(&mut other, "CREATE TEMPORARY TABLE t (n INT)"),
        Ok(vec![])
    );
    assert_eq!(
        told(&mut own, "ALTER USER CURRENT_USER() PASSWORD EXPIRE"),
        Ok(vec![])
    );
    assert_eq!(
        told(&mut other, "SELECT COUNT(*) FROM t"),
        Ok(vec![vec!["0".to_owned()]])
    );
    let mut confined = log_in(&door.address(), "xp_own");
    assert_eq!(told(&mut confined, "SELECT 1"), Err(1820));
    let change = match Server::is_mariadb() {
        true => "SET PASSWORD = PASSWORD('right')",
        false => "ALTER USER USER() IDENTIFIED BY 'right'",
    };
    assert_eq!(told(&mut confined, change), Ok(vec![]));
    assert_eq!(log_in(&door.address(), "xp_own").value("SELECT 2"), "2");
}

/// Rows, or the number of the error.
fn told(client: &mut Client, sql: &str) -> Result<Vec<Vec<String>>, u16> {
    match client.run(sql).pop() {
        Some(Outcome::Rows(rows)) => Ok(rows),
        Some(Outcome::Ok(_)) => Ok(Vec::new()),
        Some(Outcome::Err(code, _)) => Err(code),
        None => panic!("no answer to {sql}"),
    }
}

#[test]
fn whoever_sets_its_password_goes_on() {
    let database = Database::shared();
    let users = ["xp_direct", "xp_through", "xp_sets"];
    add(&database, &users);
    for user in users {
        expire(&database, user);
    }
    let door = FrontDoor::start(database.address(), &[MONITOR]);
    let mut direct = log_in(database.address(), users[0]);
    let mut through = log_in(&door.address(), users[1]);
    let change = match Server::is_mariadb() {
        true => "SET PASSWORD = PASSWORD('right')",
        false => "ALTER USER USER() IDENTIFIED BY 'right'",
    };
    for sql in [
        "SELECT 1",
        "SHOW WARNINGS",
        "BEGIN",
        "KILL 1",
        "ALTER USER 'app'@'localhost' IDENTIFIED BY 'none of its business'",
        change,
        "SELECT DATABASE()",
        "CREATE TEMPORARY TABLE t (n INT)",
        "INSERT INTO t VALUES (1), (2)",
        "SELECT ROW_COUNT()",
        "DROP TABLE t",
        "SELECT nosuch",
        "SHOW WARNINGS",
    ] {
        assert_eq!(told(&mut through, sql), told(&mut direct, sql), "{sql}");
    }
    // MariaDB itself would run that.
    let mut confined = log_in(&door.address(), users[2]);
    assert_eq!(told(&mut confined, "SET autocommit = 1"), Err(1820));
}

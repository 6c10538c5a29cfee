//! Sessions whose password has expired, beside those that have it directly.

use crate::from_server::{MONITOR, add_monitor};
use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, Server, eventually};
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

/// MySQL has a session that does so set it anew before it runs anything else.
#[test]
fn whoever_lets_its_own_password_expire_sets_another_one() {
    let database = Database::shared();
    let users = ["xp_own_direct", "xp_own_through"];
    add(&database, &users);
    let settings = [MONITOR, "backend.max_connections = 3"];
    let door = FrontDoor::start(database.address(), &settings);
    let mut direct = log_in(database.address(), users[0]);
    let mut through = log_in(&door.address(), users[1]);
    database.execute("GRANT CREATE USER ON *.* TO 'xp_own_direct'@'localhost'");
    database.execute("GRANT CREATE USER ON *.* TO 'xp_own_through'@'localhost'");
    let (expire, change) = match Server::is_mariadb() {
        true => (
            "ALTER USER CURRENT_USER() PASSWORD EXPIRE",
            "SET PASSWORD = PASSWORD('right')",
        ),
        false => (
            "ALTER USER USER() PASSWORD EXPIRE",
            "ALTER USER USER() IDENTIFIED BY 'right'",
        ),
    };
    for sql in [expire, "SELECT 1", "SELECT 2", "SET @a = 1", change] {
        let expected = told(&mut direct, sql);
        assert_eq!(told(&mut through, sql), expected, "{sql}");
    }
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
fn what_is_set_before_the_new_password_holds_after_it() {
    let database = Database::shared();
    let users = ["xp_direct", "xp_through"];
    add(&database, &users);
    for user in users {
        expire(&database, user);
    }
    let door = FrontDoor::start(database.address(), &[MONITOR]);
    let mut direct = log_in(database.address(), users[0]);
    let mut through = log_in(&door.address(), users[1]);
    let (unknown, for_statement, change) = match Server::is_mariadb() {
        true => (
            "SET nosuch = 1",
            "SET STATEMENT max_statement_time = 1 FOR SELECT 1",
            "SET PASSWORD = PASSWORD('new')",
        ),
        // MySQL looks at names before it sees that nothing may run.
        false => (
            "DO 1",
            "SET sql_select_limit = 5",
            "ALTER USER USER() IDENTIFIED BY 'new'",
        ),
    };
    for sql in [
        "SELECT 1",
        "SET autocommit = 0",
        "SET NAMES latin1",
        "SET @kept = 5",
        unknown,
        "SET character_set_client = nosuch",
        "SHOW WARNINGS",
        "SELECT @kept",
        "SET sql_mode = CONCAT(@@sql_mode, ',NO_ZERO_DATE')",
        "SET ROLE NONE",
        "SET TRANSACTION READ ONLY",
        for_statement,
        "BEGIN",
        "KILL 1",
        change,
        "SELECT @@autocommit, @@character_set_client, @kept, DATABASE(), @@sql_mode",
        "CREATE TEMPORARY TABLE t (n INT)",
        "INSERT INTO t VALUES (1), (2)",
        "SELECT ROW_COUNT(), @kept",
        "ROLLBACK",
        "SELECT COUNT(*) FROM t",
        "DROP TABLE t",
        "SHOW WARNINGS",
        "SELECT nosuch",
        "SHOW WARNINGS",
    ] {
        assert_eq!(told(&mut through, sql), told(&mut direct, sql), "{sql}");
    }
    drop(through);
    eventually("its connection to be closed", || {
        (door.metric("myriad_pinned_sessions{reason=\"expired_password\"}") == 0).then_some(())
    });
}

#[test]
fn a_statement_of_a_sandbox_is_ended_by_a_session_of_the_account_from_before() {
    if !Server::is_mariadb() {
        return;
    }
    let database = Database::shared();
    add(&database, &["xp_killed"]);
    let door = FrontDoor::start(database.address(), &[MONITOR]);
    let mut before = log_in(&door.address(), "xp_killed");
    assert!(told(&mut before, "SELECT 1").is_ok());
    expire(&database, "xp_killed");
    // It is known within a second or two.
    let mut confined = eventually("a login with an expired password", || {
        let mut confined = log_in(&door.address(), "xp_killed");
        let refused = told(&mut confined, "SELECT 1") == Err(1820);
        refused.then_some(confined)
    });
    confined.query("SET @slept = SLEEP(3600)");
    eventually("it to sleep", || {
        let running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST
                       WHERE USER = 'xp_killed' AND INFO LIKE 'SET @slept%'";
        database.execute(running).contains('1').then_some(())
    });
    let id = confined.connection_id;
    assert_eq!(told(&mut before, &format!("KILL QUERY {id}")), Ok(vec![]));
    // SLEEP() says that it was interrupted, or the statement does.
    let answer = confined.answer().unwrap().outcomes().pop();
    assert!(
        matches!(answer, Some(Outcome::Ok(_) | Outcome::Err(1317, _))),
        "{answer:?}"
    );
    assert_eq!(door.metric("myriad_kill_errors_total"), 0);
    assert_eq!(told(&mut confined, "SET @slept = 1"), Ok(vec![]));
    assert_eq!(told(&mut before, &format!("KILL {id}")), Ok(vec![]));
    assert!(confined.rest().is_empty());
}

#[test]
fn whether_an_expired_password_is_let_in_is_as_was_set_just_before() {
    if !Server::is_mariadb() {
        // There it cannot be set while the server runs.
        return;
    }
    let database = Database::private();
    add(&database, &["xp_old"]);
    expire(&database, "xp_old");
    let door = FrontDoor::start(database.address(), &[MONITOR]);
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::default()
    };
    let mut admin = Client::login(&door.address(), &login).unwrap();
    let old = Login {
        user: "xp_old",
        password: "right",
        ..Login::to("xp")
    };
    for prepared in [false, true] {
        for on in [1, 0, 1] {
            let set = format!("SET GLOBAL disconnect_on_expired_password = {on}");
            match prepared {
                true => admin.execute(&set, || {}).outcomes(),
                false => admin.run(&set),
            };
            let is_in = Client::login(&door.address(), &old).is_ok();
            assert_eq!(is_in, on == 0, "{set}, {prepared}");
        }
    }
}

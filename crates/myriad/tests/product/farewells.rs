//! The server is told when a connection ends: it counts, and logs, those that just break off.

use crate::support::{Client, Database, FrontDoor, Login, eventually};

const DRIVERS: [&str; 2] = ["epoll", "io_uring"];

/// How many connections the server has taken for lost, once nobody but the one who asks is there.
fn aborted(database: &Database) -> String {
    let others = "SELECT COUNT(*) FROM information_schema.PROCESSLIST
                  WHERE user IN ('app', 'admin', 'load', 'watch')";
    eventually("all connections to end", || {
        (database.execute(others).trim() == "0").then_some(())
    });
    database.execute("SHOW GLOBAL STATUS LIKE 'Aborted_clients'")
}

fn login(door: &FrontDoor, user: &str, password: &str) -> Client {
    let login = Login {
        user,
        password,
        ..Login::default()
    };
    Client::login(&door.address(), &login).unwrap()
}

#[test]
fn the_server_takes_no_connection_for_lost() {
    let database = Database::private();
    let before = aborted(&database);
    for driver in DRIVERS {
        let driver = format!("server.driver = {driver:?}");
        let door = FrontDoor::start(database.address(), &[&driver]);
        let mut idle = login(&door, "app", "secret");
        idle.run("SELECT 1");
        let mut open = login(&door, "app", "secret");
        open.run("BEGIN; SELECT 2");
        let mut pinned = login(&door, "admin", "all");
        pinned.run("SELECT GET_LOCK('farewell', 1)");
        let mut gone = login(&door, "admin", "all");
        gone.run("SET sort_buffer_size = 65536; BEGIN; SELECT 3");
        // Two of these have backends to themselves, which are cleaned now. Dropping the front door asks it to end.
        drop((open, pinned, gone));
        drop(door);
        drop(idle);
        assert_eq!(aborted(&database), before, "{driver}");
    }
}

/// The account that reads the accounts.
#[test]
fn who_watches_says_farewell() {
    let database = Database::private();
    database.execute(
        "CREATE USER 'watch'@'localhost' IDENTIFIED BY 'seen';
         GRANT SELECT ON mysql.* TO 'watch'@'localhost'",
    );
    let before = aborted(&database);
    let settings = ["[monitor]\nuser = \"watch\"\npassword = \"seen\""];
    let door = FrontDoor::start(database.address(), &settings);
    let watches = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE user = 'watch'";
    eventually("the accounts to be read", || {
        (database.execute(watches).trim() == "1").then_some(())
    });
    drop(door);
    assert_eq!(aborted(&database), before);
}

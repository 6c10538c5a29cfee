//! Accounts that are in the database only: who is let in, and how soon changes hold.
//!
//! Each is first tried directly: what the server says is what the front door must say.

use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, Server, eventually};

/// The account that reads the others, with no more than it needs.
pub(crate) const MONITOR: &str = "monitor.user = \"monitor\"\nmonitor.password = \"watch\"";

/// Makes that account.
pub(crate) fn add_monitor(database: &Database) {
    database.execute(&grants_of_monitor());
}

/// The statements that make it.
pub(crate) fn grants_of_monitor() -> String {
    grants_of_monitor_from("localhost")
}

/// The same, for whoever comes from there.
pub(crate) fn grants_of_monitor_from(host: &str) -> String {
    let tables = match Server::is_mariadb() {
        true => "global_priv db tables_priv columns_priv procs_priv roles_mapping",
        false => {
            "user db tables_priv columns_priv procs_priv global_grants role_edges default_roles"
        }
    };
    let grant = |table| format!("GRANT SELECT ON mysql.{table} TO 'monitor'@'{host}';");
    let grants: String = tables.split(' ').map(grant).collect();
    format!("CREATE USER IF NOT EXISTS 'monitor'@'{host}' IDENTIFIED BY 'watch'; {grants}")
}

fn start(database: &Database) -> FrontDoor {
    add_monitor(database);
    FrontDoor::start(database.address(), &[MONITOR])
}

/// What comes of a login: the account, or the error with its text.
fn log_in(address: &Address, user: &str, password: &str) -> Result<String, (u16, String)> {
    let login = Login {
        user,
        password,
        ..Login::default()
    };
    match Client::login(address, &login) {
        Ok(mut client) => match &client.run("SELECT CURRENT_USER()")[..] {
            [Outcome::Rows(rows)] => Ok(rows[0][0].clone()),
            [Outcome::Err(code, text)] => Err((*code, text.clone())),
            other => panic!("{other:?}"),
        },
        Err(Outcome::Err(code, text)) => Err((code, text)),
        Err(other) => panic!("{other:?}"),
    }
}

/// The same directly and through, which must agree.
fn log_in_twice(database: &Database, door: &FrontDoor, user: &str, password: &str) -> Option<u16> {
    let direct = log_in(database.address(), user, password);
    let through = log_in(&door.address(), user, password);
    // MySQL has those whom it does not know try some plugin, of which this client may know nothing.
    let comparable = |told: &Result<String, (u16, String)>| {
        let told = told.clone();
        told.map_err(|(code, text)| (code, text.replace("password: YES", "password: NO")))
    };
    assert_eq!(
        comparable(&through),
        comparable(&direct),
        "{user} {password:?}"
    );
    direct.err().map(|(code, _)| code)
}

pub(crate) fn admin(door: &FrontDoor) -> Client {
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::default()
    };
    Client::login(&door.address(), &login).unwrap()
}

pub(crate) fn run(client: &mut Client, sql: &str) {
    for outcome in client.run(sql) {
        assert!(matches!(outcome, Outcome::Ok(..)), "{sql}: {outcome:?}");
    }
}

#[test]
fn who_is_let_in_is_decided_by_the_server() {
    let database = Database::shared();
    database.execute(
        "CREATE USER 'fs_a'@'localhost' IDENTIFIED BY 'right';
         CREATE USER 'fs_none'@'localhost' IDENTIFIED BY '';
         CREATE USER 'fs_locked'@'localhost' IDENTIFIED BY 'right' ACCOUNT LOCK;
         CREATE USER 'fs_ssl'@'localhost' IDENTIFIED BY 'right' REQUIRE SSL;
         CREATE USER 'fs_x509'@'localhost' IDENTIFIED BY 'right' REQUIRE X509;
         CREATE USER 'fs_far'@'10.1.%' IDENTIFIED BY 'right';
         CREATE USER 'fs_two'@'%' IDENTIFIED BY 'wide';
         CREATE USER 'fs_two'@'localhost' IDENTIFIED BY 'near'",
    );
    let door = start(&database);
    let table = [
        ("fs_a", "right", None),
        ("fs_a", "wrong", Some(1045)),
        ("fs_a", "", Some(1045)),
        ("FS_A", "right", Some(1045)),
        ("fs_none", "", None),
        ("fs_none", "x", Some(1045)),
        ("fs_nobody", "right", Some(1045)),
        ("fs_nobody", "", Some(1045)),
        (
            "fs_locked",
            "right",
            Some(if Server::is_mariadb() { 4151 } else { 3118 }),
        ),
        ("fs_locked", "wrong", Some(1045)),
        ("fs_ssl", "right", Some(1045)),
        ("fs_x509", "right", Some(1045)),
        ("fs_far", "right", Some(1045)),
        ("fs_two", "near", None),
        ("fs_two", "wide", Some(1045)),
    ];
    for (user, password, expected) in table {
        let told = log_in_twice(&database, &door, user, password);
        assert_eq!(told, expected, "{user} {password:?}");
    }
    // Also when all of them are known.
    for (user, password, expected) in table {
        let told = log_in_twice(&database, &door, user, password);
        assert_eq!(told, expected, "{user} {password:?}");
    }
}

#[test]
fn what_proves_an_account_is_kept_in_locked_memory() {
    let database = Database::shared();
    database.execute("CREATE USER 'fs_kept'@'localhost' IDENTIFIED BY 'right'");
    let door = start(&database);
    assert_eq!(door.memory("VmLck"), 0);
    assert_eq!(log_in_twice(&database, &door, "fs_kept", "right"), None);
    assert_eq!(door.memory("VmLck"), 4_096, "of all secrets");
    let maps = std::fs::read_to_string(format!("/proc/{}/smaps", door.pid())).unwrap();
    let flags = maps.lines().filter(|line| line.starts_with("VmFlags:"));
    let locked: Vec<_> = flags.filter(|line| line.contains(" lo ")).collect();
    let [locked] = locked[..] else {
        panic!("one page is locked: {locked:?}");
    };
    assert!(
        locked.contains(" dd ") && locked.contains(" dc "),
        "{locked}"
    );
    database.execute("DROP USER 'fs_kept'@'localhost'");
    eventually("nothing to be left of it", || {
        (door.memory("VmLck") == 0).then_some(())
    });
}

/// Also where MariaDB lets everybody in and refuses each statement.
#[test]
fn clients_that_cannot_handle_an_expired_password_are_refused_in_the_words_of_the_server() {
    let database = Database::private_with(&["--disconnect-on-expired-password=ON"]);
    database.execute("CREATE USER 'fs_old'@'localhost' IDENTIFIED BY 'right' PASSWORD EXPIRE");
    let door = start(&database);
    let told = |password| log_in_twice(&database, &door, "fs_old", password);
    assert_eq!((told("right"), told("wrong")), (Some(1862), Some(1045)));
    if Server::is_mariadb() {
        database.execute("SET GLOBAL disconnect_on_expired_password = OFF");
        let refused = log_in(&door.address(), "fs_old", "right");
        assert_eq!(refused.unwrap_err().0, 1862);
    }
    database.execute("ALTER USER 'fs_old'@'localhost' IDENTIFIED BY 'new'");
    assert_eq!(told("new"), None);
}

/// Stands for what the server says of a locked account.
const LOCKED: u16 = 0;

fn told_by_server(code: u16) -> u16 {
    match (code, Server::is_mariadb()) {
        (LOCKED, true) => 4151,
        (LOCKED, false) => 3118,
        (code, _) => code,
    }
}

/// What is run, who logs in after that, and what comes of it.
const STEPS: [(&str, &str, &str, Option<u16>); 14] = [
    (
        "CREATE USER 'ft_a'@'localhost' IDENTIFIED BY 'one'",
        "ft_a",
        "one",
        None,
    ),
    (
        "ALTER USER 'ft_a'@'localhost' IDENTIFIED BY 'two'",
        "ft_a",
        "one",
        Some(1045),
    ),
    ("SELECT 1", "ft_a", "two", None),
    (
        "SET PASSWORD FOR 'ft_a'@'localhost' = PASSWORD('three')",
        "ft_a",
        "two",
        Some(1045),
    ),
    ("SELECT 1", "ft_a", "three", None),
    (
        "ALTER USER 'ft_a'@'localhost' ACCOUNT LOCK",
        "ft_a",
        "three",
        Some(LOCKED),
    ),
    (
        "ALTER USER 'ft_a'@'localhost' ACCOUNT UNLOCK",
        "ft_a",
        "three",
        None,
    ),
    (
        "RENAME USER 'ft_a'@'localhost' TO 'ft_b'@'localhost'",
        "ft_a",
        "three",
        Some(1045),
    ),
    ("SELECT 1", "ft_b", "three", None),
    (
        "CREATE USER 'ft_b'@'%' IDENTIFIED BY 'wide'",
        "ft_b",
        "wide",
        Some(1045),
    ),
    ("DROP USER 'ft_b'@'localhost'", "ft_b", "three", Some(1045)),
    ("SELECT 1", "ft_b", "wide", None),
    ("DROP USER 'ft_b'@'%'", "ft_b", "wide", Some(1045)),
    (
        "CREATE USER 'ft_b'@'localhost' IDENTIFIED BY ''",
        "ft_b",
        "",
        None,
    ),
];

#[test]
fn what_changes_through_the_front_door_holds_at_once() {
    let database = Database::shared();
    let door = start(&database);
    let mut admin = admin(&door);
    for (sql, user, password, expected) in STEPS {
        let expected = expected.map(told_by_server);
        let sql = match Server::is_mariadb() {
            true => sql.to_owned(),
            false => sql.replace("PASSWORD('three')", "'three'"),
        };
        if sql != "SELECT 1" {
            run(&mut admin, &sql);
        }
        let told = log_in(&door.address(), user, password)
            .err()
            .map(|(code, _)| code);
        assert_eq!(told, expected, "{sql}; {user} {password}");
        assert_eq!(
            log_in_twice(&database, &door, user, password),
            expected,
            "{sql}"
        );
    }
}

#[test]
fn what_changes_behind_its_back_holds_soon() {
    let database = Database::shared();
    database.execute("CREATE USER 'fb_a'@'localhost' IDENTIFIED BY 'one'");
    let door = start(&database);
    let address = door.address();
    let told = |password| {
        log_in(&address, "fb_a", password)
            .err()
            .map(|(code, _)| code)
    };
    assert_eq!(told("one"), None);
    database.execute("ALTER USER 'fb_a'@'localhost' IDENTIFIED BY 'two'");
    // What is refused by what is known is asked first.
    assert_eq!(told("two"), None);
    assert_eq!(told("one"), Some(1045));
    database.execute("ALTER USER 'fb_a'@'localhost' IDENTIFIED BY 'three'");
    eventually("the old password is refused", || {
        (told("two") == Some(1045)).then_some(())
    });
    database.execute("DROP USER 'fb_a'@'localhost'");
    eventually("an account that is gone is refused", || {
        (told("three") == Some(1045)).then_some(())
    });
}

#[test]
fn a_session_goes_on_as_on_the_server_when_its_password_changes() {
    let database = Database::shared();
    database.execute("CREATE USER 'fg_a'@'localhost' IDENTIFIED BY 'one'");
    let door = start(&database);
    let login = |password| {
        let login = Login {
            user: "fg_a",
            password,
            ..Login::default()
        };
        Client::login(&door.address(), &login).unwrap()
    };
    let mut session = login("one");
    assert_eq!(session.value("SELECT 1"), "1");
    run(
        &mut admin(&door),
        "ALTER USER 'fg_a'@'localhost' IDENTIFIED BY 'two'",
    );
    assert_eq!(session.value("SELECT 2"), "2");
    let before = session.value("SELECT @@pseudo_thread_id /* processlist */");
    let mut fresh = login("two");
    // Nobody who knows the new password gets what was opened with the old one, and no session is lost.
    assert_ne!(
        fresh.value("SELECT @@pseudo_thread_id /* processlist */"),
        before
    );
    assert_eq!(session.value("SELECT 3"), "3");
    // Another account of the same name is another account.
    run(&mut admin(&door), "DROP USER 'fg_a'@'localhost'");
    run(
        &mut admin(&door),
        "CREATE USER 'fg_a'@'localhost' IDENTIFIED BY 'three'",
    );
    let mut other = login("three");
    assert_eq!(other.value("SELECT 4"), "4");
    let [Outcome::Err(1045, text)] = &session.run("SELECT 5")[..] else {
        panic!("a session of an account that is gone goes on as another");
    };
    assert!(text.contains("is no more"), "{text}");
}

#[test]
fn privileges_hold_at_once_on_backends_that_are_open() {
    let database = Database::shared();
    database.schema("fp");
    database.execute(
        "CREATE TABLE fp.t (a INT); INSERT INTO fp.t VALUES (7);
         CREATE USER 'fp_a'@'localhost' IDENTIFIED BY 'one'",
    );
    let door = start(&database);
    let mut admin = admin(&door);
    let login = Login {
        user: "fp_a",
        password: "one",
        ..Login::default()
    };
    let mut session = Client::login(&door.address(), &login).unwrap();
    run(&mut admin, "CREATE ROLE 'fp_role'");
    let mut sees = || match &session.run("SELECT a FROM fp.t")[..] {
        [Outcome::Rows(rows)] => rows[0][0] == "7",
        [Outcome::Err(1142 | 1044, _)] => false,
        other => panic!("{other:?}"),
    };
    assert!(!sees());
    let default_role = match Server::is_mariadb() {
        true => "SET DEFAULT ROLE 'fp_role' FOR 'fp_a'@'localhost'",
        false => "SET DEFAULT ROLE 'fp_role' TO 'fp_a'@'localhost'",
    };
    for (sql, expected) in [
        ("GRANT SELECT ON *.* TO 'fp_a'@'localhost'", true),
        ("REVOKE SELECT ON *.* FROM 'fp_a'@'localhost'", false),
        ("GRANT SELECT ON fp.* TO 'fp_a'@'localhost'", true),
        ("REVOKE SELECT ON fp.* FROM 'fp_a'@'localhost'", false),
        ("GRANT SELECT ON fp.t TO 'fp_a'@'localhost'", true),
        ("REVOKE SELECT ON fp.t FROM 'fp_a'@'localhost'", false),
        ("GRANT 'fp_role' TO 'fp_a'@'localhost'", false),
        (default_role, false),
        ("GRANT SELECT ON fp.* TO 'fp_role'", true),
        ("REVOKE SELECT ON fp.* FROM 'fp_role'", false),
    ] {
        run(&mut admin, sql);
        assert_eq!(sees(), expected, "{sql}");
    }
    database.execute("GRANT SELECT ON *.* TO 'fp_a'@'localhost'");
    eventually("a grant from elsewhere", || sees().then_some(()));
}

#[test]
fn a_client_whom_the_server_would_take_for_another_is_told_so() {
    let database = Database::shared();
    database.execute("CREATE USER 'fh_a'@'127.0.0.%' IDENTIFIED BY 'one'");
    let door = start(&database);
    let (code, text) = log_in(&Address::Tcp(door.tcp()), "fh_a", "one").unwrap_err();
    assert_eq!(code, 1045);
    assert!(
        text.contains("'fh_a'@'127.0.0.%'") && text.contains("nobody"),
        "{text}"
    );
    let wrong = log_in(&Address::Tcp(door.tcp()), "fh_a", "two").unwrap_err();
    let unknown = log_in(&Address::Tcp(door.tcp()), "fh_x", "two").unwrap_err();
    assert_eq!(wrong.1.replace("fh_a", "fh_x"), unknown.1);
}

#[test]
fn the_monitoring_account_is_no_way_in() {
    let database = Database::shared();
    database.execute("CREATE USER IF NOT EXISTS 'monitor'@'{host}' IDENTIFIED BY 'watch'");
    let door = start(&database);
    // It is an account of the database like any other, and has its password there.
    assert_eq!(log_in_twice(&database, &door, "monitor", "watch"), None);
    assert_eq!(
        log_in_twice(&database, &door, "monitor", "wrong"),
        Some(1045)
    );
}

#[test]
fn a_password_is_shown_once_and_never_in_clear_over_tcp() {
    if Server::is_mariadb() {
        return;
    }
    let database = Database::shared();
    database.execute("CREATE USER 'fx_a'@'%' IDENTIFIED BY 'one'");
    let door = start(&database);
    let (tcp, full) = (
        Address::Tcp(door.tcp()),
        "myriad_full_authentications_total",
    );
    let login = |password| log_in(&tcp, "fx_a", password).err().map(|(code, _)| code);
    assert_eq!((login("one"), door.metric(full)), (None, 1));
    // From now on the fast path is enough, for all clients and for backends.
    assert_eq!((login("one"), door.metric(full)), (None, 1));
    assert_eq!((login("two"), door.metric(full)), (Some(1045), 2));
    database.execute("ALTER USER 'fx_a'@'%' IDENTIFIED BY 'two'; FLUSH PRIVILEGES");
    assert_eq!((login("two"), door.metric(full)), (None, 3));
    assert_eq!((login("two"), door.metric(full)), (None, 3));
    assert_eq!((login("one"), door.metric(full)), (Some(1045), 4));
    // A client that sends it in clear all the same is not let in.
    let (mut client, handshake) = Client::connect(&tcp).unwrap();
    let asked = Login {
        user: "fx_a",
        password: "wrong",
        ..Login::default()
    };
    let response = client.response(&handshake, &asked);
    client.send_bytes(&response);
    let asks = client.receive().unwrap();
    assert_eq!(asks.payload, b"\x01\x04");
    let mut clear = Vec::new();
    wire::write_packet(&mut clear, asks.sequence_id + 1, b"two\0");
    client.send_bytes(&clear);
    let told = client.receive().unwrap().payload;
    assert_eq!(wire::ErrPacket::parse(&told).unwrap().code, 1045);
}

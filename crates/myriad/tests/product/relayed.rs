//! Accounts whose logins only the database can decide: real clients prove themselves to it through the front
//! door, and the connections that this brings are used like others.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

use crate::drivers::{compare_as, node};
use crate::from_server::{MONITOR, add_monitor};
use crate::support::{
    Address, Client, Database, FrontDoor, Gateway, Login, Output, Server, Tool, eventually,
    in_time, program, run,
};
use crate::tls::over_tls;

const LOST: &str = r#"myriad_disconnects_total{reason="backend_lost"}"#;

/// The tests' database with ed25519; `None`, and a word about it, where that cannot be had.
fn database() -> Option<Arc<Database>> {
    with_plugins(Database::shared)
}

fn with_plugins(start: impl FnOnce() -> Arc<Database>) -> Option<Arc<Database>> {
    if !Server::is_mariadb() {
        return None;
    }
    let database = start();
    let folder = database.execute("SELECT @@plugin_dir");
    let folder = folder.lines().last().unwrap_or_default().trim().to_owned();
    if !Path::new(&folder).join("auth_ed25519.so").is_file() {
        eprintln!("no auth_ed25519.so in {folder}: not tested");
        return None;
    }
    database.execute("INSTALL PLUGIN IF NOT EXISTS ed25519 SONAME 'auth_ed25519'");
    add_monitor(&database);
    Some(database)
}

/// The command-line client as somebody.
fn as_user(address: &Address, user: &str, password: &str) -> Command {
    let mut command = program(Tool::Client, address);
    command
        .arg(format!("--user={user}"))
        .env("MYSQL_PWD", password);
    command.args(["--batch", "--force"]);
    command
}

/// Whoever has an unknown name has the accounts read before the refusal.
fn have_accounts_read(door: &FrontDoor) {
    let refused = run(
        &mut as_user(&door.address(), "nobody_knows", "me"),
        "SELECT 1",
    );
    assert!(refused.stderr.contains("ERROR 1045"), "{refused:?}");
}

/// A command-line client that is told what to say one statement after the other.
struct Console {
    child: Child,
    folder: TempDir,
}

impl Console {
    fn new(address: &Address, user: &str, password: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = |name| File::create(folder.path().join(name)).unwrap();
        let mut command = as_user(address, user, password);
        command.args(["--unbuffered", "--skip-column-names", "--skip-reconnect"]);
        let child = command
            .stdin(Stdio::piped())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .unwrap();
        Self { child, folder }
    }

    /// Sends a statement, and waits until `expected` was told, as rows or as an error.
    fn run(&mut self, sql: &str, expected: &str) {
        let before = self.told().len();
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{sql};").unwrap();
        input.flush().unwrap();
        eventually(expected, || {
            let told = self.told();
            told[before.min(told.len())..]
                .contains(expected)
                .then_some(())
        });
    }

    fn told(&self) -> String {
        let read = |name| std::fs::read_to_string(self.folder.path().join(name)).unwrap();
        read("stdout") + &read("stderr")
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}

#[test]
fn the_database_decides_who_is_let_in() {
    let Some(database) = database() else { return };
    database.schema("ra");
    database.execute(
        "CREATE USER 'ra_one'@'%' IDENTIFIED VIA ed25519 USING PASSWORD('right');
         CREATE USER 'ra_list'@'%' IDENTIFIED VIA ed25519 USING PASSWORD('one')
             OR mysql_native_password USING PASSWORD('two');
         CREATE USER 'ra_locked'@'%' IDENTIFIED VIA ed25519 USING PASSWORD('right') ACCOUNT LOCK;
         GRANT ALL ON ra.* TO 'ra_one'@'%'; GRANT ALL ON ra.* TO 'ra_list'@'%'",
    );
    let door = FrontDoor::start(database.address(), &[MONITOR]);
    let gateway = Gateway::before(database.address());
    let ways = |address: &Address| match address {
        Address::Unix(_) => vec![&[][..]],
        Address::Tcp(_) => vec![&[][..], over_tls()],
    };
    let (direct, tcp) = (Address::Tcp(gateway.tcp()), Address::Tcp(door.tcp()));
    for (direct, through) in [(database.address(), &door.address()), (&direct, &tcp)] {
        for (user, password, schema) in [
            ("ra_one", "right", "ra"),
            ("ra_one", "right", "nosuch"),
            ("ra_one", "wrong", "ra"),
            ("ra_one", "", "ra"),
            ("ra_list", "one", "ra"),
            ("ra_list", "two", "ra"),
            ("ra_list", "three", "ra"),
            ("ra_locked", "right", "ra"),
            ("ra_nobody", "right", "ra"),
        ] {
            let ask = "SELECT CURRENT_USER(), USER(), DATABASE();\nSELECT 1 + 1;\n";
            let expected = run(as_user(direct, user, password).arg(schema), ask);
            for way in ways(through) {
                let mut client = as_user(through, user, password);
                let told = run(client.args(way).arg(schema), ask);
                // The gateway reaches the database over its socket, so that it knows no address.
                let stderr = told.stderr.replace("'127.0.0.1'", "'localhost'");
                let told = Output { stderr, ..told };
                assert_eq!(told, expected, "{user} {password:?} {schema} {way:?}");
            }
        }
    }
    assert!(door.metric("myriad_relayed_logins_total") >= 9);
    assert_eq!(door.metric("myriad_backend_connect_errors_total"), 0);
}

#[test]
fn pam_decides_who_is_let_in() {
    // Its own, since others have accounts without a name, and ask what is told of accounts that are not there.
    let Some(database) = with_plugins(|| Arc::new(Database::private())) else {
        return;
    };
    // A service of every machine that lets root in, and asks others: the server runs as whoever tests.
    let service = std::fs::read_to_string("/etc/pam.d/su").unwrap_or_default();
    if !rustix::process::geteuid().is_root() || !service.contains("pam_rootok.so") {
        eprintln!("PAM lets nobody in here: not tested");
        return;
    }
    database.execute(
        "INSTALL PLUGIN IF NOT EXISTS pam SONAME 'auth_pam';
         CREATE USER 'nobody'@'%' IDENTIFIED VIA pam USING 'su';
         CREATE USER 'daemon'@'%' IDENTIFIED VIA pam USING 'other'",
    );
    let door = FrontDoor::start(database.address(), &[MONITOR]);
    for (user, is_let_in) in [("nobody", true), ("daemon", false)] {
        for _ in 0..2 {
            let ask = "SELECT CURRENT_USER();\nSELECT 1 + 1;\n";
            let expected = run(&mut as_user(database.address(), user, "x"), ask);
            let told = run(&mut as_user(&door.address(), user, "x"), ask);
            assert_eq!(told, expected, "{user}");
            assert_eq!(told.stdout.contains("nobody@%"), is_let_in, "{told:?}");
        }
    }
    assert_eq!(door.metric("myriad_relayed_logins_total"), 2);
}

#[test]
fn mysql_decides_what_it_alone_can_check() {
    if Server::is_mariadb() {
        return;
    }
    let database = Database::shared();
    add_monitor(&database);
    database.execute(
        "CREATE USER 'rm_sha'@'%' IDENTIFIED WITH sha256_password BY 'right';
         CREATE USER 'rm_none'@'%' IDENTIFIED WITH sha256_password BY 'right' ACCOUNT LOCK",
    );
    let door = FrontDoor::start(database.address(), &[MONITOR]);
    for (user, password) in [
        ("rm_sha", "right"),
        ("rm_sha", "wrong"),
        ("rm_sha", "right"),
        ("rm_none", "right"),
    ] {
        let ask = "SELECT CURRENT_USER();\nSELECT 1 + 1;\n";
        let expected = run(&mut as_user(database.address(), user, password), ask);
        let told = run(&mut as_user(&door.address(), user, password), ask);
        assert_eq!(told, expected, "{user} {password}");
    }
    assert_eq!(door.metric("myriad_relayed_logins_total"), 2);
}

#[test]
fn a_login_by_the_operating_system_is_not_handed_on() {
    let Some(database) = database() else { return };
    database.execute(
        "CREATE USER 'rs_a'@'localhost' IDENTIFIED VIA unix_socket;
         CREATE USER 'rs_b'@'localhost' IDENTIFIED VIA ed25519 USING PASSWORD('x') OR unix_socket",
    );
    let door = FrontDoor::start(database.address(), &[MONITOR]);
    for user in ["rs_a", "rs_b"] {
        let told = run(&mut as_user(&door.address(), user, "x"), "SELECT 1");
        assert!(
            told.stderr.contains("ERROR 1251 (08004)") && told.stderr.contains("unix_socket"),
            "{user}: {told:?}"
        );
    }
    assert_eq!(door.metric("myriad_backends{state=\"connecting\"}"), 0);
}

#[test]
fn drivers_prove_themselves_to_the_database() {
    let Some(database) = database() else { return };
    database.schema("rd");
    database.schema("rd_other");
    database.execute(
        "CREATE USER 'rd_a'@'%' IDENTIFIED VIA ed25519 USING PASSWORD('right');
         GRANT ALL ON rd.* TO 'rd_a'@'%'; GRANT ALL ON rd_other.* TO 'rd_a'@'%'",
    );
    let settings = [MONITOR, "backend.max_connections = 16"];
    let door = FrontDoor::start(database.address(), &settings);
    let program = || (node("mariadb-node"), ["rd_a", "right", "rd"]);
    compare_as((&database, &door), ("mariadb-node", &["text"]), program);
    assert!(door.metric("myriad_relayed_logins_total") > 0);
}

#[test]
fn no_more_of_what_logins_bring_is_kept_than_an_account_may_have() {
    // Nobody else makes roles there, after which a login brings others.
    let Some(database) = with_plugins(|| Arc::new(Database::private())) else {
        return;
    };
    database.execute("CREATE USER 'rn_a'@'%' IDENTIFIED VIA ed25519 USING PASSWORD('right')");
    let settings = [
        MONITOR,
        "server.workers = 1",
        "backend.max_relayed_per_account = 2",
    ];
    let door = FrontDoor::start(database.address(), &settings);
    let mut consoles: Vec<Console> = (0..5)
        .map(|_| Console::new(&door.address(), "rn_a", "right"))
        .collect();
    for console in &mut consoles {
        console.run("SELECT 'begun'", "begun");
    }
    assert_eq!(door.metric("myriad_relayed_surplus_total"), 3);
}

#[test]
fn sessions_go_on_while_a_connection_is_left_and_are_closed_when_none_is() {
    let Some(database) = database() else { return };
    database.execute(
        "CREATE USER 'rl_a'@'%' IDENTIFIED VIA ed25519 USING PASSWORD('right');
         CREATE USER 'rl_b'@'%' IDENTIFIED VIA ed25519 USING PASSWORD('right')",
    );
    let settings = [
        MONITOR,
        "server.workers = 1",
        "backend.max_relayed_per_account = 2",
        "backend.min_connections = 1",
        "backend.idle_timeout = \"100ms\"",
        "backend.max_age = \"50ms\"",
    ];
    let door = FrontDoor::start(database.address(), &settings);
    let mut consoles: Vec<Console> = (0..5)
        .map(|_| Console::new(&door.address(), "rl_a", "right"))
        .collect();
    for console in &mut consoles {
        console.run(
            "SELECT CONCAT('begun by ', CURRENT_USER())",
            "begun by rl_a@%",
        );
    }
    // What logins brought beyond two was closed, and what is idle and old but for the last one.
    let idle = r#"myriad_backends{state="idle"}"#;
    eventually("one idle connection", || {
        (door.metric(idle) == 1).then_some(())
    });
    for (number, console) in consoles.iter_mut().enumerate() {
        let sql = format!("SET @a = {number}; SELECT CONCAT('is ', @a, ' of ', 2 + 3)");
        console.run(&sql, &format!("is {number} of 5"));
    }
    // Sessions that begin now see what is set for all; those that are there may, too.
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::default()
    };
    let mut admin = Client::login(&door.address(), &login).unwrap();
    admin.run("SET GLOBAL lock_wait_timeout = 4321");
    let mut late = Console::new(&door.address(), "rl_a", "right");
    late.run("SELECT CONCAT('waits ', @@lock_wait_timeout)", "waits 4321");
    consoles[0].run("SELECT CONCAT('still ', @a)", "still 0");
    database.execute("SET GLOBAL lock_wait_timeout = DEFAULT");
    // A statement is ended over one of the others.
    let kills = door.metric("myriad_kill_errors_total");
    assert_eq!((door.metric(LOST), kills), (0, 0));
    let mut other = Console::new(&door.address(), "rl_b", "right");
    other.run("SELECT 'other'", "other");
    database.execute("KILL USER rl_a");
    eventually("the end of the connections", || {
        (door.metric(idle) == 1).then_some(())
    });
    for console in &mut consoles {
        console.run("SELECT 'again'", "ERROR 1053 (08S01)");
    }
    other.run("SELECT 'and on'", "and on");
    eventually("the end of their sessions", || {
        (door.metric(LOST) >= 5).then_some(())
    });
    let mut anew = Console::new(&door.address(), "rl_a", "right");
    anew.run("SELECT 'anew'", "anew");
}

#[test]
fn sessions_outlive_changes_of_privileges_and_roles_and_new_ones_have_them() {
    let Some(database) = database() else { return };
    database.execute(
        "CREATE OR REPLACE DATABASE relayed_later; CREATE TABLE relayed_later.t AS SELECT 7 AS x;
         CREATE USER 'rg_a'@'%' IDENTIFIED VIA ed25519 USING PASSWORD('one')",
    );
    let door = FrontDoor::start(database.address(), &[MONITOR, "server.workers = 1"]);
    let mut old = Console::new(&door.address(), "rg_a", "one");
    old.run("SELECT 'in'", "in");
    database.execute(
        "CREATE OR REPLACE ROLE relayed_clerk; GRANT relayed_clerk TO 'rg_a'@'%';
         GRANT SELECT, RELOAD ON *.* TO 'rg_a'@'%'",
    );
    have_accounts_read(&door);
    old.run("SELECT 'goes on'", "goes on");
    let mut new = Console::new(&door.address(), "rg_a", "one");
    new.run("SELECT CONCAT('reads ', x) FROM relayed_later.t", "reads 7");
    old.run("SELECT 'still'", "still");
    assert_eq!(door.metric(LOST), 0);
    drop((old, new));
    database.execute("DROP USER 'rg_a'@'%'; DROP ROLE relayed_clerk; DROP DATABASE relayed_later");
}

#[test]
fn a_changed_password_or_a_dropped_account_ends_what_was_opened_before() {
    let Some(database) = database() else { return };
    database.execute("CREATE USER 'rp_a'@'%' IDENTIFIED VIA ed25519 USING PASSWORD('one')");
    let door = FrontDoor::start(database.address(), &[MONITOR, "server.workers = 1"]);
    let mut old = Console::new(&door.address(), "rp_a", "one");
    old.run("SELECT 'in'", "in");
    database.execute("ALTER USER 'rp_a'@'%' IDENTIFIED VIA ed25519 USING PASSWORD('two')");
    old.run("SELECT 'goes on'", "goes on");
    let refused = run(&mut as_user(&door.address(), "rp_a", "one"), "SELECT 1");
    assert!(refused.stderr.contains("ERROR 1045"), "{refused:?}");
    let mut new = Console::new(&door.address(), "rp_a", "two");
    new.run("SELECT 'new'", "new");
    old.run("SELECT 'still'", "still");
    database.execute("DROP USER 'rp_a'@'%'");
    have_accounts_read(&door);
    let ended = in_time(|| {
        new.run("SELECT 'late'", "late");
        new.told().contains("is no more").then_some(())
    });
    assert!(ended.is_some(), "{}", new.told());
}

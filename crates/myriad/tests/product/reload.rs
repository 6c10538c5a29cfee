//! The configuration read again while the process runs: accounts, TLS, load balancers. Limits are the matter of
//! `quotas`, certificates that of `tls`.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::from_server::{MONITOR, add_monitor, grants_of_monitor};
use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, eventually};

const LINE: &[u8] = b"PROXY TCP4 10.1.2.3 127.0.0.1 5555 3306\r\n";

/// The beginning of the first account of every test's configuration.
const APP: &str = "[[account]]\nuser = \"app\"";

/// The error that a login gets, if it gets one.
fn told(door: &FrontDoor, user: &str, password: &str) -> Option<u16> {
    refused(Client::login(&door.address(), &of(user, password)))
}

fn of<'a>(user: &'a str, password: &'a str) -> Login<'a> {
    Login {
        user,
        password,
        ..Login::default()
    }
}

fn refused(login: Result<Client, Outcome>) -> Option<u16> {
    match login {
        Ok(_) => None,
        Err(Outcome::Err(code, _)) => Some(code),
        Err(other) => panic!("{other:?}"),
    }
}

fn account(user: &str, password: &str, more: &str) -> String {
    format!("[[account]]\nuser = \"{user}\"\npassword = \"{password}\"\n{more}")
}

/// Has the configuration changed and read again.
fn reload(door: &FrontDoor, from: &str, to: &str) {
    let read = || door.log().matches("configuration read again").count();
    let before = read();
    door.reconfigure(from, to);
    eventually("the configuration read again", || {
        (read() > before).then_some(())
    });
}

#[test]
fn accounts_come_change_and_go() {
    let database = Database::private();
    database
        .execute("CREATE USER 'late'@'%' IDENTIFIED BY 'first'; GRANT ALL ON shop.* TO 'late'@'%'");
    let door = FrontDoor::start(database.address(), &["server.workers = 2"]);
    let mut app = Client::new(&door.address(), "shop");
    assert_eq!(told(&door, "late", "first"), Some(1045));
    let late = account("late", "first", "");
    reload(&door, APP, &format!("{late}{APP}"));
    let mut stays = Client::login(&door.address(), &of("late", "first")).unwrap();
    assert_eq!(stays.value("SELECT 1"), "1");
    door.await_log("changed=\"account\"");

    // Another password: whoever is there stays, as on the server.
    database.execute(
        "SET PASSWORD FOR 'late'@'%' = 'second'"
            .replace("'second'", &hashed("second"))
            .as_str(),
    );
    let second = account("late", "second", "");
    reload(&door, &late, &second);
    assert_eq!(told(&door, "late", "first"), Some(1045));
    assert_eq!(told(&door, "late", "second"), None);
    assert_eq!(stays.value("SELECT 2"), "2");

    // What its connections must be is asked of those who come.
    let strict = account("late", "second", "require = \"x509\"\n");
    reload(&door, &second, &strict);
    assert_eq!(told(&door, "late", "second"), Some(1045));
    assert_eq!(stays.value("SELECT 3"), "3");

    // What is wrong changes nothing.
    door.reconfigure("require = \"x509\"", "require = \"nothing\"");
    eventually("a word about what is wrong", || {
        door.log().contains("nothing was changed").then_some(())
    });
    assert_eq!(told(&door, "late", "second"), Some(1045));
    assert_eq!(stays.value("SELECT 4"), "4");

    // Without its account a session ends its transaction, and that is all.
    stays.run("BEGIN");
    assert_eq!(stays.value("SELECT 5"), "5");
    reload(&door, &strict.replace("x509", "nothing"), "");
    assert_eq!(stays.value("SELECT 6"), "6");
    stays.run("COMMIT");
    let outcomes = stays.run("SELECT 7");
    assert!(
        matches!(outcomes[..], [Outcome::Err(1045, _)]),
        "{outcomes:?}"
    );
    assert_eq!(told(&door, "late", "second"), Some(1045));
    assert_eq!(app.value("SELECT 8"), "8");
}

/// What makes a password in `SET PASSWORD`.
fn hashed(password: &str) -> String {
    match crate::support::Server::is_mariadb() {
        true => format!("PASSWORD('{password}')"),
        false => format!("'{password}'"),
    }
}

/// Ends all connections of an account in the database.
fn end_connections(database: &Database, user: &str) {
    let ids = format!("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = '{user}'");
    eventually("no connections", || {
        let ids = database.execute(&ids);
        for id in ids.split_whitespace() {
            database.execute(&format!("KILL {id}"));
        }
        ids.trim().is_empty().then_some(())
    });
}

#[test]
fn a_password_of_the_configuration_that_changes_in_the_database_is_changed_here_too() {
    let database = Database::private();
    let first = account("own", "first", "");
    for through in [true, false] {
        database.execute("CREATE USER 'own'@'%' IDENTIFIED BY 'first'");
        let door = FrontDoor::start(database.address(), &[]);
        reload(&door, APP, &format!("{first}{APP}"));
        let mut stays = Client::login(&door.address(), &of("own", "first")).unwrap();
        assert_eq!(stays.value("SELECT 1"), "1");
        let second = hashed("second");
        if through {
            let outcomes = stays.run(&format!("SET PASSWORD = {second}"));
            assert!(matches!(outcomes[..], [Outcome::Ok(_)]), "{outcomes:?}");
        } else {
            database.execute(&format!("SET PASSWORD FOR 'own'@'%' = {second}"));
        }
        // What is open goes on, and the configuration says who is let in.
        assert_eq!(stays.value("SELECT 2"), "2");
        assert_eq!(told(&door, "own", "second"), Some(1045));
        let mut late = Client::login(&door.address(), &of("own", "first")).unwrap();
        end_connections(&database, "own");
        let refused = eventually(
            "no backend connection",
            || match &late.run("SELECT 3")[..] {
                [Outcome::Err(code, _)] => Some(*code),
                _ => None,
            },
        );
        assert_eq!(refused, 1045);
        reload(&door, &first, &first.replace("first", "second"));
        assert_eq!(told(&door, "own", "first"), Some(1045));
        let mut back = Client::login(&door.address(), &of("own", "second")).unwrap();
        assert_eq!(back.value("SELECT 4"), "4");
        drop(door);
        database.execute("DROP USER 'own'@'%'");
    }
}

#[test]
fn the_account_that_reads_the_others_changes() {
    let database = Database::private();
    add_monitor(&database);
    let other = grants_of_monitor().replace("'monitor'", "'reader'");
    database.execute(&other.replace("'watch'", "'looks'"));
    let door = FrontDoor::start(database.address(), &[MONITOR]);
    let create = |user: &str| {
        database.execute(&format!(
            "CREATE USER '{user}'@'localhost' IDENTIFIED BY 'right'"
        ));
        told(&door, user, "right")
    };
    assert_eq!(create("r_one"), None);

    // Another password than the database knows: all stays as it is.
    let wrong = MONITOR.replace("watch", "wrong");
    reload(&door, MONITOR, &wrong);
    eventually("a word about what is wrong", || {
        door.log().contains("those of before stay").then_some(())
    });
    assert_eq!(create("r_two"), None);

    let right = "monitor.user = \"reader\"\nmonitor.password = \"looks\"";
    reload(&door, &wrong, right);
    eventually("the accounts read as the other", || {
        let read = "accounts are read with the new settings";
        door.log().contains(read).then_some(())
    });
    database.execute("DROP USER 'monitor'@'localhost'");
    assert_eq!(create("r_three"), None);
    assert_eq!(told(&door, "r_three", "wrong"), Some(1045));
    let connected = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'monitor'";
    assert!(database.execute(connected).trim().ends_with('0'));
}

#[test]
fn tls_is_required_offered_and_taken_back() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["tls.mode = \"offer\""]);
    let tcp = Address::Tcp(door.tcp());
    let made = std::fs::read(door.folder().join("myriad-auto-cert.pem")).unwrap();
    let login = Login::to("shop");
    let in_clear = || Client::login(&tcp, &login);
    let over_tls = || Client::login_over_tls(&tcp, &login, &made);
    let offers = || {
        let (_, greeting) = Client::connect(&tcp).unwrap();
        let greeting = wire::InitialHandshake::parse(&greeting).unwrap();
        greeting.capabilities.contains(wire::Capabilities::SSL)
    };
    let mut plain = in_clear().unwrap();
    let mut secured = over_tls().unwrap();
    reload(&door, "mode = \"offer\"", "mode = \"require\"");
    // The log is written as soon as the workers are told.
    eventually("a refusal without TLS", || {
        (refused(in_clear()) == Some(3159)).then_some(())
    });
    assert_eq!(refused(over_tls()), None);
    reload(&door, "mode = \"require\"", "mode = \"off\"");
    eventually("TLS that is not offered", || (!offers()).then_some(()));
    assert_eq!(refused(in_clear()), None);
    reload(&door, "mode = \"off\"", "mode = \"offer\"");
    eventually("TLS that is offered", || offers().then_some(()));
    assert_eq!(refused(over_tls()), None);
    for session in [&mut plain, &mut secured] {
        assert_eq!(session.value("SELECT 1"), "1");
    }
}

#[test]
fn load_balancers_are_believed_when_they_are_listed() {
    let database = Database::shared();
    let networks = |list: &str| format!("proxy_protocol.networks = [{list}]");
    let (nobody, here) = (networks(""), networks("\"127.0.0.0/8\""));
    let door = FrontDoor::start(database.address(), &[&nobody]);
    // The log is written as soon as the workers are told, so one header may still be taken as before.
    let await_more = |metric: &str| {
        let before = door.metric(metric);
        eventually(metric, || {
            let mut stream = TcpStream::connect(door.tcp()).unwrap();
            stream.write_all(LINE).unwrap();
            let answered = stream.read(&mut [0; 4]);
            assert_eq!(answered.unwrap(), 4);
            (door.metric(metric) > before).then_some(())
        });
    };
    await_more("myriad_proxy_headers_refused_total");
    reload(&door, &nobody, &here);
    await_more("myriad_proxy_headers_total");
    reload(&door, &here, &nobody);
    await_more("myriad_proxy_headers_refused_total");
}

#[test]
fn what_waits_for_the_next_start_is_named() {
    let database = Database::shared();
    let settings = ["server.workers = 1", "admin.tls = \"offer\""];
    let door = FrontDoor::start(database.address(), &settings);
    reload(
        &door,
        "server.workers = 1\nadmin.tls = \"offer\"",
        "server.workers = 2\nadmin.tls = \"off\"\nmonitor.user = \"m\"",
    );
    for key in ["server.workers", "admin.tls", "monitor"] {
        door.await_line(&["holds from the next start on", &format!("key=\"{key}\"")]);
    }
    assert_eq!(door.metric("myriad_workers"), 1);
}

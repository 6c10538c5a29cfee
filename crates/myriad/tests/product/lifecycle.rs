//! The command itself: configuration checked and printed, the listening sockets, the end.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use crate::support::{
    Address, Client, Database, FrontDoor, Login, Outcome, Output, eventually, run,
};

fn myriad(arguments: &[&str]) -> Output {
    run(
        Command::new(env!("CARGO_BIN_EXE_myriad")).args(arguments),
        "",
    )
}

fn check(folder: &Path, text: &str) -> Output {
    let file = folder.join("checked.toml");
    std::fs::write(&file, text).unwrap();
    let output = myriad(&["config", "check", file.to_str().unwrap()]);
    let hide = |text: String| text.replace(folder.to_str().unwrap(), "");
    Output {
        stdout: hide(output.stdout),
        stderr: hide(output.stderr),
        ..output
    }
}

#[test]
fn config_check_says_what_is_wrong_and_where() {
    let folder = tempfile::tempdir().unwrap();
    let account = "[[account]]\nuser = \"app\"\npassword = \"secret\"\n";
    let good = check(folder.path(), account);
    assert_eq!(good.stdout, "/checked.toml: fine (1 account)\n");
    assert_eq!((good.code, good.stderr.as_str()), (Some(0), ""));
    let monitor = check(folder.path(), "[monitor]\nuser = \"watcher\"\n");
    let fine = "/checked.toml: fine (0 accounts, and those of the database, which watcher reads)\n";
    assert_eq!(monitor.stdout, fine);
    let bad = [
        ("[server]\nlisten = \"127.0.0.1\"\n", "checked.toml:2:10"),
        ("[server]\nworkers = 1025\n", "1024"),
        ("[backend]\nmax_conections = 3\n", "max_connections"),
        ("[backend]\nqueue_timeout = \"30\"\n", "\"30"),
        ("[server\n", "checked.toml:1"),
        ("[[account]]\npassword = \"topsecret\"\n", "user"),
    ];
    for (text, expected) in bad {
        let output = check(folder.path(), text);
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (Some(1), ""),
            "{text}"
        );
        assert!(
            output.stderr.starts_with("myriad: "),
            "{text}: {}",
            output.stderr
        );
        assert!(
            output.stderr.contains(expected),
            "{text}: {}",
            output.stderr
        );
        assert!(!output.stderr.contains("topsecret"), "{}", output.stderr);
    }
    let missing = myriad(&["config", "check", "/nowhere/myriad.toml"]);
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.stderr.contains("/nowhere/myriad.toml"),
        "{}",
        missing.stderr
    );
}

#[test]
fn config_default_passes_its_own_check() {
    let folder = tempfile::tempdir().unwrap();
    let printed = myriad(&["config", "default"]);
    assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""));
    let checked = check(folder.path(), &printed.stdout);
    assert_eq!((checked.code, checked.stderr.as_str()), (Some(0), ""));
    assert!(
        checked.stdout.contains("nobody can log in yet"),
        "{}",
        checked.stdout
    );
}

#[test]
fn serve_without_a_usable_configuration_says_so_and_ends() {
    let without = myriad(&["serve"]);
    assert_eq!(without.code, Some(1));
    assert!(without.stderr.contains("--config"), "{}", without.stderr);
    let missing = myriad(&["serve", "--config", "/nowhere/myriad.toml"]);
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.stderr.contains("/nowhere/myriad.toml"),
        "{}",
        missing.stderr
    );
}

#[test]
fn an_address_in_use_is_named() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("second.toml");
    std::fs::write(&config, format!("server.listen = [\"{}\"]\n", door.tcp())).unwrap();
    let second = myriad(&["serve", "--config", config.to_str().unwrap()]);
    assert_eq!(second.code, Some(1));
    assert!(
        second.stderr.contains(&door.tcp().to_string()),
        "{}",
        second.stderr
    );
    assert!(second.stderr.contains("in use"), "{}", second.stderr);
}

#[test]
fn nobody_is_served_while_an_address_for_administrators_is_taken() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let folder = tempfile::tempdir().unwrap();
    for key in ["http", "sql"] {
        let taken = door.sql();
        let config = folder.path().join("second.toml");
        let text = format!(
            "server.listen = [\"127.0.0.1:0\"]\nadmin.{key} = \"{taken}\"\n\
             admin.account = [{{ user = \"root\", password = \"hush\" }}]\n"
        );
        std::fs::write(&config, text).unwrap();
        let second = myriad(&["serve", "--config", config.to_str().unwrap()]);
        assert_eq!(second.code, Some(1));
        let said = second.stderr;
        let why = format!("admin.{key}: cannot listen on {taken}");
        assert!(said.contains(&why), "{said}");
        assert!(!said.contains("listening"), "{said}");
    }
}

#[test]
fn both_sockets_serve_and_the_unix_one_is_gone_afterwards() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    for address in [door.address(), Address::Tcp(door.tcp())] {
        let mut client = Client::new(&address, "shop");
        assert_eq!(client.value("SELECT COUNT(*) FROM customer"), "200");
        assert!(client.connection_id >= 1 << 30, "{}", client.connection_id);
    }
    assert!(door.http("/health").contains("\"ok\""));
    let (socket, tcp) = (door.socket(), door.tcp());
    drop(door);
    assert!(UnixStream::connect(socket).is_err());
    assert!(std::net::TcpStream::connect(tcp).is_err());
}

#[test]
fn sigterm_lets_running_statements_finish() {
    let database = Database::shared();
    // Each worker drains when it hears of it: with one, all clients see it at the same time.
    let mut door = FrontDoor::start(
        database.address(),
        &["backend.max_connections = 2", "server.workers = 1"],
    );
    let (mut sleeper, mut holder) = (
        Client::new(&door.address(), "shop"),
        Client::new(&door.address(), "shop"),
    );
    let mut idle = Client::new(&door.address(), "shop");
    database.schema("drained");
    database.execute("CREATE TABLE drained.t (a INT)");
    holder.run("BEGIN");
    holder.run("INSERT INTO drained.t VALUES (1)");
    sleeper.query("SELECT SLEEP(4), 'awake'");
    eventually("the statement in the process list", || {
        let list = database.execute("SHOW PROCESSLIST");
        list.contains("SELECT SLEEP(4), 'awake'").then_some(())
    });
    door.terminate();
    // Whoever does nothing is told and closed, and nobody new is let in.
    let told = idle.receive().unwrap();
    assert_eq!(told.payload[..3], [0xff, 0x1d, 0x04], "{told:?}");
    assert_eq!(idle.rest(), b"");
    // A transaction may go on to its end.
    assert_eq!(holder.run("INSERT INTO drained.t VALUES (2)").len(), 1);
    assert!(matches!(holder.run("COMMIT")[..], [Outcome::Ok(_)]));
    assert_eq!(holder.rest(), b"");
    let row = vec!["0".to_owned(), "awake".to_owned()];
    assert_eq!(
        sleeper.answer().unwrap().outcomes(),
        [Outcome::Rows(vec![row])]
    );
    assert_eq!(sleeper.rest(), b"");
    assert_eq!(door.ended().code(), Some(0), "{}", door.log());
    assert_eq!(database.execute("SELECT COUNT(*) FROM drained.t"), "2\n");
}

#[test]
fn draining_ends_when_its_time_is_up() {
    let database = Database::shared();
    let mut door = FrontDoor::start(database.address(), &["server.drain_timeout = \"200ms\""]);
    let mut sleeper = Client::new(&door.address(), "");
    sleeper.query("SELECT SLEEP(20)");
    eventually("the statement in the process list", || {
        database
            .execute("SHOW PROCESSLIST")
            .contains("SELECT SLEEP(20)")
            .then_some(())
    });
    door.terminate();
    assert!(sleeper.answer().is_err());
    assert_eq!(door.ended().code(), Some(0), "{}", door.log());
}

#[test]
fn one_client_too_many_is_refused_and_the_others_stay() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["server.max_connections = 2"]);
    // What looked whether the front door is up may still be counted.
    let mut clients: Vec<_> = (0..2)
        .map(|_| {
            eventually("a free place", || {
                Client::login(&door.address(), &Login::to("shop")).ok()
            })
        })
        .collect();
    let refused = Client::login(&door.address(), &Login::default())
        .err()
        .unwrap();
    assert_eq!(refused, Outcome::Err(1040, "Too many connections".into()));
    for client in &mut clients {
        assert_eq!(client.value("SELECT 1"), "1");
    }
    clients.pop();
    let mut next = eventually("a free place", || {
        Client::login(&door.address(), &Login::to("shop")).ok()
    });
    assert_eq!(next.value("SELECT 2"), "2");
}

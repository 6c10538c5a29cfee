//! What `/health` says when the database or the account that reads its accounts is of no use, without any traffic.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::from_server::{MONITOR, grants_of_monitor};
use crate::support::{Address, Client, Database, FrontDoor, Outcome, eventually, own_database};

/// How long a load balancer may be told that all is well after the database has gone.
const TOLD_WITHIN: Duration = Duration::from_secs(3);

/// Waits until the status is another one; how long that took.
fn until_status(door: &FrontDoor, status: u16) -> (Duration, String) {
    let begun = Instant::now();
    let body = eventually("another verdict of /health", || {
        let (told, body) = door.health();
        (told == status).then_some(body)
    });
    (begun.elapsed(), body)
}

#[test]
fn a_database_that_has_gone_is_told_without_traffic() {
    for settings in [&[][..], &[MONITOR]] {
        let folder = tempfile::tempdir().unwrap();
        let mut database = own_database(&folder);
        database.execute(&grants_of_monitor()).unwrap();
        let backend = Address::Unix(database.socket().to_owned());
        let door = FrontDoor::start(&backend, settings);
        let mut client = Client::new(&door.address(), "shop");
        assert_eq!(client.value("SELECT 1"), "1");
        until_status(&door, 200);
        database.kill().unwrap();
        let (took, body) = until_status(&door, 503);
        assert!(took < TOLD_WITHIN, "{took:?}");
        assert!(body.contains(r#""reachable":false"#), "{body}");
        database.restart().unwrap();
        let (_, body) = until_status(&door, 200);
        assert!(body.contains(r#""reachable":true"#), "{body}");
        drop((client, door));
        database.stop().unwrap();
    }
}

#[test]
fn a_database_that_is_frozen_is_told_without_traffic() {
    let folder = tempfile::tempdir().unwrap();
    let mut database = own_database(&folder);
    database.execute(&grants_of_monitor()).unwrap();
    let backend = Address::Unix(database.socket().to_owned());
    let door = FrontDoor::start(&backend, &[MONITOR]);
    let mut client = Client::new(&door.address(), "shop");
    assert_eq!(client.value("SELECT 1"), "1");
    until_status(&door, 200);
    let pid = Pid::from_raw(database.pid().unwrap().cast_signed()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let (_, body) = until_status(&door, 503);
    assert!(body.contains("does not answer"), "{body}");
    kill_process(pid, Signal::CONT).unwrap();
    until_status(&door, 200);
    assert_eq!(client.value("SELECT 2"), "2");
    drop((client, door));
    database.stop().unwrap();
}

#[test]
fn a_monitor_without_grants_is_told() {
    let database = Database::private();
    database.execute("CREATE USER 'monitor'@'localhost' IDENTIFIED BY 'watch'");
    let without_accounts = |text: String| text.split("[[account]]").next().unwrap().to_owned();
    let door = FrontDoor::start_with(database.address(), &[MONITOR], without_accounts);
    let (_, body) = until_status(&door, 503);
    eventually("the attempt to read the accounts", || {
        let (status, body) = door.health();
        assert_eq!(status, 503, "{body}");
        body.contains("nobody can log in: [monitor] cannot read")
            .then_some(())
    });
    assert!(body.contains(r#""readable":false"#), "{body}");
    assert_eq!(door.metric("myriad_accounts_readable"), 0);
    eventually("the words in the log", || {
        door.log().contains("or newer, and SELECT on").then_some(())
    });
    database.execute(&grants_of_monitor());
    let (_, body) = until_status(&door, 200);
    assert!(body.contains(r#""status":"ok""#), "{body}");
    assert_eq!(door.metric("myriad_accounts_readable"), 1);
}

#[test]
fn a_standstill_is_told_within_a_second() {
    let database = Database::shared();
    let settings = [
        "backend.max_connections = 3",
        "backend.queue_timeout = \"2s\"",
        "server.workers = 2",
    ];
    let door = FrontDoor::start(database.address(), &settings);
    let mut holders: Vec<_> = (0..3)
        .map(|_| Client::new(&door.address(), "shop"))
        .collect();
    for holder in &mut holders {
        holder.run("BEGIN");
        holder.run("SELECT COUNT(*) FROM customer");
    }
    assert_eq!(door.metric("myriad_standstill"), 0);
    let mut waiters: Vec<_> = (0..2)
        .map(|_| Client::new(&door.address(), "shop"))
        .collect();
    let begun = Instant::now();
    for waiter in &mut waiters {
        waiter.query("SELECT 1");
    }
    let word = "all 3 backend connections are held by sessions in a transaction or pinned that have been silent for ";
    eventually("a word in the log", || {
        door.log()
            .contains(&format!("standstill: {word}"))
            .then_some(())
    });
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(door.metric("myriad_standstill"), 1);
    let (status, body) = door.health();
    assert_eq!(status, 200, "{body}");
    assert!(body.contains(word) && body.contains("degraded"), "{body}");
    for waiter in &mut waiters {
        let outcomes = waiter.answer().unwrap().outcomes();
        let [Outcome::Err(1203, text)] = &outcomes[..] else {
            panic!("{outcomes:?}");
        };
        assert!(text.contains(word), "{text}");
        assert!(
            text.contains("wait; the statement was not run") || text.contains("waits; the"),
            "{text}"
        );
    }
    holders[0].run("COMMIT");
    let mut another = Client::new(&door.address(), "shop");
    assert_eq!(another.value("SELECT 2"), "2");
    eventually("the end of the standstill", || {
        (door.metric("myriad_standstill") == 0).then_some(())
    });
    assert_eq!(door.metric("myriad_standstills_total"), 1);
    door.await_log("the standstill is over");
}

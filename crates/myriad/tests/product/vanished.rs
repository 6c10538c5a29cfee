//! Clients that vanish without a FIN inside a transaction: their locks go in bounded time.

use std::time::{Duration, Instant};

use crate::support::{Address, Client, Database, FarPeer, FrontDoor, Outcome, Server};

/// How long another client may have to wait for a row that a vanished one has locked, when the
/// timeout that should end it is one second.
const BOUND: Duration = Duration::from_secs(8);

const LOCK_WAIT_TIMEOUT: u16 = 1205;

const IDLE: &str = "server.idle_transaction_timeout = \"1s\"";
const WRITE: &str = "server.client_write_timeout = \"1s\"";
const NEVER: &str = "server.idle_transaction_timeout = \"0\"";

/// What the vanishing client did last. Each leaves row 1 locked.
enum Last {
    /// It had its answer.
    Answered,
    /// It was gone before its answer came.
    Running,
    /// It was gone long before its answer could come.
    Waiting,
    /// It had taken a part of a long answer.
    Reading,
}

/// How a client vanishes, and how it is found out.
struct Case {
    number: u8,
    settings: &'static [&'static str],
    last: Last,
    reason: &'static str,
}

fn schema(database: &Database, name: &str) {
    database.schema(name);
    database.execute(&format!(
        "CREATE TABLE {name}.t (id INT PRIMARY KEY, n INT);
         INSERT INTO {name}.t VALUES (1, 0), (2, 0)"
    ));
}

/// Lets a client vanish and returns how long another one waited for the row.
fn vanish(case: &Case) -> Option<Duration> {
    let peer = FarPeer::new(case.number)?;
    let database = Database::shared();
    let name = format!("vanished_{}", case.number);
    schema(&database, &name);
    let settings = [&["backend.max_connections = 2"], case.settings].concat();
    let door = FrontDoor::start_at(peer.near(), database.address(), &settings);
    let tcp = Address::Tcp(door.tcp());
    let mut holder = peer.within(|| Client::new(&tcp, &name));
    holder.run("BEGIN");
    holder.run("UPDATE t SET n = n + 100 WHERE id = 1");
    match case.last {
        Last::Answered => {}
        Last::Running => holder.query("SELECT SLEEP(0.5)"),
        Last::Waiting => holder.query("SELECT SLEEP(600)"),
        Last::Reading => {
            // Hundreds of terabytes: nobody waits for the end of that.
            let rows = match Server::is_mariadb() {
                true => "seq_1_to_1000000000",
                false => "shop.seq_1_to_70000 a, shop.seq_1_to_70000 b",
            };
            holder.query(&format!("SELECT REPEAT('x', 100000) FROM {rows}"));
            holder.receive().unwrap();
        }
    }
    peer.vanish();
    let began = Instant::now();
    let mut other = Client::new(&door.address(), &name);
    update(&mut other);
    let waited = began.elapsed();
    assert_eq!(other.value("SELECT n FROM t WHERE id = 1"), "1");
    let reason = format!("myriad_disconnects_total{{reason={:?}}}", case.reason);
    // What looked whether the front door is up may be counted, too.
    assert!(door.metric(&reason) >= 1, "{}", door.http("/metrics"));
    assert_eq!(door.metric("myriad_clients{state=\"held\"}"), 0);
    Some(waited)
}

/// Asks again as long as the row is locked: an answer is awaited for less than a lock is.
fn update(client: &mut Client) {
    client.run("SET innodb_lock_wait_timeout = 20");
    loop {
        match &client.run("UPDATE t SET n = n + 1 WHERE id = 1")[..] {
            [Outcome::Ok(_)] => return,
            [Outcome::Err(LOCK_WAIT_TIMEOUT, _)] => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_locks_of_a_client_that_vanished_are_gone_in_bounded_time() {
    let cases = [
        (1, &[IDLE][..], Last::Answered, "idle_transaction_timeout"),
        (2, &[IDLE], Last::Running, "idle_transaction_timeout"),
        (3, &[IDLE, WRITE], Last::Reading, "write_timeout"),
    ];
    for (number, settings, last, reason) in cases {
        let case = Case {
            number,
            settings,
            last,
            reason,
        };
        let Some(waited) = vanish(&case) else { return };
        eprintln!("{reason}: another client had the row after {waited:?}");
        assert!(waited < BOUND, "{reason}: {waited:?}");
    }
}

/// Without any timeout of the front door's own, the system finds out: keepalive after 60 s and three
/// probes, the TCP user timeout for what was sent and never acknowledged.
#[test]
#[ignore = "takes four minutes"]
fn without_timeouts_the_system_finds_out() {
    let cases = [
        (11, Last::Answered),
        (12, Last::Running),
        (13, Last::Waiting),
    ];
    for (number, last) in cases {
        let case = Case {
            number,
            settings: &[NEVER],
            last,
            reason: "client_failed",
        };
        let Some(waited) = vanish(&case) else { return };
        eprintln!("another client had the row after {waited:?}");
        assert!(waited < Duration::from_secs(100), "{waited:?}");
    }
}

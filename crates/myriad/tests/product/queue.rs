//! Statements that wait for the only backend connection, and sessions that keep it too long.

use std::time::{Duration, Instant};

use crate::support::{Client, Database, FrontDoor, Outcome, Server, eventually};

/// An empty schema with a table `t`.
fn prepare(schema: &str) -> std::sync::Arc<Database> {
    let database = Database::shared();
    database.schema(schema);
    database.execute(&format!("CREATE TABLE {schema}.t (a VARCHAR(20))"));
    database
}

fn rows(database: &Database, schema: &str) -> String {
    database.execute(&format!("SELECT a FROM {schema}.t ORDER BY a"))
}

/// Waits until so many clients wait for a backend connection.
fn await_waiting(door: &FrontDoor, count: u64) {
    eventually("clients that wait", || {
        (door.metric("myriad_clients{state=\"waiting\"}") == count).then_some(())
    });
}

#[test]
fn the_statement_of_a_client_that_hung_up_in_the_queue_never_runs() {
    let database = prepare("queue_hang_up");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut holder = Client::new(&door.address(), "queue_hang_up");
    // Before the transaction begins: the first login with a schema asks the backend for it.
    let mut waiters: Vec<_> = (0..10)
        .map(|_| Client::new(&door.address(), "queue_hang_up"))
        .collect();
    holder.run("BEGIN");
    holder.run("INSERT INTO t VALUES ('holder')");
    for (number, waiter) in waiters.iter_mut().enumerate() {
        waiter.query(&format!("INSERT INTO t VALUES ('waiter {number}')"));
        await_waiting(&door, number as u64 + 1);
    }
    // Every other one goes away.
    let mut number = 0;
    waiters.retain(|_| {
        number += 1;
        number % 2 == 0
    });
    await_waiting(&door, 5);
    assert_eq!(door.metric("myriad_abandoned_total"), 5);
    holder.run("COMMIT");
    for waiter in &mut waiters {
        assert!(matches!(
            waiter.answer().unwrap().outcomes()[..],
            [Outcome::Ok(_)]
        ));
    }
    let ran: Vec<_> = [1, 3, 5, 7, 9]
        .iter()
        .map(|n| format!("waiter {n}\n"))
        .collect();
    assert_eq!(
        rows(&database, "queue_hang_up"),
        format!("holder\n{}", ran.concat())
    );
}

#[test]
fn those_who_wait_are_served_in_the_order_in_which_they_came() {
    let database = prepare("queue_order");
    database.execute("ALTER TABLE queue_order.t ADD id INT PRIMARY KEY AUTO_INCREMENT");
    let settings = ["backend.max_connections = 1", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let mut holder = Client::new(&door.address(), "queue_order");
    holder.run("BEGIN");
    let mut waiters: Vec<_> = (0..20)
        .map(|_| Client::new(&door.address(), "queue_order"))
        .collect();
    for (number, waiter) in waiters.iter_mut().enumerate() {
        waiter.query(&format!("INSERT INTO t (a) VALUES ('{number}')"));
        await_waiting(&door, number as u64 + 1);
    }
    drop(holder);
    for (number, waiter) in waiters.iter_mut().enumerate() {
        let Outcome::Ok(done) = &waiter.answer().unwrap().outcomes()[0] else {
            panic!("no OK for {number}");
        };
        assert_eq!(done.last_insert_id, number as u64 + 1);
    }
}

#[test]
fn a_statement_that_waited_too_long_gets_an_err_and_the_session_goes_on() {
    let database = prepare("queue_timeout");
    let settings = [
        "backend.max_connections = 1",
        "backend.queue_timeout = \"1s\"",
    ];
    let door = FrontDoor::start(database.address(), &settings);
    let mut holder = Client::new(&door.address(), "queue_timeout");
    let mut waiter = Client::new(&door.address(), "queue_timeout");
    waiter.run("SET group_concat_max_len = 77");
    holder.run("BEGIN");
    holder.run("INSERT INTO t VALUES ('holder')");
    let began = Instant::now();
    let outcomes = waiter.run("INSERT INTO t VALUES ('waiter')");
    let [Outcome::Err(1203, text)] = &outcomes[..] else {
        panic!("{outcomes:?}")
    };
    for part in ["no backend connection", "queue_timeout", "was not run"] {
        assert!(text.contains(part), "{text}");
    }
    // The second, once the holder has been silent for a while.
    let reasons = ["all 1 are in use", "all 1 backend connections are held"];
    assert!(reasons.iter().any(|why| text.contains(why)), "{text}");
    assert!(
        began.elapsed() >= Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    // What it sends now waits anew, with a time of its own.
    waiter.query("SELECT @@group_concat_max_len");
    await_waiting(&door, 1);
    holder.run("COMMIT");
    let row = vec!["77".to_owned()];
    assert_eq!(
        waiter.answer().unwrap().outcomes(),
        [Outcome::Rows(vec![row])]
    );
    assert!(matches!(
        waiter.run("INSERT INTO t VALUES ('later')")[..],
        [Outcome::Ok(_)]
    ));
    assert_eq!(rows(&database, "queue_timeout"), "holder\nlater\n");
    assert_eq!(door.metric("myriad_queue_timeouts_total"), 1);
}

#[test]
fn a_silent_transaction_is_closed_and_rolled_back() {
    let database = prepare("queue_silent");
    let settings = [
        "backend.max_connections = 1",
        "server.idle_transaction_timeout = \"300ms\"",
    ];
    let door = FrontDoor::start(database.address(), &settings);
    let mut holder = Client::new(&door.address(), "queue_silent");
    let mut pinned = Client::new(&door.address(), "queue_silent");
    let mut waiter = Client::new(&door.address(), "queue_silent");
    holder.run("BEGIN");
    holder.run("INSERT INTO t VALUES ('holder')");
    // Waits for the holder, and gets what it left: a clean connection.
    assert_eq!(waiter.value("SELECT COUNT(*) FROM t"), "0");
    assert_eq!(holder.rest(), Server::words_to_the_silent());
    pinned.run("CREATE TEMPORARY TABLE own (a INT)");
    assert_eq!(waiter.value("SELECT COUNT(*) FROM t"), "0");
    assert_eq!(pinned.rest(), Server::words_to_the_silent());
    let closed = "myriad_disconnects_total{reason=\"idle_transaction_timeout\"}";
    assert_eq!(door.metric(closed), 2);
    assert_eq!(rows(&database, "queue_silent"), "");
}

//! Clients that open a transaction without knowing and then say nothing, as those do whose driver
//! turns autocommit off: more of them than there are backend connections do not stop everybody.

use std::time::{Duration, Instant};

use crate::support::{Client, Database, FrontDoor, Outcome, Server, eventually};

const BACKENDS: u64 = 32;
const SILENT: u64 = 40;
const OTHERS: u64 = 20;
const TIMEOUT: Duration = Duration::from_secs(1);

fn await_waiting(door: &FrontDoor, count: u64) {
    eventually("clients that wait", || {
        (door.metric("myriad_clients{state=\"waiting\"}") == count).then_some(())
    });
}

/// Nothing is attached, and every connection that there is is idle.
fn assert_nothing_held(door: &FrontDoor) {
    eventually("backends that nobody holds", || {
        let backends = |state| door.metric(&format!("myriad_backends{{state=\"{state}\"}}"));
        (backends("active") == 0 && backends("resetting") == 0).then_some(())
    });
    let taken = door.metric("myriad_backend_slots_taken");
    assert_eq!(taken, door.metric("myriad_backends{state=\"idle\"}"));
    assert_eq!(door.metric("myriad_clients{state=\"held\"}"), 0);
}

#[test]
fn forty_silent_transactions_on_32_backends_stop_nobody_for_long() {
    let database = Database::shared();
    database.schema("silent");
    database.execute("CREATE TABLE silent.t (a INT PRIMARY KEY); INSERT INTO silent.t VALUES (7)");
    let backends = format!("backend.max_connections = {BACKENDS}");
    let timeout = "server.idle_transaction_timeout = \"1s\"";
    let door = FrontDoor::start(database.address(), &[&backends, timeout]);
    let clients = |count| (0..count).map(|_| Client::new(&door.address(), "silent"));
    let mut silent: Vec<_> = clients(SILENT).collect();
    let mut others: Vec<_> = clients(OTHERS).collect();
    for client in &mut silent {
        assert!(matches!(
            client.run("SET autocommit = 0")[..],
            [Outcome::Ok(_)]
        ));
    }
    let began = Instant::now();
    for client in &mut silent {
        client.query("SELECT a FROM t");
    }
    await_waiting(&door, SILENT - BACKENDS);
    assert_eq!(door.metric("myriad_backend_slots_taken"), BACKENDS);
    for (number, client) in others.iter_mut().enumerate() {
        client.query(&format!("SELECT {number}, a FROM t"));
    }
    for (number, client) in others.iter_mut().enumerate() {
        let row = vec![number.to_string(), "7".to_owned()];
        let answer = client.answer().unwrap().outcomes();
        assert_eq!(answer, [Outcome::Rows(vec![row])]);
    }
    let went_on = began.elapsed();
    assert!(went_on >= TIMEOUT, "nobody held anything: {went_on:?}");
    assert!(went_on < 5 * TIMEOUT, "they waited for {went_on:?}");
    // Each silent one had its answer, and then was closed as the server closes those who say nothing.
    for client in &mut silent {
        let row = vec!["7".to_owned()];
        let answer = client.answer().unwrap().outcomes();
        assert_eq!(answer, [Outcome::Rows(vec![row])]);
        assert_eq!(client.rest(), Server::words_to_the_silent());
    }
    let closed = began.elapsed();
    assert!(closed < 6 * TIMEOUT, "the last was closed after {closed:?}");
    let reason = "myriad_disconnects_total{reason=\"idle_transaction_timeout\"}";
    assert_eq!(door.metric(reason), SILENT);
    assert_nothing_held(&door);
    let open = "SELECT COUNT(*) FROM information_schema.INNODB_TRX t
        JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id WHERE p.DB = 'silent'";
    assert_eq!(database.execute(open), "0\n");
    eprintln!("others went on after {went_on:?}, the last silent one was closed after {closed:?}");
}

#[test]
fn those_who_end_their_transactions_are_not_closed() {
    let database = Database::shared();
    database.schema("polite");
    database.execute("CREATE TABLE polite.t (a INT PRIMARY KEY); INSERT INTO polite.t VALUES (7)");
    let settings = [
        "backend.max_connections = 4",
        "server.idle_transaction_timeout = \"200ms\"",
    ];
    let door = FrontDoor::start(database.address(), &settings);
    let mut polite: Vec<_> = (0..10)
        .map(|_| Client::new(&door.address(), "polite"))
        .collect();
    for client in &mut polite {
        client.run("SET autocommit = 0");
        assert_eq!(client.value("SELECT a FROM t"), "7");
        client.run("COMMIT");
    }
    // Somebody else's is closed, which takes longer than theirs would have.
    let mut silent = Client::new(&door.address(), "polite");
    silent.run("BEGIN");
    assert_eq!(silent.rest(), Server::words_to_the_silent());
    for client in &mut polite {
        assert_eq!(client.value("SELECT @@autocommit"), "0");
    }
}

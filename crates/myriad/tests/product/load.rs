//! sysbench with many more clients than there are backend connections.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use crate::support::{Address, Database, FrontDoor, Server, eventually, finish, installed, run};

const TABLES: [&str; 2] = ["--tables=4", "--table-size=10000"];

/// How many transactions each thread runs, on average.
const EVENTS_PER_THREAD: u64 = 20;

/// sysbench as `load`, aimed at `address`.
fn sysbench(address: &Address, script: &str) -> Command {
    let mut command = Command::new("sysbench");
    command.args([
        script,
        "--db-driver=mysql",
        "--mysql-user=load",
        "--mysql-password=much",
    ]);
    command
        .args([
            "--mysql-db=sbtest",
            "--db-ps-mode=disable",
            "--rand-type=uniform",
        ])
        .args(TABLES);
    match address {
        Address::Unix(path) => command.arg(format!("--mysql-socket={}", path.display())),
        Address::Tcp(address) => command
            .arg(format!("--mysql-host={}", address.ip()))
            .arg(format!("--mysql-port={}", address.port())),
    };
    command
}

/// The shared database with sysbench's tables.
fn prepared() -> Arc<Database> {
    assert!(
        installed("sysbench"),
        "sysbench is not installed; run: scripts/setup sysbench (make test does)"
    );
    let database = Database::shared();
    let address = database.address();
    for step in ["cleanup", "prepare"] {
        let output = run(sysbench(address, "oltp_read_write").arg(step), "");
        assert_eq!(output.code, Some(0), "{output:?}");
    }
    database
}

/// Watches the backend connections until `child` has ended; their largest number. It is that of the
/// slots, which workers share: their lists are told one after the other, and the server keeps a
/// connection that was closed in its own for a while.
fn watch(child: &mut Child, door: &FrontDoor) -> u64 {
    let mut largest = 0;
    while child.try_wait().unwrap().is_none() {
        largest = largest.max(door.metric("myriad_backend_slots_taken"));
    }
    largest
}

/// Runs one script and checks what must be true during and after it.
fn assert_runs(script: &str, threads: u32, backends: u64) {
    let events = u64::from(threads) * EVENTS_PER_THREAD;
    let database = prepared();
    let limit = format!("backend.max_connections = {backends}");
    let door = FrontDoor::start(database.address(), &[&limit]);
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let deadlocks = || {
        let deadlocks =
            "SELECT count FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'";
        database.execute(deadlocks).trim().parse::<u64>().unwrap()
    };
    let deadlocks_before = deadlocks();
    let mut child = sysbench(&Address::Tcp(door.tcp()), script)
        .args(["--time=0", &format!("--events={events}")])
        .args([&format!("--threads={threads}"), "run"])
        .stdout(std::fs::File::create(&report).unwrap())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let largest = watch(&mut child, &door);
    assert!(
        (1..=backends).contains(&largest),
        "{largest} backend connections"
    );
    let code = finish(child);
    let report = std::fs::read_to_string(&report).unwrap();
    assert_eq!(code, Some(0), "{report}");
    // An error that sysbench ignores is a deadlock or a row that was changed, and those are the database's own.
    if deadlocks() == deadlocks_before && !Server::chosen().refuses_changed_rows() {
        assert_eq!(counted(&report, "ignored errors:"), 0, "{report}");
    }
    assert_eq!(counted(&report, "reconnects:"), 0, "{report}");
    assert_eq!(counted(&report, "transactions:"), events, "{report}");
    assert_nothing_left(&door);
    let mut before = String::new();
    eventually(
        "the server has a connection for each slot, one for KILL perhaps, and no other",
        || {
            let list = "SELECT id, command, time, state FROM information_schema.processlist WHERE user = 'load'";
            let there = database.execute(list);
            let taken = door.metric("myriad_backend_slots_taken");
            if there != before {
                eprintln!("{taken} slots are taken:\n{there}");
            }
            let count = there.lines().count() as u64;
            before = there;
            // One for KILL stays for a minute.
            let reserved = door.metric("myriad_backends{state=\"reserved\"}");
            (count == taken + reserved).then_some(())
        },
    );
}

/// The number behind a label of sysbench's report.
fn counted(report: &str, label: &str) -> u64 {
    let line = report
        .lines()
        .find_map(|line| line.trim().strip_prefix(label))
        .expect(label);
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn assert_nothing_left(door: &FrontDoor) {
    eventually("the end of all clients", || {
        let states = ["login", "idle", "waiting", "active", "held"];
        let of = |state| door.metric(&format!("myriad_clients{{state=\"{state}\"}}"));
        states.iter().all(|state| of(state) == 0).then_some(())
    });
    eventually("all backend connections idle", || {
        let of = |state| door.metric(&format!("myriad_backends{{state=\"{state}\"}}"));
        (of("idle") > 0 && of("active") + of("resetting") + of("connecting") == 0).then_some(())
    });
    let metrics = door.http("/metrics");
    for line in metrics
        .lines()
        .filter(|line| line.starts_with("myriad_pinned_sessions{"))
    {
        assert!(line.ends_with(" 0"), "{line}");
    }
    for lost in ["myriad_backend_losses_total", "myriad_queue_timeouts_total"] {
        assert_eq!(door.metric(lost), 0, "{lost}");
    }
}

#[test]
fn two_hundred_clients_share_eight_connections() {
    assert_runs("oltp_point_select", 200, 8);
    assert_runs("oltp_read_write", 200, 8);
}

#[test]
#[ignore = "needs the machine for itself; run: cargo test --package myriad -- --ignored"]
fn a_thousand_clients_share_thirty_two_connections() {
    assert_runs("oltp_point_select", 1_000, 32);
    assert_runs("oltp_read_write", 1_000, 32);
}

//! Short runs against a real MariaDB.

#![expect(
    clippy::unwrap_used,
    reason = "in a test whatever fails is to be seen at once"
)]

use std::time::Duration;

use driver::Address;
use load::{Account, LoadError, Plan, Stage, Summary, Workload};
use localdb::{LocalDb, Options};

const CONNECTIONS: u32 = 200;

const SCHEMA: &str = "
    CREATE DATABASE sbtest; USE sbtest;
    CREATE TABLE sbtest.sbtest1 (id INT PRIMARY KEY, c CHAR(120) NOT NULL);
    CREATE TABLE sbtest.sbtest2 LIKE sbtest.sbtest1;
    INSERT INTO sbtest.sbtest1 SELECT seq, REPEAT('c', 120) FROM seq_1_to_1000;
    INSERT INTO sbtest.sbtest2 SELECT * FROM sbtest.sbtest1;
    CREATE USER sbtest@localhost;
    CREATE USER locked@localhost IDENTIFIED BY 'secret';
    GRANT ALL ON sbtest.* TO sbtest@localhost, locked@localhost;";

/// A database; it ends, and its folder goes, with the value.
struct Target {
    database: LocalDb,
    _folder: tempfile::TempDir,
}

impl Target {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::in_folder(folder.path()).server_arg("--max-connections=300");
        let database = LocalDb::start(options).unwrap();
        database.execute(SCHEMA).unwrap();
        Self {
            database,
            _folder: folder,
        }
    }

    fn plan(&self, workload: Workload) -> Plan {
        Plan {
            target: vec![Address::Unix(self.database.socket().to_owned())],
            driver: driver::Driver::Epoll,
            account: account("sbtest", ""),
            workload,
            connections: CONNECTIONS,
            connect_concurrency: 20,
            threads: 2,
            warmup: Duration::from_millis(200),
            duration: Duration::from_secs(2),
            report_interval: Duration::from_millis(500),
            watched: self.database.pid().into_iter().collect(),
        }
    }
}

fn account(user: &str, password: &str) -> Account {
    Account {
        user: user.to_owned(),
        password: password.to_owned(),
        schema: "sbtest".to_owned(),
    }
}

fn select(rows: u32) -> Workload {
    Workload::PointSelect { tables: 2, rows }
}

fn assert_measured(summary: &Summary) {
    assert!(summary.is_clean(), "{summary}");
    assert_eq!(summary.connections, CONNECTIONS);
    assert!(summary.statements > u64::from(CONNECTIONS), "{summary}");
    assert!((1.9..10.0).contains(&summary.duration_s), "{summary}");
    let latency = summary.latency_ms;
    assert!(latency.p50 > 0.0 && latency.p50 <= latency.p95, "{summary}");
    assert!(
        latency.p999 <= latency.max && summary.connects_per_s > 0.0,
        "{summary}"
    );
    assert!(summary.generator_cpu_us_per_statement.unwrap() > 0.0);
    let watched = &summary.watched[0];
    assert!(watched.cpu_us_per_statement.unwrap() > 0.0, "{summary}");
    assert!(watched.rss_bytes_max >= watched.rss_bytes && watched.rss_bytes > 0);
}

#[test]
fn every_workload_runs_cleanly() {
    let target = Target::start();
    let mut stages = Vec::new();
    let summary = load::run(target.plan(select(1_000)), |progress| {
        stages.push(progress.stage);
        assert!(progress.stage == Stage::Ramp || progress.connections == CONNECTIONS as usize);
    });
    assert_measured(&summary.unwrap());
    assert!(
        stages
            .iter()
            .filter(|stage| **stage == Stage::Measure)
            .count()
            >= 3
    );

    let mut plan = target.plan(Workload::Token);
    plan.account = account("locked", "secret");
    assert_measured(&load::run(plan, |_| {}).unwrap());

    let idle = load::run(target.plan(Workload::Idle), |_| {}).unwrap();
    assert!(idle.is_clean(), "{idle}");
    assert_eq!(
        (idle.statements, idle.generator_cpu_us_per_statement),
        (0, None)
    );
}

#[test]
fn what_goes_wrong_is_counted() {
    let target = Target::start();
    // Half of the rows are not there.
    let summary = load::run(target.plan(select(2_000)), |_| {}).unwrap();
    assert!(
        summary.wrong_answers > 0 && summary.statements > 0,
        "{summary}"
    );
    assert!(
        summary.errors.is_empty() && !summary.is_clean(),
        "{summary}"
    );

    let plan = Plan {
        workload: Workload::PointSelect {
            tables: 3,
            rows: 1_000,
        },
        ..target.plan(Workload::Idle)
    };
    let summary = load::run(plan, |_| {}).unwrap();
    assert!(
        summary.errors["1146"] > 0 && !summary.is_clean(),
        "{summary}"
    );
    assert!(summary.to_json().unwrap().contains("\"1146\":"));
}

#[test]
fn lost_connections_are_made_again() {
    let target = Target::start();
    let kill = "KILL USER sbtest@localhost";
    let mut killed = false;
    let mut connections = 0;
    let summary = load::run(target.plan(select(1_000)), |progress| {
        if progress.stage == Stage::Measure && !killed {
            target.database.execute(kill).unwrap();
            killed = true;
        }
        connections = progress.connections;
    });
    let summary = summary.unwrap();
    assert!(summary.reconnects >= u64::from(CONNECTIONS), "{summary}");
    assert_eq!(connections, CONNECTIONS as usize, "{summary}");
    assert_eq!(summary.wrong_answers, 0, "{summary}");
}

#[test]
fn a_run_that_cannot_be_done_says_why() {
    let target = Target::start();
    let failure = |account| {
        let mut plan = target.plan(Workload::Token);
        plan.account = account;
        load::run(plan, |_| {}).unwrap_err()
    };
    let wrong = failure(account("locked", "guess"));
    assert!(
        matches!(wrong, LoadError::Refused { number: 1045, .. }),
        "{wrong}"
    );
    let nobody = failure(account("nobody", ""));
    assert!(matches!(nobody, LoadError::Refused { .. }), "{nobody}");

    let mut plan = target.plan(Workload::Token);
    plan.target = vec![Address::Unix("/nonexistent/socket".into())];
    let absent = load::run(plan, |_| {}).unwrap_err();
    assert!(matches!(absent, LoadError::Connect { .. }), "{absent}");
    let mut plan = target.plan(Workload::Token);
    plan.watched = vec![u32::MAX];
    let unknown = load::run(plan, |_| {}).unwrap_err();
    assert!(matches!(unknown, LoadError::Watch { .. }), "{unknown}");
}

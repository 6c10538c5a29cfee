//! Short runs against a real MariaDB.

#![expect(
    clippy::unwrap_used,
    reason = "in a test whatever fails is to be seen at once"
)]

#[path = "mariadb/target.rs"]
mod target;

use std::time::Duration;

use driver::Address;
use load::{
    Distribution, LoadError, OnTimeout, Pacing, Patience, Plan, Rows, Script, Stage, Summary,
    Workload,
};
use target::{CONNECTIONS, Target, account};

fn assert_measured(summary: &Summary) {
    assert!(summary.is_clean(), "{summary}");
    assert_eq!(summary.connections, CONNECTIONS);
    let total = &summary.total;
    assert!(total.statements > u64::from(CONNECTIONS), "{summary}");
    assert!((0.9..10.0).contains(&summary.duration_s), "{summary}");
    let latency = total.latency_ms;
    assert!(latency.p50 > 0.0 && latency.p50 <= latency.p95, "{summary}");
    assert!(latency.p999 <= latency.max, "{summary}");
    assert!(total.connects_per_s > 0.0 && total.connect_latency_ms.p50 > 0.0);
    assert!(summary.generator_cpu_us_per_statement.unwrap() > 0.0);
    let watched = &summary.watched[0];
    assert!(watched.cpu_us_per_statement.unwrap() > 0.0, "{summary}");
    assert!(watched.rss_bytes_max >= watched.rss_bytes && watched.rss_bytes > 0);
}

fn rows() -> Rows {
    Rows {
        tables: 2,
        rows: 1_000,
        distribution: Distribution::Uniform,
    }
}

fn script(text: &str) -> Workload {
    Workload::Script(Script::parse(text, Distribution::Uniform).unwrap())
}

#[test]
fn every_workload_runs_cleanly() {
    let target = Target::start();
    let workloads = [
        Workload::PointSelect(rows()),
        Workload::UpdateByPrimaryKey(Rows {
            distribution: Distribution::Zipfian(0.8),
            ..rows()
        }),
        Workload::ReadOnly(rows()),
        Workload::ReadWrite(rows()),
        Workload::Reconnect(rows()),
        Workload::Token,
    ];
    for workload in workloads {
        for prepared in [false, true] {
            let mut plan = target.plan(workload.clone());
            plan.groups[0].prepared = prepared;
            // The database has been seen to accept nobody for a second, and a busy machine to end none of 200 transactions.
            plan.duration = Duration::from_secs(3);
            let mut stages = Vec::new();
            let summary = load::run(plan, |progress| stages.push(progress.stage)).unwrap();
            println!("{workload} prepared: {prepared}\n{summary}");
            assert_measured(&summary);
            assert!(stages.contains(&Stage::Measure));
        }
    }
    let idle = load::run(target.plan(Workload::Idle), |_| {}).unwrap();
    assert!(idle.is_clean(), "{idle}");
    let figures = (idle.total.statements, idle.generator_cpu_us_per_statement);
    assert_eq!(figures, (0, None));
}

#[test]
fn groups_are_reported_alone() {
    let target = Target::start();
    let mut plan = target.plan(Workload::Token);
    let mut reading = plan.groups[0].clone();
    (reading.name, reading.connections) = ("reading".into(), 10);
    reading.account = account("locked", "secret");
    reading.workload = Workload::PointSelect(rows());
    reading.pacing = Pacing::Open { per_second: 200.0 };
    plan.groups[0].pacing = Pacing::Closed {
        think_time: Duration::from_millis(100),
    };
    plan.groups.push(reading);
    let summary = load::run(plan, |progress| assert_eq!(progress.groups.len(), 2)).unwrap();
    let [all, reading] = &summary.groups[..] else {
        panic!("{summary}");
    };
    assert!(summary.is_clean(), "{summary}");
    assert_eq!(summary.connections, CONNECTIONS + 10);
    assert_eq!(
        summary.total.transactions,
        all.figures.transactions + reading.figures.transactions
    );
    // 200 connections that think for 100 ms come to 2,000 per second at most.
    assert!(all.figures.transactions_per_s < 2_010.0, "{summary}");
    let rate = reading.figures.transactions_per_s;
    // A machine that stands still for a while has it catch up; as a closed loop it would send thousands.
    assert!((100.0..500.0).contains(&rate), "{summary}");
    let json = summary.to_json().unwrap();
    assert!(json.contains("\"name\": \"reading\"") && json.contains("\"goodput_per_s\""));
}

#[test]
fn what_goes_wrong_is_counted() {
    let target = Target::start();
    // Half of the rows are not there.
    let absent = Rows {
        rows: 2_000,
        ..rows()
    };
    let summary = load::run(target.plan(Workload::PointSelect(absent)), |_| {}).unwrap();
    let total = &summary.total;
    assert!(total.wrong_answers > 0 && total.statements > 0, "{summary}");
    assert!(total.errors.is_empty() && !summary.is_clean(), "{summary}");

    let absent = Rows {
        tables: 3,
        ..rows()
    };
    let summary = load::run(target.plan(Workload::PointSelect(absent)), |_| {}).unwrap();
    assert!(
        summary.total.errors["1146"] > 0 && !summary.is_clean(),
        "{summary}"
    );
    assert!(summary.to_json().unwrap().contains("\"1146\":"));
    assert!(
        summary
            .to_string()
            .contains("1146: a table is not there: run `myriad load prepare`")
    );
}

#[test]
fn lost_connections_are_made_again() {
    let target = Target::start();
    let kill = "KILL USER sbtest@localhost";
    let mut killed = false;
    let mut connections = 0;
    let plan = Plan {
        // Logging in anew takes a while where processors are scarce.
        duration: Duration::from_secs(5),
        ..target.plan(Workload::PointSelect(rows()))
    };
    let summary = load::run(plan, |progress| {
        if progress.stage == Stage::Measure && !killed {
            target.database.execute(kill).unwrap();
            killed = true;
        }
        connections = progress.connections;
    });
    let summary = summary.unwrap();
    assert!(
        summary.total.reconnects >= u64::from(CONNECTIONS),
        "{summary}"
    );
    assert_eq!(connections, CONNECTIONS as usize, "{summary}");
    assert_eq!(summary.total.wrong_answers, 0, "{summary}");
}

#[test]
fn a_known_delay_is_measured() {
    let target = Target::start();
    let mut plan = target.plan(script("-- value: not null\nSELECT SLEEP(0.05);"));
    plan.groups[0].connections = 16;
    let summary = load::run(plan, |_| {}).unwrap();
    let latency = summary.total.latency_ms;
    println!("{latency}");
    // Half of them come in time even where processors are scarce.
    assert!((50.0..75.0).contains(&latency.p50), "{summary}");
}

#[test]
fn clients_without_patience_make_a_storm() {
    let target = Target::start();
    let mut plan = target.plan(script("SELECT SLEEP(0.4);"));
    plan.groups[0].connections = 10;
    plan.groups[0].patience = Some(Patience {
        timeout: Duration::from_millis(100),
        on_timeout: OnTimeout::Reconnect,
    });
    let summary = load::run(plan.clone(), |_| {}).unwrap();
    assert_eq!(summary.total.transactions, 0, "{summary}");
    assert!(summary.total.timeouts > 50, "{summary}");
    let patience = plan.groups[0].patience.as_mut().unwrap();
    patience.on_timeout = OnTimeout::Wait;
    let summary = load::run(plan, |_| {}).unwrap();
    let total = &summary.total;
    assert!(
        total.transactions > 10 && total.goodput_per_s == 0.0,
        "{summary}"
    );
    assert!(summary.is_clean(), "{summary}");
}

#[test]
fn prepared_tables_can_be_used_and_removed() {
    let target = Target::start();
    target
        .database
        .execute("DROP TABLE sbtest.sbtest1, sbtest.sbtest2")
        .unwrap();
    let tables = target.tables(3, 2_500);
    let mut seen = 0;
    tables.prepare(|rows| seen = rows).unwrap();
    assert_eq!(seen, tables.rows_total());
    let count = "SELECT COUNT(*), MIN(id), MAX(id), MIN(LENGTH(c)), MIN(LENGTH(pad)), \
                 MIN(k) >= 1 AND MAX(k) <= 2500 FROM sbtest.sbtest3";
    let counted = target.database.execute(count).unwrap();
    assert!(counted.contains("2500\t1\t2500\t119\t59\t1"), "{counted}");
    let index = "SHOW INDEX FROM sbtest.sbtest2 WHERE Key_name='k_2'";
    assert!(target.database.execute(index).unwrap().contains("k_2"));
    let again = tables.prepare(|_| {}).unwrap_err();
    assert!(
        matches!(again, LoadError::Statement { number: 1050, .. }),
        "{again}"
    );
    assert!(
        again
            .to_string()
            .contains("run `myriad load cleanup` first"),
        "{again}"
    );
    tables.cleanup().unwrap();
    tables.cleanup().unwrap();
    let left = target.database.execute("SHOW TABLES FROM sbtest").unwrap();
    assert!(!left.contains("sbtest1"), "{left}");
}

#[test]
fn a_run_that_cannot_be_done_says_why() {
    let target = Target::start();
    let failure = |account| {
        let mut plan = target.plan(Workload::Token);
        plan.groups[0].account = account;
        load::run(plan, |_| {}).unwrap_err()
    };
    let wrong = failure(account("locked", "guess"));
    assert!(
        matches!(wrong, LoadError::Refused { number: 1045, .. }),
        "{wrong}"
    );
    assert!(
        wrong
            .to_string()
            .contains("check user, password and database")
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

    let mut plan = target.plan(Workload::Token);
    plan.groups[0].connections = 700;
    plan.login_timeout = Duration::from_secs(1);
    let full = load::run(plan, |_| {}).unwrap_err().to_string();
    assert!(full.contains("of 700 connections are logged in"), "{full}");
    assert!(
        full.contains("1040: the target has reached its limit: raise max_connections"),
        "{full}"
    );
}

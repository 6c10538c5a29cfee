//! Targets that stall, die or run out of something: the figures show it, and one sentence says it.

#![expect(
    clippy::unwrap_used,
    reason = "in a test whatever fails is to be seen at once"
)]

#[path = "mariadb/target.rs"]
mod target;

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use driver::Address;
use load::{LoadError, Pacing, Stage, Workload};
use rustix::process::{Pid, Signal, kill_process};
use target::Target;

#[test]
fn a_stall_shows_in_the_percentiles_of_an_open_loop() {
    let target = Target::start();
    let pid = Pid::from_raw(target.database.pid().unwrap() as i32).unwrap();
    let mut plan = target.plan(Workload::Token);
    plan.groups[0].connections = 20;
    plan.groups[0].pacing = Pacing::Open { per_second: 200.0 };
    (plan.duration, plan.report_interval) = (Duration::from_secs(4), Duration::from_millis(100));
    let (mut stopped, mut goes_on, mut backlog) = (None, false, 0);
    let summary = load::run(plan, |progress| {
        backlog = progress.backlog.max(backlog);
        if progress.stage != Stage::Measure || goes_on {
            return;
        }
        let since = *stopped.get_or_insert_with(|| {
            kill_process(pid, Signal::STOP).unwrap();
            progress.elapsed
        });
        goes_on = progress.elapsed >= since + Duration::from_secs(1);
        if goes_on {
            kill_process(pid, Signal::CONT).unwrap();
        }
    });
    let summary = summary.unwrap();
    let latency = summary.total.latency_ms;
    println!("{latency}, backlog up to {backlog}");
    assert!(goes_on && summary.is_clean(), "{summary}");
    assert!(latency.p50 < 100.0, "{summary}");
    // A quarter of the arrivals fell into the second without answers.
    assert!(latency.p95 > 500.0 && latency.p99 > 700.0, "{summary}");
    assert!((900.0..3_000.0).contains(&latency.max), "{summary}");
    assert!(backlog > 100, "{summary}");
}

#[test]
fn a_killed_target_is_said_to_be_down() {
    let mut target = Target::start();
    let mut plan = target.plan(Workload::Token);
    plan.groups[0].connections = 20;
    plan.watched.clear();
    let mut killed = false;
    let summary = load::run(plan, |progress| {
        if progress.stage == Stage::Measure && !killed {
            target.database.kill().unwrap();
            killed = true;
        }
    });
    let summary = summary.unwrap();
    assert!(killed && !summary.is_clean(), "{summary}");
    assert_eq!(summary.total.reconnects, 20, "{summary}");
    let text = summary.to_string();
    assert!(
        text.contains("errno 111: nobody listens at the target: it is down"),
        "{text}"
    );
    assert!(
        text.contains("reconnects: the target closed connections"),
        "{text}"
    );
}

/// In a network of its own, whose ports are few, this test starts itself again.
const INSIDE: &str = "LOAD_TEST_FEW_PORTS";

#[test]
fn too_few_ports_are_said_to_be_so() {
    if std::env::var_os(INSIDE).is_some() {
        return few_ports();
    }
    let script = "ip link set lo up && echo '40000 40049' > /proc/sys/net/ipv4/ip_local_port_range && \
                  exec \"$@\"";
    let test = std::env::current_exe().unwrap();
    let arguments = ["--exact", "too_few_ports_are_said_to_be_so", "--nocapture"];
    let inside = |command: &str| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--net", "sh", "-c", command, "sh"]);
        unshare.env(INSIDE, "1");
        unshare
    };
    let tried = inside(script).arg("true").status();
    if !tried.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no network of its own can be made here");
        return;
    }
    let status = inside(script).arg(test).args(arguments).status().unwrap();
    assert!(status.success(), "{status}");
}

fn few_ports() {
    let target = Target::on_port(3306);
    let mut plan = target.plan(Workload::Token);
    let port = target.database.port();
    plan.target = vec![Address::Tcp(SocketAddr::from(([127, 0, 0, 1], port)))];
    plan.groups[0].account.user = "everywhere".to_owned();
    plan.groups[0].connections = 100;
    let failure = load::run(plan.clone(), |_| {}).unwrap_err();
    assert!(matches!(failure, LoadError::NoPort { .. }), "{failure}");
    let text = failure.to_string();
    assert!(
        text.contains("no source port is left") && text.contains("--source"),
        "{text}"
    );
    // From several addresses there are enough.
    plan.sources = load::loopback_sources(&plan.target, &plan.groups);
    assert!(plan.sources.len() > 1);
    let summary = load::run(plan, |_| {}).unwrap();
    assert!(summary.is_clean(), "{summary}");
}

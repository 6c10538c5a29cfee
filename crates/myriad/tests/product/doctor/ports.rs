//! Ports and tracked connections, each in a network namespace of its own.

use std::process::Stdio;

use super::namespace::{Namespace, PORT};
use super::{assert_agree, first_limit, number_after, report};
use crate::support::{Database, Output, installed, run};

const AS_APP: [&str; 6] = [
    "--user",
    "app",
    "--password",
    "secret",
    "--database",
    "shop",
];

#[test]
fn source_ports_end_where_the_doctor_says() {
    let Some(namespace) = Namespace::new() else {
        return;
    };
    let range = "echo 40000 40299 > /proc/sys/net/ipv4/ip_local_port_range";
    let reserved = "echo 40100-40149 > /proc/sys/net/ipv4/ip_local_reserved_ports";
    if !namespace.shell(range) || !namespace.shell(reserved) {
        return;
    }
    let report = report(&mut namespace.myriad(&[
        "doctor",
        "--role",
        "clients",
        "--sources",
        "1",
        "--connections",
        "1000",
    ]));
    let (check, predicted) = first_limit(&report);
    assert_eq!((check.as_str(), predicted), ("ports", 250));
    let database = Database::shared();
    let _door = namespace.serve(database.address());
    let mut load = namespace.myriad(&[
        "load",
        "run",
        "--port",
        PORT,
        "--source",
        "127.0.0.1",
        "--workload",
        "idle",
        "--connections",
        "1000",
        "--threads",
        "1",
        "--duration",
        "1s",
    ]);
    let output = run(load.args(AS_APP), "");
    assert!(output.stderr.contains("(errno 99)"), "{output:?}");
    let words = format!("no source port is left for 127.0.0.1:{PORT} after ");
    assert_agree(predicted, number_after(&output, &words), 1);
}

#[test]
fn what_can_be_set_is_set_and_can_be_undone() {
    let Some(namespace) = Namespace::new() else {
        return;
    };
    if !namespace.shell("echo 128 > /proc/sys/net/core/somaxconn") {
        return;
    }
    let arguments = [
        "doctor",
        "--role",
        "server",
        "--connections",
        "5000",
        "--fix",
    ];
    let planned = run(namespace.myriad(&arguments).arg("--dry-run"), "").stdout;
    // Only what is the namespace's own may be touched.
    let foreign = planned.lines().find(|line| {
        line.starts_with("would set ") && !line.starts_with("would set net.core.somaxconn ")
    });
    if let Some(foreign) = foreign {
        return println!("SKIPPED: --fix would change more than the namespace: {foreign}");
    }
    assert!(
        planned.contains("would set net.core.somaxconn = 4096\n"),
        "{planned}"
    );
    let output = run(&mut namespace.myriad(&arguments), "");
    let expected =
        "set net.core.somaxconn: 128 → 4096\n  undo: sysctl -w net.core.somaxconn='128'\n";
    assert!(output.stdout.starts_with(expected), "{output:?}");
    assert!(namespace.shell("test $(cat /proc/sys/net/core/somaxconn) = 4096"));
}

#[test]
#[ignore = "opens as many connections as nf_conntrack_max says, mostly 262,144: 3 GB and a minute"]
fn tracked_connections_end_where_the_doctor_says() {
    if !installed("nft") {
        return println!("SKIPPED: nft is not there to make a rule that tracks connections");
    }
    let Some(namespace) = Namespace::new() else {
        return;
    };
    let rules = "nft add table inet t && nft add chain inet t c '{ type filter hook output priority 0; }' \
                 && nft add rule inet t c ct state new counter accept";
    let database = Database::shared();
    let _door = namespace.serve(database.address());
    if !namespace.shell(rules) {
        return;
    }
    let login = [
        "load",
        "run",
        "--port",
        PORT,
        "--workload",
        "idle",
        "--duration",
        "1s",
    ];
    let few = run(
        namespace
            .myriad(&login)
            .args(AS_APP)
            .args(["--connections", "10"]),
        "",
    );
    assert_eq!(few.code, Some(0), "{few:?}");
    let report = report(&mut namespace.myriad(&["doctor", "--connections", "2000000"]));
    let findings = report["findings"].as_array().unwrap();
    let conntrack = findings
        .iter()
        .find(|finding| finding["check"] == "conntrack");
    let Some(predicted) = conntrack.unwrap()["limit"].as_u64() else {
        panic!("nothing is tracked: {report:#}");
    };
    if predicted > 600_000 {
        return println!("SKIPPED: {predicted} connections are too many to open in a test");
    }
    let wanted = (predicted + 5_000).to_string();
    let mut load = namespace.myriad(&login);
    load.args(AS_APP)
        .args(["--connections", &wanted, "--connect-concurrency", "1000"])
        .args(["--login-timeout", "5s"]);
    // It takes longer than other programs may, and ends by itself when no more logins succeed.
    let output = load.stdin(Stdio::null()).output().unwrap();
    let output = Output {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    assert_agree(predicted, number_after(&output, "only "), predicted / 100);
}

//! What the command prints, and its status.

use super::{myriad, report};
use crate::support::run;

#[test]
fn everything_is_told_in_words_and_as_json() {
    let output = run(&mut myriad(&["doctor", "--connections", "10"]), "");
    assert!(matches!(output.code, Some(0 | 1)), "{output:?}");
    assert!(
        output.stdout.starts_with("10 connections, both ends"),
        "{output:?}"
    );
    assert!(!output.stdout.contains('\x1b'), "{output:?}");
    let report = report(&mut myriad(&["doctor", "--connections", "10"]));
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 22, "{report:#}");
    for finding in findings {
        for key in ["check", "group", "severity", "found", "why", "remedies"] {
            assert!(!finding[key].is_null(), "{key} is missing in {finding:#}");
        }
    }
    assert_eq!(report["exit_status"].as_i64(), output.code.map(i64::from));
}

#[test]
fn what_will_not_work_has_status_2() {
    let arguments = ["doctor", "--driver", "epoll", "--connections", "2000000000"];
    let output = run(&mut myriad(&arguments), "");
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(
        output.stdout.contains("will not come about here"),
        "{output:?}"
    );
}

#[test]
fn a_message_is_explained_and_an_unknown_one_is_said_to_be() {
    let message = "FATAL: error 2003: Can't connect to MySQL server on '139.178.82.47' (99)";
    let output = run(&mut myriad(&["doctor", "explain", message]), "");
    assert_eq!(output.code, Some(0), "{output:?}");
    for part in [
        "client error 2003",
        "errno 99 (EADDRNOTAVAIL)",
        "docs/doctor/ports.md",
    ] {
        assert!(output.stdout.contains(part), "{part}: {output:?}");
    }
    let output = run(&mut myriad(&["doctor", "explain", "all is well"]), "");
    assert_eq!(output.code, Some(3), "{output:?}");
    assert!(output.stderr.contains("nothing is known"), "{output:?}");
}

#[test]
fn a_dry_run_changes_nothing() {
    let arguments = [
        "doctor",
        "--connections",
        "2000000000",
        "--fix",
        "--dry-run",
    ];
    let before = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_mem").unwrap();
    let output = run(&mut myriad(&arguments), "");
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(
        output.stdout.contains("would set net.ipv4.tcp_mem = "),
        "{output:?}"
    );
    let after = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_mem").unwrap();
    assert_eq!(before, after);
}

#[test]
fn a_configuration_that_cannot_be_read_has_a_status_of_its_own() {
    let output = run(
        &mut myriad(&["doctor", "--config", "/nonexistent.toml"]),
        "",
    );
    assert_eq!(output.code, Some(3), "{output:?}");
    assert!(output.stderr.starts_with("myriad: "), "{output:?}");
}

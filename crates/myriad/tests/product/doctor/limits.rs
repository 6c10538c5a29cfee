//! Limits of open files, of the load generator and of a front door.

use std::process::Command;

use super::{assert_agree, first_limit, myriad, number_after, report};
use crate::support::{Database, FrontDoor, run};

/// The product in a shell that lowers its own limit of open files.
fn limited(files: u32, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -n {files}; exec \"$0\" \"$@\""))
        .arg(env!("CARGO_BIN_EXE_myriad"))
        .args(arguments);
    command
}

/// `myriad load run` with so many idle connections in one thread.
fn load(port: &str) -> Vec<&str> {
    vec![
        "load",
        "run",
        "--host",
        "127.0.0.1",
        "--port",
        port,
        "--user",
        "app",
        "--password",
        "secret",
        "--database",
        "shop",
        "--workload",
        "idle",
        "--connections",
        "1000",
        "--driver",
        "epoll",
        "--threads",
        "1",
        "--connect-concurrency",
        "5",
        "--duration",
        "1s",
        "--login-timeout",
        "3s",
    ]
}

#[test]
fn the_generators_open_files_end_where_the_doctor_says() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let report = report(&mut limited(
        200,
        &[
            "doctor",
            "--role",
            "clients",
            "--driver",
            "epoll",
            "--workers",
            "1",
            "--connections",
            "1000",
        ],
    ));
    let (check, predicted) = first_limit(&report);
    assert_eq!(check, "open-files");
    let port = door.tcp().port().to_string();
    let output = run(&mut limited(200, &load(&port)), "");
    assert!(output.stderr.contains("too many open files"), "{output:?}");
    assert_agree(
        predicted,
        number_after(&output, "too many open files with "),
        10,
    );
}

#[test]
fn a_front_doors_open_files_end_where_the_doctor_says() {
    if !crate::support::installed("prlimit") {
        return println!(
            "SKIPPED: prlimit (util-linux) is not there to lower the limit of a process"
        );
    }
    let database = Database::shared();
    let settings = [
        "server.driver = \"epoll\"",
        "server.workers = 1",
        "backend.max_connections = 4",
    ];
    let door = FrontDoor::start(database.address(), &settings);
    let pid = door.pid().to_string();
    let lowered = Command::new("prlimit")
        .args(["--pid", &pid, "--nofile=200"])
        .status();
    assert!(lowered.unwrap().success());
    let report = report(&mut myriad(&[
        "doctor",
        "--role",
        "server",
        "--driver",
        "epoll",
        "--workers",
        "1",
        "--backends",
        "4",
        "--connections",
        "1000",
        "--pid",
        &pid,
    ]));
    let (check, predicted) = first_limit(&report);
    assert_eq!(check, "open-files");
    let port = door.tcp().port().to_string();
    let output = run(&mut myriad(&load(&port)), "");
    assert_agree(predicted, number_after(&output, "only "), 12);
}

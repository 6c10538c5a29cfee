//! The checks of the database behind, on a real one.

use super::{myriad, report};
use crate::support::{Address, Database};

#[test]
fn a_real_database_is_asked_and_judged() {
    let database = Database::shared();
    let Address::Unix(socket) = database.address() else {
        panic!("{:?}", database.address());
    };
    let backend = format!("admin:all@unix:{}", socket.display());
    let report = report(&mut myriad(&[
        "doctor",
        "--connections",
        "10",
        "--backend",
        &backend,
    ]));
    let findings = report["findings"].as_array().unwrap();
    let of_database: Vec<_> = findings
        .iter()
        .filter(|finding| finding["group"] == "database")
        .collect();
    assert_eq!(of_database.len(), 13, "{report:#}");
    for finding in &of_database {
        assert_ne!(finding["severity"], "unknown", "{finding:#}");
    }
    let max_connections = of_database[0];
    assert_eq!(max_connections["check"], "database-max-connections");
    let found = max_connections["found"].as_str().unwrap();
    assert!(found.contains(" takes 500 connections"), "{found}");
    let kept = database.execute("SELECT @@max_prepared_stmt_count");
    let prepared = of_database[5]["short"].as_str().unwrap().replace(',', "");
    assert_eq!(prepared, format!("prepared statements {}", kept.trim()));
}

#[test]
fn a_database_that_cannot_be_asked_is_unknown() {
    let report = report(&mut myriad(&[
        "doctor",
        "--connections",
        "10",
        "--backend",
        "unix:/nonexistent/db.sock",
    ]));
    let findings = report["findings"].as_array().unwrap();
    let last = findings.last().unwrap();
    assert_eq!(
        (&last["group"], &last["severity"]),
        (&"database".into(), &"unknown".into())
    );
    assert!(
        last["found"].as_str().unwrap().contains("cannot be asked"),
        "{last:#}"
    );
    assert_ne!(report["exit_status"], 0);
}

//! Each check of the database with facts that will do, and facts that will not.

use super::*;
use crate::finding::Severity;

/// MariaDB as installed, behind Myriad, but for what the checks would say about it.
fn healthy() -> Facts {
    let pairs = |list: &[(&str, &str)]| {
        let list = list.iter();
        list.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect::<Vec<_>>()
    };
    Facts::new(
        "10.11.6-MariaDB",
        pairs(&[
            ("max_connections", "151"),
            ("back_log", "80"),
            ("thread_handling", "one-thread-per-connection"),
            ("thread_pool_size", "8"),
            ("open_files_limit", "32768"),
            ("table_open_cache", "2000"),
            ("max_prepared_stmt_count", "16382"),
            ("wait_timeout", "28800"),
            ("max_allowed_packet", "67108864"),
            ("skip_name_resolve", "ON"),
            ("session_track_system_variables", "autocommit,time_zone"),
            ("performance_schema", "OFF"),
            ("innodb_buffer_pool_size", "1073741824"),
        ]),
        pairs(&[
            ("Threads_connected", "3"),
            ("Table_open_cache_overflows", "0"),
            ("Prepared_stmt_count", "0"),
            ("Innodb_buffer_pool_read_requests", "1000000"),
            ("Innodb_buffer_pool_reads", "500"),
        ]),
    )
    .with_leaving(Vec::new())
}

const OURS: Ours = Ours {
    max_allowed_packet: 67_108_864,
    idle_timeout_s: Some(600),
    local_memory_bytes: Some(8 << 30),
};

fn check(facts: &Facts, need: &Need, name: &str) -> Observation {
    let findings = examine_database(facts, need, &OURS);
    let finding = findings.into_iter().find(|finding| finding.check == name);
    finding.unwrap().observation
}

fn through() -> Need {
    Need::new(100_000)
}

fn direct() -> Need {
    Need {
        serving: Serving::ThreadPerConnection,
        ..Need::new(100_000)
    }
}

#[test]
fn a_database_as_installed_will_do_behind_myriad() {
    for finding in examine_database(&healthy(), &through(), &OURS) {
        assert_eq!(finding.severity(), Severity::Fine, "{finding:?}");
    }
}

#[test]
fn the_arithmetic_is_that_of_our_pool() {
    let found = check(&healthy(), &through(), "database-max-connections");
    assert_eq!(
        found.needs,
        "32 backend connections + 2 for [monitor] and to end statements + 2 others now = 36"
    );
    let few = healthy().with("max_connections", "34");
    let found = check(&few, &through(), "database-max-connections");
    assert_eq!((found.severity, found.limit), (Severity::Warning, None));
    assert_eq!(found.remedies[0].now(), "SET GLOBAL max_connections = 46");
    let found = check(&healthy(), &direct(), "database-max-connections");
    assert_eq!((found.severity, found.limit), (Severity::Fatal, Some(149)));
    let found = check(&healthy(), &direct(), "database-open-files");
    assert_eq!(found.limit, Some(32_758));
    assert_eq!(
        found.needs,
        "10 + 100,000 connections of clients + 2,000 tables × 2 = 104,010"
    );
}

#[test]
fn what_will_not_do_is_a_warning_with_its_variable() {
    let cases = [
        ("database-back-log", "back_log", "16", "back_log cannot"),
        (
            "database-open-files",
            "open_files_limit",
            "1024",
            "ulimit -n 4096",
        ),
        (
            "database-table-cache",
            "table_open_cache",
            "100",
            "SET GLOBAL table_open_cache = 320",
        ),
        (
            "database-prepared-statements",
            "prepared_stmt_count",
            "16300",
            "SET GLOBAL max_prepared_stmt_count = 21000",
        ),
        (
            "database-wait-timeout",
            "wait_timeout",
            "600",
            "set backend.idle_timeout = \"300s\"",
        ),
        (
            "database-packet",
            "max_allowed_packet",
            "16777216",
            "SET GLOBAL max_allowed_packet = 67108864",
        ),
        (
            "database-skip-name-resolve",
            "skip_name_resolve",
            "OFF",
            "skip_name_resolve cannot",
        ),
        (
            "database-buffer-pool",
            "innodb_buffer_pool_reads",
            "20000",
            "SET GLOBAL innodb_buffer_pool_size = 2147483648",
        ),
        (
            "database-buffer-pool",
            "innodb_buffer_pool_size",
            "8589934592",
            "SET GLOBAL innodb_buffer_pool_size = 4294967296",
        ),
    ];
    for (name, variable, value, remedy) in cases {
        let found = check(&healthy().with(variable, value), &through(), name);
        assert_eq!(found.severity, Severity::Warning, "{name}: {found:?}");
        let now = found.remedies[0].now();
        assert!(now.starts_with(remedy), "{name}: {now}");
    }
}

#[test]
fn thousands_of_clients_want_a_pool_and_no_statistics() {
    let found = check(&healthy(), &direct(), "database-thread-pool");
    assert_eq!(found.severity, Severity::Warning);
    assert!(found.remedies[0].lasting()[0].1.contains("pool-of-threads"));
    let pooled = healthy().with("thread_handling", "pool-of-threads");
    let found = check(&pooled, &direct(), "database-thread-pool");
    assert_eq!(found.severity, Severity::Fine);
    assert_eq!(
        found.found,
        "MariaDB has a thread pool of 8 groups (thread_pool_size)"
    );
    let counting = healthy().with("performance_schema", "ON");
    let found = check(&counting, &direct(), "database-performance-schema");
    assert_eq!(found.severity, Severity::Warning);
    let found = check(&counting, &through(), "database-performance-schema");
    assert_eq!(found.severity, Severity::Fine);
}

#[test]
fn sessions_that_are_not_tracked_cannot_be_followed() {
    let name = "database-session-tracking";
    let untracked = healthy().with("session_track_system_variables", "");
    let found = check(&untracked, &through(), name);
    assert_eq!(found.severity, Severity::Fatal);
    let now = found.remedies[0].now();
    assert!(now.starts_with("SET GLOBAL session_track_system_variables = 'autocommit,"));
    for (facts, need) in [(&healthy(), through()), (&untracked, direct())] {
        assert_eq!(check(facts, &need, name).severity, Severity::Fine);
    }
}

#[test]
fn what_a_tracker_does_not_tell_is_said() {
    let name = "database-session-tracking";
    for (untold, short) in [
        (vec![], "tracks sessions"),
        (
            vec!["sql_notes".to_owned()],
            "tracks sessions, not all they set",
        ),
    ] {
        let facts = healthy().with_tracking(Tracking::Untold(untold));
        let found = check(&facts, &through(), name);
        assert_eq!((&found.short[..], found.severity), (short, Severity::Fine));
    }
    let facts = healthy().with_tracking(Tracking::Never);
    assert_eq!(check(&facts, &through(), name).severity, Severity::Fatal);
    assert_eq!(check(&facts, &direct(), name).severity, Severity::Fine);
}

#[test]
fn a_variable_that_is_not_there_is_unknown() {
    let empty = Facts::new("9.1.0", [], []);
    for finding in examine_database(&empty, &through(), &OURS) {
        assert_eq!(finding.severity(), Severity::Unknown, "{finding:?}");
    }
    let finding = unreachable_database("connection refused");
    assert_eq!(finding.severity(), Severity::Unknown);
}

#[test]
fn tables_that_leave_something_are_named() {
    const NAME: &str = "database-triggers-and-views";
    let unread = Facts::new("5.7.44", [], []);
    assert_eq!(check(&unread, &through(), NAME).severity, Severity::Unknown);
    assert_eq!(check(&healthy(), &through(), NAME).severity, Severity::Fine);
    let names = (0..12).map(|n| format!("shop.t{n}")).collect();
    let leaving = healthy().with_leaving(names);
    let found = check(&leaving, &through(), NAME);
    assert_eq!(found.severity, Severity::Warning);
    assert!(
        found.found.ends_with("shop.t9, and 2 more"),
        "{}",
        found.found
    );
    assert_eq!(check(&leaving, &direct(), NAME).severity, Severity::Fine);
}

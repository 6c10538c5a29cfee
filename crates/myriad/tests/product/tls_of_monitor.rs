//! TLS of the connections to the database that are not a worker's: the account reader's and the doctor's speak
//! it as `backend.tls` says.

use std::path::Path;
use std::process::Command;

use crate::support::{
    Client, FrontDoor, Login, Outcome, Secure, Server, authority, eventually, run,
};

const MONITOR: &str = "monitor.user = \"watcher\"\nmonitor.password = \"watch\"";

/// An account that reads the others and must use TLS, and one that only the database knows.
fn add_accounts(database: &Secure) {
    let tables = match Server::is_mariadb() {
        true => "global_priv db tables_priv columns_priv procs_priv roles_mapping",
        false => {
            "user db tables_priv columns_priv procs_priv global_grants role_edges default_roles"
        }
    };
    let grants: String = tables
        .split(' ')
        .map(|table| format!("GRANT SELECT ON mysql.{table} TO 'watcher'@'%';"))
        .collect();
    let accounts = "CREATE USER 'watcher'@'%' IDENTIFIED BY 'watch' REQUIRE SSL; \
                    CREATE USER 'known'@'%' IDENTIFIED BY 'there'";
    database
        .local
        .execute(&format!("{accounts}; {grants}"))
        .unwrap();
}

fn log_in(door: &FrontDoor) -> Result<(), Outcome> {
    let login = Login {
        user: "known",
        password: "there",
        ..Login::default()
    };
    Client::login(&door.address(), &login).map(drop)
}

/// How many checks of the database the doctor can make with a front door's configuration.
fn examined(door: &FrontDoor) -> usize {
    let config = door.folder().join("myriad.toml");
    let config = config.to_str().unwrap();
    // The account reader's account is to be used.
    let text = std::fs::read_to_string(config).unwrap();
    let (before, _) = text.split_once("[[account]]").unwrap();
    std::fs::write(config, before).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_myriad"));
    command.args([
        "doctor",
        "--json",
        "--connections",
        "10",
        "--config",
        config,
    ]);
    let output = run(&mut command, "");
    let report: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .filter(|finding| finding["group"] == "database" && finding["severity"] != "unknown")
        .count()
}

#[test]
fn accounts_are_read_over_tls_from_the_right_database() {
    let mut database = Secure::start();
    add_accounts(&database);
    let folder = tempfile::tempdir().unwrap();
    let (stranger, _) = authority(folder.path());
    let ca = |path: &Path| format!("backend.tls_ca = {:?}", path.display().to_string());
    let (own, other) = (ca(&database.authority), ca(&stranger));
    let mode = |mode: &str| format!("backend.tls = {mode:?}");
    for (host, mode, ca, why_not) in [
        ("127.0.0.1", mode("off"), "", Some("ERROR")),
        ("127.0.0.1", mode("require"), "", None),
        ("127.0.0.1", mode("verify_ca"), &own, None),
        (
            "127.0.0.1",
            mode("verify_ca"),
            &other,
            Some("invalid peer certificate"),
        ),
        (
            "127.0.0.1",
            mode("verify_identity"),
            &own,
            Some("not valid for name"),
        ),
        ("localhost", mode("verify_identity"), &own, None),
    ] {
        // Each time the server wants to see passwords themselves.
        database.local.execute("FLUSH PRIVILEGES").unwrap();
        let door = database.door(host, &[&mode, ca, MONITOR]);
        let outcome = log_in(&door);
        assert_eq!(
            outcome.is_ok(),
            why_not.is_none(),
            "{host} {mode}: {outcome:?}"
        );
        if let Some(why) = why_not {
            let said = eventually("a word about it", || {
                let log = door.log();
                let mut lines = log.lines().map(str::to_owned);
                lines.find(|line| line.contains("the database's accounts cannot be read"))
            });
            assert!(said.contains(why), "{mode}: {said}");
        }
        let checks = examined(&door);
        assert_eq!(
            checks,
            if why_not.is_none() { 13 } else { 0 },
            "{host} {mode}"
        );
    }
    database.local.stop().unwrap();
}

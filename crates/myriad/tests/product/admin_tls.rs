//! The listeners for administrators over TLS and without, asked by curl and by the server's own client.

use std::process::Command;

use crate::support::{
    Address, Database, FrontDoor, Output, Server, Tool, eventually, program, run,
};
use crate::tls::{in_clear, over_tls};

const ALL: &str = "root:hush";
const NEVER: &[&str] = &[];

fn curl(door: &FrontDoor, scheme: &str, path: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("curl");
    let made = door.folder().join("myriad-auto-cert.pem");
    command.args(["--silent", "--show-error", "--max-time", "60"]);
    // The status goes to standard error, so that standard output is what was told.
    command.args(["--write-out", "%{stderr}%{http_code}", "--cacert"]);
    command.arg(made).args(arguments);
    command.arg(format!("{scheme}://{}{path}", door.admin_http()));
    run(&mut command, "")
}

/// What the client prints for a statement, as this user.
fn ask(door: &FrontDoor, (user, password): (&str, &str), arguments: &[&str], ask: &str) -> Output {
    let mut command = program(Tool::Client, &Address::Tcp(door.sql()));
    command.args(["--batch", &format!("--user={user}")]);
    command.env("MYSQL_PWD", password);
    run(command.args(arguments), ask)
}

/// What makes the client verify who answers.
fn verifying(door: &FrontDoor) -> Vec<String> {
    let made = door.folder().join("myriad-auto-cert.pem");
    let ca = format!("--ssl-ca={}", made.display());
    let mode = match Server::is_mariadb() {
        true => "--ssl-verify-server-cert",
        false => "--ssl-mode=VERIFY_IDENTITY",
    };
    vec![ca, mode.to_owned()]
}

#[test]
fn curl_is_told_who_it_must_be_over_tls_and_without() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    for scheme in ["http", "https"] {
        let health = curl(&door, scheme, "/health", NEVER);
        assert_eq!(health.stderr, "200", "{scheme}: {}", health.stdout);
        for (login, expected) in [
            (ALL, "200"),
            ("root:wrong", "401"),
            ("app:secret", "401"),
            ("", "401"),
        ] {
            let login: &[&str] = if login.is_empty() {
                NEVER
            } else {
                &["--user", login]
            };
            let told = curl(&door, scheme, "/metrics", login);
            assert_eq!(told.stderr, expected, "{scheme} {login:?}");
            let is_told = told.stdout.contains("myriad_workers ");
            assert_eq!(is_told, expected == "200", "{scheme} {login:?}");
        }
    }
    assert_eq!(door.metric("myriad_admin_logins_refused_total"), 4);
}

#[test]
fn the_servers_client_is_let_in_over_tls() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let verifying = verifying(&door);
    let verifying: Vec<&str> = verifying.iter().map(String::as_str).collect();
    for arguments in [in_clear(), over_tls(), &verifying] {
        let workers = "SHOW VARIABLES LIKE 'server.driver'";
        let told = ask(&door, ("root", "hush"), arguments, workers);
        assert!(
            told.stdout.contains("server.driver\t"),
            "{arguments:?}: {}",
            told.stderr
        );
        let refused = ask(&door, ("root", "wrong"), arguments, workers);
        assert!(
            refused.stderr.contains("ERROR 1045 (28000)"),
            "{}",
            refused.stderr
        );
    }
    if Server::is_mariadb() {
        let status = ask(&door, ("root", "hush"), over_tls(), "status\n").stdout;
        assert!(status.contains("Cipher in use is TLS_"), "{status}");
    }
}

#[test]
fn where_tls_is_required_nothing_is_told_without() {
    let database = Database::shared();
    let settings = ["admin.tls = \"require\""];
    let door = FrontDoor::start(database.address(), &settings);
    for path in ["/metrics", "/health", "/"] {
        let told = curl(&door, "http", path, &["--user", ALL]);
        assert_eq!(
            (&*told.stderr, &*told.stdout),
            ("403", "TLS is required; write https://\n")
        );
    }
    assert_eq!(curl(&door, "https", "/health", NEVER).stderr, "200");
    assert_eq!(
        curl(&door, "https", "/metrics", &["--user", ALL]).stderr,
        "200"
    );
    let root = ("root", "hush");
    let refused = ask(&door, root, in_clear(), "SHOW HELP");
    assert!(
        refused.stderr.contains("ERROR 3159 (HY000)"),
        "{}",
        refused.stderr
    );
    let told = ask(&door, root, over_tls(), "SHOW HELP");
    assert!(told.stdout.contains("KILL QUERY id"), "{}", told.stderr);
}

#[test]
fn where_tls_is_off_it_is_not_spoken() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["admin.tls = \"off\""]);
    assert_eq!(
        curl(&door, "http", "/metrics", &["--user", ALL]).stderr,
        "200"
    );
    let refused = curl(&door, "https", "/metrics", &["--user", ALL]);
    assert_ne!(refused.code, Some(0), "{}", refused.stdout);
    // Whoever does not verify goes on without.
    let verifying = verifying(&door);
    let verifying: Vec<&str> = verifying.iter().map(String::as_str).collect();
    let refused = ask(&door, ("root", "hush"), &verifying, "SHOW HELP");
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    let told = ask(&door, ("root", "hush"), in_clear(), "SHOW HELP");
    assert_eq!(told.code, Some(0), "{}", told.stderr);
}

#[test]
fn administrators_who_only_look_are_told_so() {
    let database = Database::shared();
    let account =
        |more: &str| format!("admin.account = [{{ user = \"root\", password = \"hush\" }}{more}]");
    let looks = ", { user = \"eye\", password = \"look\", read_only = \"on\" }";
    let (only, both) = (account(""), account(looks));
    let change = |text: String| text.replace(&only, &both);
    let door = FrontDoor::start_with(database.address(), &[], change);
    let eye = ("eye", "look");
    let told = ask(&door, eye, over_tls(), "SHOW HELP");
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let refused = ask(&door, eye, over_tls(), "RELOAD");
    assert!(
        refused.stderr.contains("ERROR 1227 (42000)"),
        "{}",
        refused.stderr
    );
    let told = curl(&door, "https", "/metrics", &["--user", "eye:look"]);
    assert_eq!(told.stderr, "200");
    let told = ask(&door, ("root", "hush"), over_tls(), "RELOAD");
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    eventually("the configuration read again", || {
        door.log()
            .contains("configuration read again")
            .then_some(())
    });
}

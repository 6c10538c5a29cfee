//! The whole life of a local database, on a real server.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, getpgid, pidfd_open};

use super::*;

/// `MYRIAD_TEST_SERVER` chooses what the tests run on; this machine's MariaDB if it is not set.
fn installation() -> Installation {
    match std::env::var("MYRIAD_TEST_SERVER").as_deref() {
        Ok("mysql-thread-pool") => Installation::usual(Family::MySql),
        Ok(name) => Installation::named(name).unwrap_or_else(|| panic!("no server '{name}'")),
        Err(_) => Installation::default(),
    }
}

fn programs() -> programs::Programs {
    programs::Programs::find(installation()).unwrap()
}

fn options(folder: &Path) -> Options {
    Options::in_folder(folder).installation(installation())
}

fn start(folder: &Path) -> LocalDb {
    LocalDb::start(options(folder)).unwrap()
}

fn process_exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn it_starts_serves_restarts_and_stops() {
    let directory = tempfile::tempdir().unwrap();
    let mut database = start(directory.path());
    let pid = database.pid().unwrap();
    assert!(process_exists(pid));
    // Ctrl-C in our terminal goes to our process group, and the server must not be in it.
    let server = Pid::from_raw(pid.cast_signed());
    assert_eq!(getpgid(server).ok(), server);
    assert_eq!(
        database.execute("SELECT 1, 'a'; SELECT 2").unwrap(),
        "1\ta\n2\n"
    );
    assert_eq!(
        database
            .execute("SHOW VARIABLES LIKE 'skip_networking'")
            .unwrap(),
        "skip_networking\tON\n"
    );
    database.restart().unwrap();
    assert!(!process_exists(pid));
    assert_eq!(database.execute("SELECT 3").unwrap(), "3\n");
    assert!(
        database
            .log_file()
            .starts_with(directory.path().canonicalize().unwrap())
    );
    database.stop().unwrap();
    database.stop().unwrap();
    assert_eq!(database.pid(), None);
    assert!(UnixStream::connect(database.socket()).is_err());
}

#[test]
fn its_version_is_known_before_it_runs() {
    let version = installation().version().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let told = start(directory.path()).execute("SELECT VERSION()").unwrap();
    // What the build and the binary log add may follow.
    assert!(!version.is_empty() && told.starts_with(&version), "{told}");
}

#[test]
fn the_sample_loads_once_and_the_account_may_use_it() {
    let directory = tempfile::tempdir().unwrap();
    let database = start(directory.path());
    database.load_sample().unwrap();
    database
        .execute("UPDATE shop.product SET stock = 7 WHERE id = 1")
        .unwrap();
    let counts = "SELECT (SELECT COUNT(*) FROM shop.customer), (SELECT COUNT(*) FROM shop.product), \
                  (SELECT COUNT(*) FROM shop.orders), (SELECT COUNT(*) FROM shop.order_line)";
    let before = database.execute(counts).unwrap();
    assert_eq!(before, "200\t40\t400\t800\n");
    database.load_sample().unwrap();
    assert_eq!(database.execute(counts).unwrap(), before);
    assert_eq!(
        database
            .execute("SELECT stock FROM shop.product WHERE id = 1")
            .unwrap(),
        "7\n"
    );
    let accounts = "SELECT host, plugin FROM mysql.user WHERE user = 'app' ORDER BY host";
    let plugin = match installation().family() {
        Family::MariaDb => "mysql_native_password",
        Family::MySql => "caching_sha2_password",
    };
    let expected = format!("%\t{plugin}\n127.0.0.1\t{plugin}\nlocalhost\t{plugin}\n");
    assert_eq!(database.execute(accounts).unwrap(), expected);
    let grants = database.execute("SHOW GRANTS FOR 'app'@'%'").unwrap();
    assert!(
        grants.contains("ON `shop`.*") && grants.contains("ON `sbtest`.*"),
        "{grants}"
    );
}

#[test]
fn what_was_committed_outlives_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let mut database = start(directory.path());
    database
        .execute("CREATE DATABASE d; CREATE TABLE d.t (a INT); INSERT INTO d.t VALUES (7)")
        .unwrap();
    let pid = database.pid().unwrap();
    database.kill().unwrap();
    assert!(!process_exists(pid));
    assert!(database.execute("SELECT 1").is_err());
    database.restart().unwrap();
    assert_eq!(database.execute("SELECT a FROM d.t").unwrap(), "7\n");
    drop(database);
    let again = start(directory.path());
    assert_eq!(again.execute("SELECT a FROM d.t").unwrap(), "7\n");
}

#[test]
fn a_second_start_in_the_same_folder_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let database = start(directory.path());
    let refused = LocalDb::start(options(directory.path())).unwrap_err();
    assert!(matches!(refused, LocalDbError::FolderInUse(_)), "{refused}");
    assert_eq!(database.execute("SELECT 1").unwrap(), "1\n");
}

#[test]
fn the_server_outlives_the_thread_that_started_it_but_not_its_owner() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().to_path_buf();
    let database = std::thread::spawn(move || start(&folder)).join().unwrap();
    assert_eq!(database.execute("SELECT 1").unwrap(), "1\n");
    let pid = database.pid().unwrap();
    drop(database);
    assert!(!process_exists(pid));
}

/// Runs itself a second time as the owner that will be killed.
#[test]
fn the_server_dies_with_a_killed_owner() {
    const ROLE: &str = "LOCALDB_TEST_OWNER_OF";
    if let Some(folder) = std::env::var_os(ROLE) {
        println!("pid: {}", start(Path::new(&folder)).pid().unwrap());
        return drop(std::io::stdin().read_line(&mut String::new()));
    }
    let directory = tempfile::tempdir().unwrap();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "tests::the_server_dies_with_a_killed_owner",
        ])
        .env(ROLE, directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let pid = lines
        .find_map(|line| line.split_once("pid: ")?.1.parse().ok())
        .unwrap();
    let server = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap();
    owner.kill().unwrap();
    owner.wait().unwrap();
    let programs = programs();
    if programs.server_command().get_program() != programs.server.command().get_program() {
        let limit = Timespec {
            tv_sec: 30,
            tv_nsec: 0,
        };
        assert_eq!(
            poll(&mut [PollFd::new(&server, PollFlags::IN)], Some(&limit)),
            Ok(1)
        );
    }
    assert_eq!(start(directory.path()).execute("SELECT 1").unwrap(), "1\n");
}

#[test]
fn leftovers_of_a_killed_owner_do_not_hinder() {
    let directory = tempfile::tempdir().unwrap();
    drop(start(directory.path()));
    std::fs::create_dir(directory.path().join("data.unfinished")).unwrap();
    let data = directory.path().canonicalize().unwrap().join("data");
    let mut orphan = programs()
        .server
        .command()
        .args(["--skip-networking", "--user=root"])
        .arg(leftover::argument(&data))
        .arg(format!(
            "--socket={}",
            directory.path().join("orphan.sock").display()
        ))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let database = start(directory.path());
    assert_eq!(database.execute("SELECT 1").unwrap(), "1\n");
    assert!(!orphan.wait().unwrap().success());
}

#[test]
fn a_port_is_open_on_loopback_and_not_for_root() {
    let directory = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let database = LocalDb::start(options(directory.path()).port(port)).unwrap();
    assert_eq!(database.port(), port);
    database.load_sample().unwrap();
    let ask = |account: &[&str]| {
        let mut client = client_command(Installation::default(), "mariadb").unwrap();
        client.args(["--protocol=tcp", "--host=127.0.0.1", "-Ne", "SELECT USER()"]);
        client
            .arg(format!("--port={port}"))
            .args(account)
            .env_remove("MYSQL_PWD")
            .output()
            .unwrap()
    };
    assert_eq!(
        ask(&["--user=app", "--password=secret"]).stdout,
        b"app@127.0.0.1\n"
    );
    assert!(!ask(&["--user=root"]).status.success());
}

#[test]
fn a_server_that_ends_early_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let begin = Instant::now();
    let options = options(directory.path()).server_arg("--no-such-option");
    let error = LocalDb::start(options).unwrap_err();
    assert!(matches!(error, LocalDbError::EndedEarly { .. }), "{error}");
    assert!(error.to_string().contains("no-such-option"), "{error}");
    assert!(begin.elapsed().as_secs() < 30);
}

#[test]
fn a_failing_statement_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let database = start(directory.path());
    let error = database
        .execute("SELECT 1; SELEKT 2")
        .unwrap_err()
        .to_string();
    assert!(error.contains("SELEKT 2"), "{error}");
    assert!(error.contains("ERROR 1064 (42000)"), "{error}");
}

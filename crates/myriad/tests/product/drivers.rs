//! Real drivers: a small program of each lives the same ordinary life directly and through the front
//! door, and says the same. The programs, and what each does, are in `tests/drivers`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::session_state::pinned;
use crate::support::{Database, FrontDoor, Gateway, Server, run};

/// Enough for sessions that are pinned by procedures and cursors.
const SETTINGS: [&str; 1] = ["backend.max_connections = 16"];

/// Where the program of a driver is.
pub(crate) fn source(driver: &str) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    workspace.join("tests/drivers").join(driver)
}

/// What setup has installed for a driver.
pub(crate) fn installed(driver: &str) -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(variable("HOME").unwrap_or_default()).join(".cache");
    let folder = cache
        .unwrap_or_else(home)
        .join("myriad/drivers")
        .join(driver);
    assert!(
        folder.join(".complete").is_file(),
        "{driver} is not installed; run: scripts/setup drivers (make test does)"
    );
    folder
}

/// Runs the program in each mode, directly and through a front door.
fn compare(driver: &str, modes: &[&str], program: impl Fn() -> Command) {
    let database = Database::shared();
    let schema = format!("driver_{}", driver.replace('-', "_"));
    database.schema(&schema);
    // Some change between two.
    database.schema(&format!("{schema}_other"));
    let door = FrontDoor::start(database.address(), &SETTINGS);
    let program = || (program(), ["app", "secret", schema.as_str()]);
    compare_as((&database, &door), (driver, modes), program);
}

/// The same as somebody, in a schema: what the program comes with is a user, a password and that.
pub(crate) fn compare_as<'a>(
    (database, door): (&Database, &FrontDoor),
    (driver, modes): (&str, &[&str]),
    program: impl Fn() -> (Command, [&'a str; 3]),
) {
    let gateway = Gateway::before(database.address());
    for mode in modes {
        let ways = [("directly", gateway.tcp()), ("through", door.tcp())];
        let [direct, through] = ways.map(|(way, address)| {
            let (host, port) = (address.ip().to_string(), address.port().to_string());
            let (mut command, who) = program();
            command.args([&host, &port]).args(who).arg(mode);
            let output = run(&mut command, "");
            let said = format!("{}{}", output.stdout, output.stderr);
            assert_eq!(output.code, Some(0), "{driver}, {mode}, {way}:\n{said}");
            output.stdout
        });
        assert_eq!(through, direct, "{driver}, {mode}");
    }
    // Whatever they prepare follows them, and what they have tracked.
    for reason in ["prepared_statement", "session_tracking"] {
        assert_eq!(pinned(door, reason), 0, "{driver}, {reason}");
    }
}

/// Runs a compiler.
pub(crate) fn build(command: &mut Command) {
    let output = run(command, "");
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
}

fn python(driver: &str) -> Command {
    let mut command = Command::new(installed(driver).join("bin/python"));
    command.args(["-B", "-W", "ignore::DeprecationWarning"]);
    command.arg(source(driver).join("main.py"));
    command
}

#[test]
fn pymysql() {
    compare("pymysql", &["text"], || python("pymysql"));
}

#[test]
fn connector_python() {
    let modes = ["text-pure", "text-c", "prepared-pure", "prepared-c"];
    compare("connector-python", &modes, || python("connector-python"));
}

#[test]
fn sqlalchemy() {
    compare("sqlalchemy", &["pymysql"], || python("sqlalchemy"));
}

#[test]
fn django() {
    compare("django", &["autocommit", "requests"], || python("django"));
}

/// Debian's own package of it, since it has to be compiled.
#[test]
fn mysqlclient() {
    compare("mysqlclient", &["text"], || {
        let mut command = Command::new("/usr/bin/python3");
        command.arg("-B").arg(source("mysqlclient").join("main.py"));
        command
    });
}

#[test]
fn php() {
    let modes = ["mysqli", "mysqli-prepared", "pdo", "pdo-prepared"];
    compare("php", &modes, || {
        let mut command = Command::new("php");
        command.arg(source("php").join("main.php"));
        command
    });
}

#[test]
fn mariadb_c() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("client");
    let flags = run(
        Command::new("mariadb_config").args(["--cflags", "--libs"]),
        "",
    );
    let mut compiler = Command::new("cc");
    compiler.arg(source("mariadb-c").join("main.c"));
    compiler.arg("-o").arg(&program);
    build(compiler.args(flags.stdout.split_whitespace()));
    compare("mariadb-c", &["prepared", "cursor"], || {
        Command::new(&program)
    });
}

/// sqlx and mysql_async.
#[test]
fn rust() {
    let program = installed("rust").join("target");
    let mut cargo = Command::new("cargo");
    cargo.env("CARGO_TARGET_DIR", &program).args([
        "build",
        "--quiet",
        "--locked",
        "--offline",
        "--manifest-path",
    ]);
    build(cargo.arg(source("rust").join("Cargo.toml")));
    let program = program.join("debug/rust-clients");
    // sqlx never gets by without the server's RSA key, and MySQL gives none over the unix socket that is
    // behind the gateway.
    let modes: &[&str] = match Server::is_mariadb() {
        true => &["mysql_async", "sqlx"],
        false => &["mysql_async"],
    };
    compare("rust", modes, || Command::new(&program));
}

/// Hibernate and HikariCP, over both connectors.
#[test]
fn java_orm() {
    let modes = ["mariadb", "mariadb-prepared", "mysql", "mysql-prepared"];
    java("java-orm", &modes);
}

#[test]
fn connector_j() {
    java("connector-j", &["text", "prepared", "cursor"]);
}

fn java(driver: &str, modes: &[&str]) {
    let classes = tempfile::tempdir().unwrap();
    let jars = format!("{}/*", installed(driver).display());
    let mut compiler = Command::new("javac");
    compiler.args(["-cp", &jars, "-encoding", "UTF-8", "-d"]);
    build(
        compiler
            .arg(classes.path())
            .arg(source(driver).join("Main.java")),
    );
    let path = format!("{}:{jars}", classes.path().display());
    compare(driver, modes, || {
        let mut command = Command::new("java");
        // It does not live long enough for the better of its compilers.
        command.args([
            "-XX:TieredStopAtLevel=1",
            "-Dstdout.encoding=UTF-8",
            "-cp",
            &path,
            "Main",
        ]);
        command
    });
}

#[test]
fn mysql2() {
    compare("mysql2", &["text", "prepared"], || node("mysql2"));
}

#[test]
fn mariadb_node() {
    let modes = ["text", "prepared", "pipelined"];
    compare("mariadb-node", &modes, || node("mariadb-node"));
}

pub(crate) fn node(driver: &str) -> Command {
    let mut command = Command::new("node");
    command.current_dir(installed(driver));
    command.arg(source(driver).join("main.js"));
    command
}

#[test]
fn go_sql_driver() {
    go("go", &["text", "prepared"]);
}

#[test]
fn gorm() {
    go("gorm", &["text", "prepared", "cached"]);
}

fn go(driver: &str, modes: &[&str]) {
    installed(driver);
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("client");
    let mut compiler = Command::new("go");
    compiler.current_dir(source(driver));
    compiler.env("GOTOOLCHAIN", "local").env("GOPROXY", "off");
    build(compiler.args(["build", "-o"]).arg(&program).arg("."));
    compare(driver, modes, || Command::new(&program));
}

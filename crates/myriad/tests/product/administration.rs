//! The listener for administrators, asked by the server's own client and by drivers.

use std::process::Command;

use crate::drivers::installed;
use crate::support::{
    Address, Client, Database, FrontDoor, Outcome, Output, Server, Tool, eventually, program, run,
};

/// The command-line client as the administrator.
fn client(door: &FrontDoor) -> Command {
    let mut command = program(Tool::Client, &Address::Tcp(door.sql()));
    // The last of these options holds.
    command.args(["--user=root", "--batch", "--show-warnings"]);
    command.env("MYSQL_PWD", "hush");
    command
}

/// What the client prints for some statements, columns parted by tabs, with their names.
fn ask(door: &FrontDoor, statements: &str) -> String {
    let Output {
        code,
        stdout,
        stderr,
    } = run(&mut client(door), statements);
    assert_eq!((code, &*stderr), (Some(0), ""), "{statements}: {stdout}");
    stdout
}

/// The rows of a table, each as its values by the names of their columns.
fn table(door: &FrontDoor, statement: &str) -> Vec<Vec<(String, String)>> {
    let printed = ask(door, statement);
    let mut lines = printed.lines();
    let names: Vec<_> = lines.next().unwrap_or_default().split('\t').collect();
    let row = |line: &str| {
        let values = line.split('\t').map(str::to_owned);
        names
            .iter()
            .map(|name| (*name).to_owned())
            .zip(values)
            .collect()
    };
    lines.map(row).collect()
}

fn value<'a>(row: &'a [(String, String)], name: &str) -> &'a str {
    let mut values = row.iter();
    let found = values.find(|(found, _)| found == name);
    &found.unwrap_or_else(|| panic!("no {name} in {row:?}")).1
}

/// The row with this value in this column, once it is there.
fn await_row(
    door: &FrontDoor,
    statement: &str,
    (name, wanted): (&str, &str),
) -> Vec<(String, String)> {
    eventually(statement, || {
        let rows = table(door, statement);
        rows.into_iter().find(|row| value(row, name) == wanted)
    })
}

#[test]
fn the_servers_client_sees_sessions_the_queue_backends_and_pins() {
    let database = Database::shared();
    database.schema("administration");
    database.execute("CREATE TABLE administration.t (a INT)");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut holder = Client::new(&door.address(), "administration");
    let mut waiter = Client::new(&door.address(), "administration");
    holder.run("SET @`a b` = 1");
    holder.run("BEGIN");
    holder.run("INSERT INTO t VALUES (5)");
    waiter.query("UPDATE t SET a = 7 WHERE a = 5");

    let row = await_row(&door, "SHOW QUEUE LIKE '%app%'", ("position", "1"));
    assert_eq!(value(&row, "account"), "'app'@'%'");
    assert_eq!(value(&row, "schema"), "administration");
    assert_eq!(value(&row, "waits_for"), "backend");
    assert_eq!(value(&row, "statement"), "UPDATE t SET a = ? WHERE a = ?");
    let waiting = value(&row, "id").to_owned();

    let row = await_row(&door, "SHOW SESSIONS", ("state", "held"));
    assert_eq!(value(&row, "in_transaction"), "1");
    assert_eq!(value(&row, "pins"), "user_variable");
    assert_eq!(value(&row, "host"), "localhost");
    let holding = value(&row, "id").to_owned();
    let backend = value(&row, "backend_id").to_owned();

    let row = await_row(&door, "SHOW BACKENDS", ("state", "active"));
    assert_eq!(value(&row, "id"), backend);
    assert_eq!(value(&row, "session_id"), holding);
    assert_eq!(value(&row, "schema"), "administration");

    let row = await_row(&door, "SHOW PINS", ("reason", "user_variable"));
    assert_eq!((value(&row, "sessions"), value(&row, "pins")), ("1", "1"));
    assert_eq!(value(&row, "example"), "SET @`a b` = ?");

    // The one that waits is interrupted, the one that holds the backend is ended.
    assert_eq!(ask(&door, &format!("KILL QUERY {waiting}")), "");
    let interrupted = waiter.answer().unwrap().outcomes();
    assert!(
        matches!(interrupted[..], [Outcome::Err(1317, ..)]),
        "{interrupted:?}"
    );
    assert_eq!(ask(&door, &format!("KILL {holding}")), "");
    assert!(holder.try_run("SELECT 1").is_err());
    waiter.run("INSERT INTO t VALUES (6)");
    assert_eq!(database.execute("SELECT a FROM administration.t"), "6\n");
    let sessions = table(&door, "SHOW SESSIONS");
    let ids: Vec<_> = sessions.iter().map(|row| value(row, "id")).collect();
    assert_eq!(ids, [waiting]);
}

#[test]
fn what_the_client_asks_by_itself_is_answered() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["server.workers = 2"]);
    assert_eq!(
        ask(&door, "SHOW VARIABLES LIKE 'server.workers'"),
        "Variable_name\tValue\nserver.workers\t2\n"
    );
    let row = await_row(
        &door,
        "SHOW STATUS LIKE 'workers%'",
        ("Variable_name", "workers"),
    );
    assert_eq!(value(&row, "Value"), "2");
    assert!(ask(&door, "SHOW HELP").contains("SHOW SESSIONS"));
    if Server::is_mariadb() {
        // `status` asks for user, version and more. MySQL's client knows no commands in a batch.
        let status = run(&mut client(&door), "status\n");
        assert_eq!((status.code, &*status.stderr), (Some(0), ""));
        assert!(status.stdout.contains("Myriad"), "{}", status.stdout);
    }
    let wrong = run(&mut client(&door), "DELETE FROM t");
    assert_eq!(wrong.code, Some(1));
    assert!(
        wrong.stderr.contains("ERROR 1064 (42000)"),
        "{}",
        wrong.stderr
    );
    assert!(
        wrong.stderr.contains("there are SHOW ACCOUNTS"),
        "{}",
        wrong.stderr
    );
    let refused = run(client(&door).env("MYSQL_PWD", "wrong"), "SELECT 1");
    assert!(
        refused.stderr.contains("ERROR 1045 (28000)"),
        "{}",
        refused.stderr
    );
    // Accounts of clients are none of administrators.
    let refused = run(
        client(&door).arg("--user=app").env("MYSQL_PWD", "secret"),
        "SELECT 1",
    );
    assert!(
        refused.stderr.contains("ERROR 1045 (28000)"),
        "{}",
        refused.stderr
    );
}

#[test]
fn the_same_is_told_as_json() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let _client = Client::new(&door.address(), "");
    let told: serde_json::Value = serde_json::from_str(&door.http("/api/sessions")).unwrap();
    // Whoever has only looked whether anybody listens may not be gone yet.
    let rows = told["rows"].as_array().unwrap();
    let states: Vec<_> = rows
        .iter()
        .filter(|row| row["user"] == "app")
        .map(|row| &row["state"])
        .collect();
    assert_eq!(states, ["idle"]);
}

const PYTHON: &str = r#"
import sys, importlib
module, port = importlib.import_module(sys.argv[1]), int(sys.argv[2])
options = dict(host="127.0.0.1", port=port, user="root", password="hush")
if sys.argv[1] == "mysql.connector":
    options["use_pure"] = sys.argv[3] == "pure"
connection = module.connect(**options)
cursor = connection.cursor()
cursor.execute("SHOW STATUS LIKE 'workers'")
print([column[0] for column in cursor.description], cursor.fetchall())
cursor.execute("SELECT 1, NULL, 'x'")
print(list(cursor.fetchall()))
try:
    cursor.execute("KILL 5")
except module.Error as error:
    print(error.args[0])
connection.commit()
connection.close()
"#;

#[test]
fn drivers_of_python_can_ask() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["server.workers = 1"]);
    for (driver, arguments) in [
        ("pymysql", &["pymysql"][..]),
        ("connector-python", &["mysql.connector", "pure"]),
        ("connector-python", &["mysql.connector", "c"]),
    ] {
        let mut command = Command::new(installed(driver).join("bin/python"));
        command.args(["-B", "-W", "ignore", "-c", PYTHON, arguments[0]]);
        command.arg(door.sql().port().to_string());
        command.args(&arguments[1..]);
        let output = run(&mut command, "");
        assert_eq!(output.code, Some(0), "{arguments:?}: {}", output.stderr);
        let mut lines = output.stdout.lines();
        let table = lines.next().unwrap_or_default();
        assert!(
            table.starts_with("['Variable_name', 'Value'] "),
            "{arguments:?}: {table}"
        );
        assert!(table.contains("'workers'"), "{arguments:?}: {table}");
        assert_eq!(lines.next(), Some("[(1, None, 'x')]"), "{arguments:?}");
        assert_eq!(lines.next(), Some("1094"), "{arguments:?}");
    }
}

/// The value of a column of the row of an account.
fn of_account(door: &FrontDoor, account: &str, column: &str) -> String {
    let rows = table(door, "SHOW ACCOUNTS");
    let mut rows = rows.iter();
    let row = rows.find(|row| value(row, "account") == account);
    value(row.unwrap_or_else(|| panic!("no {account}")), column).to_owned()
}

#[test]
fn limits_are_tried_kept_and_read_again() {
    let database = Database::shared();
    database.schema("administered");
    let door = FrontDoor::start(database.address(), &[]);
    let mut clients: Vec<_> = (0..3)
        .map(|_| Client::new(&door.address(), "administered"))
        .collect();
    // For good first: a trial holds above it.
    let kept = "ALTER USER 'app'@'%' WITH MAX_CONCURRENT_QUERIES 2 MAX_QUEUED 50";
    assert_eq!(ask(&door, kept), "");
    assert_eq!(
        ask(
            &door,
            "SET QUOTA 'app'@'%' MAX_CONCURRENT_QUERIES = 1, QUEUE_TIMEOUT = 60"
        ),
        ""
    );
    eventually("the limits of the trial", || {
        let limit = |column| of_account(&door, "'app'@'%'", column);
        let limits = ["max_concurrent_queries", "max_queued", "queue_timeout_ms"].map(limit);
        (limits == ["1", "50", "60000"]).then_some(())
    });
    database.execute("CREATE TABLE administered.t (a INT); INSERT INTO administered.t VALUES (1)");
    let mut locker = Client::new(&database.address().clone(), "administered");
    locker.run("LOCK TABLES t WRITE");
    for client in &mut clients {
        client.query("UPDATE t SET a = a + 1");
    }
    eventually("two that wait for a permit", || {
        let rows = table(&door, "SHOW QUEUE");
        let waits_for: Vec<_> = rows.iter().map(|row| value(row, "waits_for")).collect();
        (waits_for == ["max_concurrent_queries"; 2]).then_some(())
    });
    let row = await_row(&door, "SHOW QUEUE LIMIT 1", ("position", "1"));
    assert_eq!(value(&row, "account"), "'app'@'%'");
    assert_eq!(value(&row, "statement"), "UPDATE t SET a = a + ?");
    let counts = ["running", "waiting"].map(|column| of_account(&door, "'app'@'%'", column));
    assert_eq!(counts, ["1", "2"]);
    // What was kept allows one more.
    assert_eq!(ask(&door, "RELOAD"), "");
    eventually("one that waits for a permit", || {
        (table(&door, "SHOW QUEUE").len() == 1).then_some(())
    });
    locker.run("UNLOCK TABLES");
    for client in &mut clients {
        let answer = client.answer().unwrap().outcomes();
        assert!(matches!(answer[..], [Outcome::Ok(_)]), "{answer:?}");
    }
    let admitted = of_account(&door, "'app'@'%'", "admitted");
    assert!(admitted.parse::<u64>().unwrap() >= 3, "{admitted}");
    // What cannot hold changes nothing.
    let wrong = run(&mut client(&door), "SET QUOTA app WEIGHT = 1001");
    assert!(
        wrong.stderr.contains("1001 is out of range"),
        "{}",
        wrong.stderr
    );
    assert_eq!(of_account(&door, "'app'@'%'", "weight"), "1");
}

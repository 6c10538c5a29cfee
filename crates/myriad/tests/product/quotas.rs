//! Limits of accounts on a real server: what runs at once, what waits, and what is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::{Client, Database, FrontDoor, Login, Outcome, Server, eventually};

const REJECTED: u16 = 1226;
const TIMED_OUT: u16 = 1203;
const INTERRUPTED: u16 = 1317;

/// An empty schema with a table `t`.
fn prepare(schema: &str) -> Arc<Database> {
    let database = Database::shared();
    database.schema(schema);
    database.execute(&format!("CREATE TABLE {schema}.t (a VARCHAR(20))"));
    database
}

/// A front door where `app` has one limit or several.
fn limited(database: &Database, limits: &str) -> FrontDoor {
    let quota = format!("[[quota]]\naccount = \"app\"\n{limits}");
    FrontDoor::start(database.address(), &["backend.max_connections = 8", &quota])
}

/// A session whose statement runs until [`Holder::end`].
struct Holder {
    client: Client,
}

impl Holder {
    fn new(door: &FrontDoor, schema: &str) -> Self {
        let mut client = Client::new(&door.address(), schema);
        client.query("SELECT SLEEP(60)");
        eventually("the statement of the holder", || {
            (door.metric("myriad_account_running{account=\"'app'@'%'\"}") == 1).then_some(())
        });
        Self { client }
    }

    fn end(mut self, other: &mut Client) {
        other.run(&format!("KILL QUERY {}", self.client.connection_id));
        // SLEEP that was interrupted says 1, or the statement was.
        let answer = self.client.answer().unwrap().outcomes();
        assert_eq!(answer.len(), 1, "{answer:?}");
    }
}

fn await_queued(door: &FrontDoor, count: u64) {
    eventually("statements that wait", || {
        (door.metric("myriad_clients{state=\"queued\"}") == count).then_some(())
    });
}

fn error(outcomes: &[Outcome]) -> (u16, String) {
    match outcomes {
        [Outcome::Err(code, text)] => (*code, text.clone()),
        other => panic!("{other:?}"),
    }
}

fn rows(database: &Database, schema: &str) -> String {
    database.execute(&format!("SELECT a FROM {schema}.t ORDER BY a"))
}

#[test]
fn no_more_statements_run_at_once_than_the_account_may() {
    let database = prepare("quota_many");
    let door = limited(&database, "max_concurrent_queries = 2");
    // The server itself says how many others there are. One that has answered already may be shown for
    // a moment longer, but it sleeps no more.
    let sql = "SELECT (SELECT COUNT(*) FROM information_schema.PROCESSLIST \
               WHERE INFO LIKE '%quota_many here%' AND STATE = 'User sleep'), SLEEP(0.01)";
    let most = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let mut client = Client::new(&door.address(), "quota_many");
                for _ in 0..10 {
                    let count: u64 = client.value(sql).parse().unwrap();
                    most.fetch_max(count, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(most.into_inner(), 1);
    assert_eq!(
        door.metric("myriad_account_running{account=\"'app'@'%'\"}"),
        0
    );
}

/// A front door with a single backend, and limits that leave room for many statements.
fn narrow(database: &Database, limits: &str) -> FrontDoor {
    let quota = format!("[[quota]]\naccount = \"app\"\n{limits}");
    FrontDoor::start(database.address(), &["backend.max_connections = 1", &quota])
}

#[test]
fn statements_without_a_backend_hold_no_permits() {
    let database = prepare("quota_narrow");
    let door = narrow(&database, "max_concurrent_queries = 10");
    let holder = Holder::new(&door, "quota_narrow");
    // A login asks the backend for its schema.
    let mut waiters: Vec<Client> = (0..5).map(|_| Client::new(&door.address(), "")).collect();
    for waiter in &mut waiters {
        waiter.query("INSERT INTO quota_narrow.t VALUES ('waited')");
    }
    await_queued(&door, 5);
    let running = door.metric("myriad_account_running{account=\"'app'@'%'\"}");
    assert_eq!(running, 1, "only the holder's statement runs");
    holder.end(&mut Client::new(&door.address(), ""));
    for mut waiter in waiters {
        let answer = waiter.answer().unwrap().outcomes();
        assert!(matches!(answer[..], [Outcome::Ok(_)]), "{answer:?}");
    }
    assert_eq!(rows(&database, "quota_narrow"), "waited\n".repeat(5));
}

#[test]
fn no_more_wait_for_backends_than_may_wait() {
    let database = prepare("quota_queue");
    let door = narrow(&database, "max_queued = 1");
    let mut holder = Client::new(&door.address(), "quota_queue");
    let mut waiter = Client::new(&door.address(), "");
    let mut other = Client::new(&door.address(), "");
    holder.query("SELECT SLEEP(60)");
    eventually("the statement of the holder", || {
        (door.metric("myriad_backends{state=\"active\"}") == 1).then_some(())
    });
    waiter.query("INSERT INTO quota_queue.t VALUES ('waited')");
    await_queued(&door, 1);
    let (code, text) = error(&other.run("INSERT INTO quota_queue.t VALUES ('never')"));
    assert_eq!(code, REJECTED);
    assert_eq!(
        text,
        "'app'@'%' has 1 statements waiting (max_queued); 0 running, 1 waiting; \
         the statement was not run"
    );
    other.run(&format!("KILL QUERY {}", holder.connection_id));
    holder.answer().unwrap();
    waiter.answer().unwrap();
    assert_eq!(rows(&database, "quota_queue"), "waited\n");
}

#[test]
fn transactions_in_progress_go_on_although_as_many_run_as_may() {
    let database = prepare("quota_open");
    let door = limited(&database, "max_concurrent_transactions = 1");
    let mut first = Client::new(&door.address(), "quota_open");
    let mut second = Client::new(&door.address(), "quota_open");
    first.run("BEGIN");
    first.run("INSERT INTO t VALUES ('first')");
    // A transaction of one statement.
    second.query("INSERT INTO t VALUES ('second')");
    await_queued(&door, 1);
    // Reads need no permit for a transaction.
    let mut reader = Client::new(&door.address(), "quota_open");
    assert_eq!(reader.value("SELECT COUNT(*) FROM t"), "0");
    first.run("INSERT INTO t VALUES ('first too')");
    assert_eq!(reader.value("SELECT COUNT(*) FROM t"), "0");
    first.run("COMMIT");
    assert!(matches!(
        second.answer().unwrap().outcomes()[..],
        [Outcome::Ok(_)]
    ));
    assert_eq!(rows(&database, "quota_open"), "first\nfirst too\nsecond\n");
}

#[test]
fn whoever_waits_too_long_is_told_which_limit_it_was() {
    let database = prepare("quota_time");
    let limits = "max_concurrent_queries = 1\nqueue_timeout = \"200ms\"\nmax_queued = 1";
    let door = limited(&database, limits);
    let holder = Holder::new(&door, "quota_time");
    let mut waiter = Client::new(&door.address(), "quota_time");
    waiter.query("INSERT INTO t VALUES ('never')");
    await_queued(&door, 1);
    let mut other = Client::new(&door.address(), "quota_time");
    let (code, text) = error(&other.run("INSERT INTO t VALUES ('never')"));
    assert_eq!(code, REJECTED);
    assert_eq!(
        text,
        "'app'@'%' has 1 statements waiting (max_queued); 1 running, 1 waiting; \
         the statement was not run"
    );
    let (code, text) = error(&waiter.answer().unwrap().outcomes());
    assert_eq!(code, TIMED_OUT);
    assert_eq!(
        text,
        "a statement of 'app'@'%' waited for 200ms (queue_timeout); 1 running, 0 waiting; \
         the statement was not run"
    );
    holder.end(&mut other);
    // Both sessions go on.
    other.run("INSERT INTO t VALUES ('other')");
    waiter.run("INSERT INTO t VALUES ('waiter')");
    assert_eq!(rows(&database, "quota_time"), "other\nwaiter\n");
}

#[test]
fn the_statement_of_a_client_that_hung_up_while_it_waited_never_runs() {
    let database = prepare("quota_hang_up");
    let door = limited(&database, "max_concurrent_queries = 1");
    let holder = Holder::new(&door, "quota_hang_up");
    let mut other = Client::new(&door.address(), "quota_hang_up");
    let mut waiters: Vec<_> = (0..6)
        .map(|_| Client::new(&door.address(), "quota_hang_up"))
        .collect();
    for (number, waiter) in waiters.iter_mut().enumerate() {
        waiter.query(&format!("INSERT INTO t VALUES ('waiter {number}')"));
        await_queued(&door, number as u64 + 1);
    }
    waiters.drain(..3);
    await_queued(&door, 3);
    assert_eq!(
        door.metric("myriad_account_abandoned_total{account=\"'app'@'%'\"}"),
        3
    );
    holder.end(&mut other);
    for waiter in &mut waiters {
        assert!(matches!(
            waiter.answer().unwrap().outcomes()[..],
            [Outcome::Ok(_)]
        ));
    }
    assert_eq!(
        rows(&database, "quota_hang_up"),
        "waiter 3\nwaiter 4\nwaiter 5\n"
    );
}

#[test]
fn a_kill_ends_a_statement_that_waits() {
    let database = prepare("quota_kill");
    let door = limited(&database, "max_concurrent_queries = 1");
    let holder = Holder::new(&door, "quota_kill");
    let mut other = Client::new(&door.address(), "quota_kill");
    let mut interrupted = Client::new(&door.address(), "quota_kill");
    let mut ended = Client::new(&door.address(), "quota_kill");
    interrupted.query("INSERT INTO t VALUES ('never')");
    ended.query("INSERT INTO t VALUES ('never')");
    await_queued(&door, 2);
    other.run(&format!("KILL QUERY {}", interrupted.connection_id));
    let (code, _) = error(&interrupted.answer().unwrap().outcomes());
    assert_eq!(code, INTERRUPTED);
    other.run(&format!("KILL {}", ended.connection_id));
    assert!(ended.receive().is_err());
    await_queued(&door, 0);
    holder.end(&mut other);
    interrupted.run("INSERT INTO t VALUES ('later')");
    assert_eq!(rows(&database, "quota_kill"), "later\n");
}

#[test]
fn logins_above_the_limit_are_refused() {
    let database = prepare("quota_logins");
    let door = limited(&database, "max_connections = 2");
    let first = Client::new(&door.address(), "quota_logins");
    let _second = Client::new(&door.address(), "quota_logins");
    let refused = Client::login(&door.address(), &Login::to("quota_logins"));
    let Err(refused) = refused else {
        panic!("a third client was let in");
    };
    let (code, text) = error(&[refused]);
    assert_eq!(code, REJECTED);
    assert_eq!(text, "'app'@'%' has 2 connections (max_connections)");
    drop(first);
    eventually("room for another client", || {
        Client::login(&door.address(), &Login::to("quota_logins")).ok()
    });
}

#[test]
fn raising_a_limit_lets_waiters_through_and_lowering_it_ends_nothing() {
    let database = prepare("quota_reload");
    let door = limited(&database, "max_concurrent_queries = 1");
    let holder = Holder::new(&door, "quota_reload");
    let mut waiter = Client::new(&door.address(), "quota_reload");
    waiter.query("SELECT 1");
    await_queued(&door, 1);
    door.reconfigure("max_concurrent_queries = 1", "max_concurrent_queries = 2");
    assert!(matches!(
        waiter.answer().unwrap().outcomes()[..],
        [Outcome::Rows(_)]
    ));
    let mut another = Client::new(&door.address(), "quota_reload");
    another.query("SELECT SLEEP(60)");
    eventually("two statements", || {
        (door.metric("myriad_account_running{account=\"'app'@'%'\"}") == 2).then_some(())
    });
    door.reconfigure("max_concurrent_queries = 2", "max_concurrent_queries = 1");
    eventually("the second time that the configuration is read", || {
        (door.log().matches("configuration read again").count() == 2).then_some(())
    });
    waiter.query("SELECT 2");
    await_queued(&door, 1);
    assert_eq!(
        door.metric("myriad_account_running{account=\"'app'@'%'\"}"),
        2
    );
    // What cannot be read changes nothing.
    door.reconfigure("max_concurrent_queries = 1", "max_concurrent_queries = no");
    eventually("what is wrong with the configuration", || {
        door.log().contains("nothing was changed").then_some(())
    });
    let mut other = Client::new(&door.address(), "quota_reload");
    holder.end(&mut other);
    let other_holder = Holder { client: another };
    other_holder.end(&mut other);
    assert!(matches!(
        waiter.answer().unwrap().outcomes()[..],
        [Outcome::Rows(_)]
    ));
}

#[test]
fn statements_that_take_longer_than_they_may_are_ended() {
    let database = prepare("quota_slow");
    let door = limited(&database, "max_statement_time = \"300ms\"");
    let mut client = Client::new(&door.address(), "quota_slow");
    let expected = match Server::is_mariadb() {
        true => 1969,
        false => 3024,
    };
    let slow = "SELECT COUNT(*) FROM information_schema.COLUMNS a, information_schema.COLUMNS b, \
                information_schema.COLUMNS c";
    let (code, _) = error(&client.run(slow));
    assert_eq!(code, expected);
    // The session goes on, and what is fast is not ended.
    assert_eq!(client.value("SELECT 1"), "1");
    client.run("BEGIN");
    client.run("INSERT INTO t VALUES ('kept')");
    let (code, _) = error(&client.run(slow));
    assert_eq!(code, expected);
    client.run("COMMIT");
    assert_eq!(rows(&database, "quota_slow"), "kept\n");
    assert_eq!(door.metric("myriad_statement_timeouts_total"), 2);
}

#[test]
fn a_limit_that_a_statement_names_holds_while_it_waits() {
    let database = prepare("quota_hint");
    let door = limited(&database, "max_concurrent_queries = 1");
    let holder = Holder::new(&door, "quota_hint");
    let mut waiter = Client::new(&door.address(), "quota_hint");
    let (code, text) = error(&waiter.run("SELECT /*+ MAX_EXECUTION_TIME(50) */ 1"));
    assert_eq!(code, TIMED_OUT);
    assert!(
        text.contains("waited for 50ms (max_statement_time)"),
        "{text}"
    );
    holder.end(&mut waiter);
}

/// A session of the account that may do everything.
fn admin(door: &FrontDoor) -> Client {
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::to("mysql")
    };
    Client::login(&door.address(), &login).unwrap()
}

#[test]
fn statements_set_limits_that_hold_at_once_and_are_kept() {
    let database = prepare("quota_sql");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 8"]);
    let mut admin = admin(&door);
    let set = "ALTER USER app WITH MAX_QUERIES_PER_HOUR 0 MAX_CONCURRENT_QUERIES 1";
    assert!(matches!(admin.run(set)[..], [Outcome::Ok(_)]));
    let kept = "account = \"'app'@'%'\"\nmax_concurrent_queries = 1\n";
    assert!(door.limits_set().contains(kept), "{}", door.limits_set());
    let holder = Holder::new(&door, "quota_sql");
    let mut waiter = Client::new(&door.address(), "quota_sql");
    waiter.query("SELECT 1");
    await_queued(&door, 1);
    // It stays when the files are read again.
    door.reconfigure("[[account]]", "[[account]]");
    eventually("that the configuration is read", || {
        door.log()
            .contains("configuration read again")
            .then_some(())
    });
    await_queued(&door, 1);
    admin.run("ALTER USER app WITH MAX_CONCURRENT_QUERIES 0 MAX_QUERIES_PER_HOUR 0");
    assert!(matches!(
        waiter.answer().unwrap().outcomes()[..],
        [Outcome::Rows(_)]
    ));
    assert!(!door.limits_set().contains("app"), "{}", door.limits_set());
    holder.end(&mut waiter);
}

#[test]
fn a_mistake_in_either_part_changes_neither() {
    let database = prepare("quota_wrong");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 8"]);
    let mut admin = admin(&door);
    admin.run("CREATE USER quota_wrong WITH MAX_CONCURRENT_QUERIES 2 MAX_USER_CONNECTIONS 3");
    let before = door.limits_set();
    assert!(before.contains("'quota_wrong'@'%'"), "{before}");
    for (sql, expected) in [
        (
            "ALTER USER quota_wrong WITH MAX_CONCURRENT_QUERIES many",
            1064,
        ),
        (
            "ALTER USER quota_wrong NONSENSE WITH MAX_CONCURRENT_QUERIES 5",
            1064,
        ),
        (
            "ALTER USER quota_nobody WITH MAX_QUERIES_PER_HOUR 1 MAX_CONCURRENT_QUERIES 5",
            1396,
        ),
        (
            "PREPARE s FROM 'ALTER USER quota_wrong WITH MAX_CONCURRENT_QUERIES 5'",
            1235,
        ),
    ] {
        assert_eq!(error(&admin.run(sql)).0, expected, "{sql}");
        assert_eq!(door.limits_set(), before, "{sql}");
    }
    admin.send(
        0x16,
        b"ALTER USER quota_wrong WITH MAX_CONCURRENT_QUERIES 5",
    );
    let packet = admin.receive().unwrap();
    assert_eq!(packet.payload[0], 0xff, "it was prepared");
    // Whoever may not create users sets no limits, not even its own.
    let mut app = Client::new(&door.address(), "quota_wrong");
    let sql = "ALTER USER CURRENT_USER() WITH MAX_QUERIES_PER_HOUR 0 MAX_CONCURRENT_QUERIES 0";
    assert_eq!(error(&app.run(sql)).0, 1227);
    assert_eq!(app.value("SELECT 1"), "1");
    // Both follow what becomes of the account.
    admin.run("RENAME USER quota_wrong TO quota_renamed");
    let renamed = before.replace("quota_wrong", "quota_renamed");
    assert_eq!(door.limits_set(), renamed);
    admin.run("DROP USER quota_renamed");
    assert!(!door.limits_set().contains("quota_renamed"));
}

#[test]
fn who_may_create_users_by_a_role_sets_limits_while_that_is_active() {
    let database = prepare("quota_role");
    for sql in [
        "CREATE ROLE quota_maker",
        "GRANT CREATE USER ON *.* TO quota_maker",
        "GRANT quota_maker TO app@localhost",
        "GRANT quota_maker TO app@127.0.0.1",
        "GRANT quota_maker TO app",
    ] {
        database.execute(sql);
    }
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 8"]);
    let mut app = Client::new(&door.address(), "quota_role");
    let sql = "ALTER USER app WITH MAX_QUERIES_PER_HOUR 0 MAX_CONCURRENT_QUERIES 3";
    assert_eq!(error(&app.run(sql)).0, 1227);
    for sql in ["SET ROLE quota_maker", sql] {
        let answer = app.run(sql);
        assert!(matches!(answer[..], [Outcome::Ok(_)]), "{sql}: {answer:?}");
    }
    assert!(door.limits_set().contains("max_concurrent_queries = 3"));
    app.run("SET ROLE NONE");
    assert_eq!(error(&app.run(sql)).0, 1227);
    database.execute("DROP ROLE quota_maker");
}

//! Pins that end before the session does, and what is told of where a session is.

use crate::session_state::pinned;
use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, Server, eventually};

/// How many sessions are pinned for a transaction that no flag tells of.
const PINNED: &str = "myriad_pinned_sessions{reason=\"transaction\"}";

/// What takes hold of something, and what lets go of it.
const HOLDINGS: [&[&str]; 13] = [
    &["SELECT GET_LOCK('pins', 5)", "SELECT RELEASE_LOCK('pins')"],
    &[
        "SELECT GET_LOCK('pins', 5)",
        "SELECT GET_LOCK('pins', 5)",
        "SELECT GET_LOCK('more', 5)",
        "SELECT RELEASE_LOCK('pins')",
        "DO RELEASE_ALL_LOCKS()",
    ],
    &["SELECT GET_LOCK('pins', 5)", "DO RELEASE_LOCK('pins')"],
    &[
        "SELECT GET_LOCK('pins', 5) FROM DUAL",
        "SELECT RELEASE_LOCK('pins') AS released FROM DUAL",
    ],
    &[
        "SELECT GET_LOCK('pins', 5) = 1 AS got",
        "SELECT COALESCE(RELEASE_LOCK('pins'), 0)",
    ],
    // As MediaWiki has it.
    &[
        "SELECT IF(GET_LOCK('pins', 5), UNIX_TIMESTAMP(SYSDATE(6)), NULL) AS acquired",
        "SELECT RELEASE_LOCK('pins') AS released",
    ],
    &["CREATE TEMPORARY TABLE mine (a INT)", "DROP TABLE mine"],
    &[
        "CREATE TEMPORARY TABLE mine (a INT)",
        "CREATE TEMPORARY TABLE yours SELECT 1 AS a",
        "DROP TEMPORARY TABLE pins.mine, yours",
    ],
    &["LOCK TABLES t READ", "UNLOCK TABLES"],
    &["LOCK TABLES t READ", "BEGIN", "COMMIT"],
    &[
        "HANDLER t OPEN AS h",
        "HANDLER h READ FIRST",
        "HANDLER h CLOSE",
    ],
    &["XA START 'pins'", "XA END 'pins'", "XA ROLLBACK 'pins'"],
    &[
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "BEGIN",
        "SELECT a FROM t",
        "COMMIT",
    ],
];

const COM_RESET_CONNECTION: u8 = 0x1f;

#[test]
fn what_is_let_go_of_pins_no_longer() {
    let database = Database::shared();
    database.schema("pins");
    database.execute("CREATE TABLE pins.t (a INT); INSERT INTO pins.t VALUES (1)");
    let door = FrontDoor::start(
        database.address(),
        &["backend.max_connections = 2", "backend.max_pinned = 1"],
    );
    let [mut first, mut second] = [(); 2].map(|()| Client::new(&door.address(), "pins"));
    for holding in HOLDINGS {
        for client in [&mut first, &mut second] {
            for statement in holding {
                let told = client.run(statement);
                assert!(
                    !matches!(told[..], [Outcome::Err(..)]),
                    "{statement}: {told:?}"
                );
            }
        }
    }
    // What is still held pins on, and the other session has no right to a pin until it is let go.
    first.run("CREATE TEMPORARY TABLE mine (a INT)");
    first.run("CREATE TEMPORARY TABLE yours (a INT)");
    first.run("DROP TABLE mine");
    let refused = second.run("SELECT GET_LOCK('pins', 0)");
    assert!(
        matches!(refused[..], [Outcome::Err(1226, _)]),
        "{refused:?}"
    );
    assert_eq!(first.value("SELECT COUNT(*) FROM yours"), "0");
    first.run("DROP TABLE yours");
    assert_eq!(second.value("SELECT GET_LOCK('pins', 0)"), "1");
    door.await_line(&["WARN", "SELECT GET_LOCK(...)"]);
}

/// As migrators take and release their locks.
#[test]
fn a_lock_of_a_prepared_statement_ends_its_pin() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut client = Client::new(&door.address(), "");
    let mut other = Client::new(&door.address(), "");
    for (get, release) in [
        (
            "SELECT GET_LOCK('prepared', 5)",
            "SELECT RELEASE_LOCK('prepared')",
        ),
        (
            "SELECT GET_LOCK('prepared', 0) AS got",
            "SELECT RELEASE_ALL_LOCKS()",
        ),
        (
            "SELECT GET_LOCK('prepared', 0)",
            "SELECT RELEASE_LOCK('another')",
        ),
    ] {
        client.execute(get, || ());
        client.execute(release, || ());
        let held = "myriad_pinned_sessions{reason=\"user_lock\"}";
        assert_eq!(
            door.metric(held),
            u64::from(release.contains("another")),
            "{release}"
        );
    }
    client.execute("SELECT RELEASE_LOCK('prepared')", || ());
    assert_eq!(other.value("SELECT IS_FREE_LOCK('prepared')"), "1");
}

#[test]
fn one_account_does_not_take_all_pins() {
    let database = Database::shared();
    let settings = [
        "backend.max_connections = 6",
        "backend.max_pinned = 3",
        "backend.max_pinned_per_account = 2",
    ];
    let door = FrontDoor::start(database.address(), &settings);
    let pins = |client: &mut Client, lock: &str| {
        let told = client.run(&format!("SELECT GET_LOCK('per_account_{lock}', 0)"));
        !matches!(told[..], [Outcome::Err(1226, _)])
    };
    let mut app = [(); 3].map(|()| Client::new(&door.address(), "shop"));
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::default()
    };
    let mut admin = [(); 2].map(|()| Client::login(&door.address(), &login).unwrap());
    let [first, second, third] = &mut app;
    assert!(pins(first, "a") && pins(second, "b") && !pins(third, "c"));
    assert!(pins(&mut admin[0], "d") && !pins(&mut admin[1], "e"));
    // What was refused keeps no other from a pin.
    first.run("SELECT RELEASE_ALL_LOCKS()");
    assert!(pins(&mut admin[1], "e"));
    assert_eq!(third.value("SELECT 1"), "1");
}

/// What restores cost: nothing where sessions agree, and no wrong answer where none do.
#[test]
fn restores_are_for_those_who_differ() {
    const SESSIONS: usize = 1_000;
    let database = Database::shared();
    let settings = ["backend.max_connections = 2", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let mut clients: Vec<_> = (0..SESSIONS)
        .map(|_| Client::new(&door.address(), "shop"))
        .collect();
    let restores = || door.metric("myriad_restores_total");
    for (n, client) in clients[..40].iter_mut().enumerate() {
        let limit = 2_000 + n % 2;
        client.run(&format!("SET group_concat_max_len = {limit}"));
    }
    // One backend for each of the two settings.
    clients[0].run("BEGIN");
    clients[1].value("SELECT @@group_concat_max_len");
    clients[0].run("COMMIT");
    // A backend that is asked something for the front door itself is not at hand for a moment.
    eventually("rounds without a restore", || {
        let before = restores();
        for _ in 0..10 {
            for (n, client) in clients[..40].iter_mut().enumerate() {
                let told = client.value("SELECT @@group_concat_max_len");
                assert_eq!(told, (2_000 + n % 2).to_string());
            }
        }
        (restores() == before).then_some(())
    });
    for (n, client) in clients.iter_mut().enumerate() {
        client.run(&format!("SET group_concat_max_len = {}", 10_000 + n));
    }
    let before = restores();
    for (n, client) in clients.iter_mut().enumerate() {
        let told = client.value("SELECT @@group_concat_max_len");
        assert_eq!(told, (10_000 + n).to_string());
    }
    let each = restores() - before;
    assert!((900..=1_000).contains(&each), "{each} restores");
    assert_eq!(door.metric("myriad_backend_resets_total"), 0);
}

#[test]
fn what_a_client_learns_of_the_address_leads_back() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let mut client = Client::new(&door.address(), "");
    let told = client.run("SELECT @@max_allowed_packet > 0, @@port, @@socket, CONNECTION_ID()");
    let expected = [
        "1".to_owned(),
        door.tcp().port().to_string(),
        door.socket().display().to_string(),
        client.connection_id.to_string(),
    ];
    assert_eq!(told, [Outcome::Rows(vec![expected.to_vec()])]);
}

#[test]
fn others_are_killed_by_whom_the_database_allows_it() {
    let database = Database::shared();
    database.execute(
        "CREATE USER 'killer'@'localhost' IDENTIFIED BY 'secret', 'nobody'@'localhost' IDENTIFIED BY 'secret'",
    );
    let privilege = match Server::is_mariadb() {
        true => "CONNECTION ADMIN",
        false => "CONNECTION_ADMIN",
    };
    database.execute(&format!("GRANT {privilege} ON *.* TO 'killer'@'localhost'"));
    let accounts = ["killer", "nobody"]
        .map(|user| format!("[[account]]\nuser = \"{user}\"\npassword = \"secret\""));
    let door = FrontDoor::start(
        database.address(),
        &accounts.each_ref().map(|text| &text[..]),
    );
    let asker = |user: &str| {
        let login = Login {
            user,
            ..Login::default()
        };
        let mut client = Client::login(&door.address(), &login).unwrap();
        client.run("SELECT 1");
        client
    };
    let mut victim = Client::new(&door.address(), "shop");
    let kill = format!("KILL {}", victim.connection_id);
    let denied = asker("nobody").run(&kill);
    assert!(matches!(denied[..], [Outcome::Err(1095, _)]), "{denied:?}");
    assert_eq!(victim.value("SELECT 1"), "1");
    let done = asker("killer").run(&kill);
    assert!(matches!(done[..], [Outcome::Ok(_)]), "{done:?}");
    assert_eq!(victim.rest(), b"");
}

#[test]
fn a_read_that_nobody_waits_for_is_ended() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut client = Client::new(&door.address(), "");
    client.query("SELECT 'left behind', SLEEP(600)");
    eventually("the statement runs", || {
        let running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
                       WHERE INFO LIKE 'SELECT ''left%'";
        (database.execute(running).trim().ends_with('1')).then_some(())
    });
    drop(client);
    let mut next = Client::new(&door.address(), "");
    assert_eq!(next.value("SELECT 1"), "1");
    assert_eq!(door.metric("myriad_orphans_killed_total"), 1);
}

/// How a client prepares a transaction of XA.
#[derive(Clone, Copy)]
enum XaWay {
    Texts,
    Procedure,
    Prepared,
}

fn prepare_transaction(client: &mut Client, way: XaWay, insert: &str) {
    let steps = ["XA START 'n'", insert, "XA END 'n'", "XA PREPARE 'n'"];
    let body = steps.join("; ");
    let create = format!("CREATE PROCEDURE hidden() BEGIN {body}; END");
    let statements = match way {
        XaWay::Texts | XaWay::Prepared => &steps[..],
        XaWay::Procedure => &["DROP PROCEDURE IF EXISTS hidden", &create, "CALL hidden()"],
    };
    for statement in statements {
        let told = match way {
            XaWay::Prepared => client.execute(statement, || ()).outcomes(),
            XaWay::Texts | XaWay::Procedure => client.run(statement),
        };
        assert!(
            matches!(told[..], [Outcome::Ok(_)]),
            "{statement}: {told:?}"
        );
    }
}

/// What a transaction of XA has prepared outlives the session: somebody else ends it, and whoever has the
/// front door's connections next can write.
#[test]
fn a_prepared_transaction_is_left_to_whoever_ends_it() {
    let database = Database::shared();
    database.schema("prepared_xa");
    database.execute("CREATE TABLE prepared_xa.t (a INT PRIMARY KEY)");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let client = || Client::new(&door.address(), "prepared_xa");
    // MySQL does not prepare these commands.
    let ways = match Server::is_mariadb() {
        true => &[XaWay::Texts, XaWay::Procedure, XaWay::Prepared][..],
        false => &[XaWay::Texts, XaWay::Procedure],
    };
    let cases = ways.iter().flat_map(|&way| [(way, false), (way, true)]);
    for (number, (way, resets)) in cases.enumerate() {
        let mut first = client();
        let insert = format!("INSERT INTO t VALUES ({number})");
        prepare_transaction(&mut first, way, &insert);
        if resets {
            first.send(COM_RESET_CONNECTION, b"");
            first.answer().unwrap();
        } else {
            drop(first);
        }
        let mut second = client();
        eventually("the end of the prepared transaction", || {
            let told = second.run("XA ROLLBACK 'n'");
            matches!(told[..], [Outcome::Ok(_)]).then_some(())
        });
        // Its lock is gone, and so is what it wrote.
        let told = second.run(&insert);
        assert!(matches!(told[..], [Outcome::Ok(_)]), "{told:?}");
    }
}

/// What an XA PREPARE has failed to prepare ends with the session, before that goes on.
#[test]
fn a_transaction_that_was_not_prepared_ends_with_a_reset() {
    let database = Database::shared();
    database.schema("unprepared_xa");
    let create = "CREATE PROCEDURE unprepared_xa.begins() XA START 'u'";
    database.execute(create);
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut client = Client::new(&door.address(), "unprepared_xa");
    assert_eq!(client.value("SELECT 1"), "1");
    let opened = || door.metric("myriad_backend_connections_total");
    let at_first = opened();
    let cases: &[&[&str]] = &[
        &["XA START 'u'"],
        &["XA START 'u'", "XA PREPARE 'u'"],
        &["XA START 'u'", "XA PREPARE 'u'", "XA END 'u'"],
        &["XA START 'u'", "XA END 'u'", "XA PREPARE 'of nobody'"],
        &["SET character_set_results = utf16", "CALL begins()"],
        &["XA PREPARE 'u'"],
    ];
    for statements in cases {
        for statement in *statements {
            let told = client.run(statement);
            let fails = statement.starts_with("XA PREPARE");
            assert_eq!(matches!(told[..], [Outcome::Err(1397 | 1399, _)]), fails);
        }
        client.send(COM_RESET_CONNECTION, b"");
        client.answer().unwrap();
        for statement in ["XA START 'u'", "XA END 'u'", "XA ROLLBACK 'u'"] {
            let told = client.run(statement);
            assert!(
                matches!(told[..], [Outcome::Ok(_)]),
                "{statements:?}, {statement}: {told:?}"
            );
        }
        assert_eq!(opened(), at_first, "{statements:?}");
    }
}

/// What a connection counts and traces is the session's from then on, without what the front door asks.
#[test]
fn counters_and_traces_are_those_of_the_session_that_asks_for_them() {
    const COUNTED: &str = "SHOW STATUS LIKE 'Handler_read_rnd_next'";
    const TRACED: &str = "SELECT COUNT(*), MAX(QUERY) FROM information_schema.OPTIMIZER_TRACE";
    const ALL_TRACED: &str = "SELECT QUERY FROM information_schema.OPTIMIZER_TRACE";
    let database = Database::private();
    database.execute("CREATE TABLE shop.t (a INT); INSERT INTO shop.t VALUES (1), (2), (3)");
    database.execute("CREATE PROCEDURE shop.p() SELECT a FROM shop.t WHERE a > 1");
    let door = FrontDoor::start(
        database.address(),
        &["backend.max_connections = 3", "server.workers = 1"],
    );
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::to("shop")
    };
    let told = |address: &Address, crowd: &mut Option<Client>| {
        let mut client = Client::login(address, &login).unwrap();
        let statements = [
            "FLUSH STATUS",
            "SELECT * FROM t",
            COUNTED,
            "SET optimizer_trace = 'enabled=on'",
            "SELECT a FROM t WHERE a > 1",
            TRACED,
            COUNTED,
            "SET optimizer_trace_offset = 0, optimizer_trace_limit = 9",
            "SET @a = 1",
            "CALL p()",
            ALL_TRACED,
        ];
        statements.map(|statement| {
            if let Some(crowd) = crowd {
                crowd.run("SELECT a, a FROM t");
            }
            client.run(statement)
        })
    };
    let direct = told(database.address(), &mut None);
    let mut crowd = Some(Client::login(&door.address(), &login).unwrap());
    assert_eq!(told(&door.address(), &mut crowd), direct);
    for reason in ["session_status", "profiling"] {
        assert_eq!(pinned(&door, reason), 1, "{reason}");
    }
}

/// COM_RESET_CONNECTION puts back neither traces nor profiles, nor that statements are profiled (MariaDB).
#[test]
fn what_was_profiled_is_not_told_to_the_next_session() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let tells = [
        "SHOW PROFILES",
        "SELECT COUNT(*) FROM information_schema.OPTIMIZER_TRACE",
    ];
    let found = |client: &mut Client| tells.map(|asks| client.run(asks));
    let nothing = found(&mut Client::new(database.address(), "shop"));
    for sets in ["SET profiling = 1", "SET optimizer_trace = 'enabled=on'"] {
        let mut client = Client::new(&door.address(), "shop");
        client.run(sets);
        client.run("SELECT 'secret' FROM information_schema.SCHEMATA WHERE SCHEMA_NAME > 'a'");
        drop(client);
        let mut next = Client::new(&door.address(), "shop");
        next.run("SELECT 'own'");
        assert_eq!(found(&mut next), nothing, "{sets}");
    }
}

/// ODBC's way to fetch the row that was just inserted. MariaDB finds it once, on the connection of the INSERT; MySQL
/// goes by LAST_INSERT_ID().
#[test]
fn is_null_finds_the_row_that_the_session_inserted() {
    let database = Database::shared();
    database.schema("pins_auto_is_null");
    database.execute("CREATE TABLE pins_auto_is_null.t (id INT AUTO_INCREMENT PRIMARY KEY, a INT)");
    let restless = ["backend.max_connections = 3", "backend.restless = \"on\""];
    let door = FrontDoor::start(database.address(), &restless);
    let [mut client, mut other] =
        [(); 2].map(|()| Client::new(&door.address(), "pins_auto_is_null"));
    let mut found = |client: &mut Client| {
        other.run("INSERT INTO t (a) VALUES (9)");
        client.value("SELECT COALESCE(SUM(a), 0) FROM t WHERE id IS NULL")
    };
    client.run("SET sql_auto_is_null = 1");
    assert_eq!(found(&mut client), "0");
    client.run("INSERT INTO t (a) VALUES (2)");
    let (keeps, then) = match Server::is_mariadb() {
        true => (1, "0"),
        false => (0, "2"),
    };
    assert_eq!(pinned(&door, "auto_is_null"), keeps);
    assert_eq!(found(&mut client), "2");
    assert_eq!(found(&mut client), then);
    client.run("SET sql_auto_is_null = 0");
    if !Server::chosen().tells_flags() {
        client.send(COM_RESET_CONNECTION, b"");
        client.answer().unwrap();
    }
    let now = "myriad_pinned_sessions{reason=\"auto_is_null\"}";
    eventually("no session to be pinned", || {
        (door.metric(now) == 0).then_some(())
    });
    assert_eq!(found(&mut client), "0");
}

/// Without autocommit, SQLAlchemy's `begin_nested()` and its like begin a transaction so.
#[test]
fn a_savepoint_that_comes_first_in_its_transaction_is_kept_until_that_ends() {
    let database = Database::shared();
    database.schema("pins_savepoint");
    database
        .execute("CREATE TABLE pins_savepoint.t (a INT); INSERT INTO pins_savepoint.t VALUES (1)");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
    let [mut client, mut other] = [(); 2].map(|()| Client::new(&door.address(), "pins_savepoint"));
    let ok = |client: &mut Client, text: &str| {
        let told = client.run(text);
        assert!(!matches!(told[..], [Outcome::Err(..)]), "{text}: {told:?}");
    };
    ok(&mut client, "SAVEPOINT nothing");
    assert_eq!(pinned(&door, "transaction"), 0);
    ok(&mut client, "SET autocommit = 0");
    let endings = ["COMMIT", "ROLLBACK", "BEGIN", "CREATE TABLE more (a INT)"];
    for (place, ending) in (1..).zip(endings) {
        ok(&mut client, "SAVEPOINT first");
        ok(&mut other, "BEGIN");
        ok(&mut client, "ROLLBACK TO first");
        ok(&mut client, "SAVEPOINT second");
        ok(&mut client, "UPDATE t SET a = 2");
        ok(&mut client, "ROLLBACK TO first");
        assert_eq!(client.value("SELECT a FROM t"), "1");
        ok(&mut other, "COMMIT");
        assert_eq!(pinned(&door, "transaction"), place);
        ok(&mut client, ending);
        ok(&mut client, "ROLLBACK");
        assert_eq!(door.metric(PINNED), 0);
    }
    database.execute("USE pins_savepoint; CREATE PROCEDURE marks() SAVEPOINT first");
    for begins in ["SAVEPOINT first; SELECT 1", "CALL marks()"] {
        ok(&mut client, begins);
        ok(&mut other, "BEGIN");
        ok(&mut client, "ROLLBACK TO first");
        ok(&mut other, "COMMIT");
        ok(&mut client, "ROLLBACK");
    }
    ok(&mut client, "SAVEPOINT first");
    ok(&mut other, "BEGIN");
    ok(&mut client, "ROLLBACK TO first");
    ok(&mut client, "SET autocommit = 1");
    assert_eq!(door.metric(PINNED), 0);
}

/// ROLLBACK warns of what it leaves. Flags tell of no transaction on MariaDB, nor on MySQL without a binary log.
#[test]
fn a_rollback_says_what_it_has_left_in_tables_without_transactions() {
    const NOT_ROLLED_BACK: u16 = 1196;
    let database = Database::shared();
    database.schema("pins_written");
    database.execute("CREATE TABLE pins_written.m (a INT) ENGINE = MyISAM");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 3"]);
    let [mut client, mut other] = [(); 2].map(|()| Client::new(&door.address(), "pins_written"));
    client.run("SET autocommit = 0");
    client.run("SELECT 1 INTO @one");
    assert_eq!(door.metric(PINNED), 0);
    for ending in ["COMMIT", "ROLLBACK"] {
        client.run("INSERT INTO m VALUES (1)");
        other.run("BEGIN");
        let told = client.run(ending);
        other.run("COMMIT");
        let warned = client.run("SHOW WARNINGS");
        let warned = format!("{warned:?}").contains(&NOT_ROLLED_BACK.to_string());
        assert_eq!(warned, ending == "ROLLBACK", "{told:?}");
        assert_eq!(door.metric(PINNED), 0);
    }
}

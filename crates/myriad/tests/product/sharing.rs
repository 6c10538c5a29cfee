//! Sessions that share one or two backend connections do not see each other.

use crate::binary::{ENDINGS, Life, Step};
use crate::support::{
    Address, Answer, Client, Database, FrontDoor, Login, Outcome, Part, Server, Shell, USUAL,
    eventually,
};

/// Statements that leave something in a session, and the question whose answer shows it.
const TRACES: [(&str, &str); 11] = [
    ("SET sql_mode = 'ANSI'", "SELECT @@sql_mode"),
    ("SET autocommit = 0", "SELECT @@autocommit"),
    (
        "SET NAMES latin1 COLLATE latin1_german2_ci",
        "SELECT @@character_set_client, @@character_set_results, @@collation_connection",
    ),
    ("SET time_zone = '+05:00'", "SELECT @@time_zone"),
    (
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SELECT @@tx_isolation",
    ),
    (
        "SET wait_timeout = 77, group_concat_max_len = 99",
        "SELECT @@wait_timeout, @@group_concat_max_len",
    ),
    (
        "INSERT INTO counted () VALUES (), ()",
        "SELECT LAST_INSERT_ID()",
    ),
    (
        "SET foreign_key_checks = 0, unique_checks = OFF",
        "SELECT @@foreign_key_checks, @@unique_checks",
    ),
    (
        "SET character_set_results = NULL",
        "SELECT @@character_set_results",
    ),
    (
        "SET lc_time_names = 'de_DE'",
        "SELECT @@lc_time_names, MONTHNAME('2025-05-05')",
    ),
    ("USE shop", "SELECT DATABASE()"),
];

/// Those that pin: the session keeps its backend connection.
const PINNING_TRACES: [(&str, &str); 5] = [
    ("SET @x = 'mine'", "SELECT @x"),
    ("SELECT 'mine' INTO @y", "SELECT @y"),
    (
        "CREATE TEMPORARY TABLE mine (a INT); INSERT INTO mine VALUES (8)",
        "SELECT * FROM mine",
    ),
    ("PREPARE p FROM 'SELECT 44'", "EXECUTE p"),
    ("SET ROLE clerk", "SELECT CURRENT_ROLE()"),
];

fn traces() -> Vec<(&'static str, String)> {
    let words = |(mark, question): &(&'static str, &str)| (*mark, Server::words(question));
    TRACES.iter().map(words).collect()
}

fn prepare(database: &Database, schema: &str) {
    database.schema(schema);
    database.execute(&format!(
        "CREATE TABLE {schema}.counted (id INT PRIMARY KEY AUTO_INCREMENT);
         CREATE ROLE IF NOT EXISTS clerk; GRANT clerk TO 'app'@'localhost'"
    ));
}

#[test]
fn two_shells_on_one_connection_keep_their_own_variables_and_schemas() {
    let database = Database::shared();
    prepare(&database, "sharing_one");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    shells_take_turns(&door.address(), "sharing_one");
    let tcp = Address::Tcp(door.tcp());
    shells_take_turns(&tcp, "sharing_one");
    assert_eq!(door.metric("myriad_backend_slots_total"), 1);
}

#[test]
fn shells_on_two_connections_keep_their_own_variables_and_schemas() {
    let database = Database::shared();
    prepare(&database, "sharing_two");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    shells_take_turns(&door.address(), "sharing_two");
}

/// One shell leaves traces, which it sees from then on and the other never does.
fn shells_take_turns(address: &Address, schema: &str) {
    let traces = traces();
    let (mut marked, mut clean) = (Shell::open(address, schema), Shell::open(address, schema));
    let before: Vec<_> = traces
        .iter()
        .map(|(_, question)| clean.run(question))
        .collect();
    for (mark, question) in &traces {
        marked.run(mark);
        // With autocommit off, an INSERT holds the connection until then.
        marked.run("COMMIT");
        let seen = marked.run(question);
        assert_ne!(seen, clean.run(question), "{mark}");
        assert_eq!(marked.run(question), seen, "{mark}");
    }
    for ((mark, question), before) in traces.iter().zip(before) {
        assert_eq!(clean.run(question), before, "{mark}");
    }
    marked.close();
    let mut next = Shell::open(address, schema);
    for (mark, question) in &traces {
        assert_eq!(next.run(question), clean.run(question), "{mark}");
    }
    next.close();
    clean.close();
}

#[test]
fn what_pins_a_session_is_gone_when_it_ends() {
    let database = Database::shared();
    prepare(&database, "sharing_pinned");
    for connections in [1, 2, 3] {
        let limit = format!("backend.max_connections = {connections}");
        let door = FrontDoor::start(database.address(), &[&limit]);
        for (mark, question) in PINNING_TRACES {
            let mut marked = Shell::open(&door.address(), "sharing_pinned");
            let before = marked.run(question);
            marked.run(mark);
            let seen = marked.run(question);
            assert_ne!(seen, before, "{mark}");
            // Of two connections, one is kept for sessions that are not pinned.
            if connections > 2 {
                let mut other = Shell::open(&door.address(), "sharing_pinned");
                assert_eq!(other.run(question), before, "{mark}");
                assert_eq!(marked.run(question), seen, "{mark}");
                other.close();
            }
            marked.close();
            let mut next = Shell::open(&door.address(), "sharing_pinned");
            assert_eq!(next.run(question), before, "{mark}");
            next.close();
        }
    }
}

/// With autocommit off, MySQL keeps tables locked until the transaction ends, and the status flags tell of one only
/// where InnoDB has read or written.
#[test]
fn no_table_stays_locked_behind_a_session_without_autocommit() {
    let database = Database::shared();
    database.schema("sharing_locked");
    database.execute("CREATE TABLE sharing_locked.rows (a INT); CREATE TABLE sharing_locked.plain (a INT) ENGINE=MyISAM");
    for (table, used) in [
        ("plain", "SELECT * FROM plain"),
        ("plain", "EXPLAIN SELECT * FROM plain"),
        ("rows", "SELECT nothing FROM rows"),
    ] {
        let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
        let mut user = Client::new(&door.address(), "sharing_locked");
        user.run("SET autocommit = 0");
        user.run(used);
        drop(user);
        database.execute(&format!(
            "SET lock_wait_timeout = 10; ALTER TABLE sharing_locked.{table} COMMENT '{used}'"
        ));
    }
}

#[test]
fn no_more_sessions_are_pinned_than_max_pinned() {
    let database = Database::shared();
    let settings = ["backend.max_connections = 3", "backend.max_pinned = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let mut pinned = Client::new(&door.address(), "shop");
    let mut other = Client::new(&door.address(), "shop");
    pinned.run("CREATE TEMPORARY TABLE mine SELECT 1 AS x");
    for _ in 0..3 {
        let outcomes = other.run("CREATE TEMPORARY TABLE mine SELECT 2 AS x");
        let [Outcome::Err(1226, text)] = &outcomes[..] else {
            panic!("{outcomes:?}");
        };
        assert!(
            text.contains("max_pinned") && text.contains("was not run"),
            "{text}"
        );
        assert_eq!(other.value("SELECT COUNT(*) FROM product"), "40");
        assert_eq!(pinned.value("SELECT x FROM mine"), "1");
    }
    drop(pinned);
    // Until the front door has seen that it is gone.
    eventually("a place among the pinned", || {
        matches!(
            other.run("CREATE TEMPORARY TABLE mine SELECT 3 AS x")[..],
            [Outcome::Ok(_)]
        )
        .then_some(())
    });
    assert_eq!(other.value("SELECT x FROM mine"), "3");
}

#[test]
fn a_hundred_sessions_of_different_states_share_two_connections() {
    let database = Database::shared();
    prepare(&database, "sharing_many");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let address = door.address();
    let mut clients: Vec<_> = (0..100)
        .map(|number| (number, Client::new(&address, "sharing_many")))
        .collect();
    for (number, client) in &mut clients {
        let schema = ["sharing_many", "shop", "sbtest"][*number % 3];
        client.run(&format!("USE {schema}"));
        client.run(&format!("SET group_concat_max_len = {}", 1000 + *number));
    }
    for round in 0..5 {
        for (number, client) in &mut clients {
            // Sent one after the other, answered whenever: all wait for two connections.
            client.query("SELECT DATABASE(), @@group_concat_max_len, LAST_INSERT_ID()");
            assert!(*number < 100, "round {round}");
        }
        for (number, client) in &mut clients {
            let schema = ["sharing_many", "shop", "sbtest"][*number % 3];
            let row = [
                schema.to_owned(),
                (1000 + *number).to_string(),
                "0".to_owned(),
            ];
            let answer = client.answer().unwrap().outcomes();
            assert_eq!(answer, [Outcome::Rows(vec![row.to_vec()])], "{number}");
        }
    }
}

#[test]
fn insert_ids_stay_with_the_session_that_made_them() {
    let database = Database::shared();
    prepare(&database, "sharing_ids");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut clients: Vec<_> = (0..10)
        .map(|_| Client::new(&door.address(), "sharing_ids"))
        .collect();
    let mut ids = vec![String::from("0"); clients.len()];
    for round in 0..30 {
        let place = round * 7 % clients.len();
        let [Outcome::Ok(done)] = &clients[place].run("INSERT INTO counted () VALUES ()")[..]
        else {
            panic!("no OK");
        };
        ids[place] = done.last_insert_id.to_string();
        for (client, id) in clients.iter_mut().zip(&ids) {
            assert_eq!(client.value("SELECT LAST_INSERT_ID()"), *id);
        }
    }
}

#[test]
fn a_trigger_reads_the_insert_id_of_its_session() {
    let database = Database::shared();
    prepare(&database, "sharing_trigger");
    database.execute(
        "CREATE TABLE sharing_trigger.seen (id BIGINT, own BIGINT);
         INSERT INTO sharing_trigger.seen VALUES (0, 0);
         CREATE TABLE sharing_trigger.gone (own BIGINT);
         CREATE TRIGGER sharing_trigger.changed BEFORE UPDATE ON sharing_trigger.seen
             FOR EACH ROW SET NEW.own = LAST_INSERT_ID();
         CREATE TRIGGER sharing_trigger.removed AFTER DELETE ON sharing_trigger.seen
             FOR EACH ROW INSERT INTO gone VALUES (LAST_INSERT_ID())",
    );
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut client = Client::new(&door.address(), "sharing_trigger");
    let mut other = Client::new(&door.address(), "sharing_trigger");
    let mut insert = |client: &mut Client| {
        client.run("INSERT INTO counted () VALUES ()");
        let own = client.value("SELECT LAST_INSERT_ID()");
        other.run("INSERT INTO counted () VALUES ()");
        own
    };
    let own = insert(&mut client);
    client.run("UPDATE seen SET id = id + 1");
    assert_eq!(client.value("SELECT own FROM seen"), own);
    let own = insert(&mut client);
    client.run("DELETE FROM seen");
    assert_eq!(client.value("SELECT own FROM gone"), own);
}

#[test]
fn a_view_reads_the_insert_id_of_its_session() {
    let database = Database::shared();
    prepare(&database, "sharing_views");
    database.execute("CREATE VIEW sharing_views.own AS SELECT LAST_INSERT_ID() AS id");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut client = Client::new(&door.address(), "sharing_views");
    let mut other = Client::new(&door.address(), "sharing_views");
    let id = Server::words("SELECT LAST_INSERT_ID()");
    let mut others = || other.run("INSERT INTO counted () VALUES ()");
    client.run("INSERT INTO counted () VALUES ()");
    let own = client.value(&id);
    let number = |executed: &Answer| {
        let row = executed
            .packets
            .iter()
            .find(|(part, _)| *part == Part::Row)
            .map(|(_, row)| row.payload[2..10].try_into().unwrap());
        u64::from_le_bytes(row.unwrap()).to_string()
    };
    // More often than it takes to learn that this is no view.
    for round in 0..5 {
        for text in [
            "SELECT id FROM own",
            "SELECT MAX(o.id) FROM counted c, own o",
        ] {
            others();
            assert_eq!(client.value(text), own, "{round}: {text}");
            let executed = client.execute(text, || drop(others()));
            assert_eq!(number(&executed), own, "{round}: {text}");
            others();
            client.run("BEGIN");
            assert_eq!(client.value(text), own, "{round}: {text} in a transaction");
            client.run("COMMIT");
        }
        others();
        client.run("SET @id = (SELECT id FROM own)");
        assert_eq!(client.value("SELECT @id"), own, "{round}");
        others();
        client.run("CREATE TABLE kept AS SELECT id FROM own");
        assert_eq!(client.value("SELECT id FROM kept"), own, "{round}");
        client.run("DROP TABLE kept");
    }
}

/// Of what only a view could see nothing is brought for reads of base tables, once those are known.
#[test]
fn reads_of_tables_bring_nothing_that_a_view_could_see() {
    let database = Database::shared();
    prepare(&database, "sharing_tables");
    let settings = ["backend.max_connections = 1", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let address = door.address();
    let mut clients: Vec<_> = (0..3)
        .map(|_| Client::new(&address, "sharing_tables"))
        .collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.run("INSERT INTO counted () VALUES ()");
        client.run(&format!("SET @own = {number}"));
    }
    let restores = || door.metric("myriad_restores_total");
    let reads = |clients: &mut Vec<Client>| {
        let before = restores();
        for client in clients {
            client.run("SELECT COUNT(*) FROM counted");
            client.execute("SELECT COUNT(*) FROM counted WHERE id > 0", || ());
            client.run("BEGIN");
            client.run("SELECT COUNT(*) FROM counted");
            client.execute("SELECT MIN(id) FROM counted", || ());
            client.run("COMMIT");
        }
        restores() - before
    };
    assert!(reads(&mut clients) > 0);
    eventually("reads for which nothing is brought", || {
        (reads(&mut clients) == 0).then_some(())
    });
    // A definition of which the front door knows ends that.
    clients[0].run("CREATE OR REPLACE VIEW seen AS SELECT 1");
    assert!(reads(&mut clients) > 0);
}

#[test]
fn capabilities_that_change_answers_are_not_shared() {
    use wire::Capabilities;
    let database = Database::shared();
    prepare(&database, "sharing_flags");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let login = |add: Capabilities, remove: Capabilities| {
        let capabilities = ((USUAL | add) - remove) | Capabilities::CONNECT_WITH_DB;
        let login = Login {
            capabilities,
            ..Login::to("sharing_flags")
        };
        Client::login(&door.address(), &login).unwrap()
    };
    let none = Capabilities::empty();
    let mut plain = login(none, none);
    let mut found = login(Capabilities::FOUND_ROWS, none);
    let mut single = login(none, Capabilities::MULTI_STATEMENTS);
    plain.run("INSERT INTO counted () VALUES ()");
    for _ in 0..3 {
        let affected = |client: &mut Client| match &client.run("UPDATE counted SET id = 1")[..] {
            [Outcome::Ok(done)] => done.affected_rows,
            other => panic!("{other:?}"),
        };
        assert_eq!((affected(&mut plain), affected(&mut found)), (0, 1));
        assert_eq!(plain.run("SELECT 1; SELECT 2").len(), 2);
        let [Outcome::Err(code, _)] = &single.run("SELECT 1; SELECT 2")[..] else {
            panic!("two statements ran");
        };
        assert_eq!(*code, 1064);
    }
}

#[test]
fn rows_that_were_counted_but_not_sent_are_told() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let mut client = Client::new(&door.address(), "shop");
    let calculate = "SELECT SQL_CALC_FOUND_ROWS 1 UNION SELECT 2 UNION SELECT 3 LIMIT 1";
    assert_eq!(client.value(calculate), "1");
    assert_eq!(client.value("SELECT FOUND_ROWS()"), "3");
    assert_eq!(client.value(calculate), "1");
    assert_eq!(client.value("SELECT FOUND_ROWS() + 1"), "4");
    assert_eq!(client.value("SELECT 1"), "1");
    assert_eq!(client.value("SELECT FOUND_ROWS()"), "1");
}

#[test]
fn a_write_outlives_its_client_and_its_backend_is_cleaned_once() {
    let database = Database::shared();
    database.schema("outlives");
    database.execute("CREATE TABLE outlives.t (n INT); INSERT INTO outlives.t VALUES (0)");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut leaving = Client::new(&door.address(), "outlives");
    leaving.query("UPDATE t SET n = n + 1 + SLEEP(0.3)");
    eventually("the write on its way", || {
        let active = door.metric("myriad_backends{state=\"active\"}");
        (active > 0).then_some(())
    });
    drop(leaving);
    let mut other = Client::new(&door.address(), "outlives");
    assert_eq!(other.value("SELECT n FROM t"), "1");
    assert_eq!(door.metric("myriad_backend_resets_total"), 1);
}

/// The backend has nothing of a session whose execution was never sent, and keeps what others prepared.
#[test]
fn a_client_that_leaves_while_its_statement_is_prepared_costs_the_backend_nothing() {
    let database = Database::shared();
    database.schema("leaving");
    let direct = || Client::new(database.address(), "leaving");
    let (mut reader, mut alters) = (direct(), direct());
    reader.run("CREATE TABLE t (a INT)");
    let settings = [
        "backend.max_connections = 1",
        "server.on_disconnect = \"finish\"",
    ];
    let door = FrontDoor::start(database.address(), &settings);
    let prepared = |text: &str| {
        let mut life = Life::begin(&door.address(), "leaving", ENDINGS[0]);
        life.step(Step::Prepare(text));
        life
    };
    let leaving: Vec<_> = (0..3)
        .map(|n| prepared(&format!("SELECT {n} FROM t")))
        .collect();
    let resets = || door.metric("myriad_backend_resets_total");
    Client::new(&door.address(), "leaving").run("CREATE TEMPORARY TABLE pins (a INT)");
    // Now the backend has none of their statements any more.
    eventually("the reset behind a pinned session", || {
        (resets() > 0).then_some(())
    });
    let mut stays = prepared("SELECT 77");
    let ended = || -> u64 {
        let of = |reason| door.metric(&format!("myriad_disconnects_total{{reason=\"{reason}\"}}"));
        ["client_closed", "client_failed"].map(of).iter().sum()
    };
    let on_demand = || door.metric("myriad_prepares_on_demand_total");
    let resets_before = resets();
    for mut life in leaving {
        let (ended_before, on_demand_before) = (ended(), on_demand());
        // Nothing can be prepared that reads a table which is to be altered.
        reader.run("BEGIN; SELECT a FROM t");
        alters.query("ALTER TABLE t ADD b INT");
        eventually("the ALTER waiting", || {
            let waits = "SELECT COUNT(*) FROM information_schema.PROCESSLIST
                         WHERE DB = 'leaving' AND STATE LIKE 'Waiting for table metadata lock'";
            reader.lists(waits, "1").then_some(())
        });
        life.begin_execution();
        eventually("its statement being prepared", || {
            (on_demand() > on_demand_before).then_some(())
        });
        drop(life);
        eventually("the end of who leaves", || {
            (ended() > ended_before).then_some(())
        });
        reader.run("COMMIT");
        alters.answer().unwrap();
        alters.run("ALTER TABLE t DROP b");
    }
    stays.step(Step::Execute(0, &[]));
    assert_eq!(resets(), resets_before);
    // What stays was prepared there already.
    assert_eq!(on_demand(), 3);
}

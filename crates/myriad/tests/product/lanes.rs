//! Short reads of several sessions on one backend connection, and what may not come of it.

use crate::support::{Client, Database, FrontDoor, Outcome, Server, eventually};

const INTERRUPTED: u16 = 1317;

/// An empty schema with tables `t` and `u` of a few rows.
fn prepare(schema: &str) -> std::sync::Arc<Database> {
    let database = Database::shared();
    database.schema(schema);
    for table in ["t", "u"] {
        let table = format!("{schema}.{table}");
        database.execute(&format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, a VARCHAR(20))"
        ));
        database.execute(&format!(
            "INSERT INTO {table} VALUES (1,'1'),(2,'2x'),(3,'3')"
        ));
    }
    database
}

/// One worker, so that all sessions share its lanes.
fn door(database: &Database, stall: &str) -> FrontDoor {
    let stall = format!("backend.lane_stall = \"{stall}\"");
    FrontDoor::start(database.address(), &["server.workers = 1", &stall])
}

fn read(table: &str, id: u32) -> String {
    format!("SELECT a FROM {table} WHERE id={id}")
}

fn sent_in_lanes(door: &FrontDoor) -> u64 {
    door.metric("myriad_lane_statements_total")
}

/// Runs a statement until it is known to be short, and is sent in a lane.
fn learn(door: &FrontDoor, client: &mut Client, sql: &str) {
    eventually("a lane", || {
        let before = sent_in_lanes(door);
        client.value(sql);
        (sent_in_lanes(door) > before).then_some(())
    });
}

/// The same for one read of each table. Somebody else holds a backend meanwhile, so that there is still
/// one for lanes when `holder` takes one.
fn learn_both(door: &FrontDoor, holder: &mut Client, client: &mut Client) {
    holder.run("BEGIN");
    holder.value(&read("t", 2));
    for table in ["t", "u"] {
        learn(door, client, &read(table, 1));
    }
    holder.run("COMMIT");
}

/// Waits until the reads of so many clients are in lanes.
fn await_in_lane(door: &FrontDoor, count: u64) {
    eventually("reads in lanes", || {
        (door.metric("myriad_clients{state=\"in_lane\"}") == count).then_some(())
    });
}

fn is_rows(client: &mut Client) -> bool {
    matches!(client.answer().unwrap().outcomes()[..], [Outcome::Rows(_)])
}

fn was_interrupted(client: &mut Client) -> bool {
    let outcomes = client.answer().unwrap().outcomes();
    matches!(outcomes[..], [Outcome::Err(INTERRUPTED, _)])
}

#[test]
fn nobody_waits_for_the_lock_that_stops_the_read_before_theirs() {
    let database = prepare("lanes_lock");
    let door = door(&database, "300ms");
    let [mut holder, mut blocked, mut behind] =
        [(); 3].map(|()| Client::new(&door.address(), "lanes_lock"));
    learn_both(&door, &mut holder, &mut blocked);
    holder.run("LOCK TABLES t WRITE");
    blocked.query(&read("t", 3));
    await_in_lane(&door, 1);
    behind.query(&read("u", 3));
    // The lock is held, and stays until this is answered: the holder may be waiting for it.
    assert!(is_rows(&mut behind));
    assert_eq!(door.metric("myriad_lane_moves_total"), 1);
    assert_eq!(door.metric("myriad_lane_stalls_total"), 1);
    holder.run("UNLOCK TABLES");
    assert!(is_rows(&mut blocked));
    // Everything goes on as before.
    learn(&door, &mut behind, &read("u", 1));
}

#[test]
fn a_kill_ends_one_read_of_a_lane_and_no_other() {
    let database = prepare("lanes_kill");
    let door = door(&database, "20s");
    let [mut holder, mut head, mut second, mut third] =
        [(); 4].map(|()| Client::new(&door.address(), "lanes_kill"));
    let ids = [&mut head, &mut second].map(|client| client.value("SELECT CONNECTION_ID()"));
    learn_both(&door, &mut holder, &mut head);
    holder.run("LOCK TABLES t WRITE");
    head.query(&read("t", 3));
    await_in_lane(&door, 1);
    second.query(&read("u", 3));
    third.query(&read("u", 1));
    await_in_lane(&door, 3);
    // Whoever is behind never comes to its turn, and nobody else hears of it.
    holder.run(&format!("KILL QUERY {}", ids[1]));
    assert!(was_interrupted(&mut second));
    await_in_lane(&door, 2);
    // The head is ended where it runs; who is behind it goes elsewhere.
    holder.run(&format!("KILL QUERY {}", ids[0]));
    assert!(was_interrupted(&mut head));
    assert!(is_rows(&mut third));
    assert_eq!(door.metric("myriad_lane_moves_total"), 1);
    holder.run("UNLOCK TABLES");
    for client in [&mut head, &mut second, &mut third] {
        assert_eq!(client.value(&read("t", 1)), "1");
    }
}

#[test]
fn who_hangs_up_takes_nobody_along() {
    let database = prepare("lanes_hang_up");
    let door = door(&database, "300ms");
    let [mut holder, mut head, mut second, mut third] =
        [(); 4].map(|()| Client::new(&door.address(), "lanes_hang_up"));
    learn_both(&door, &mut holder, &mut head);
    holder.run("LOCK TABLES t WRITE");
    head.query(&read("t", 3));
    await_in_lane(&door, 1);
    second.query(&read("u", 3));
    third.query(&read("u", 1));
    drop((head, second));
    assert!(is_rows(&mut third));
    // What runs for nobody is ended, although the lock is still held.
    eventually("an end of the read of nobody", || {
        (door.metric("myriad_orphans_killed_total") == 1).then_some(())
    });
    eventually("a lane that is done", || {
        (door.metric("myriad_backends{state=\"draining\"}") == 0).then_some(())
    });
    holder.run("UNLOCK TABLES");
    assert_eq!(third.value(&read("t", 1)), "1");
}

#[test]
fn warnings_of_a_read_in_a_lane_are_told_when_asked_for() {
    let database = prepare("lanes_warnings");
    let door = door(&database, "20s");
    let cast = |id| format!("SELECT CAST(a AS SIGNED) FROM t WHERE id={id}");
    let mut client = Client::new(&door.address(), "lanes_warnings");
    let mut other = Client::new(&door.address(), "lanes_warnings");
    learn(&door, &mut client, &cast(1));
    let before = sent_in_lanes(&door);
    assert_eq!(client.value(&cast(2)), "2");
    assert_eq!(sent_in_lanes(&door), before + 1);
    // Somebody else uses the same connection meanwhile.
    learn(&door, &mut other, &read("u", 1));
    let [Outcome::Rows(warnings)] = &client.run("SHOW WARNINGS")[..] else {
        panic!("no warnings");
    };
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0][2].contains("2x"), "{warnings:?}");
    assert_eq!(door.metric("myriad_lane_repeats_total"), 1);
    assert!(matches!(&other.run("SHOW WARNINGS")[..], [Outcome::Rows(rows)] if rows.is_empty()));
}

/// On MariaDB they are those of the read also when other statements came between that use no tables.
#[test]
fn warnings_of_a_read_in_a_lane_outlast_what_the_session_changes() {
    let database = prepare("lanes_kept");
    prepare("lanes_left");
    database.execute("UPDATE lanes_left.t SET a = '1'");
    let door = door(&database, "20s");
    let changes = [
        "USE lanes_left",
        "SET sql_select_limit = 0",
        "BEGIN",
        "SET @a = 1; USE lanes_left",
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let cast = |id| format!("SELECT CAST(a AS SIGNED) AS c{number} FROM t WHERE id={id}");
        let mut client = Client::new(&door.address(), "lanes_kept");
        learn(&door, &mut client, &cast(1));
        let before = sent_in_lanes(&door);
        assert_eq!(client.value(&cast(2)), "2");
        assert_eq!(sent_in_lanes(&door), before + 1);
        client.run(change);
        let told = client.run("SHOW WARNINGS");
        let [Outcome::Rows(warnings)] = &told[..] else {
            panic!("{told:?}");
        };
        let expected = usize::from(Server::is_mariadb());
        assert_eq!(warnings.len(), expected, "{change}: {warnings:?}");
    }
    // Where the read cannot run once more, the way out of its schema is open all the same.
    let cast = |id| format!("SELECT CAST(a AS SIGNED) AS d FROM t WHERE id={id}");
    let mut client = Client::new(&door.address(), "lanes_left");
    learn(&door, &mut client, &cast(1));
    database.execute("UPDATE lanes_left.t SET a = '2x'");
    let before = sent_in_lanes(&door);
    assert_eq!(client.value(&cast(2)), "2");
    assert_eq!(sent_in_lanes(&door), before + 1);
    database.execute("DROP DATABASE lanes_left");
    let told = client.run("USE lanes_kept");
    assert!(matches!(told[..], [Outcome::Ok(_)]), "{told:?}");
    assert_eq!(client.value("SELECT DATABASE()"), "lanes_kept");
}

#[test]
fn a_view_is_read_in_no_lane_also_if_it_was_a_table_before() {
    let database = prepare("lanes_view");
    let door = door(&database, "20s");
    let mut client = Client::new(&door.address(), "lanes_view");
    // While there is a view of some name, wherever it is, no table of that name is read in a lane.
    client.run("CREATE TABLE seen_in_no_lane AS SELECT * FROM t");
    learn(&door, &mut client, &read("seen_in_no_lane", 1));
    client.run("DROP TABLE seen_in_no_lane");
    client.run("CREATE VIEW seen_in_no_lane AS SELECT * FROM t");
    let before = sent_in_lanes(&door);
    for _ in 0..50 {
        assert_eq!(client.value(&read("seen_in_no_lane", 1)), "1");
    }
    assert_eq!(sent_in_lanes(&door), before);
    client.run("DROP VIEW seen_in_no_lane");
    client.run("CREATE TABLE seen_in_no_lane AS SELECT * FROM t");
    learn(&door, &mut client, &read("seen_in_no_lane", 1));
}

#[test]
fn there_are_no_lanes_where_they_are_switched_off() {
    let database = prepare("lanes_off");
    let door = door(&database, "0s");
    let mut client = Client::new(&door.address(), "lanes_off");
    for _ in 0..50 {
        client.value(&read("t", 1));
    }
    assert_eq!(sent_in_lanes(&door), 0);
}

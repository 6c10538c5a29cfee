//! Triggers, views and routines that leave something in their session without a word: it stays the session's own,
//! which is pinned; what leaves nothing behind does not pin.

use std::sync::Arc;

use session::statement::{Flavor, unseen_question};
use wire::Capabilities;

use crate::session_state::pinned;
use crate::support::{Client, Database, FrontDoor, Login, Outcome, Server, USUAL};

/// A schema with `t`, whose trigger has this body, and `u` and `v` that have none.
fn begin(schema: &str, body: &str) -> Arc<Database> {
    let database = Database::shared();
    database.schema(schema);
    database.execute(&format!(
        "USE {schema}; CREATE TABLE t (a INT); CREATE TABLE u (a INT); CREATE VIEW w AS SELECT * FROM t;
         DELIMITER //
         CREATE TRIGGER leaves BEFORE INSERT ON t FOR EACH ROW BEGIN {body} END//
         DELIMITER ;"
    ));
    database
}

/// A front door with one backend connection less than there are sessions in the tests, and one worker.
fn door(database: &Database) -> FrontDoor {
    FrontDoor::start(
        database.address(),
        &["backend.max_connections = 3", "server.workers = 1"],
    )
}

const MAKES_TABLE: &str = "CREATE TEMPORARY TABLE IF NOT EXISTS left_behind (a INT);";

#[test]
fn what_a_trigger_leaves_is_the_sessions_own() {
    let left = "SELECT COUNT(*) FROM left_behind";
    let locked = "SELECT IS_USED_LOCK('unseen_lock') = CONNECTION_ID()";
    let bodies = [
        ("table", MAKES_TABLE, left, "0"),
        (
            "lock",
            "DECLARE n INT; SET n = GET_LOCK('unseen_lock', 0);",
            locked,
            "1",
        ),
        ("into", "SELECT 7 INTO @left;", "SELECT @left", "7"),
        (
            "assigned",
            "DECLARE n INT; SET n = (@left := 8);",
            "SELECT @left",
            "8",
        ),
        (
            "diagnosed",
            "GET DIAGNOSTICS @left = NUMBER;",
            "SELECT @left",
            "0",
        ),
    ];
    for (name, body, question, own) in bodies {
        let schema = format!("unseen_{name}");
        let database = begin(&schema, body);
        let door = door(&database);
        let mut client = Client::new(&door.address(), &schema);
        let mut others: Vec<_> = (0..3)
            .map(|_| Client::new(&door.address(), &schema))
            .collect();
        client.run("INSERT INTO t VALUES (1)");
        for _ in 0..3 {
            for other in &mut others {
                let told = format!("{:?}", other.run(question));
                assert!(!told.contains(&format!("{own:?}")), "{name}: {told}");
            }
            assert_eq!(client.value(question), own, "{name}");
        }
        assert_eq!(pinned(&door, "stored_object"), 1, "{name}");
    }
}

/// Their connections cannot name `information_schema`: whatever may come to a trigger or view pins.
#[test]
fn clients_that_name_no_schemas_are_pinned_by_what_uses_tables() {
    let database = begin("unseen_nameless", MAKES_TABLE);
    let door = door(&database);
    let login = Login {
        capabilities: USUAL | Capabilities::CONNECT_WITH_DB | Capabilities::NO_SCHEMA,
        ..Login::to("unseen_nameless")
    };
    let client = || Client::login(&door.address(), &login).unwrap();
    let (mut own, mut other) = (client(), client());
    own.run("INSERT INTO t VALUES (1)");
    for _ in 0..3 {
        let told = other.run("SELECT COUNT(*) FROM left_behind");
        assert!(matches!(told[..], [Outcome::Err(1146, _)]), "{told:?}");
        assert_eq!(other.value("SELECT DATABASE()"), "unseen_nameless");
        assert_eq!(own.value("SELECT COUNT(*) FROM left_behind"), "0");
    }
    assert_eq!(pinned(&door, "stored_object"), 2);
    // Whoever uses no table finds a connection all the same.
    let without = Login {
        capabilities: USUAL | Capabilities::NO_SCHEMA,
        schema: "",
        ..login
    };
    let mut without = Client::login(&door.address(), &without).unwrap();
    assert_eq!(without.value("SELECT DATABASE()"), "NULL");
    assert_eq!(pinned(&door, "stored_object"), 2);
}

/// What the server finds by the text of a trigger: `U` leaves something that nothing reports, `S` sets variables.
#[test]
fn the_server_finds_what_leaves_something() {
    const MODES: [&str; 2] = ["", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT"];
    const ANY: [(&str, &str); 25] = [
        ("SELECT a INTO @x FROM t", "U"),
        (
            "BEGIN DECLARE n INT; SELECT a, 2 INTO n, @x FROM t; END",
            "U",
        ),
        ("BEGIN DECLARE n INT; SET n = (@x := 5); END", "U"),
        ("CALL p(1, @x)", "U"),
        ("GET DIAGNOSTICS CONDITION 1 @x = MESSAGE_TEXT", "U"),
        ("CREATE TEMPORARY TABLE s (a INT)", "U"),
        (
            "BEGIN IF NEW.a THEN create temporary\ntable s select 1; END IF; END",
            "U",
        ),
        (
            "BEGIN DECLARE n INT; SELECT Get_Lock ('a', 0) INTO n; END",
            "U",
        ),
        ("SET @c = @c + 1", "S"),
        ("SET NEW.a = -(NEW.a DIV 5), @counter= @counter+1", "S"),
        ("BEGIN DECLARE n INT; SET n = 1, @@sql_mode = ''; END", "S"),
        ("BEGIN CALL p(1, NEW.a); SET @x = 5; END", "S"),
        ("INSERT INTO log VALUES (NEW.a, @who)", ""),
        ("INSERT INTO log (who, what) SELECT @who, a FROM t", ""),
        ("INSERT INTO log SELECT @who, a FROM t", ""),
        (
            "BEGIN DECLARE n INT; SELECT a INTO n FROM t WHERE b = @x; END",
            "",
        ),
        ("SET NEW.a = LENGTH(CONCAT(@who, NEW.a))", ""),
        ("INSERT INTO log SET who = @who, what = NEW.a", ""),
        ("SET @`a b` = 1", "S"),
        ("SET NEW.a = LAST_INSERT_ID()", ""),
        ("BEGIN SET NEW.a = LAST_INSERT_ID(5); END", ""),
        ("SET NEW.a = 1", ""),
        ("SET sql_mode = ''", ""),
        ("INSERT INTO log VALUES (RELEASE_LOCK('a'))", ""),
        ("INSERT INTO temporary_get_lock VALUES (1)", ""),
    ];
    const ON_MARIADB: [(&str, &str); 5] = [
        ("SET NEW.a = LASTVAL(s)", "U"),
        ("INSERT INTO t VALUES (previous value for s)", "U"),
        ("SET NEW.a = NEXTVAL(s)", ""),
        ("SET NEW.a = (SELECT lastval_of FROM u)", ""),
        ("SET ROLE r", ""),
    ];
    const ON_MYSQL: [(&str, &str); 2] = [("SET ROLE r", "U"), ("SET RESOURCE GROUP g", "U")];
    let (flavor, own) = match Server::is_mariadb() {
        true => (Flavor::MariaDb, &ON_MARIADB[..]),
        false => (Flavor::MySql, &ON_MYSQL[..]),
    };
    let database = Database::private();
    database.schema("found");
    let cases = ANY.iter().chain(own);
    for (number, (text, _)) in cases.clone().enumerate() {
        database.execute(&format!(
            "USE found; CREATE TABLE case_{number} (a INT);
             DELIMITER //
             CREATE TRIGGER case_{number} BEFORE INSERT ON case_{number} FOR EACH ROW {text}//
             DELIMITER ;"
        ));
    }
    for mode in MODES {
        let question = unseen_question(flavor);
        let told = database.execute(&format!("SET sql_mode = '{mode}'; {question}"));
        for (number, (text, expected)) in cases.clone().enumerate() {
            let name = format!("case_{number}");
            let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02X}")).collect();
            let [schema, name]: [String; 2] = [hex("found"), hex(&name)];
            let row = |what| told.contains(&format!("{what}\tW\t{schema}\t{name}\n"));
            assert_eq!(row("U"), *expected == "U", "{mode}: {text}: {told}");
            let sets = row("S") == (*expected == "S");
            assert!(sets || *expected == "U", "{mode}: {text}: {told}");
        }
    }
}

#[test]
fn an_insert_id_that_a_view_sets_is_the_sessions_own() {
    let database = begin("unseen_ids", "SET NEW.a = LAST_INSERT_ID();");
    database
        .execute("USE unseen_ids; CREATE VIEW sets AS SELECT LAST_INSERT_ID(a + 40) AS b FROM t");
    let door = door(&database);
    let mut client = Client::new(&door.address(), "unseen_ids");
    let mut other = Client::new(&door.address(), "unseen_ids");
    client.run("INSERT INTO t VALUES (1)");
    assert_eq!(client.value("SELECT b FROM sets"), "40");
    for _ in 0..3 {
        assert_eq!(other.value("SELECT LAST_INSERT_ID()"), "0");
        assert_eq!(client.value("SELECT LAST_INSERT_ID()"), "40");
    }
    assert_eq!(pinned(&door, "stored_object"), 1);
}

/// How a client comes to write to the table.
const WAYS: [(&str, &str); 6] = [
    ("", "INSERT INTO t VALUES (1)"),
    ("", "INSERT INTO unseen_ways.w VALUES (1)"),
    ("", "INSERT INTO leads VALUES (1)"),
    ("", "CALL writes()"),
    ("PREPARE p FROM 'INSERT INTO t VALUES (1)'", "EXECUTE p"),
    (
        "SET @text = CONCAT('INSERT INTO ', 't VALUES (1)'); PREPARE p FROM @text",
        "EXECUTE p",
    ),
];

#[test]
fn what_leads_to_a_trigger_pins_and_what_does_not_is_free() {
    let database = begin("unseen_ways", "CALL leaves_table();");
    database.execute(&format!(
        "USE unseen_ways; CREATE TABLE leads (a INT);
         DELIMITER //
         CREATE DEFINER = app@localhost PROCEDURE leaves_table() BEGIN {MAKES_TABLE} END//
         CREATE DEFINER = app@localhost PROCEDURE writes() INSERT INTO t VALUES (1)//
         CREATE TRIGGER leads BEFORE INSERT ON leads FOR EACH ROW INSERT INTO t VALUES (1)//
         CREATE DEFINER = app@localhost FUNCTION plain() RETURNS INT DETERMINISTIC RETURN 5//
         CREATE TRIGGER plain BEFORE INSERT ON u FOR EACH ROW SET NEW.a = plain(), @seen = NEW.a//
         DELIMITER ;"
    ));
    let door = door(&database);
    for (before, way) in WAYS {
        let mut client = Client::new(&door.address(), "unseen_ways");
        for text in before.split("; ").filter(|text| !text.is_empty()) {
            client.run(text);
        }
        let pins = pinned(&door, "stored_object");
        client.run(way);
        assert_eq!(pinned(&door, "stored_object"), pins + 1, "{way}");
        assert_eq!(
            client.value("SELECT COUNT(*) FROM left_behind"),
            "0",
            "{way}"
        );
    }
    let pins = pinned(&door, "stored_object");
    let mut client = Client::new(&door.address(), "unseen_ways");
    for text in [
        "SELECT * FROM t",
        "SELECT * FROM w",
        "INSERT INTO u VALUES (1)",
        "BEGIN",
        "INSERT INTO u VALUES (2)",
        "COMMIT",
    ] {
        let told = format!("{:?}", client.run(text));
        assert!(!told.contains("Err"), "{text}: {told}");
        assert_eq!(pinned(&door, "stored_object"), pins, "{text}");
    }
}

#[test]
fn definitions_are_known_as_soon_as_they_are_made_and_no_longer_than_they_last() {
    let database = begin("unseen_defined", "SET NEW.a = 1;");
    let door = door(&database);
    let mut definer = Client::new(&door.address(), "unseen_defined");
    let mut client = Client::new(&door.address(), "unseen_defined");
    client.run("SET autocommit = 0");
    for text in ["INSERT INTO u VALUES (1)", "COMMIT"] {
        client.run(text);
        assert_eq!(pinned(&door, "stored_object"), 0, "{text}");
    }
    definer.run(&format!(
        "CREATE TRIGGER leaves_more BEFORE INSERT ON u FOR EACH ROW BEGIN {MAKES_TABLE} END"
    ));
    client.run("INSERT INTO u VALUES (1)");
    assert_eq!(pinned(&door, "stored_object"), 1);
    assert_eq!(client.value("SELECT COUNT(*) FROM left_behind"), "0");
    client.run("COMMIT");
    definer.run("INSERT INTO u VALUES (1)");
    assert_eq!(pinned(&door, "stored_object"), 2);
    definer.run("DROP TRIGGER leaves_more");
    drop(client);
    let mut client = Client::new(&door.address(), "unseen_defined");
    client.run("INSERT INTO u VALUES (1)");
    assert_eq!(pinned(&door, "stored_object"), 2);
}

/// The answer to a statement that fails does not tell of what its trigger has set.
#[test]
fn what_a_trigger_sets_is_the_sessions_own_also_if_the_statement_fails() {
    let schema = "unseen_failed";
    let database = begin(schema, "SET @left = IFNULL(@left, 0) + 1;");
    database.execute(&format!(
        "USE {schema}; ALTER TABLE t ADD UNIQUE (a), ENGINE = InnoDB;
         CREATE PROCEDURE p() INSERT INTO t VALUES (1), (2), (1)"
    ));
    let door = door(&database);
    let mut client = Client::new(&door.address(), schema);
    let mut others: Vec<_> = (0..3)
        .map(|_| Client::new(&door.address(), schema))
        .collect();
    for (statement, sets) in [
        ("INSERT INTO t VALUES (1), (2), (1)", 3),
        ("INSERT INTO w VALUES (1), (1)", 2),
        ("CALL p()", 3),
    ] {
        client.run("SET @left = 0");
        others.iter_mut().for_each(|other| {
            other.run("SET @left = 100");
        });
        let told = client.run(statement);
        assert!(matches!(told[..], [Outcome::Err(1062, _)]), "{told:?}");
        for _ in 0..3 {
            for other in &mut others {
                assert_eq!(other.value("SELECT @left"), "100", "{statement}");
            }
            assert_eq!(
                client.value("SELECT @left"),
                sets.to_string(),
                "{statement}"
            );
        }
    }
}

/// MariaDB forgets the variables of all packages, in every session, as soon as anybody defines a routine: so nobody else
/// may use this server.
#[test]
fn the_variables_of_a_package_are_the_sessions_own() {
    if !Server::is_mariadb() {
        return;
    }
    let database = Database::private();
    database.schema("packages");
    database.execute(
        "USE packages; SET sql_mode = ORACLE;
         DELIMITER //
         CREATE PACKAGE counts AS FUNCTION next RETURN INT; END//
         CREATE PACKAGE BODY counts AS n INT := 10;
         FUNCTION next RETURN INT AS BEGIN n := n + 1; RETURN n; END; END//
         CREATE PACKAGE plain AS FUNCTION next RETURN INT; END//
         CREATE PACKAGE BODY plain AS FUNCTION next RETURN INT AS BEGIN RETURN 5; END; END//
         CREATE TABLE t (a INT)//
         CREATE TRIGGER counted BEFORE INSERT ON t FOR EACH ROW BEGIN :NEW.a := counts.next(); END//
         CREATE VIEW v AS SELECT counts.next() AS a//
         CREATE VIEW w AS SELECT plain.next() AS a//
         DELIMITER ;",
    );
    // An account that may not see what a package is made of is pinned in doubt.
    database.execute(&Server::chosen().hiding_routines("packages"));
    for (grant, doubts) in [("DO 0", true), ("GRANT SELECT ON mysql.proc TO app", false)] {
        database.execute(grant);
        let restless = ["backend.max_connections = 5", "backend.restless = \"on\""];
        let door = FrontDoor::start(database.address(), &restless);
        let mut clients = [(); 2].map(|()| Client::new(&door.address(), "packages"));
        for client in &mut clients {
            assert_eq!(client.value("SELECT a FROM w"), "5");
        }
        let pins = pinned(&door, "stored_object");
        assert_eq!(pins, if doubts { 2 } else { 0 }, "{grant}");
        for round in 0..3 {
            for client in &mut clients {
                client.run("INSERT INTO t VALUES (0)");
                let counted = client.value("SELECT a FROM v");
                assert_eq!(counted, (12 + 2 * round).to_string(), "{grant}");
            }
        }
        assert_eq!(pinned(&door, "stored_object"), 2, "{grant}");
    }
    let sum = database.execute("SELECT SUM(a) FROM packages.t");
    assert_eq!(sum.lines().last(), Some("156"));
}

/// While it is pinned, its connection is not asked what has been defined.
#[test]
fn what_a_pinned_session_has_defined_leaves_nothing_to_others_when_its_pin_ends() {
    let database = begin("unseen_pinned", "SET NEW.a = 1;");
    let door = door(&database);
    let mut client = Client::new(&door.address(), "unseen_pinned");
    let mut others: Vec<_> = (0..3)
        .map(|_| Client::new(&door.address(), "unseen_pinned"))
        .collect();
    for statement in [
        "CREATE TEMPORARY TABLE mine (a INT)",
        "CREATE TRIGGER holds BEFORE INSERT ON u FOR EACH ROW SET NEW.a = GET_LOCK('pinned', 0)",
        "INSERT INTO u VALUES (1)",
        "DROP TEMPORARY TABLE mine",
    ] {
        client.run(statement);
    }
    for _ in 0..3 {
        for other in &mut others {
            other.value("SELECT 1");
        }
        let holds = client.value("SELECT IS_USED_LOCK('pinned') = CONNECTION_ID()");
        assert_eq!(holds, "1");
    }
    assert_eq!(pinned(&door, "stored_object"), 1);
}

/// The question goes to a backend that has what a session has set. With limits, and with strings that are of no character
/// set, the server would refuse it.
#[test]
fn what_a_session_has_set_does_not_hide_what_others_may_come_to() {
    let database = begin("stored_limits", "SET NEW.a = 1;");
    let settings = ["backend.max_connections = 1", "server.workers = 1"];
    let door = FrontDoor::start(database.address(), &settings);
    let [mut limited, mut other] = [(); 2].map(|()| Client::new(&door.address(), "stored_limits"));
    limited.run("SET SESSION max_join_size = 1");
    limited.run("CREATE VIEW y AS SELECT 1 AS a");
    other.run("SELECT * FROM u");
    limited.run("SET NAMES binary");
    limited.run("CREATE VIEW z AS SELECT 1 AS a");
    other.run("SELECT * FROM u");
    other.run("INSERT INTO u VALUES (1)");
    assert_eq!(pinned(&door, "stored_object"), 0);
    assert!(!door.log().contains("cannot be read"), "{}", door.log());
    assert_eq!(limited.value("SELECT @@max_join_size"), "1");
}

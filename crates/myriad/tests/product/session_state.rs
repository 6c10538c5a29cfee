//! What a session carries from backend to backend and is not pinned for: sessions whose statements
//! alternate on one backend are told, packet by packet, what each of them is told alone and directly.

use std::iter::zip;

use crate::packets::{INDEX, shown};
use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, Server, eventually};

/// What sessions do at the same time, statement by statement.
pub(crate) type Scripts<'a> = &'a [&'a [&'a str]];

/// A session, and its answers so far.
struct Session {
    client: Client,
    told: Vec<Vec<String>>,
}

impl Session {
    fn new(address: &Address, login: &Login<'_>) -> Self {
        let client = Client::login(address, login).unwrap();
        let told = Vec::new();
        Self { client, told }
    }

    fn ask(&mut self, text: &str) {
        self.client.query(&Server::words(text));
        let answer = self.client.answer();
        let mut answer = answer.unwrap_or_else(|error| panic!("{text}: {error}"));
        answer.ignore_after_columns(INDEX);
        self.told.push(shown(&answer));
    }
}

/// A schema with a table, a trigger that reads a user variable and one that sets one.
fn begin(database: &Database, schema: &str) {
    database.schema(schema);
    database.execute(&format!(
        "USE {schema}; CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20) COLLATE utf8mb4_bin);
         INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three');
         CREATE TABLE audit (id INT PRIMARY KEY AUTO_INCREMENT, tag VARCHAR(20), who VARCHAR(20));
         CREATE TABLE plain (id INT PRIMARY KEY AUTO_INCREMENT, who VARCHAR(20));
         DELIMITER //
         CREATE TRIGGER asks BEFORE INSERT ON audit FOR EACH ROW SET NEW.who = @who//
         CREATE FUNCTION who() RETURNS VARCHAR(20) READS SQL DATA RETURN @who//
         CREATE TRIGGER tells AFTER INSERT ON plain FOR EACH ROW SET @last = NEW.id//
         DELIMITER ;
         CREATE VIEW v AS SELECT id, who() AS who FROM t"
    ));
}

/// Runs the scripts directly, one after the other, and through the front door all at once on one
/// backend. Returns the front door, all sessions of which are still there: where one is pinned both need names,
/// so that the sessions end first, for whom the front door would wait.
pub(crate) fn compare(schema: &str, scripts: Scripts<'_>) -> (FrontDoor, Vec<Client>) {
    compare_as(&Login::to(schema), scripts)
}

/// The same, as another account.
pub(crate) fn compare_as(login: &Login<'_>, scripts: Scripts<'_>) -> (FrontDoor, Vec<Client>) {
    compare_on(&Database::shared(), login, scripts)
}

/// The same, on another database.
fn compare_on(
    database: &Database,
    login: &Login<'_>,
    scripts: Scripts<'_>,
) -> (FrontDoor, Vec<Client>) {
    let schema = login.schema;
    let direct = scripts.iter().map(|script| {
        begin(database, schema);
        let mut session = Session::new(database.address(), login);
        script.iter().for_each(|text| session.ask(text));
        session.told
    });
    let direct: Vec<_> = direct.collect();
    begin(database, schema);
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let session = |_: &&[&str]| Session::new(&door.address(), login);
    let mut sessions: Vec<_> = scripts.iter().map(session).collect();
    let longest = scripts.iter().map(|script| script.len()).max();
    for place in 0..longest.unwrap_or_default() {
        for (session, script) in zip(&mut sessions, scripts) {
            if let Some(text) = script.get(place) {
                session.ask(text);
            }
        }
    }
    for ((session, direct), script) in zip(zip(&sessions, direct), scripts) {
        for (place, (through, direct)) in zip(&session.told, direct).enumerate() {
            assert_eq!(*through, direct, "after {:#?}", &script[..=place]);
        }
    }
    let clients = sessions.into_iter().map(|session| session.client);
    let clients = clients.collect();
    (door, clients)
}

pub(crate) fn pinned(door: &FrontDoor, reason: &str) -> u64 {
    door.metric(&format!("myriad_pins_total{{reason=\"{reason}\"}}"))
}

#[test]
fn user_variables_follow_their_session() {
    let (door, _clients) = compare(
        "carried_user",
        &[
            &[
                "SET @a = 1, @b := 'text', @c = NULL, @d = 1.50, @e = x'ff'",
                "SELECT @a, @b, @c, @d, @e, @nothing",
                "SELECT @a := @a + id FROM t",
                "SELECT @a",
                "SELECT a, id INTO @x, @y FROM t WHERE id = 2",
                "SELECT @x, @y, COLLATION(@x)",
                "SELECT a INTO @x FROM t WHERE id = 77",
                "SELECT @x",
                "SET @a = NULL",
                "SELECT @a",
            ],
            &[
                "SELECT @a, @x",
                "SET @a = 18446744073709551615, @b = -9223372036854775808",
                "SELECT @a, @b",
                "SET @a = 1/3e0, @b = 1e300, @d = CAST(7 AS DECIMAL(5,0)), @e = -0.10",
                "SELECT @a, @b, @d, @e",
                "SET @f = CAST(NULL AS SIGNED), @g = NULLIF(1.5, 1.5), @h = NULLIF(1e0, 1e0)",
                "SELECT @f, @g, @h, @A",
                "SET @`a` = _latin1 x'e4' COLLATE latin1_german1_ci, @'e' = ''",
                "SELECT @a, @e, COLLATION(@a), CHARSET(@a), COERCIBILITY(@a)",
                "SELECT HEX(@a), LENGTH(@e)",
            ],
            &[
                "SELECT @a",
                "SET NAMES latin1",
                "SET @a = 'l', sql_mode = 'ANSI_QUOTES'",
                "SELECT @a, COLLATION(@a)",
                "SET @a = CAST('2020-01-02' AS DATE), @b = TRUE, @c = b'101'",
                "SELECT @a, @b, @c, COLLATION(@a)",
                "SET @a = 1; SET @b = @a + 1; SELECT @a, @b",
                "SELECT @a, @b; SET @c = @b",
                "SELECT @c, @x, @nothing",
                "BEGIN; SET @t = 5; UPDATE t SET a = @t; ROLLBACK",
                "SELECT @t",
            ],
            &["SELECT id FROM t"; 12],
        ],
    );
    assert_eq!(pinned(&door, "user_variable"), 0);
}

/// What the front door asks for itself must come, however few rows the session wants to see.
/// Nothing but column definitions tells which collation results have, and it is not always that of the connection.
#[test]
fn the_collation_of_results_follows_its_session() {
    let sets: &[&str] = &[
        "SELECT 'a'",
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
        "SELECT 'a'",
        "SET character_set_results = utf8mb4",
        "SELECT 'a'",
        "SET character_set_results = 46",
        "SELECT 'a'",
        "SET collation_connection = latin1_german1_ci",
        "SELECT 'a'",
        "SET character_set_client = latin1",
        "SELECT 'a'",
        "SET CHARACTER SET latin1",
        "SELECT 'a', @@collation_connection",
        "SET character_set_results = 5",
        "SELECT 'a', @@character_set_results",
        "SET character_set_results = NULL",
        "SELECT 'a', _latin1 'b'",
        "SET NAMES binary",
        "SELECT 'a', _latin1 'b'",
        "SET NAMES utf8mb4",
        "SELECT 'a'",
    ];
    let others = ["SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci", "SELECT 'b'"];
    let others: Vec<_> = others.into_iter().cycle().take(sets.len()).collect();
    let (door, _clients) = compare("carried_results", &[sets, &others, &["SELECT 'c'"; 21]]);
    assert_eq!(door.metric("myriad_restore_errors_total"), 0);
}

/// MariaDB has sessions choose what a character set has by default since 11.2.
#[test]
fn chosen_collations_follow_their_session() {
    let database = Database::shared();
    let ask = "SELECT COUNT(*) FROM information_schema.SYSTEM_VARIABLES \
               WHERE VARIABLE_NAME = 'CHARACTER_SET_COLLATIONS'";
    if !Server::is_mariadb() || database.execute(ask).trim() != "1" {
        return;
    }
    let begins = "SELECT @@character_set_collations, @@collation_connection, COLLATION('a'), COLLATION(_utf8mb4'b'), \
                  COLLATION(_latin1'c')";
    let chooses: &[&str] = &[
        begins,
        "SET character_set_collations = 'utf8mb4=utf8mb4_bin'",
        begins,
        "SET NAMES utf8mb4",
        begins,
        "SET @@session.character_set_collations = 'latin1=latin1_german1_ci,utf8mb4=utf8mb4_unicode_ci'",
        begins,
        "SET NAMES latin1",
        begins,
        "SET character_set_collations = ''",
        "SET NAMES utf8mb4",
        begins,
        "SET character_set_collations = DEFAULT",
        begins,
        "SELECT 1; SET character_set_collations = 'utf8mb4=utf8mb4_bin'",
        begins,
    ];
    let others: Vec<_> = [begins, "SET NAMES utf8mb4", "SET NAMES latin1"].into();
    let others: Vec<_> = others.into_iter().cycle().take(chooses.len()).collect();
    let nobody = vec!["SELECT 'c'"; chooses.len()];
    let (door, _clients) = compare("carried_chosen", &[chooses, &others, &nobody]);
    assert_eq!(door.metric("myriad_restore_errors_total"), 0);
}

/// Names come in the character set of the client, and are told in UTF-8.
#[test]
fn a_schema_is_selected_by_any_name_in_any_character_set() {
    let database = Database::shared();
    database.execute(
        "SET NAMES utf8mb4; CREATE DATABASE IF NOT EXISTS `бд`; GRANT ALL ON `бд`.* TO 'app'@'localhost'",
    );
    let latin: &[&str] = &[
        "USE `бд`",
        "SET NAMES latin1",
        "SELECT HEX(DATABASE())",
        "SET autocommit = 0",
        "SELECT HEX(DATABASE()), @@character_set_client, @@character_set_results, @@collation_connection",
        "SET NAMES gbk",
        "SELECT HEX(DATABASE()), @@character_set_client",
        "SELECT 3",
    ];
    let other = ["USE shop", "SET NAMES koi8r"];
    let other: Vec<_> = other.into_iter().cycle().take(latin.len()).collect();
    let utf8 = ["USE `бд`", "SELECT HEX(DATABASE())"];
    let utf8: Vec<_> = utf8.into_iter().cycle().take(latin.len()).collect();
    let (_door, mut clients) = compare("carried_named", &[latin, &other, &utf8, &["SELECT 1"; 8]]);
    assert_eq!(clients[0].value("SELECT HEX(DATABASE())"), "D0B1D0B4");
}

/// Words of a SET are read in the character set of the session before.
#[test]
fn variables_follow_their_session_past_a_wide_character_set() {
    let own: &[&str] = &[
        "SET autocommit = 0, sql_mode = 'ANSI_QUOTES', time_zone = '+01:00'",
        "SELECT @@autocommit, @@sql_mode, @@time_zone",
        "SET SESSION transaction_isolation = 'READ-COMMITTED', lc_time_names = 'de_DE'",
        "SELECT @@autocommit, @@transaction_isolation, @@lc_time_names",
        "COMMIT",
        "SET autocommit = 1, completion_type = 'CHAIN'",
        "SELECT @@autocommit, @@completion_type",
        "COMMIT AND NO CHAIN",
    ];
    let wide = ["SET collation_connection = ucs2_general_ci", "SELECT 'w'"];
    let wide: Vec<_> = wide.into_iter().cycle().take(own.len()).collect();
    let wider = ["SET character_set_connection = utf32", "SELECT 'w'"];
    let wider: Vec<_> = wider.into_iter().cycle().take(own.len()).collect();
    compare("carried_wide", &[&wide, own, &wider, &["SELECT 1"; 8]]);
}

/// Reading sets nothing: a variable that was never set has a type of its own. What is between is a session that has
/// set others, so that all are set anew.
#[test]
fn a_variable_that_is_only_read_stays_one_that_was_never_set() {
    let reads: &[&str] = &[
        "SET @copy = @never",
        "SELECT COALESCE(@never, -0.001)",
        "SELECT @copy := 1, @never",
        "SELECT COALESCE(@never, -0.001)",
        "SELECT a INTO @copy FROM t WHERE id = COALESCE(@never, 1)",
        "SELECT COALESCE(@never, -0.001)",
        "DO @copy := @never",
        "SELECT COALESCE(@never, -0.001)",
        "SELECT a INTO @rowless FROM t WHERE id = 77",
        "SELECT COALESCE(@rowless, -0.001), COLLATION(@rowless), @rowless",
    ];
    let other = ["SET @copy = 'other'"; 10];
    let (door, _clients) = compare("carried_never", &[reads, &other]);
    assert_eq!(pinned(&door, "user_variable"), 0);
}

/// A session that keeps its backend reads there what it has not named before.
#[test]
fn a_variable_that_was_never_set_is_none_in_transactions_and_pinned_sessions() {
    let asks = "SELECT COALESCE(@never, -0.001), COLLATION(CONCAT(@never, _latin1'l'))";
    let kept: [&[&str]; 4] = [
        &["BEGIN", asks, "COMMIT"],
        &["SET autocommit = 0"],
        &["SELECT a FROM t", asks, "COMMIT", "SET autocommit = 1"],
        &[
            "SELECT GET_LOCK('kept', 0)",
            asks,
            "DO RELEASE_LOCK('kept')",
        ],
    ];
    let (database, login) = (Database::shared(), Login::to("carried_kept"));
    begin(&database, login.schema);
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut other = Session::new(&door.address(), &login);
    let mut sessions = [database.address(), &door.address()].map(|to| Session::new(to, &login));
    for lines in kept {
        other.ask("SET @never = 'other'");
        for session in &mut sessions {
            lines.iter().for_each(|line| session.ask(line));
        }
    }
    let [direct, through] = sessions;
    assert_eq!(through.told, direct.told);
    assert!(direct.told.len() > kept.len());
}

/// With a binary log what changes data sets the variables that it reads, so that the log can say what they were.
#[test]
fn what_changes_data_sets_the_variables_that_it_reads_where_there_is_a_binary_log() {
    const LOGS: [&str; 3] = [
        "--log-bin",
        "--server-id=1",
        "--log-bin-trust-function-creators=1",
    ];
    let database = Database::private_with(&LOGS);
    let reads: &[&str] = &[
        "INSERT INTO t VALUES (10, @inserted)",
        "SELECT COALESCE(@inserted, -0.001), COALESCE(@never, -0.001)",
        "UPDATE t SET a = COALESCE(@updated, a)",
        "SELECT COALESCE(@updated, -0.001)",
        "DELETE FROM t WHERE id = @deleted",
        "SELECT COALESCE(@deleted, -0.001)",
        "CREATE TABLE copied AS SELECT @created AS created",
        "SELECT COALESCE(@created, -0.001)",
        "SET @copy = @never",
        "SELECT COALESCE(@never, -0.001)",
    ];
    let other = ["SET @copy = 'other'"; 10];
    let none = "SELECT COALESCE(@inserted, -0.001), COALESCE(@updated, -0.001), \
                COALESCE(@deleted, -0.001), COALESCE(@created, -0.001)";
    let login = Login::to("carried_logged");
    let (door, mut clients) = compare_on(&database, &login, &[reads, &other, &[none; 10]]);
    assert_eq!(pinned(&door, "user_variable"), 0);
    // So does a text that is run, which nothing says.
    for text in [
        "PREPARE p FROM 'INSERT INTO t VALUES (11, @prepared)'",
        "EXECUTE p",
        "DEALLOCATE PREPARE p",
    ] {
        clients[0].run(text);
    }
    assert_eq!(pinned(&door, "call"), 1);
}

#[test]
fn a_session_that_wants_no_rows_keeps_its_state() {
    const NO_ROWS: &[&str] = &[
        "CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, who VARCHAR(20))",
        "SET sql_select_limit = 0",
        "INSERT INTO counted (who) VALUES ('a')",
        "SELECT LAST_INSERT_ID() > 0 LIMIT 1",
        "SET @a = 'kept'",
        "SET NAMES latin1",
        "SELECT @a, @@character_set_client LIMIT 1",
        "INSERT INTO counted (id, who) VALUES (1000, 'b') ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(7)",
        "SELECT LAST_INSERT_ID() = 0 LIMIT 1",
    ];
    compare("carried_no_rows", &[NO_ROWS, &["SELECT id FROM t"; 9]]);
}

#[test]
fn counts_of_rows_follow_their_session() {
    const COUNTS: &[&str] = &[
        "SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1",
        "SELECT FOUND_ROWS()",
        "SELECT SQL_CALC_FOUND_ROWS a FROM t WHERE id > 1 LIMIT 1",
        "SHOW COUNT(*) ERRORS",
        "SELECT FOUND_ROWS()",
        "SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1",
        "SET NAMES latin1",
        "SELECT FOUND_ROWS()",
        "SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1; SELECT FOUND_ROWS()",
        "BEGIN; SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1; COMMIT",
        "SELECT FOUND_ROWS() AS n",
        "SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 0",
        "SHOW WARNINGS",
        "SELECT FOUND_ROWS()",
    ];
    let (door, _clients) = compare("carried_rows", &[COUNTS, &["SELECT 1"; 14], &COUNTS[2..]]);
    assert_eq!(door.metric("myriad_pins_total{reason=\"call\"}"), 0);
}

/// What is counted is not always what is sent.
#[test]
fn counts_of_rows_that_are_not_sent_follow_their_session() {
    const COUNTS: &[&str] = &[
        "SELECT id FROM t ORDER BY id LIMIT 1, 1",
        "SELECT FOUND_ROWS()",
        "SELECT id FROM t ORDER BY id LIMIT 5 OFFSET 100",
        "SELECT FOUND_ROWS()",
        "CREATE TABLE counted AS SELECT id FROM t",
        "SELECT FOUND_ROWS()",
        "INSERT INTO counted SELECT id FROM t WHERE id > 1",
        "SELECT FOUND_ROWS(), ROW_COUNT()",
        "INSERT INTO counted SELECT 7 FROM DUAL WHERE FALSE",
        "SELECT FOUND_ROWS()",
        "SELECT id INTO @id FROM t ORDER BY id LIMIT 1",
        "SELECT FOUND_ROWS()",
        "SELECT id FROM t UNION SELECT id FROM t ORDER BY 1 LIMIT 1",
        "SELECT FOUND_ROWS()",
        "(SELECT id FROM t UNION SELECT 77) LIMIT 1",
        "SELECT FOUND_ROWS()",
        "SELECT id FROM t UNION SELECT 77 FETCH FIRST 1 ROWS ONLY",
        "SELECT FOUND_ROWS()",
        "CREATE TABLE typed AS SELECT CONCAT(ROW_COUNT()) AS a, CONCAT(FOUND_ROWS()) AS b, @@error_count AS c",
        "SHOW CREATE TABLE typed",
    ];
    compare("carried_unsent", &[COUNTS, &["SELECT 1"; 20]]);
}

#[test]
fn a_select_that_fails_leaves_the_count_of_rows() {
    const COUNTS: &[&str] = &[
        "SELECT id FROM t WHERE id < 3",
        "SELECT id FROM nowhere",
        "SELECT FOUND_ROWS()",
    ];
    compare("carried_failed", &[COUNTS, &["SELECT id FROM t"; 3]]);
}

#[test]
fn variables_that_are_set_without_a_scope_follow_their_session() {
    const VALUES: &str = "SELECT @@sql_mode, @@sort_buffer_size, @@sql_safe_updates, @a";
    let (door, _clients) = compare(
        "carried_unscoped",
        &[
            &[
                "SET @@sql_mode = 'ANSI_QUOTES', @a = @@sort_buffer_size, @@sort_buffer_size = 65536",
                VALUES,
                "SET @@sql_safe_updates := 1; SELECT @@sql_safe_updates",
                VALUES,
                "SET @@no_such_variable = 1",
                "SET @@max_connections = 5",
                "SET @@sql_mode = 'NO_SUCH_MODE'",
                "SET @@sql_mode = DEFAULT, @@`sort_buffer_size` = DEFAULT",
                VALUES,
                "SET @@sql_mode = ",
            ],
            &["SET @@local.sql_mode = 'ANSI'", VALUES, VALUES, VALUES],
            &["SELECT 1", VALUES, VALUES, VALUES, VALUES, VALUES, VALUES],
        ],
    );
    assert_eq!(pinned(&door, "untracked_variable"), 0);
}

#[test]
fn what_triggers_and_functions_read_is_the_sessions_own() {
    let database = Database::shared();
    begin(&database, "carried_seen");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let names = ["anna", "bert", "NULL"];
    let mut clients = names.map(|name| {
        let mut client = Client::new(&door.address(), "carried_seen");
        if name != "NULL" {
            client.run(&format!("SET @who = '{name}'"));
        }
        (client, name)
    });
    for round in 0..3 {
        for (client, name) in &mut clients {
            let tag = format!("{name} {round}");
            client.run(&format!("INSERT INTO audit (tag) VALUES ('{tag}')"));
            let written = client.value(&format!("SELECT who FROM audit WHERE tag = '{tag}'"));
            let through_view = client.value("SELECT who FROM v WHERE id = 1");
            assert_eq!([&written, &through_view], [*name; 2]);
        }
    }
    assert_eq!(pinned(&door, "user_variable"), 0);
}

#[test]
fn what_a_trigger_sets_stays_the_sessions_own() {
    let database = Database::shared();
    begin(&database, "carried_set");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let mut client = Client::new(&door.address(), "carried_set");
    client.run("INSERT INTO audit (tag) VALUES ('x')");
    assert_eq!(pinned(&door, "user_variable"), 0);
    client.run("INSERT INTO plain VALUES (77, 'x')");
    let mut other = Client::new(&door.address(), "carried_set");
    assert_eq!(other.value("SELECT @last"), "NULL");
    assert_eq!(client.value("SELECT @last"), "77");
    // MySQL has no list of them that everybody may read.
    let pins = u64::from(!Server::is_mariadb());
    assert_eq!(pinned(&door, "user_variable"), pins);
}

#[test]
fn what_is_too_large_to_be_carried_pins() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let mut clients = [(); 3].map(|()| Client::new(&door.address(), "shop"));
    clients[0].run("SET @long = REPEAT('x', 100000)");
    eventually("it is pinned", || {
        (pinned(&door, "user_variable") == 1).then_some(())
    });
    clients[1].run("SET @long = 'short'");
    assert_eq!(clients[0].value("SELECT LENGTH(@long)"), "100000");
    assert_eq!(clients[1].value("SELECT @long"), "short");
    assert_eq!(clients[2].value("SELECT @long"), "NULL");
    assert_eq!(pinned(&door, "user_variable"), 1);
}

#[test]
fn a_reset_forgets_user_variables() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut clients = [(); 2].map(|()| Client::new(&door.address(), "shop"));
    clients[0].run("SET @a = 1");
    clients[1].run("SET @a = 2");
    clients[0].send(wire::Command::ResetConnection as u8, b"");
    clients[0].answer().unwrap();
    assert_eq!(clients[0].value("SELECT @a"), "NULL");
    assert_eq!(clients[1].value("SELECT @a"), "2");
}

/// Not even their names are another session's.
#[test]
fn a_list_of_user_variables_is_the_sessions() {
    if !Server::is_mariadb() {
        return;
    }
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut clients = [(); 3].map(|()| Client::new(&door.address(), "shop"));
    clients[0].run("SET @card = '4111', @a = 1");
    clients[1].run("SET @a = 2, @b = 3");
    let lists = [
        "SHOW USER_VARIABLES",
        "SELECT variable_name, variable_value FROM information_schema.user_variables ORDER BY 1 DESC",
    ];
    let expected: [&[[&str; 2]]; 3] = [
        &[["a", "1"], ["card", "4111"]],
        &[["a", "2"], ["b", "3"]],
        &[],
    ];
    for list in lists {
        for (client, expected) in clients.iter_mut().zip(expected) {
            let [Outcome::Rows(rows)] = &mut client.run(list)[..] else {
                panic!("{list} lists nothing");
            };
            rows.sort();
            assert_eq!(rows, expected, "{list}");
        }
    }
    assert_eq!(pinned(&door, "user_variable"), 0);
}

/// MariaDB counts them among what its plugins tell, and so can flush them.
#[test]
fn flushed_user_variables_are_gone() {
    if !Server::is_mariadb() {
        return;
    }
    let others: &[&str] = &["SELECT @a, @b, @c"; 8];
    let (_door, _clients) = compare(
        "carried_flushed",
        &[
            &[
                "SET @a = 1, @b = 'x'",
                "SELECT @a := @a + 1, @c := 7",
                "FLUSH LOCAL USER_VARIABLES",
                "SELECT @a, @b, @c",
                "SET @a = 3",
                "SELECT @a, @b, @c, COLLATION(@b)",
                "FLUSH TABLES user_variables",
                "SELECT @a, @b, @c",
            ],
            others,
            &[
                "SET @b = 5",
                "SELECT @a, @b, @c",
                "SELECT @a, @b, @c",
                "SELECT @a, @b, @c",
                "SELECT @a, @b, @c",
            ],
        ],
    );
}

/// A backend connection that is cleaned for a session loses its schema if that was dropped: what the session says must not
/// be said in the schema that is selected meanwhile (MariaDB).
#[test]
fn what_is_said_in_a_schema_that_is_gone_does_not_run_in_another() {
    let database = Database::private();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    database.schema("gone");
    let mut leaves = Client::new(&door.address(), "gone");
    leaves.run("SET @left = 1");
    let mut client = Client::new(&door.address(), "gone");
    database.execute("DROP DATABASE gone");
    // Whoever begins a transaction gets a connection without variables of others.
    let told = client.run("BEGIN");
    let named = client.run("SELECT DATABASE()");
    assert!(
        !format!("{named:?}").contains("information_schema"),
        "{told:?}, {named:?}"
    );
    let read = client.run("SELECT COUNT(*) FROM TABLES");
    assert!(matches!(read[..], [Outcome::Err(..)]), "{read:?}");
}

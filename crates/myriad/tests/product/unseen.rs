//! What a statement does to its session, or asks of it, that its text does not show: it was done by a trigger, or is
//! asked of the server's own views.

use std::sync::Arc;

use crate::session_state::pinned;
use crate::support::{Client, Database, FrontDoor, Login, Outcome, Server};

const COM_RESET_CONNECTION: u8 = 0x1f;

/// A schema with a table whose trigger has this body.
fn begin(schema: &str, body: &str) -> Arc<Database> {
    let database = Database::shared();
    database.schema(schema);
    database.execute(&format!(
        "USE {schema}; CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT);
         DELIMITER //
         CREATE TRIGGER does BEFORE INSERT ON t FOR EACH ROW BEGIN {body} END//
         DELIMITER ;"
    ));
    database
}

#[test]
fn a_variable_that_a_trigger_sets_for_one_connection_stays_the_sessions_own() {
    let database = begin(
        "unseen_variables",
        "SET timestamp = 1000; SET insert_id = 500;",
    );
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let mut client = Client::new(&door.address(), "unseen_variables");
    let mut other = Client::new(&door.address(), "unseen_variables");
    client.run("INSERT INTO t (a) VALUES (1)");
    for _ in 0..3 {
        assert_ne!(other.value("SELECT YEAR(NOW())"), "1970");
        assert_eq!(client.value("SELECT YEAR(NOW())"), "1970");
    }
    assert_eq!(pinned(&door, "untracked_variable"), 1);
}

/// MariaDB says only that something has changed.
#[test]
fn sessions_are_tracked_and_have_their_roles_whatever_a_trigger_of_another_does() {
    if !Server::is_mariadb() {
        return;
    }
    let tracking = "SET session_track_system_variables = ''; SET session_track_schema = 0;";
    let database = begin("unseen_tracking", tracking);
    database.execute(
        "CREATE OR REPLACE ROLE unseen_role; GRANT unseen_role TO app@localhost;
         USE unseen_tracking; CREATE TABLE u (a INT);
         CREATE DEFINER = app@localhost TRIGGER plays BEFORE INSERT ON u FOR EACH ROW SET ROLE unseen_role",
    );
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let mut clients: Vec<_> = (0..3)
        .map(|_| Client::new(&door.address(), "unseen_tracking"))
        .collect();
    clients[0].run("INSERT INTO u VALUES (1)");
    assert_eq!(clients[0].value("SELECT CURRENT_ROLE()"), "unseen_role");
    for client in &mut clients[1..] {
        assert_eq!(client.value("SELECT CURRENT_ROLE() IS NULL"), "1");
    }
    clients[0].run("INSERT INTO t (a) VALUES (1)");
    clients[1].run("SET sql_mode = 'ANSI'");
    clients[1].run("USE shop");
    assert_eq!(clients[2].value("SELECT DATABASE()"), "unseen_tracking");
    assert_ne!(clients[2].value("SELECT @@sql_mode LIKE '%ANSI%'"), "1");
    assert_eq!(clients[1].value("SELECT DATABASE()"), "shop");
    assert_eq!(pinned(&door, "session_tracking"), 1);
}

/// That the server says so of variables which a hint sets for one statement is no reason to pin, also where the
/// account may not list user variables. What a view sets behind the hint comes to no other session.
#[test]
fn hints_that_set_variables_pin_nobody() {
    if Server::is_mariadb() {
        return;
    }
    let database = begin("unseen_hints", "SET NEW.a = 1;");
    database.execute(
        "USE unseen_hints;
         DELIMITER //
         CREATE FUNCTION f() RETURNS INT NO SQL BEGIN SET @v = 7; RETURN 1; END//
         DELIMITER ;
         CREATE VIEW calls AS SELECT f() AS x",
    );
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 2"]);
    let mut client = Client::new(&door.address(), "unseen_hints");
    let mut other = Client::new(&door.address(), "unseen_hints");
    let hint = "/*+ SET_VAR(sql_mode = 'ANSI') Set_Var(sort_buffer_size = 100000) */";
    for _ in 0..3 {
        other.run("SET @v = 'theirs', sql_mode = ''");
        let mode = format!("SELECT {hint} @@sql_mode LIKE '%ANSI%' FROM DUAL");
        assert_eq!(client.value(&mode), "1");
        assert_eq!(client.run(&format!("SELECT {hint} a FROM t")).len(), 1);
        client.run(&format!("SELECT {hint} a FROM nothing"));
        other.run("INSERT INTO t (a) VALUES (1)");
        assert_eq!(
            client.value("SELECT COALESCE(@v, @@sql_mode) LIKE '%STRICT%'"),
            "1"
        );
    }
    for _ in 0..3 {
        assert_eq!(client.value(&format!("SELECT {hint} x FROM calls")), "1");
        let mut third = Client::new(&door.address(), "unseen_hints");
        assert_eq!(third.value("SELECT @v IS NULL"), "1");
        assert_eq!(other.value("SELECT @v"), "theirs");
    }
    assert_eq!(pinned(&door, "user_variable"), 0);
}

/// Whether it was a view is still to be asked when a session begins anew that holds its connection.
#[test]
fn a_session_that_begins_anew_leaves_no_question_about_what_it_read() {
    if Server::is_mariadb() {
        return;
    }
    let database = begin("unseen_resets", "SET NEW.a = 1;");
    database.execute("USE unseen_resets; CREATE VIEW seen AS SELECT a FROM t");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut other = Client::new(&door.address(), "unseen_resets");
    let mut client = Client::new(&door.address(), "unseen_resets");
    other.run("INSERT INTO t (a) VALUES (1)");
    client.run("HANDLER t OPEN");
    // It may ask for LAST_INSERT_ID(), which the backend has of another.
    client.run("SELECT /*+ SET_VAR(sort_buffer_size = 100000) */ a FROM seen");
    client.send(COM_RESET_CONNECTION, b"");
    client.answer().unwrap();
    assert_eq!(client.value("SELECT COUNT(*) FROM t"), "1");
    assert_eq!(other.value("SELECT LAST_INSERT_ID()"), "1");
    assert_eq!(pinned(&door, "user_variable"), 0);
}

#[test]
fn lists_of_variables_tell_the_sessions_own_insert_id() {
    let database = begin("unseen_lists", "SET NEW.a = 1;");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let mut client = Client::new(&door.address(), "unseen_lists");
    let mut other = Client::new(&door.address(), "unseen_lists");
    client.run("INSERT INTO t (a) VALUES (1)");
    let own = client.value("SELECT LAST_INSERT_ID()");
    let view = match Server::is_mariadb() {
        true => "information_schema",
        false => "performance_schema",
    };
    let listed = format!(
        "SELECT VARIABLE_VALUE FROM {view}.session_variables WHERE VARIABLE_NAME = 'last_insert_id'"
    );
    for _ in 0..4 {
        other.run("INSERT INTO t (a) VALUES (1)");
        let shown = client.run("SHOW VARIABLES LIKE 'last_insert_id'");
        let row = vec!["last_insert_id".to_owned(), own.clone()];
        assert_eq!(shown, [Outcome::Rows(vec![row])]);
        other.run("INSERT INTO t (a) VALUES (1)");
        assert_eq!(client.value(&listed), own);
    }
}

#[test]
fn rows_are_counted_of_what_a_pinned_session_has_prepared() {
    let database = begin("unseen_counts", "SET NEW.a = 1;");
    let door = FrontDoor::start(database.address(), &[]);
    let mut client = Client::new(&door.address(), "unseen_counts");
    client.run("INSERT INTO t (a) VALUES (1), (1), (1), (1)");
    // No backend but this one has what it asks for.
    client.run("PREPARE asks FROM 'SELECT CONNECTION_ID()'");
    assert_eq!(pinned(&door, "text_prepared"), 1);
    client.run("PREPARE counts FROM 'SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 2'");
    client.run("EXECUTE counts");
    assert_eq!(client.value("SELECT FOUND_ROWS()"), "4");
}

/// MariaDB empties the list of conditions before it counts them, where tables are used.
#[test]
fn conditions_are_counted_by_what_uses_tables_as_the_server_does() {
    let database = begin("unseen_conditions", "SET @x = 1;");
    let ask = |client: &mut Client| {
        let mut told = Vec::new();
        client.run("DELETE FROM t");
        client.run("SELECT * FROM nothing");
        client.run("INSERT INTO t (a) VALUES (@@error_count)");
        told.push(client.value("SELECT a FROM t"));
        client.run("SELECT * FROM nothing");
        told.push(client.value("SELECT @@error_count + a - a FROM t"));
        client.run("SELECT * FROM nothing");
        told.push(client.value("SELECT @@error_count + 0"));
        told
    };
    let direct = ask(&mut Client::new(database.address(), "unseen_conditions"));
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let through = ask(&mut Client::new(&door.address(), "unseen_conditions"));
    assert_eq!(through, direct);
}

#[test]
fn a_resource_group_ends_with_its_session() {
    // MariaDB has none, and MySQL refuses them beside its thread pool.
    if Server::is_mariadb() || Server::chosen().has_thread_pool() {
        return;
    }
    let database = Database::private();
    database.execute("CREATE RESOURCE GROUP unseen TYPE = USER");
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 1"]);
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::default()
    };
    let group = "SELECT resource_group FROM performance_schema.threads WHERE processlist_id = CONNECTION_ID()";
    let mut client = Client::login(&door.address(), &login).unwrap();
    client.run("SET RESOURCE GROUP unseen");
    assert_eq!(client.value(group), "unseen");
    drop(client);
    let mut client = Client::login(&door.address(), &login).unwrap();
    assert_eq!(client.value(group), "USR_default");
}

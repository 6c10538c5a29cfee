//! The command-line client of the server's family says the same through the front door as directly.

use crate::from_server::{MONITOR, add_monitor};
use crate::support::{Address, Database, FrontDoor, Output, Server, Tool, program, run};

/// What the client prints for a login of `user` and one statement.
fn login(address: &Address, (user, password, schema): (&str, &str, &str)) -> Output {
    let mut command = program(Tool::Client, address);
    command
        .arg(format!("--user={user}"))
        .args(["--batch", schema])
        .env("MYSQL_PWD", password);
    run(
        &mut command,
        "SELECT CURRENT_USER(), DATABASE(), @@version, @@autocommit",
    )
}

#[test]
fn logins_succeed_and_fail_word_for_word_as_directly() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    let cases = [
        (("app", "secret", ""), None),
        (("app", "secret", "shop"), None),
        (("admin", "all", "shop"), None),
        (("app", "Secret", "shop"), Some("1045 (28000)")),
        (("app", "", "shop"), Some("1045 (28000)")),
        (("nobody", "secret", "shop"), Some("1045 (28000)")),
        (("nobody", "", ""), Some("1045 (28000)")),
        (("app", "secret", "nosuch"), Some("1044 (42000)")),
        (("app", "secret", "mysql"), Some("1044 (42000)")),
        (("admin", "all", "nosuch"), Some("1049 (42000)")),
    ];
    // The second round meets what the first one made the front door remember.
    for (case, refused) in cases.iter().chain(&cases) {
        let through = login(&door.address(), *case);
        assert_eq!(through, login(database.address(), *case), "{case:?}");
        assert_eq!(
            through.code == Some(0),
            refused.is_none(),
            "{case:?}: {through:?}"
        );
        assert!(
            through.stderr.contains(refused.unwrap_or_default()),
            "{case:?}: {through:?}"
        );
    }
}

#[test]
fn an_expired_password_is_changed_and_the_session_goes_on() {
    let database = Database::shared();
    add_monitor(&database);
    let change = match Server::is_mariadb() {
        true => "SET PASSWORD = PASSWORD('next')",
        false => "ALTER USER USER() IDENTIFIED BY 'next'",
    };
    let script = format!(
        "SELECT 1;\nSET PASSWORD FOR 'app'@'localhost' = 'x';\n{change};\nSELECT 2, DATABASE();\n\
         CREATE TEMPORARY TABLE t SELECT 3;\nSELECT * FROM t;\nSELECT CURRENT_USER();\n"
    );
    let account = "DROP USER IF EXISTS 'cl_old'@'localhost';
         CREATE USER 'cl_old'@'localhost' IDENTIFIED BY 'right';
         GRANT ALL ON shop.* TO 'cl_old'@'localhost';
         ALTER USER 'cl_old'@'localhost' PASSWORD EXPIRE";
    let told = |address: &Address| {
        let mut command = program(Tool::Client, address);
        command
            .args(["--user=cl_old", "--batch", "--force", "shop"])
            .env("MYSQL_PWD", "right");
        command.arg("--connect-expired-password");
        run(&mut command, &script)
    };
    database.execute(account);
    // Only now: none of its looks at the accounts may fall between these statements.
    let door = FrontDoor::start(database.address(), &[MONITOR]);
    let through = told(&door.address());
    assert!(
        through.stderr.contains("1820 (HY000) at line 1"),
        "{through:?}"
    );
    assert!(through.stdout.contains("cl_old@localhost"), "{through:?}");
    database.execute(account);
    assert_eq!(through, told(database.address()));
    let next = |address: &Address| login(address, ("cl_old", "next", "shop"));
    assert_eq!(next(&door.address()), next(database.address()));
}

#[test]
fn a_schema_that_was_dropped_is_refused_at_the_next_login() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &[]);
    database.schema("passing");
    let case = ("admin", "all", "passing");
    assert_eq!(login(&door.address(), case).code, Some(0));
    let dropped = run(
        program(Tool::Client, &door.address())
            .args(["--user=admin"])
            .env("MYSQL_PWD", "all"),
        "DROP DATABASE passing",
    );
    assert_eq!((dropped.code, dropped.stderr.as_str()), (Some(0), ""));
    let (through, direct) = (
        login(&door.address(), case),
        login(database.address(), case),
    );
    assert_eq!(through, direct);
    assert!(through.stderr.contains("1049"), "{through:?}");
}

/// Runs a script in an empty schema, directly and through front doors with one and with two
/// backend connections: the client must print the same.
fn assert_same(schema: &str, arguments: &[&str], text: &str) -> Output {
    let text = &Server::words(text);
    let database = Database::shared();
    let script = |address: &Address| {
        database.schema(schema);
        run(
            program(Tool::Client, address).args(arguments).arg(schema),
            text,
        )
    };
    let direct = script(database.address());
    for limit in ["backend.max_connections = 1", "backend.max_connections = 2"] {
        let door = FrontDoor::start(database.address(), &[limit]);
        for address in [door.address(), Address::Tcp(door.tcp())] {
            let through = script(&address);
            assert_eq!(through.stderr, direct.stderr, "{limit}");
            for (through, direct) in through.stdout.lines().zip(direct.stdout.lines()) {
                assert_eq!(through, direct, "{limit}");
            }
            assert_eq!(through, direct, "{limit}");
        }
    }
    direct
}

#[test]
fn a_script_of_all_sorts_prints_the_same() {
    let text = r"
        CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(3), UNIQUE (a));
        INSERT INTO t (a) VALUES ('x'), ('y'), ('z');
        SELECT LAST_INSERT_ID();
        INSERT INTO t VALUES (500, 'q');
        SELECT LAST_INSERT_ID(), @@last_insert_id, @@identity;
        UPDATE t SET a = 'y' WHERE id <= 2;
        UPDATE t SET a = CONCAT(a, 1) WHERE id <= 2;
        SELECT * FROM t ORDER BY id;
        INSERT INTO t (a) VALUES ('x1');
        SELECT nothing FROM nowhere;
        THIS IS NO STATEMENT;
        SHOW TABLES; SHOW CREATE TABLE t; DESCRIBE t;
        SHOW TABLES LIKE 'nosuch';
        SELECT NULL, '', 'tab\there', 'line\nhere', 0x00ff, 'äöü€';
        USE shop;
        SELECT DATABASE(), COUNT(*) FROM customer;
        USE nosuch;
        SELECT DATABASE();
        USE script_sorts;
        SELECT DATABASE();
        SET NAMES latin1; SELECT @@character_set_client, @@collation_connection;
        SET NAMES utf8mb4 COLLATE utf8mb4_bin; SELECT @@collation_connection;
        SET sql_mode = 'ANSI_QUOTES'; SELECT 1 AS a, @@sql_mode; SELECT a FROM t;
        SET sql_mode = DEFAULT; SELECT @@sql_mode;
        SET @x = 5; SELECT @x, @x := @x + 1; SELECT @x;
        BEGIN; DELETE FROM t; SELECT COUNT(*) FROM t; ROLLBACK; SELECT COUNT(*) FROM t;
        SET autocommit = 0; DELETE FROM t WHERE id = 1; ROLLBACK; SET autocommit = 1;
        SELECT COUNT(*) FROM t;
        CREATE TEMPORARY TABLE t (b INT); INSERT INTO t VALUES (7); SELECT * FROM t;
        DROP TEMPORARY TABLE t; SELECT COUNT(*) FROM t;
        LOCK TABLES t WRITE; SELECT COUNT(*) FROM t; UNLOCK TABLES;
        PREPARE p FROM 'SELECT ? + 1'; SET @y = 41; EXECUTE p USING @y; DEALLOCATE PREPARE p;
        SELECT GET_LOCK('script', 0), RELEASE_LOCK('script');
        SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT @@tx_isolation;
        SELECT 1 INTO @z; SELECT @z;
        ";
    let printed = assert_same("script_sorts", &["--batch", "--force", "-vv"], text);
    assert_eq!(
        printed.stdout.matches("LAST_INSERT_ID").count(),
        4,
        "{}",
        printed.stdout
    );
    for error in ["1062", "1146", "1064", "1044"] {
        assert!(
            printed.stderr.contains(error),
            "{error}: {}",
            printed.stderr
        );
    }
}

#[test]
fn statements_in_one_command_and_routines_print_the_same() {
    let text = r"
        CREATE TABLE t (a INT);
        DELIMITER $$
        INSERT INTO t VALUES (1); SELECT a FROM t; UPDATE t SET a = 2; SELECT a FROM t$$
        SELECT 1; SELECT nothing; SELECT 2$$
        CREATE PROCEDURE p(IN n INT, OUT twice INT)
        BEGIN
            SELECT n;
            SELECT a FROM t WHERE a > 5;
            SET twice = n * 2;
        END$$
        CALL p(4, @twice)$$
        SELECT @twice$$
        CREATE FUNCTION f() RETURNS INT BEGIN INSERT INTO t VALUES (9); RETURN 3; END$$
        SELECT f(), COUNT(*) FROM t$$
        BEGIN NOT ATOMIC SELECT 'block'; END$$
        DELIMITER ;
        SELECT COUNT(*) FROM t;
        ";
    let printed = assert_same("script_routines", &["--batch", "--force", "-vv"], text);
    assert!(printed.stdout.contains("block"), "{printed:?}");
    assert!(printed.stderr.contains("1054"), "{printed:?}");
}

#[test]
fn warnings_are_those_of_the_statement_before() {
    let text = r"
        SET sql_mode = '';
        CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(2), b TINYINT);
        SELECT CAST('12x' AS SIGNED);
        INSERT INTO t (a, b) VALUES ('abc', 300);
        INSERT INTO t (b) VALUES ('x'), ('5y');
        UPDATE t SET b = 1000 WHERE id = 1;
        DROP TABLE IF EXISTS nosuch;
        BEGIN;
        INSERT INTO t (a) VALUES ('abcd');
        SHOW WARNINGS;
        SHOW COUNT(*) WARNINGS;
        SELECT 1 / 0;
        SELECT nothing;
        SHOW ERRORS;
        ROLLBACK;
        SELECT a, b FROM t;
        ";
    let printed = assert_same(
        "script_warnings",
        &["--batch", "--force", "-vv", "--show-warnings"],
        text,
    );
    assert!(
        printed.stdout.matches("Warning").count() >= 8,
        "{}",
        printed.stdout
    );
}

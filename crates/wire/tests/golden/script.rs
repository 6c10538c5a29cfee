//! What the servers are asked when their packets are taken.

use wire::Capabilities;

/// Run as root before each round.
pub(crate) const PREPARE: &str = "
    DROP DATABASE IF EXISTS golden; CREATE DATABASE golden CHARACTER SET utf8mb4; USE golden;
    CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(5), b DOUBLE, c DATETIME(3));
    INSERT INTO t VALUES (1, 'one', 1, '2025-01-02 03:04:05.678'), (2, '', NULL, NULL), (3, NULL, -2e100, NULL);
    SET GLOBAL local_infile = 1;
    DELIMITER //
    CREATE PROCEDURE p() BEGIN SELECT 1; SELECT a FROM t; UPDATE t SET a = 'x' WHERE id = 3; END//";

/// Sent first on each connection, so that everything that can be tracked is.
pub(crate) const TRACKERS: &str = "SET session_track_system_variables = '*', session_track_schema = ON, \
    session_track_state_change = ON, session_track_transaction_info = 'CHARACTERISTICS'";

/// File, statement, what is to be seen. One after the other on one connection.
pub(crate) const STATEMENTS: [(&str, &str, &str); 22] = [
    ("ok", "DO 1", "an OK packet without anything"),
    ("use", "USE golden", "a session-track block with the schema"),
    (
        "ok_info",
        "UPDATE t SET b = 5 WHERE id < 3",
        "an OK packet with text",
    ),
    (
        "ok_insert",
        "INSERT INTO t (a) VALUES ('four')",
        "an OK packet with an id",
    ),
    ("err", "SELECT nothing FROM nowhere", "an ERR packet"),
    (
        "rows",
        "SELECT * FROM t",
        "rows with NULL, an empty text and numbers",
    ),
    ("no_rows", "SELECT id FROM t WHERE id = 0", "no rows"),
    (
        "long_values",
        "SELECT REPEAT('x', 250), REPEAT('y', 251), REPEAT('z', 70000)",
        "lengths of one, three and four bytes",
    ),
    (
        "warnings",
        "SELECT CAST('12x' AS UNSIGNED)",
        "a count of warnings",
    ),
    (
        "err_amid_rows",
        "SELECT id, (SELECT a FROM t AS u WHERE u.id <= t.id) FROM t",
        "an ERR packet in place of the second row",
    ),
    (
        "several",
        "SELECT 1; UPDATE t SET a = 'z' WHERE id = 1; SELECT 2, 3",
        "three responses",
    ),
    (
        "several_err",
        "SELECT 1; SELECT nothing; SELECT 2",
        "a response, then an ERR packet",
    ),
    ("call", "CALL p()", "two result sets and an OK packet"),
    ("show", "SHOW COLUMNS FROM t", "rows of a SHOW"),
    (
        "variables",
        "SET time_zone = '+01:00', autocommit = 0",
        "system variables that changed",
    ),
    (
        "autocommit",
        "SET autocommit = 1",
        "a variable that changed",
    ),
    ("names", "SET NAMES latin1", "character sets that changed"),
    (
        "begin",
        "START TRANSACTION READ ONLY",
        "the state of a transaction that begins",
    ),
    (
        "in_transaction",
        "SELECT COUNT(*) FROM t",
        "flags and state within a transaction",
    ),
    ("commit", "COMMIT", "the state of a transaction that ends"),
    (
        "release",
        "COMMIT AND CHAIN",
        "the state of a transaction that begins by itself",
    ),
    ("rollback", "ROLLBACK", "and that ends"),
];

/// A statement that asks for a file.
pub(crate) const LOCAL_INFILE: &str = "LOAD DATA LOCAL INFILE 'golden.txt' INTO TABLE t";

/// A statement with a parameter.
pub(crate) const PREPARED: &str = "SELECT id, a, b, c FROM t WHERE id >= ?";

/// With the endings of today, and with those of old.
pub(crate) const ENDINGS: [(&str, Capabilities); 2] = [
    (
        "",
        Capabilities::DEPRECATE_EOF.union(Capabilities::SESSION_TRACK),
    ),
    ("_old", Capabilities::empty()),
];

//! Random sessions, run directly and through the front door while 200 others churn the same few
//! backend connections: not one packet may differ.

use crate::packets::{MAY_DIFFER, shown};
use crate::support::{Address, Client, Database, FrontDoor, Numbers, amid_churn};

const SESSIONS: u64 = 60;
const STATEMENTS: usize = 15;

/// What sessions do. Some of it leaves something behind, some of it asks for what was left.
/// FOUND_ROWS() is not asked for: after a DELETE it tells what the optimizer happened to count.
const STATEMENTS_MADE: [&str; 58] = [
    "SELECT 1",
    "SELECT * FROM narrow LIMIT 0",
    "SELECT * FROM narrow LIMIT 3",
    "SELECT COUNT(*) FROM narrow",
    "INSERT IGNORE INTO narrow VALUES (1000)",
    "UPDATE narrow SET a = a + 1 LIMIT 2",
    "INSERT INTO counted (b) VALUES (1), (2)",
    "INSERT INTO counted (id, b) VALUES (500, 1)",
    "DELETE FROM counted",
    "INSERT IGNORE INTO narrow VALUES (1000), (-1000), (99)",
    "SHOW WARNINGS",
    "SHOW WARNINGS LIMIT 1",
    "SHOW WARNINGS LIMIT 1, 1",
    "SHOW ERRORS",
    "SHOW COUNT(*) WARNINGS",
    "SHOW COUNT(*) ERRORS",
    "SELECT @@warning_count",
    "SELECT @@session.error_count AS errors",
    "SELECT GET_LOCK('differential', 1)",
    "SELECT RELEASE_LOCK('differential')",
    "DO RELEASE_ALL_LOCKS()",
    "CREATE TEMPORARY TABLE shadow (a INT)",
    "CREATE TEMPORARY TABLE narrow (b INT)",
    "DROP TEMPORARY TABLE narrow",
    "DROP TABLE shadow",
    "SELECT * FROM shadow",
    "LOCK TABLES narrow READ",
    "UNLOCK TABLES",
    "HANDLER counted OPEN",
    "HANDLER counted READ FIRST",
    "HANDLER counted CLOSE",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SELECT ROW_COUNT()",
    "SELECT ROW_COUNT() AS n",
    "SELECT LAST_INSERT_ID()",
    "SELECT LAST_INSERT_ID(77)",
    "SELECT @@identity",
    "SELEC",
    "SELECT nothing",
    "DROP TABLE IF EXISTS nowhere",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SET autocommit = 0",
    "SET autocommit = 1",
    "SET sql_mode = 'ANSI'",
    "SET @@sql_mode = ''",
    "SET sql_mode = DEFAULT",
    "SELECT @@sql_mode, @@autocommit, \"narrow\" FROM narrow LIMIT 1",
    "SET NAMES latin1",
    "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
    "SELECT @@collation_connection, 'ä'",
    "SET foreign_key_checks = 0, unique_checks = 0",
    "SET foreign_key_checks = DEFAULT",
    "SELECT @@foreign_key_checks, @@unique_checks, @@time_zone",
    "USE shop",
    "USE differential",
    "SELECT DATABASE()",
];

fn begin(database: &Database) {
    database.schema("differential");
    database.execute(
        "USE differential; CREATE TABLE narrow (a TINYINT);
         INSERT INTO narrow VALUES (1), (2), (126), (127);
         CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, b INT)",
    );
}

fn told(address: &Address, script: &[&str]) -> Vec<Vec<String>> {
    let mut client = Client::new(address, "differential");
    let ask = |text: &&str| {
        client.query(text);
        let mut answer = client.answer().unwrap();
        answer.ignore_after_columns(MAY_DIFFER);
        shown(&answer)
    };
    script.iter().map(ask).collect()
}

#[test]
fn random_sessions_are_told_what_the_database_tells() {
    let database = Database::shared();
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 8"]);
    let address = door.address();
    amid_churn((&database, "churn"), &address, || {
        compare(&database, &address);
    });
}

/// Warnings are told as they were captured: after SET NAMES the columns, which name the character set
/// of results, are those of before (docs/DIFFERENCES.md).
fn is_in_earlier_charset(script: &[&str]) -> bool {
    let asks = |text: &&str| text.starts_with("SHOW WARNINGS") || text.starts_with("SHOW ERRORS");
    let sets = |text: &&str| text.starts_with("SET NAMES");
    script.last().is_some_and(asks) && script.iter().any(sets)
}

fn compare(database: &Database, address: &Address) {
    for seed in 0..SESSIONS {
        let mut numbers = Numbers(seed);
        let pick = |_| STATEMENTS_MADE[numbers.below(STATEMENTS_MADE.len())];
        let script: Vec<_> = (0..STATEMENTS).map(pick).collect();
        begin(database);
        let direct = told(database.address(), &script);
        begin(database);
        let through = told(address, &script);
        for (at, (mut direct, mut through)) in direct.into_iter().zip(through).enumerate() {
            if is_in_earlier_charset(&script[..=at]) {
                let keeps = |line: &String| !line.starts_with("Column #");
                direct.retain(keeps);
                through.retain(keeps);
            }
            assert_eq!(through, direct, "seed {seed}, after {:?}", &script[..=at]);
        }
    }
}

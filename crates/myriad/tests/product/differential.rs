//! Random sessions, run directly and through the front door while 200 others churn the same few
//! backend connections: not one packet may differ.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::packets::{MAY_DIFFER, shown};
use crate::support::{Address, Client, Database, FrontDoor};

const SESSIONS: u64 = 60;
const STATEMENTS: usize = 15;
const CHURNERS: usize = 10;
const CLIENTS_PER_CHURNER: usize = 20;

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

/// What the others do: all that could be mistaken for a session's own.
const CHURN: [&str; 9] = [
    "INSERT IGNORE INTO others VALUES (1000)",
    "INSERT INTO others_counted () VALUES ()",
    "UPDATE others SET a = a LIMIT 1",
    "NO STATEMENT",
    "DROP TABLE IF EXISTS nothing_at_all",
    "SELECT * FROM others LIMIT 5",
    "SET sql_mode = 'ANSI_QUOTES'",
    "SET time_zone = '+03:00'",
    "SET foreign_key_checks = 0",
];

/// Numbers from a seed; the constants are those of Knuth's MMIX.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

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

fn churn(address: &Address, seed: u64, stop: &AtomicBool) {
    let mut numbers = Numbers(seed);
    let client = |_| Client::new(address, "churn");
    let mut clients: Vec<_> = (0..CLIENTS_PER_CHURNER).map(client).collect();
    while !stop.load(Ordering::Relaxed) {
        let which = numbers.below(clients.len());
        clients[which].run(CHURN[numbers.below(CHURN.len())]);
    }
}

#[test]
fn random_sessions_are_told_what_the_database_tells() {
    let database = Database::shared();
    database.schema("churn");
    database.execute(
        "USE churn; CREATE TABLE others (a TINYINT);
         CREATE TABLE others_counted (id INT AUTO_INCREMENT PRIMARY KEY)",
    );
    let door = FrontDoor::start(database.address(), &["backend.max_connections = 8"]);
    let (address, stop) = (door.address(), AtomicBool::new(false));
    // Before the churn, which would only make it slow.
    let direct: Vec<_> = (0..SESSIONS)
        .map(|seed| run(&database, database.address(), seed))
        .collect();
    std::thread::scope(|scope| {
        for seed in 0..CHURNERS {
            let (address, stop) = (&address, &stop);
            scope.spawn(move || churn(address, seed as u64, stop));
        }
        let _stop = Stop(&stop);
        for (seed, direct) in (0..SESSIONS).zip(direct) {
            compare(seed, run(&database, &address, seed), direct);
        }
    });
}

/// Ends the churn also when the comparison fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn script(seed: u64) -> Vec<&'static str> {
    let mut numbers = Numbers(seed);
    let pick = |_| STATEMENTS_MADE[numbers.below(STATEMENTS_MADE.len())];
    (0..STATEMENTS).map(pick).collect()
}

fn run(database: &Database, address: &Address, seed: u64) -> Vec<Vec<String>> {
    begin(database);
    told(address, &script(seed))
}

/// Warnings are told as they were captured: after SET NAMES the columns, which name the character set
/// of results, are those of before (docs/DIFFERENCES.md).
fn is_in_earlier_charset(script: &[&str]) -> bool {
    let asks = |text: &&str| text.starts_with("SHOW WARNINGS") || text.starts_with("SHOW ERRORS");
    let sets = |text: &&str| text.starts_with("SET NAMES");
    script.last().is_some_and(asks) && script.iter().any(sets)
}

fn compare(seed: u64, through: Vec<Vec<String>>, direct: Vec<Vec<String>>) {
    let script = script(seed);
    for (at, (mut direct, mut through)) in direct.into_iter().zip(through).enumerate() {
        if is_in_earlier_charset(&script[..=at]) {
            let keeps = |line: &String| !line.starts_with("Column #");
            (direct.retain(keeps), through.retain(keeps));
        }
        assert_eq!(through, direct, "seed {seed}, after {:?}", &script[..=at]);
    }
}

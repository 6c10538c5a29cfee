//! Two hundred sessions that go on meanwhile: all that could be mistaken for a session's own.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Address, Client, Database, Numbers};

const THREADS: u64 = 10;
const CLIENTS_PER_THREAD: usize = 20;

/// What they do.
const STATEMENTS: [&str; 8] = [
    "INSERT IGNORE INTO others VALUES (1000)",
    "INSERT INTO others_counted () VALUES ()",
    "UPDATE others SET a = a LIMIT 1",
    "NO STATEMENT",
    "DROP TABLE IF EXISTS nothing_at_all",
    "SELECT * FROM others LIMIT 5",
    "SET sql_mode = 'ANSI_QUOTES'",
    "SET time_zone = '+03:00'",
];

/// What sessions do that end soon after, one at a time: they hold a backend until then.
const PINNING: [&str; 5] = [
    "SET @x = 'theirs'",
    "CREATE TEMPORARY TABLE t AS SELECT 'theirs' AS a",
    "PREPARE p FROM 'SELECT 66'",
    "SET SESSION TRANSACTION READ ONLY; BEGIN; SELECT * FROM others",
    "HANDLER others OPEN",
];

/// Does something while two hundred sessions work in a new schema of this name.
pub(crate) fn amid_churn<T>(
    (database, schema): (&Database, &str),
    address: &Address,
    act: impl FnOnce() -> T,
) -> T {
    database.schema(schema);
    database.execute(&format!(
        "USE {schema}; CREATE TABLE others (a TINYINT);
         CREATE TABLE others_counted (id INT AUTO_INCREMENT PRIMARY KEY)"
    ));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = &stop;
        for seed in 0..THREADS {
            scope.spawn(move || churn((address, schema), seed, stop));
        }
        scope.spawn(move || pin(address, schema, stop));
        let _stop = Stop(stop);
        act()
    })
}

fn churn((address, schema): (&Address, &str), seed: u64, stop: &AtomicBool) {
    let mut numbers = Numbers(seed);
    let client = |_| Client::new(address, schema);
    let mut clients: Vec<_> = (0..CLIENTS_PER_THREAD).map(client).collect();
    while !stop.load(Ordering::Relaxed) {
        let which = numbers.below(clients.len());
        clients[which].run(STATEMENTS[numbers.below(STATEMENTS.len())]);
    }
}

fn pin(address: &Address, schema: &str, stop: &AtomicBool) {
    for statement in PINNING.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        Client::new(address, schema).run(statement);
    }
}

/// Ends what looks at this also when something fails.
pub(crate) struct Stop<'a>(pub(crate) &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

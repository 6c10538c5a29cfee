//! What it costs to understand a statement: `cargo bench --package session`.

use divan::{Bencher, black_box};
use session::statement::{Dialect, Flavor, called, classify};

const TEXTS: [&str; 8] = [
    "SELECT c FROM sbtest1 WHERE id=12345",
    "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 100 AND 199 ORDER BY c",
    "SELECT COUNT(*), MAX(a) FROM t WHERE name LIKE 'abc%' AND NOW() > b",
    "UPDATE sbtest1 SET k=k+1 WHERE id=12345",
    "INSERT INTO sbtest1 (id, k, c, pad) VALUES (1, 2, 'some text', 'some more text')",
    "BEGIN",
    "COMMIT",
    "SET NAMES utf8mb4",
];

/// These call routines, whose names are looked for, too.
const CALLS: [&str; 2] = [
    "CALL shop.place_order(12345, 'some text', @number)",
    "SELECT own(a), shop.other(b) FROM t WHERE id=12345",
];

fn main() {
    divan::main();
}

fn dialect() -> Dialect {
    Dialect::new(Flavor::MariaDb, 101_119)
}

#[divan::bench(args = TEXTS)]
fn statement(bencher: Bencher<'_, '_>, text: &str) {
    let dialect = dialect();
    bencher.bench(|| classify(black_box(text.as_bytes()), &dialect));
}

#[divan::bench(args = CALLS)]
fn routines(bencher: Bencher<'_, '_>, text: &str) {
    let dialect = dialect();
    bencher.bench(|| called(black_box(text.as_bytes()), &dialect));
}

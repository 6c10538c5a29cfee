//! Times the classifier: `cargo run --release -p session --example classify_speed`.

use std::hint::black_box;
use std::time::Instant;

use session::statement::{Dialect, Flavor, classify};

const ROUNDS: u32 = 1_000_000;

const TEXTS: &[&str] = &[
    "SELECT c FROM sbtest1 WHERE id=12345",
    "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 100 AND 199 ORDER BY c",
    "SELECT COUNT(*), MAX(a) FROM t WHERE name LIKE 'abc%' AND NOW() > b",
    "UPDATE sbtest1 SET k=k+1 WHERE id=12345",
    "INSERT INTO sbtest1 (id, k, c, pad) VALUES (1, 2, 'some text', 'some more text')",
    "BEGIN",
    "COMMIT",
    "SET NAMES utf8mb4",
];

fn main() {
    let dialect = Dialect::new(Flavor::MariaDb, 101_119);
    for text in TEXTS {
        let begin = Instant::now();
        for _ in 0..ROUNDS {
            black_box(classify(black_box(text.as_bytes()), &dialect));
        }
        let nanos = begin.elapsed().as_nanos() / u128::from(ROUNDS);
        println!("{nanos:>5} ns  {text}");
    }
}

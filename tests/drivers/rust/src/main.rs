//! The ordinary life of Rust's clients: rust-clients HOST PORT USER PASSWORD SCHEMA MODE.
//!
//! The mode is "sqlx" or "mysql_async": both prepare what has parameters. Prints "ok <step> <what was
//! seen>"; what is wrong ends the program with status 101.

mod asynchronous;
mod with_sqlx;

/// Where the database is, and who asks.
pub struct Target {
    host: String,
    port: u16,
    user: String,
    password: String,
    schema: String,
}

pub const MEGABYTE: usize = 1 << 20;

/// Bytes that differ from their neighbours.
pub fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|at| at as u8).collect()
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = || {
        arguments
            .next()
            .expect("HOST PORT USER PASSWORD SCHEMA MODE")
    };
    let target = Target {
        host: next(),
        port: next().parse().expect("a port"),
        user: next(),
        password: next(),
        schema: next(),
    };
    match next().as_str() {
        "sqlx" => with_sqlx::run(&target).await.unwrap(),
        "mysql_async" => asynchronous::run(&target).await.unwrap(),
        other => panic!("no such mode: {other}"),
    }
}

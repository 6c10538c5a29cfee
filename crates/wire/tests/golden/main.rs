//! Packets as real servers sent them: read, walked over, translated and written again.
//!
//! They lie in a folder per server beside this file. To take them anew:
//! `cargo test --package wire --test golden -- --ignored record`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod connection;
mod file;
mod prepared;
mod record;
mod script;

use file::Golden;

/// The folders of packets.
const SERVERS: [&str; 3] = ["mariadb", "mariadb-11.8", "mysql"];

/// Packets that were kept, and what they are for messages: server and file.
struct Kept {
    server: &'static str,
    name: String,
    golden: Golden,
}

/// Everything of all servers whose name begins with `prefix`.
fn all(prefix: &str) -> Vec<Kept> {
    let mut found = Vec::new();
    for server in SERVERS {
        for (name, golden) in Golden::named(server, prefix) {
            found.push(Kept {
                server,
                name,
                golden,
            });
        }
    }
    assert!(!found.is_empty(), "there is nothing of {prefix}");
    found
}

/// The packets of this very name from each server that has them.
fn each(name: &str) -> Vec<Kept> {
    let mut found = all(name);
    found.retain(|kept| kept.name == name);
    found
}

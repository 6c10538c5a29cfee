//! How much of the data the database keeps in memory.

use super::{Case, Check};
use crate::finding::{Observation, Severity};
use crate::host::Unknown;
use crate::numbers::{bytes, count};
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "database-buffer-pool",
    run,
};

/// Below so many reads their share says nothing.
const READS_LEAST: u64 = 100_000;
/// One read in so many may go to the disk.
const MISSES: u64 = 100;

fn run(case: &Case<'_>) -> Result<Observation, Unknown> {
    let size = case.facts.number("innodb_buffer_pool_size")?;
    let asked = case.facts.count("innodb_buffer_pool_read_requests")?;
    let missed = case.facts.count("innodb_buffer_pool_reads")?;
    let small = asked >= READS_LEAST && missed * MISSES > asked;
    let memory = case.ours.local_memory_bytes;
    let large = memory.is_some_and(|memory| size > memory / 10 * 9);
    let value = match memory {
        Some(memory) if large => memory / 2,
        _ => size * 2,
    };
    let remedy = Remedy::Variable {
        name: "innodb_buffer_pool_size",
        value: value.to_string(),
        dynamic: true,
    };
    let of = memory.map_or(String::new(), |memory| {
        format!(", of {} that this machine has", bytes(memory))
    });
    Ok(Observation::new(
        format!("buffer pool {}", bytes(size)),
        format!(
            "innodb_buffer_pool_size is {}{of}; {} of {} reads went to the disk",
            bytes(size),
            count(missed),
            count(asked)
        ),
    )
    .needs(format!(
        "at most one in {MISSES} reads from the disk, and at most nine tenths of the memory"
    ))
    .why("a statement that waits for the disk keeps its backend connection that much longer")
    .judged(small || large, Severity::Warning, [remedy]))
}

//! Whether the database has a thread for each connection, or a pool.

use super::{Case, Check};
use crate::finding::{Observation, Severity};
use crate::host::Unknown;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "database-thread-pool",
    run,
};

/// From so many connections on a thread for each costs more than it gives.
const MANY: u64 = 1_000;

fn run(case: &Case<'_>) -> Result<Observation, Unknown> {
    let handling = case.facts.text("thread_handling");
    let handling = handling.ok_or_else(|| Unknown("the database has no thread_handling".into()))?;
    let size = case.facts.text("thread_pool_size");
    // MySQL's plugin shows itself by its variables.
    let pooled = handling != "one-thread-per-connection";
    let (connections, whose) = case.connections();
    let groups = size.filter(|_| pooled).map_or(String::new(), |size| {
        format!(" of {size} groups (thread_pool_size)")
    });
    let found = if pooled {
        format!("{} has a thread pool{groups}", case.facts.family())
    } else {
        format!("{} has a thread for each connection", case.facts.family())
    };
    let remedies = if case.facts.family() == "MariaDB" {
        vec![Remedy::Variable {
            name: "thread_handling",
            value: "pool-of-threads".into(),
            dynamic: false,
        }]
    } else {
        vec![Remedy::advice(
            "load its thread pool (plugin_load_add = thread_pool.so), where it has one",
        )]
    };
    let remedies = remedies.into_iter().chain([Remedy::advice(
        "or put Myriad before it: the database then has a few busy connections",
    )]);
    Ok(Observation::new(if pooled { "thread pool" } else { "thread per connection" }, found)
        .needs(format!(
            "a pool from {} connections on; there are {} {whose}",
            count(MANY),
            count(connections)
        ))
        .why(
            "thousands of threads contend for processors and locks: with 10,000 connections a statement took \
             MariaDB 46 to 50 µs, and 28 to 33 µs behind Myriad",
        )
        .judged(!pooled && connections >= MANY, Severity::Warning, remedies))
}

//! How many connections may wait for the database to accept them.

use super::{Case, Check};
use crate::finding::{Observation, Severity};
use crate::host::Unknown;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "database-back-log",
    run,
};

/// Longer queues are bounded by net.core.somaxconn.
const LONGEST: u64 = 4_096;

fn run(case: &Case<'_>) -> Result<Observation, Unknown> {
    let most = case.facts.number("back_log")?;
    let (connections, whose) = case.connections();
    let wanted = connections.min(LONGEST);
    let remedy = Remedy::Variable {
        name: "back_log",
        value: wanted.to_string(),
        dynamic: false,
    };
    Ok(Observation::new(
        format!("back_log {}", count(most)),
        format!("back_log is {}: so many connections may wait to be accepted", count(most)),
    )
    .needs(format!(
        "{} for {} {whose} at once, at most {}",
        count(wanted),
        count(connections),
        count(LONGEST)
    ))
    .why("beyond it connecting is delayed by a second or more, or fails with errno 11 over a unix socket")
    .judged(most < wanted, Severity::Warning, [remedy]))
}

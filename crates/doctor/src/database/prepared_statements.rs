//! How many prepared statements the database keeps, over all connections.

use super::{Case, Check};
use crate::finding::{Observation, Severity};
use crate::host::Unknown;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "database-prepared-statements",
    run,
};

/// Statements that a connection of a client keeps prepared.
const OF_CLIENT: u64 = 10;

/// Statements that Myriad keeps prepared on a connection at most: `backend.max_prepared_statements`, unless that
/// is set.
const OF_BACKEND: u64 = 128;

fn run(case: &Case<'_>) -> Result<Observation, Unknown> {
    let most = case.facts.number("max_prepared_stmt_count")?;
    let used = case.facts.count("prepared_stmt_count")?;
    let (connections, whose) = case.connections();
    let each = match case.is_direct() {
        true => OF_CLIENT,
        false => OF_BACKEND,
    };
    let wanted = connections * each + used;
    let remedy = Remedy::Variable {
        name: "max_prepared_stmt_count",
        value: wanted.next_multiple_of(1_000).to_string(),
        dynamic: true,
    };
    Ok(Observation::new(
        format!("prepared statements {}", count(most)),
        format!(
            "max_prepared_stmt_count is {}, {} are prepared",
            count(most),
            count(used)
        ),
    )
    .needs(format!(
        "{} {whose} × {each} + {} now = {}",
        count(connections),
        count(used),
        count(wanted)
    ))
    .why("beyond it PREPARE fails with error 1461")
    .judged(most < wanted, Severity::Warning, [remedy]))
}

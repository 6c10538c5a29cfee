//! How many tables the database keeps open: each connection that uses a table counts.

use super::{Case, Check};
use crate::finding::{Observation, Severity};
use crate::host::Unknown;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "database-table-cache",
    run,
};

/// Tables of one statement, generously.
const PER_CONNECTION: u64 = 10;
/// More is never asked for here.
const LARGEST: u64 = 200_000;

fn run(case: &Case<'_>) -> Result<Observation, Unknown> {
    let most = case.facts.number("table_open_cache")?;
    let overflows = case.facts.count("table_open_cache_overflows").unwrap_or(0);
    let (connections, whose) = case.connections();
    let wanted = (connections * PER_CONNECTION).min(LARGEST);
    let remedy = Remedy::Variable {
        name: "table_open_cache",
        value: wanted.max(most).to_string(),
        dynamic: true,
    };
    Ok(Observation::new(
        format!("table cache {}", count(most)),
        format!(
            "table_open_cache is {}, which was too small {} times",
            count(most),
            count(overflows)
        ),
    )
    .needs(format!(
        "{} {whose} × {PER_CONNECTION} tables of a statement = {}",
        count(connections),
        count(wanted)
    ))
    .why("a table that is not in the cache is closed and opened for each statement, under a lock of all")
    .judged(most < wanted, Severity::Warning, [remedy]))
}

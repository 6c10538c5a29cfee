//! Whether the database keeps statistics of everything it does.

use super::{Case, Check};
use crate::finding::{Observation, Severity};
use crate::host::Unknown;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "database-performance-schema",
    run,
};

/// From so many connections on its memory for each of them matters.
const MANY: u64 = 10_000;

fn run(case: &Case<'_>) -> Result<Observation, Unknown> {
    let on = case.facts.is_on("performance_schema")?;
    let (connections, whose) = case.connections();
    let remedy = Remedy::Variable {
        name: "performance_schema",
        value: "OFF".into(),
        dynamic: false,
    };
    let state = if on { "on" } else { "off" };
    Ok(Observation::new(
        format!("performance schema {state}"),
        format!("performance_schema is {state}"),
    )
    .needs(format!(
        "off for the highest rates, or from {} connections on; there are {} {whose}",
        count(MANY),
        count(connections)
    ))
    .why("it costs processor time for each statement, and memory for each connection that there ever was at once")
    .judged(on && connections >= MANY, Severity::Warning, [remedy]))
}

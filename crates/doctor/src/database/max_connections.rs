//! How many connections the database takes.

use super::{Case, Check};
use crate::finding::{Observation, Severity};
use crate::host::Unknown;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "database-max-connections",
    run,
};

/// What Myriad opens besides: one for `[monitor]`, and as a rule one to end statements.
const BESIDES: u64 = 2;
/// What is left for people.
const SPARE: u64 = 10;

fn run(case: &Case<'_>) -> Result<Observation, Unknown> {
    let most = case.facts.number("max_connections")?;
    let others = case.facts.count("threads_connected")?.saturating_sub(1);
    let (wanted, whose) = case.connections();
    let besides = if case.is_direct() { 0 } else { BESIDES };
    let sum = wanted + besides + others;
    let observation = Observation::new(
        format!("max_connections {}", count(most)),
        format!(
            "{} takes {} connections, {} are open",
            case.facts.family(),
            count(most),
            count(others)
        ),
    )
    .needs(format!(
        "{} {whose} + {besides} for [monitor] and to end statements + {} others now = {}",
        count(wanted),
        count(others),
        count(sum)
    ))
    .why("a connection above it gets error 1040 (Too many connections)");
    let remedy = Remedy::Variable {
        name: "max_connections",
        value: (sum + SPARE).to_string(),
        dynamic: true,
    };
    if case.is_direct() {
        return Ok(observation.limited(most.saturating_sub(others), wanted, [remedy]));
    }
    Ok(observation.judged(most < sum, Severity::Warning, [remedy]))
}

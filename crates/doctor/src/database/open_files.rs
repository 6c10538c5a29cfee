//! How many files the database may have open: connections, tables, itself.

use super::{Case, Check};
use crate::finding::{Observation, Severity};
use crate::host::Unknown;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "database-open-files",
    run,
};

/// As the databases reckon themselves.
const OWN: u64 = 10;
/// Files of an open table at most.
const PER_TABLE: u64 = 2;

fn run(case: &Case<'_>) -> Result<Observation, Unknown> {
    let most = case.facts.number("open_files_limit")?;
    let tables = case.facts.number("table_open_cache")?;
    let (connections, whose) = case.connections();
    let wanted = OWN + connections + tables * PER_TABLE;
    let observation = Observation::new(
        format!("open_files_limit {}", count(most)),
        format!("{} may have {} files open", case.facts.family(), count(most)),
    )
    .needs(format!(
        "{OWN} + {} {whose} + {} tables × {PER_TABLE} = {}",
        count(connections),
        count(tables),
        count(wanted)
    ))
    .why(
        "beyond it tables cannot be opened, and connections are not accepted (errno 24); the database lowers \
         max_connections and table_open_cache by itself when it starts",
    );
    let remedies = [
        Remedy::OpenFiles(wanted.next_multiple_of(1_024)),
        Remedy::Variable {
            name: "open_files_limit",
            value: wanted.next_multiple_of(1_024).to_string(),
            dynamic: false,
        },
    ];
    if case.is_direct() {
        let left = most.saturating_sub(OWN);
        return Ok(observation.limited(left, connections, remedies));
    }
    Ok(observation.judged(most < wanted, Severity::Warning, remedies))
}

//! Which tables and views leave something in the session of whoever uses them that no answer reports.

use super::{Case, Check};
use crate::finding::{Observation, Severity};
use crate::host::Unknown;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "database-triggers-and-views",
    run,
};

/// More names are only counted.
const NAMED: usize = 10;

fn run(case: &Case<'_>) -> Result<Observation, Unknown> {
    let names = case.facts.leaving()?;
    let (short, found) = match names {
        [] => (
            "triggers, views leave nothing".to_owned(),
            "no trigger or view of those that this account may see leaves anything in a session"
                .to_owned(),
        ),
        names => {
            let more = match names.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let named = &names[..names.len().min(NAMED)];
            (
                format!("triggers, views leave something: {}", names.len()),
                format!(
                    "these leave something in a session: {}{more}",
                    named.join(", ")
                ),
            )
        }
    };
    let remedy = Remedy::Advice {
        text:
            "have them create no temporary tables, take no GET_LOCK() and assign no user variables"
                .into(),
    };
    Ok(Observation::new(short, found)
        .needs("none")
        .why("a session that comes to one of them is pinned to its backend connection (stored_object)")
        .judged(
            !names.is_empty() && !case.is_direct(),
            Severity::Warning,
            [remedy],
        ))
}

//! When the database closes idle connections, against when Myriad does.

use super::{Case, Check};
use crate::finding::{Observation, Severity};
use crate::host::Unknown;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "database-wait-timeout",
    run,
};

fn run(case: &Case<'_>) -> Result<Observation, Unknown> {
    let theirs = case.facts.number("wait_timeout")?;
    let observation = Observation::new(
        format!("wait_timeout {} s", count(theirs)),
        format!(
            "the database closes connections that are idle for {} s",
            count(theirs)
        ),
    );
    if case.is_direct() {
        return Ok(observation.needs("longer than applications leave connections idle"));
    }
    let ours = case.ours.idle_timeout_s;
    let needs = match ours {
        Some(ours) => format!(
            "more than backend.idle_timeout, {} s, after which Myriad closes them itself",
            count(ours)
        ),
        None => "Myriad never closes idle connections (backend.idle_timeout = \"0\")".to_owned(),
    };
    let remedies = [
        Remedy::advice(format!(
            "set backend.idle_timeout = \"{}s\" in Myriad's configuration",
            (theirs / 2).max(1)
        )),
        Remedy::Variable {
            name: "wait_timeout",
            value: ours.map_or(28_800, |ours| ours * 2).to_string(),
            dynamic: true,
        },
    ];
    Ok(observation
        .needs(needs)
        .why("a connection that the database closes is lost to the statement that is just sent over it")
        .judged(ours.is_none_or(|ours| theirs <= ours), Severity::Warning, remedies))
}

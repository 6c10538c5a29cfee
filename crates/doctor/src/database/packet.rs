//! The largest command that the database takes, against that of Myriad.

use super::{Case, Check};
use crate::finding::{Observation, Severity};
use crate::host::Unknown;
use crate::numbers::bytes;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "database-packet",
    run,
};

fn run(case: &Case<'_>) -> Result<Observation, Unknown> {
    let theirs = case.facts.number("max_allowed_packet")?;
    let ours = case.ours.max_allowed_packet;
    let observation = Observation::new(
        format!("packets up to {}", bytes(theirs)),
        format!("the database takes commands of up to {}", bytes(theirs)),
    );
    if case.is_direct() {
        return Ok(observation.needs("as much as the largest statement of a client"));
    }
    let remedies = [
        Remedy::Variable {
            name: "max_allowed_packet",
            value: ours.to_string(),
            dynamic: true,
        },
        Remedy::advice("or lower server.max_allowed_packet of Myriad to the database's"),
    ];
    Ok(observation
        .needs(format!("{}, as server.max_allowed_packet of Myriad lets through", bytes(ours)))
        .why("a larger command costs its backend connection: the database answers with error 1153 and closes it")
        .judged(theirs < ours, Severity::Warning, remedies))
}

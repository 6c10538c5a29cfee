//! Whether the database looks up a name for the address of each connection.

use super::{Case, Check};
use crate::finding::{Observation, Severity};
use crate::host::Unknown;
use crate::need::Serving;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "database-skip-name-resolve",
    run,
};

fn run(case: &Case<'_>) -> Result<Observation, Unknown> {
    let skips = case.facts.is_on("skip_name_resolve")?;
    let over_tcp = case.need.serving != Serving::Myriad || case.need.backends_over_tcp;
    let (short, found) = if skips {
        ("no name lookups", "the database looks no names up")
    } else {
        (
            "name lookups",
            "the database looks the name of each client's address up",
        )
    };
    let needs = if over_tcp {
        "no look-ups, where connections come over TCP"
    } else {
        "nothing: connections come over a unix socket"
    };
    let remedy = Remedy::Variable {
        name: "skip_name_resolve",
        value: "ON".into(),
        dynamic: false,
    };
    Ok(Observation::new(short, found)
        .needs(needs)
        .why("a slow name server delays each login, and a login that fails there blocks the address (error 1129)")
        .judged(!skips && over_tcp, Severity::Warning, [remedy]))
}

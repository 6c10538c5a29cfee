//! Whether the database tells what its sessions set: MariaDB does not, whatever a session asks for, while its list of
//! variables to tell of is empty.

use super::{Case, Check};
use crate::finding::{Observation, Severity};
use crate::host::Unknown;
use crate::need::Serving;
use crate::remedy::Remedy;

const NAME: &str = "session_track_system_variables";

/// What it is unless somebody says otherwise.
const DEFAULT: &str =
    "'autocommit,character_set_client,character_set_connection,character_set_results,time_zone'";

pub(super) const CHECK: Check = Check {
    name: "database-session-tracking",
    run,
};

fn run(case: &Case<'_>) -> Result<Observation, Unknown> {
    let list = case.facts.text(NAME);
    let list = list.ok_or_else(|| Unknown(format!("the database has no {NAME}")))?;
    let off = list.is_empty() && case.facts.family() == "MariaDB";
    let (short, found) = if off {
        (
            "tracks nothing",
            format!("{NAME} is empty, so that sessions are never told of variables"),
        )
    } else {
        ("tracks sessions", format!("{NAME} = {list}"))
    };
    let remedy = Remedy::Variable {
        name: NAME,
        value: DEFAULT.into(),
        dynamic: true,
    };
    let off = off && case.need.serving == Serving::Myriad;
    Ok(Observation::new(short, found)
        .needs("any list that is not empty")
        .why("Myriad learns from the session tracker what follows a session, and refuses backend connections without it")
        .judged(off, Severity::Fatal, [remedy]))
}

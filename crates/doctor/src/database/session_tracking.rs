//! Whether the database tells what its sessions set: an old one cannot, MariaDB does not, whatever a session asks for,
//! while its list of variables to tell of is empty, and some versions of MariaDB leave some out.

use super::{Case, Check, Tracking};
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
    let through = case.need.serving == Serving::Myriad;
    if *case.facts.tracking() == Tracking::Never {
        return Ok(too_old(case.facts.version(), through));
    }
    let list = case.facts.text(NAME);
    let list = list.ok_or_else(|| Unknown(format!("the database has no {NAME}")))?;
    let off = list.is_empty() && case.facts.family() == "MariaDB";
    let (short, found) = match (off, case.facts.tracking()) {
        (true, _) => (
            "tracks nothing",
            format!("{NAME} is empty, so that sessions are never told of variables"),
        ),
        (false, Tracking::Untold(untold)) if !untold.is_empty() => (
            "tracks sessions, not all they set",
            format!(
                "it does not tell of {}: Myriad asks for what a SET names and was not told, \
                 one question each",
                untold.join(", ")
            ),
        ),
        (false, Tracking::Unknown(why)) => ("tracks sessions", format!("{NAME} = {list}; {why}")),
        (false, _) => ("tracks sessions", format!("{NAME} = {list}")),
    };
    let remedy = Remedy::Variable {
        name: NAME,
        value: DEFAULT.into(),
        dynamic: true,
    };
    Ok(Observation::new(short, found)
        .needs("any list that is not empty")
        .why("Myriad learns from the session tracker what follows a session, and refuses backend connections without it")
        .judged(off && through, Severity::Fatal, [remedy]))
}

fn too_old(version: &str, through: bool) -> Observation {
    let newer = Remedy::Advice {
        text: "upgrade the database".into(),
    };
    Observation::new("cannot track sessions", format!("its version is {version}"))
        .needs("MariaDB 10.2, MySQL 5.7, or a newer one")
        .why("Myriad learns from the session tracker what follows a session, and refuses backend connections without it")
        .judged(through, Severity::Fatal, [newer])
}

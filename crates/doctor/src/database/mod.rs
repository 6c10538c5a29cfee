//! The checks of the database behind: facts in, findings out. One file each; asking the database is
//! not done here.

mod back_log;
mod buffer_pool;
mod facts;
mod max_connections;
mod open_files;
mod packet;
mod performance_schema;
mod prepared_statements;
mod session_tracking;
mod skip_name_resolve;
mod table_cache;
mod thread_pool;
mod triggers_and_views;
mod wait_timeout;

pub use facts::{Facts, Tracking};

use crate::finding::{Finding, Group, Observation};
use crate::host::Unknown;
use crate::need::{Need, Serving};

/// What Myriad's configuration says that the database must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ours {
    /// The largest command, in bytes.
    pub max_allowed_packet: u64,
    /// After how many seconds an idle connection to the database is closed; `None` = never.
    pub idle_timeout_s: Option<u64>,
    /// Whether the database is on this machine, so that it shares its memory.
    pub local_memory_bytes: Option<u64>,
}

/// Everything that a check may look at.
struct Case<'a> {
    facts: &'a Facts,
    need: &'a Need,
    ours: &'a Ours,
}

impl Case<'_> {
    /// How many connections the database gets, and whose they are.
    fn connections(&self) -> (u64, &'static str) {
        match self.need.serving {
            Serving::Myriad => (self.need.backends, "backend connections"),
            Serving::ThreadPerConnection | Serving::ThreadPool => {
                (self.need.connections, "connections of clients")
            }
        }
    }

    fn is_direct(&self) -> bool {
        self.need.serving != Serving::Myriad
    }
}

struct Check {
    name: &'static str,
    run: fn(&Case<'_>) -> Result<Observation, Unknown>,
}

const CHECKS: [&Check; 13] = [
    &max_connections::CHECK,
    &back_log::CHECK,
    &thread_pool::CHECK,
    &open_files::CHECK,
    &table_cache::CHECK,
    &prepared_statements::CHECK,
    &wait_timeout::CHECK,
    &packet::CHECK,
    &skip_name_resolve::CHECK,
    &session_tracking::CHECK,
    &triggers_and_views::CHECK,
    &performance_schema::CHECK,
    &buffer_pool::CHECK,
];

/// What the checks of the database say.
pub fn examine_database(facts: &Facts, need: &Need, ours: &Ours) -> Vec<Finding> {
    let case = Case { facts, need, ours };
    let findings = CHECKS.iter().map(|check| {
        let observed = (check.run)(&case);
        finding(check.name, observed.unwrap_or_else(crate::checks::unknown))
    });
    findings.collect()
}

/// That the database could not be asked, and why.
pub fn unreachable_database(why: &str) -> Finding {
    let why = Unknown(format!("the database cannot be asked: {why}"));
    finding(max_connections::CHECK.name, crate::checks::unknown(why))
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|check| check.name)
}

fn finding(check: &'static str, observation: Observation) -> Finding {
    Finding {
        check,
        group: Group::Database,
        observation,
    }
}

#[cfg(test)]
mod tests;

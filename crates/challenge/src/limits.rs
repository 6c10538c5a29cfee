//! Which limit stops a run, and at how many connections: foretold instead of tried. What a machine
//! bounds, the doctor knows; what MariaDB bounds besides stands here.

use doctor::{Driver, Finding, Need, Role, Serving};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::{Course, Plan, Way, Workload};

/// MariaDB lowers its `max_connections` so that so many files are left for tables and for itself: ten,
/// and two for each of the least 200 tables it keeps open.
const DATABASE_FILES: u64 = 410;
/// The most that MariaDB takes as `max_connections`.
const DATABASE_CONNECTIONS: u64 = 100_000;
/// About how often per second users connect anew.
const RECONNECTS_PER_S: u64 = 10_000;

/// What stops a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// The doctor's check that found it, or a setting of the database.
    pub name: String,
    /// What it is, in a few words.
    pub short: String,
    /// Why it stops the run.
    pub text: String,
    /// How many connections it allows.
    pub allows: u64,
}

/// What a run needs of the machine, as the doctor is asked.
pub(crate) fn need(plan: &Plan, course: &Course) -> Need {
    Need {
        role: Role::Both,
        serving: match course.way {
            Way::Alone => Serving::ThreadPerConnection,
            Way::ThreadPool => Serving::ThreadPool,
            Way::Myriad => Serving::Myriad,
        },
        workers: plan.threads().into(),
        backends: course.backends().into(),
        backends_over_tcp: false,
        driver: Driver::Auto,
        reconnects_per_s: match course.workload {
            Workload::PointSelect | Workload::Update | Workload::Beside => 0,
            Workload::Reconnect | Workload::Storm => RECONNECTS_PER_S,
        },
        ..Need::new(course.connections.into())
    }
}

/// The limit that stops a run on a machine, if one does: the tightest.
pub(crate) fn stop(host: &doctor::Host, plan: &Plan, course: &Course) -> Option<Limit> {
    let report = doctor::examine(host, &need(plan, course));
    let found = report.findings.iter().filter_map(Limit::of);
    let all = found.chain(database(course.way));
    let tightest = all.min_by_key(|limit| limit.allows)?;
    (tightest.allows < u64::from(course.connections)).then_some(tightest)
}

impl Limit {
    fn of(finding: &Finding) -> Option<Self> {
        let observation = &finding.observation;
        let (found, needs) = (&observation.found, &observation.needs);
        Some(Self {
            name: finding.check.to_owned(),
            short: observation.short.clone(),
            text: format!("{found}, but it takes {needs}"),
            allows: observation.limit?,
        })
    }
}

/// What MariaDB bounds if the clients are connected to it itself.
fn database(way: Way) -> Vec<Limit> {
    if way == Way::Myriad {
        return Vec::new();
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = page::grouped(DATABASE_CONNECTIONS as f64);
    vec![
        Limit {
            name: "open-files".to_owned(),
            short: format!("{} open files", page::grouped(files as f64)),
            text: format!(
                "a process may have {} files open (RLIMIT_NOFILE), and of these MariaDB keeps \
                 {DATABASE_FILES} for tables and itself",
                page::grouped(files as f64)
            ),
            allows: files.saturating_sub(DATABASE_FILES),
        },
        Limit {
            name: "max_connections".to_owned(),
            short: format!("a max_connections of {most}"),
            text: format!("MariaDB takes no larger max_connections than {most}"),
            allows: DATABASE_CONNECTIONS,
        },
    ]
}

/// Lets this process and its children open so many files, or as many as may be. Nothing is to be put
/// back: the limit ends with them.
pub(crate) fn raise_open_files(wanted: u64) {
    let now = getrlimit(Resource::Nofile);
    if now.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let enough = now.maximum.is_none_or(|maximum| maximum >= wanted);
    let raised = Rlimit {
        current: Some(wanted),
        maximum: if enough { now.maximum } else { Some(wanted) },
    };
    let as_allowed = Rlimit {
        current: now.maximum,
        maximum: now.maximum,
    };
    // Only root may raise the maximum, and not everywhere. What holds in the end is read again.
    let _refused =
        setrlimit(Resource::Nofile, raised).or_else(|_| setrlimit(Resource::Nofile, as_allowed));
}

#[cfg(test)]
pub(crate) mod tests;

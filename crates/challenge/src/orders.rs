//! What the load generator is told to do in a run: its flags.
//!
//! Not here: running it.

use std::time::Duration;

use crate::course::PROTECTED;
use crate::database::{OTHER_USER, tables, target};
use crate::storm::{self, OFFERED_PER_S, PATIENCE_MS, PATIENT};
use crate::{Course, Plan, Workload};

/// A generator that says nothing for so long, and for as long as it awaits its last answers, hangs: it
/// else says something each second.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);
const UPDATE: &str = "update-by-primary-key";
/// What the group of the account is called that another one runs beside.
pub(crate) const PROTECTED_NAME: &str = "protected";

/// How often an account is measured beside another one, and alone, in a run: an odd number, so that there
/// is a median. A machine that others use as well becomes faster and slower within seconds.
pub(crate) const ROUNDS: u32 = 5;

/// What it is told to do.
pub(crate) struct Orders {
    /// Its arguments.
    pub(crate) arguments: Vec<String>,
    /// How long it may say nothing.
    pub(crate) silence: Duration,
}

/// Which part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// All of its connections.
    All,
    /// What the rest is compared with: the protected account alone, or as many clients as a storm may run.
    Alone,
}

/// Its orders for a run to `port`.
pub(crate) fn orders(plan: &Plan, course: &Course, port: u16, phase: Phase) -> Orders {
    let part = match (course.workload, phase) {
        (Workload::Beside, _) => ROUNDS,
        (_, Phase::All) => 1,
        (_, Phase::Alone) => 2,
    };
    let duration = course.duration / part;
    let interval = (duration / 4).min(Duration::from_secs(1));
    let ms = |duration: Duration| format!("{}ms", duration.as_millis().max(1));
    let answers = answer_timeout(course);
    let mut arguments = vec!["load".to_owned(), "run".to_owned()];
    arguments.extend(target(port));
    arguments.extend(tables(plan));
    arguments.extend(groups(plan, course, phase));
    arguments.extend([
        format!("--threads={}", plan.threads()),
        format!("--warmup={}", ms(course.warmup)),
        format!("--duration={}", ms(duration)),
        format!("--answer-timeout={}", ms(answers)),
        format!("--report-interval={}", ms(interval)),
        format!("--json={}", plan.out.join("load.json").display()),
    ]);
    Orders {
        arguments,
        silence: SILENCE_LIMIT + answers,
    }
}

impl Orders {
    /// These processes are to be watched, too.
    pub(crate) fn watching(mut self, watched: &[u32]) -> Self {
        let flags = watched.iter().map(|pid| format!("--watch-pid={pid}"));
        self.arguments.extend(flags);
        self
    }
}

/// The connections and what they do.
fn groups(plan: &Plan, course: &Course, phase: Phase) -> Vec<String> {
    let connections = format!("--connections={}", course.connections);
    let workload = |name: &str| format!("--workload={name}");
    match course.workload {
        Workload::PointSelect => vec![workload("point-select"), connections],
        Workload::Reconnect => vec![workload("reconnect"), connections],
        Workload::Update => vec![workload(UPDATE), connections],
        Workload::Beside => {
            let mut flags = vec![
                workload(UPDATE),
                format!("--group=name={PROTECTED_NAME},connections={PROTECTED}"),
            ];
            flags.extend((phase == Phase::All).then(|| {
                let connections = course.connections;
                format!("--group=name={OTHER_USER},user={OTHER_USER},connections={connections}")
            }));
            flags
        }
        Workload::Storm => {
            let mut flags = vec![format!("--script={}", storm::file(plan).display())];
            flags.extend(match phase {
                Phase::Alone => vec![format!("--connections={PATIENT}")],
                Phase::All => vec![
                    connections,
                    format!("--rate={OFFERED_PER_S}"),
                    format!("--client-timeout={PATIENCE_MS}ms"),
                    "--on-timeout=reconnect".to_owned(),
                ],
            });
            flags
        }
    }
}

/// How long answers are awaited in the end: each connection has a statement under way, and a busy
/// machine may answer no more than a thousand of them per second. Not where statements of clients wait
/// for very long by design: theirs do not count.
fn answer_timeout(course: &Course) -> Duration {
    match course.workload {
        Workload::Beside | Workload::Storm => Duration::from_secs(5),
        _ => Duration::from_secs(10) + Duration::from_millis(course.connections.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::tests::{course, plan};
    use crate::{Case, Way};

    fn flags(workload: Workload, phase: Phase) -> Vec<String> {
        let course = Course {
            workload,
            case: Some(Case::Fifo),
            ..course(Way::Myriad, 500)
        };
        let orders = orders(&plan("1"), &course, 7_000, phase).watching(&[1, 2]);
        let flags = orders.arguments.into_iter();
        flags
            .filter(|flag| {
                let kept = [
                    "--workload",
                    "--group",
                    "--connections",
                    "--rate",
                    "--watch",
                ];
                kept.iter().any(|name| flag.starts_with(name))
            })
            .collect()
    }

    #[test]
    fn the_protected_account_runs_alone_and_beside_the_other() {
        let alone = [
            "--workload=update-by-primary-key",
            "--group=name=protected,connections=128",
            "--watch-pid=1",
            "--watch-pid=2",
        ];
        assert_eq!(flags(Workload::Beside, Phase::Alone), alone);
        let both = flags(Workload::Beside, Phase::All);
        let other = "--group=name=misbehaving,user=misbehaving,connections=500";
        assert_eq!(both[2], other);
    }

    #[test]
    fn a_storm_is_compared_with_patient_clients() {
        let calm = flags(Workload::Storm, Phase::Alone);
        assert_eq!(calm[0], "--connections=64");
        assert!(!calm.iter().any(|flag| flag.starts_with("--rate")));
        let storm = flags(Workload::Storm, Phase::All);
        assert_eq!(storm[..2], ["--connections=500", "--rate=4800"]);
    }
}

//! The host's settings for the time of a challenge: which are to be changed, and having them put back.

use doctor::{AdjustError, Adjusted, Severity};

use crate::error::ChallengeError;
use crate::limits::need;
use crate::{Course, Plan, Watcher};

/// Checks of which a warning, too, is reason to change something: very many connect at once.
const QUEUES: [&str; 2] = ["listen-queue", "syn-queue"];

/// Settings that will be put back, at the latest when this is dropped.
pub(crate) struct Changed(Option<Adjusted>);

impl Changed {
    /// Changes what the plan's runs need, as far as that is allowed, and says so. What an earlier
    /// challenge could not put back, because it was killed, is put back before.
    pub(crate) fn make(
        plan: &Plan,
        host: &doctor::Host,
        watcher: &mut dyn Watcher,
    ) -> Result<Self, ChallengeError> {
        put_back_leftover(plan, watcher)?;
        let wanted = if plan.keep_settings {
            Vec::new()
        } else {
            wanted(plan, host)
        };
        if wanted.is_empty() {
            return Ok(Self(None));
        }
        let list: Vec<String> = wanted
            .iter()
            .map(|s| format!("{} = {}", s.name, s.value))
            .collect();
        watcher.say(&format!(
            "for the time of the challenge: {}",
            list.join(", ")
        ));
        match Adjusted::apply(&wanted, &plan.state) {
            Ok(adjusted) => {
                for change in adjusted.changes() {
                    watcher.say(&format!("changed {change}"));
                }
                for refusal in adjusted.refusals() {
                    watcher.say(&format!("{refusal}; going on without"));
                }
                Ok(Self(Some(adjusted)))
            }
            Err(AdjustError::State { source, .. }) => {
                watcher.say(&format!(
                    "nothing is changed ({source}), which takes root; going on without"
                ));
                Ok(Self(None))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What was changed.
    pub(crate) fn changes(&self) -> Vec<doctor::Change> {
        self.0
            .as_ref()
            .map_or_else(Vec::new, |adjusted| adjusted.changes().to_vec())
    }

    /// Puts it back, and says so.
    pub(crate) fn put_back(self, watcher: &mut dyn Watcher) -> Result<(), ChallengeError> {
        if let Some(adjusted) = self.0 {
            for change in adjusted.restore()? {
                watcher.say(&format!("put back {change}"));
            }
        }
        Ok(())
    }
}

fn put_back_leftover(plan: &Plan, watcher: &mut dyn Watcher) -> Result<(), ChallengeError> {
    match Adjusted::restore_leftover(&plan.state) {
        Ok(changes) => {
            for change in changes {
                watcher.say(&format!("put back, as a challenge was killed: {change}"));
            }
            Ok(())
        }
        // Who may not read what root has left cannot put it back either.
        Err(AdjustError::State { source, path }) => {
            watcher.say(&format!("{} cannot be read: {source}", path.display()));
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// What has to be changed so that no setting stops a run that nothing else stops.
fn wanted(plan: &Plan, host: &doctor::Host) -> Vec<doctor::Setting> {
    let mut courses: Vec<Course> = plan.courses().collect();
    courses.sort_by_key(|course| course.connections);
    let mut wanted: Vec<doctor::Setting> = Vec::new();
    for course in &courses {
        for setting in of_course(plan, host, course) {
            // What the larger run needs will do for the smaller one.
            wanted.retain(|known| known.name != setting.name);
            wanted.push(setting);
        }
    }
    wanted
}

fn of_course(plan: &Plan, host: &doctor::Host, course: &Course) -> Vec<doctor::Setting> {
    let report = doctor::examine(host, &need(plan, course));
    let setting = |finding: &doctor::Finding| {
        let mut remedies = finding.observation.remedies.iter();
        remedies.find_map(doctor::Remedy::setting)
    };
    let fatal = |finding: &&doctor::Finding| finding.severity() == Severity::Fatal;
    if report
        .findings
        .iter()
        .filter(fatal)
        .any(|finding| setting(finding).is_none())
    {
        return Vec::new();
    }
    let needed = report.findings.iter().filter(|finding| {
        let warns = finding.severity() == Severity::Warning && QUEUES.contains(&finding.check);
        fatal(finding) || warns
    });
    needed.filter_map(setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::tests::{machine, plan};

    fn names(steps: &str, open_files: u64, settings: &[(&str, &str)]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        let host = machine(root.path(), open_files, settings);
        let wanted = wanted(&plan(steps), &host).into_iter();
        wanted
            .map(|setting| format!("{} {}", setting.name, setting.value))
            .collect()
    }

    #[test]
    fn a_wide_machine_is_left_alone() {
        assert_eq!(names("10000,100000", 1 << 20, &[]), [] as [&str; 0]);
    }

    #[test]
    fn only_what_stops_a_run_that_nothing_else_stops_is_changed() {
        let small = [("kernel/pid_max", "5000")];
        let changed = names("1000,10000", 1 << 20, &small);
        assert_eq!(changed.len(), 1, "{changed:?}");
        assert!(changed[0].starts_with("kernel.pid_max "), "{changed:?}");
        assert_eq!(names("1000", 1 << 20, &small), [] as [&str; 0]);
        // With so few files the database comes to no threads that could be missing.
        assert_eq!(names("25000", 20_000, &small), [] as [&str; 0]);
    }

    #[test]
    fn short_queues_are_made_longer() {
        let changed = names("1000", 1 << 20, &[("net/core/somaxconn", "128")]);
        assert_eq!(changed, ["net.core.somaxconn 4096"]);
    }
}

//! All findings together: what stops first, and the verdict.

use serde::Serialize;

use crate::adjust::Setting;
use crate::checks;
use crate::finding::{Finding, Severity};
use crate::host::Host;
use crate::need::Need;

/// What all checks say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// What was wanted.
    pub need: Need,
    /// What each check says, in the order of groups.
    pub findings: Vec<Finding>,
    /// Whether this is a container, where some settings are made elsewhere.
    pub in_container: bool,
}

/// The limit that is hit before all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FirstLimit {
    /// The check that found it.
    pub check: &'static str,
    /// How many connections it lets be.
    pub connections: u64,
}

/// Runs all checks of the machine.
pub fn examine(host: &Host, need: &Need) -> Report {
    Report {
        need: need.clone(),
        findings: checks::run(host, need),
        in_container: host.in_container(),
    }
}

impl Report {
    /// Adds what the checks of the database say.
    pub fn add(&mut self, findings: Vec<Finding>) {
        self.findings.extend(findings);
    }

    /// The limit that would be hit first if connections grew without end.
    pub fn first_limit(&self) -> Option<FirstLimit> {
        let limits = self.findings.iter().filter_map(|finding| {
            Some(FirstLimit {
                check: finding.check,
                connections: finding.observation.limit?,
            })
        });
        limits.min_by_key(|limit| limit.connections)
    }

    /// The limit that stops what is wanted, if one does.
    pub fn obstacle(&self) -> Option<FirstLimit> {
        let first = self.first_limit();
        first.filter(|limit| limit.connections < self.need.connections)
    }

    /// The worst there is.
    pub fn severity(&self) -> Severity {
        let severities = self.findings.iter().map(Finding::severity);
        severities.max().unwrap_or(Severity::Fine)
    }

    /// 0: fine, 1: warnings or something unknown, 2: it will not work.
    pub fn exit_status(&self) -> u8 {
        match self.severity() {
            Severity::Fine => 0,
            Severity::Unknown | Severity::Warning => 1,
            Severity::Fatal => 2,
        }
    }

    /// Everything, for programs: the keys stay as they are.
    ///
    /// # Errors
    /// None is known; the type is that of the library.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        struct Whole<'a> {
            #[serde(flatten)]
            report: &'a Report,
            severity: Severity,
            exit_status: u8,
            first_limit: Option<FirstLimit>,
        }
        serde_json::to_string_pretty(&Whole {
            report: self,
            severity: self.severity(),
            exit_status: self.exit_status(),
            first_limit: self.first_limit(),
        })
    }

    /// The settings that would make it better, each once: what [`crate::Adjusted`] may change.
    pub fn settings(&self) -> Vec<Setting> {
        let remedies = self.findings.iter().flat_map(|f| &f.observation.remedies);
        let mut settings: Vec<Setting> = Vec::new();
        for setting in remedies.filter_map(crate::Remedy::setting) {
            if settings.iter().all(|known| known.name != setting.name) {
                settings.push(setting);
            }
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::need::{Role, Serving};
    use crate::tree::Tree;

    #[test]
    fn a_healthy_machine_has_nothing_to_say() {
        let report = examine(&Tree::healthy().host(), &Need::new(100_000));
        let bad = report
            .findings
            .iter()
            .filter(|f| f.severity() != Severity::Fine);
        assert_eq!(bad.collect::<Vec<_>>(), [] as [&Finding; 0]);
        assert_eq!((report.exit_status(), report.obstacle()), (0, None));
        assert_eq!(report.settings(), []);
    }

    #[test]
    fn the_limit_that_is_hit_first_is_named() {
        let tree = Tree::healthy()
            .without_uring()
            .open_files(20_000, 20_000)
            .sysctl("net.ipv4.ip_local_port_range", "40000 40999");
        let need = Need {
            role: Role::Clients,
            sources: Some(1),
            ..Need::new(100_000)
        };
        let report = examine(&tree.host(), &need);
        let first = FirstLimit {
            check: "ports",
            connections: 1_000,
        };
        assert_eq!(
            (report.first_limit(), report.obstacle()),
            (Some(first), Some(first))
        );
        assert_eq!(report.exit_status(), 2);
        let names: Vec<_> = report.settings().into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["net.ipv4.ip_local_port_range"]);
    }

    #[test]
    fn the_original_experiment_is_told_beforehand() {
        // A thread for each of 50,000 connections, on a machine with room for them but for maps.
        let tree = Tree::healthy().sysctl("vm.max_map_count", "65530");
        let need = Need {
            serving: Serving::ThreadPerConnection,
            role: Role::Server,
            ..Need::new(50_000)
        };
        let obstacle = examine(&tree.host(), &need).obstacle().unwrap();
        assert_eq!(
            (obstacle.check, obstacle.connections),
            ("memory-maps", 32_515)
        );
    }

    #[test]
    fn a_machine_that_shows_nothing_gives_unknown_findings_only() {
        let empty = tempfile::tempdir().unwrap();
        let host = Host::at(empty.path(), crate::Uring::Works);
        let report = examine(&host, &Need::new(100_000));
        for finding in &report.findings {
            assert_eq!(finding.severity(), Severity::Unknown, "{finding:?}");
        }
        assert_eq!(report.exit_status(), 1);
    }
}

//! Processors: how many this process may use, against how many workers it has.

use super::Check;
use crate::finding::{Group, Observation, Severity};
use crate::host::{Host, Unknown};
use crate::need::Need;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "cpu",
    group: Group::Kernel,
    run,
};

/// Processor time of Myriad for a statement; 13 to 20 µs were measured with 10,000 connections.
const STATEMENT_US: f64 = 17.0;

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let cpus = host.cpus()?;
    let quota = host.cpu_quota()?;
    let usable = quota.map_or(cpus as f64, |quota| quota.min(cpus as f64));
    let less = quota.filter(|quota| *quota < cpus as f64);
    let less = less.map_or(String::new(), |quota| {
        format!(", of which the control group gives {quota:.1}")
    });
    let workers = need.workers as f64;
    let rate = (usable.min(workers) * 1e6 / STATEMENT_US) as u64;
    let mean_s = need.connections as f64 / rate.max(1) as f64;
    let advice = if usable < 1.0 {
        "give it one processor at least".to_owned()
    } else {
        format!(
            "set server.workers = {}, or give it more processors",
            usable.floor()
        )
    };
    Ok(Observation::new(
        format!("{usable:.0} processors"),
        format!("this process may use {cpus} processors{less}"),
    )
    .needs(format!(
        "one for each of {} workers; {STATEMENT_US} µs a statement make {} statements/s at most, so with \
         {} connections that all execute an answer takes {mean_s:.1} s on average or longer",
        need.workers,
        count(rate),
        count(need.connections)
    ))
    .why("workers that share a processor halt each other; connections × time between answers is what it bears")
    .judged(usable < workers, Severity::Warning, [Remedy::advice(advice)]))
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::Need;
    use crate::tree::Tree;

    #[test]
    fn workers_want_a_processor_each() {
        let need = Need {
            workers: 8,
            ..Need::new(100_000)
        };
        let tree = Tree::healthy();
        let finding = tree.check("cpu", &need).observation;
        assert_eq!(finding.severity, Severity::Fine);
        assert!(
            finding
                .needs
                .contains("17 µs a statement make 470,588 statements/s"),
            "{}",
            finding.needs
        );
        let tree = tree.with("sys/fs/cgroup/system.slice/cpu.max", "250000 100000\n");
        let finding = tree.check("cpu", &need).observation;
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.found,
            "this process may use 8 processors, of which the control group gives 2.5"
        );
        assert!(
            finding.remedies[0]
                .now()
                .starts_with("set server.workers = 2,")
        );
    }

    #[test]
    fn quotas_of_version_1_and_lists_of_processors_are_understood() {
        let tree = Tree::healthy()
            .with("proc/self/cgroup", "3:cpu,cpuacct:/box\n0::/\n")
            .with("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n")
            .with("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n")
            .with(
                "proc/self/status",
                "Uid:\t0\nCapEff:\t0\nCpus_allowed_list:\t0,2-3\n",
            );
        let need = Need {
            workers: 3,
            ..Need::new(1)
        };
        let finding = tree.check("cpu", &need).observation;
        assert_eq!(finding.severity, Severity::Fine);
        assert_eq!(finding.found, "this process may use 3 processors");
    }
}

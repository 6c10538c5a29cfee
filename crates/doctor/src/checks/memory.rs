//! Memory for so many connections, in the kernel and in the processes.

use super::{Check, model};
use crate::finding::{Group, Observation};
use crate::host::{Host, Unknown};
use crate::need::{Need, Serving};
use crate::numbers::{bytes, count};
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "memory",
    group: Group::Memory,
    run,
};

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let available = host.meminfo("MemAvailable")?;
    let cost = model::Cost::of(host, need);
    let wanted = cost.total(need.connections);
    Ok(Observation::new(
        format!("{} available", bytes(available)),
        format!("{} of memory are available", bytes(available)),
    )
    .needs(format!("{} = {}", arithmetic(need, &cost), bytes(wanted)))
    .why(
        "without memory connecting fails with errno 12 or 105, or the kernel kills the largest process, \
         which is mostly the database",
    )
    .limited(cost.connections(available), need.connections, remedies(need)))
}

/// What each connection costs, in words.
pub(super) fn arithmetic(need: &Need, cost: &model::Cost) -> String {
    let mut parts = vec![format!("{} kernel", bytes(cost.kernel))];
    if cost.serving > 0 {
        let who = if need.serving == Serving::Myriad {
            "Myriad"
        } else {
            "database"
        };
        parts.push(format!("{} {who}", bytes(cost.serving)));
    }
    if cost.generator > 0 {
        parts.push(format!("{} load generator", bytes(cost.generator)));
    }
    format!(
        "{} connections × ({}) + {} for the processes",
        count(need.connections),
        parts.join(" + "),
        bytes(cost.fixed)
    )
}

pub(super) fn remedies(need: &Need) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    if need.serving != Serving::Myriad && need.serves() {
        remedies.push(Remedy::advice(
            "put Myriad before the database: a connection costs it a hundredth of that",
        ));
    }
    if need.ends() > 1 {
        remedies.push(Remedy::advice(
            "connect from another machine: half of the kernel's memory is the clients'",
        ));
    }
    remedies.push(Remedy::advice(
        "use a machine with more memory, or fewer connections",
    ));
    remedies
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::{Need, Role, Serving};
    use crate::tree::Tree;

    #[test]
    fn all_that_a_connection_costs_must_fit() {
        let need = Need::new(100_000);
        let tree = Tree::healthy();
        let finding = tree.check("memory", &need).observation;
        assert_eq!(finding.severity, Severity::Fine);
        assert_eq!(
            finding.needs,
            "100,000 connections × (9.0 KiB kernel + 600 B Myriad + 300 B load generator) + 18 MiB for the \
             processes = 987 MiB"
        );
        let small = tree.with("proc/meminfo", "MemAvailable: 512000 kB\n");
        let finding = small.check("memory", &need).observation;
        assert_eq!(finding.severity, Severity::Fatal);
        let each = 2 * 3_700 + 864 + 1_000 + 600 + 300;
        assert_eq!(finding.limit, Some((512_000 * 1_024 - (18 << 20)) / each));
    }

    #[test]
    fn a_database_alone_needs_far_more() {
        let need = Need {
            role: Role::Server,
            serving: Serving::ThreadPool,
            ..Need::new(1_000_000)
        };
        let finding = Tree::healthy().check("memory", &need).observation;
        assert_eq!(finding.severity, Severity::Fatal);
        assert!(
            finding.needs.contains("+ 100 KiB database) + 256 MiB"),
            "{}",
            finding.needs
        );
        assert!(finding.remedies[0].now().starts_with("put Myriad before"));
    }

    #[test]
    fn without_the_figure_nothing_is_claimed() {
        let tree = Tree::healthy().with("proc/meminfo", "MemTotal: 1 kB\n");
        let finding = tree.check("memory", &Need::new(1));
        assert_eq!(finding.severity(), Severity::Unknown);
        assert_eq!(
            finding.observation.found,
            "/proc/meminfo has no MemAvailable"
        );
    }
}

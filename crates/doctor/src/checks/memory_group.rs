//! The memory that the control group of this process may use: a container's, a service's.

use super::{Check, memory, model};
use crate::finding::{Group, Observation};
use crate::host::{Controller, Host, Unknown};
use crate::need::Need;
use crate::numbers::bytes;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "memory-group",
    group: Group::Memory,
    run,
};

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let Some(bound) = host.cgroup(Controller::Memory)? else {
        let found = "the control group of this process may use all memory";
        return Ok(Observation::new("no group limit", found).needs("nothing"));
    };
    let cost = model::Cost::of(host, need);
    let wanted = cost.total(need.connections) + bound.current;
    let mut remedies = vec![Remedy::advice(format!(
        "raise it to {}: systemd MemoryMax=, docker run --memory, Kubernetes resources.limits.memory",
        bytes(wanted)
    ))];
    remedies.extend(memory::remedies(need));
    Ok(Observation::new(
        format!("{} for the group", bytes(bound.max)),
        format!(
            "the control group may use {} and uses {}",
            bytes(bound.max),
            bytes(bound.current)
        ),
    )
    .needs(format!(
        "{} + {} in use = {}",
        memory::arithmetic(need, &cost),
        bytes(bound.current),
        bytes(wanted)
    ))
    .why("sockets count as the group's memory, too; beyond the limit a process of the group is killed")
    .limited(cost.connections(bound.left()), need.connections, remedies))
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::{Need, Role};
    use crate::tree::Tree;

    const GROUP: &str = "sys/fs/cgroup/system.slice/myriad.service";

    fn server(connections: u64) -> Need {
        Need {
            role: Role::Server,
            ..Need::new(connections)
        }
    }

    #[test]
    fn the_group_or_one_above_it_bounds_connections() {
        let tree = Tree::healthy();
        let finding = tree.check("memory-group", &server(100_000));
        assert_eq!(
            (finding.severity(), finding.observation.limit),
            (Severity::Fine, None)
        );
        let tree = tree
            .with(&format!("{GROUP}/memory.max"), "1073741824\n")
            .with(&format!("{GROUP}/memory.current"), "1048576\n")
            .with("sys/fs/cgroup/system.slice/memory.max", "268435456\n")
            .with("sys/fs/cgroup/system.slice/memory.current", "134217728\n");
        let finding = tree.check("memory-group", &server(100_000)).observation;
        assert_eq!(finding.severity, Severity::Fatal);
        let each = 3_700 + 864 + 1_000 + 600;
        assert_eq!(finding.limit, Some((134_217_728 - (8 << 20)) / each));
        assert_eq!(
            finding.needs,
            "100,000 connections × (5.4 KiB kernel + 600 B Myriad) + 8.0 MiB for the processes + 128 MiB \
             in use = 724 MiB"
        );
    }

    #[test]
    fn groups_of_version_1_are_understood() {
        let tree = Tree::healthy()
            .with("proc/self/cgroup", "4:memory:/box\n0::/\n")
            .with(
                "sys/fs/cgroup/memory/box/memory.limit_in_bytes",
                "14552608\n",
            )
            .with("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "0\n")
            .with(
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            );
        let finding = tree.check("memory-group", &server(1_001));
        assert_eq!(finding.observation.limit, Some(1_000));
        assert_eq!(finding.severity(), Severity::Fatal);
    }
}

//! How many memory maps a process may have: each thread takes two for its stack.

use super::Check;
use crate::finding::{Group, Observation};
use crate::host::{Host, Unknown};
use crate::need::{Need, Serving};
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "memory-maps",
    group: Group::Threads,
    run,
};

/// A stack and the guard below it.
const PER_THREAD: u64 = 2;
/// Libraries, arenas, buffers.
const OWN: u64 = 500;

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let most = host.sysctl_number("vm.max_map_count")?;
    let observation = Observation::new(
        format!("{} maps", count(most)),
        format!("vm.max_map_count is {}", count(most)),
    );
    let threads_max = most.saturating_sub(OWN) / PER_THREAD;
    if need.serving != Serving::ThreadPerConnection || !need.serves() {
        return Ok(observation.needs(format!(
            "few (a process with a thread for each connection ends at {})",
            count(threads_max)
        )));
    }
    let wanted = need.connections * PER_THREAD + OWN;
    Ok(observation
        .needs(format!(
            "{} threads × {PER_THREAD} + {OWN} others = {}",
            count(need.connections),
            count(wanted)
        ))
        .why("starting a thread fails with errno 11 or 12 (Cannot allocate memory), however much memory there is")
        .limited(
            threads_max,
            need.connections,
            [Remedy::sysctl("vm.max_map_count", wanted.next_power_of_two())],
        ))
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::{Need, Serving};
    use crate::tree::Tree;

    #[test]
    fn each_thread_takes_two() {
        let need = Need {
            serving: Serving::ThreadPerConnection,
            ..Need::new(50_000)
        };
        let tree = Tree::healthy();
        assert_eq!(tree.check("memory-maps", &need).severity(), Severity::Fine);
        let finding = tree
            .sysctl("vm.max_map_count", "65530")
            .check("memory-maps", &need)
            .observation;
        assert_eq!(finding.severity, Severity::Fatal);
        assert_eq!(finding.limit, Some(32_515));
        assert_eq!(finding.needs, "50,000 threads × 2 + 500 others = 100,500");
        assert_eq!(
            finding.remedies[0].now(),
            "sysctl -w vm.max_map_count=131072"
        );
    }

    #[test]
    fn without_a_thread_for_each_connection_it_does_not_matter() {
        let tree = Tree::healthy().sysctl("vm.max_map_count", "65530");
        let finding = tree.check("memory-maps", &Need::new(1_000_000));
        assert_eq!(finding.severity(), Severity::Fine);
    }
}

//! Whether the kernel promises more memory than there is.

use super::{Check, model};
use crate::finding::{Group, Observation};
use crate::host::{Host, Unknown};
use crate::need::{Need, Serving};
use crate::numbers::{bytes, count};
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "overcommit",
    group: Group::Memory,
    run,
};

/// The address space of a thread's stack in MariaDB and MySQL, which counts where nothing is
/// overcommitted.
const STACK_BYTES: u64 = 299_008;

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let mode = host.sysctl_number("vm.overcommit_memory")?;
    if mode != 2 {
        let found = format!("vm.overcommit_memory is {mode}: address space may exceed memory");
        return Ok(Observation::new("overcommit allowed", found).needs("nothing"));
    }
    let (limit, used) = (host.meminfo("CommitLimit")?, host.meminfo("Committed_AS")?);
    let cost = model::Cost::of(host, need);
    let stack = match need.serving {
        Serving::ThreadPerConnection if need.serves() => STACK_BYTES,
        _ => 0,
    };
    let each = cost.serving + cost.generator + stack;
    let wanted = need.connections * each + used;
    Ok(Observation::new(
        "no overcommit",
        format!(
            "vm.overcommit_memory is 2: {} of {} are promised",
            bytes(used),
            bytes(limit)
        ),
    )
    .needs(format!(
        "{} connections × {} + {} promised = {}",
        count(need.connections),
        bytes(each),
        bytes(used),
        bytes(wanted)
    ))
    .why("beyond it processes get no memory (errno 12), also where most of what is promised is never used")
    .limited(
        limit.saturating_sub(used) / each.max(1),
        need.connections,
        [Remedy::sysctl("vm.overcommit_memory", 0)],
    ))
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::{Need, Serving};
    use crate::tree::Tree;

    #[test]
    fn without_overcommitment_the_promise_must_suffice() {
        let need = Need {
            serving: Serving::ThreadPerConnection,
            ..Need::new(100_000)
        };
        let tree = Tree::healthy();
        assert_eq!(tree.check("overcommit", &need).severity(), Severity::Fine);
        let tree = tree.sysctl("vm.overcommit_memory", "2");
        let finding = tree.check("overcommit", &need).observation;
        assert_eq!(finding.severity, Severity::Fatal);
        let each = 100 * 1_024 + 300 + 299_008;
        assert_eq!(finding.limit, Some((32_768_000 - 1_000_000) * 1_024 / each));
        assert_eq!(
            finding.remedies[0].now(),
            "sysctl -w vm.overcommit_memory=0"
        );
        let through = tree.check("overcommit", &Need::new(100_000));
        assert_eq!(through.severity(), Severity::Fine);
    }
}

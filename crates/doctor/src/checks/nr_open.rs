//! How far the limit of open files of any process can be raised.

use super::{Check, model};
use crate::finding::{Group, Observation};
use crate::host::{Host, Unknown};
use crate::need::{Need, Serving};
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "nr-open",
    group: Group::Files,
    run,
};

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let most = host.sysctl_number("fs.nr_open")?;
    let observation = Observation::new(
        format!("nr_open {}", count(most)),
        format!(
            "fs.nr_open is {}: no process may have more files open",
            count(most)
        ),
    );
    if need.serving == Serving::Myriad && model::uring(host, need) {
        return Ok(observation.needs("nothing: over io_uring connections are no open files"));
    }
    let wanted = need.connections + SPARE;
    Ok(observation
        .needs(format!(
            "{} connections + {SPARE} others = {}",
            count(need.connections),
            count(wanted)
        ))
        .why("`ulimit -n` cannot be raised beyond it: that fails with EPERM even for root")
        .limited(
            most.saturating_sub(SPARE),
            need.connections,
            [Remedy::sysctl("fs.nr_open", wanted.next_power_of_two())],
        ))
}

/// Files that are no connections, generously.
const SPARE: u64 = 1_000;

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::Need;
    use crate::tree::Tree;

    #[test]
    fn the_limit_of_limits_must_be_above_the_connections() {
        let need = Need::new(2_000_000);
        let tree = Tree::healthy().without_uring();
        assert_eq!(tree.check("nr-open", &need).severity(), Severity::Fine);
        let finding = tree.sysctl("fs.nr_open", "1048576").check("nr-open", &need);
        assert_eq!(finding.severity(), Severity::Fatal);
        assert_eq!(finding.observation.limit, Some(1_047_576));
        assert_eq!(
            finding.observation.remedies[0].now(),
            "sysctl -w fs.nr_open=2097152"
        );
    }

    #[test]
    fn over_io_uring_it_does_not_matter() {
        let tree = Tree::healthy().sysctl("fs.nr_open", "1024");
        let finding = tree.check("nr-open", &Need::new(2_000_000));
        assert_eq!(finding.severity(), Severity::Fine);
        assert_eq!(finding.observation.limit, None);
    }
}

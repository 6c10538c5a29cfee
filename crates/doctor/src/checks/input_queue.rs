//! Packets that wait for a processor between the network card, or loopback, and TCP.

use super::Check;
use crate::finding::{Group, Observation, Severity};
use crate::host::{Host, Unknown};
use crate::need::Need;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "input-queue",
    group: Group::Network,
    run,
};

/// What kernels have by default.
const USUAL: u64 = 1_000;
/// What is long enough for bursts of a fast card.
const LONG: u64 = 16_384;

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let most = host.sysctl_number("net.core.netdev_max_backlog")?;
    let dropped = dropped(host)?;
    let lost = if dropped == 0 {
        "none was dropped since the machine started".to_owned()
    } else {
        format!(
            "{} packets were dropped since the machine started",
            count(dropped)
        )
    };
    Ok(Observation::new(
        format!("input queue {}", count(most)),
        format!(
            "net.core.netdev_max_backlog is {} packets per processor; {lost}",
            count(most)
        ),
    )
    .needs(format!(
        "{} or more, and no drops, for bursts of {} connections",
        count(USUAL),
        count(need.connections)
    ))
    .why("a packet that finds the queue full is lost, and sent again 0.2 s later or more")
    .judged(
        most < USUAL || (dropped > 0 && most < LONG),
        Severity::Warning,
        [Remedy::sysctl("net.core.netdev_max_backlog", LONG)],
    ))
}

/// The second column of each processor's line, in hexadecimal.
fn dropped(host: &Host) -> Result<u64, Unknown> {
    let text = host.text("/proc/net/softnet_stat")?;
    let counts = text.lines().map(|line| {
        let column = line.split_whitespace().nth(1).unwrap_or_default();
        let wrong = |_| Unknown("/proc/net/softnet_stat is of an unknown form".into());
        u64::from_str_radix(column, 16).map_err(wrong)
    });
    counts.sum()
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::Need;
    use crate::tree::Tree;

    #[test]
    fn drops_and_a_short_queue_are_told() {
        let need = Need::new(100_000);
        let tree = Tree::healthy();
        assert_eq!(tree.check("input-queue", &need).severity(), Severity::Fine);
        let lines = "00000010 0000000a 0\n00000010 00000010 0\n";
        let dropping = tree.with("proc/net/softnet_stat", lines);
        let finding = dropping.check("input-queue", &need).observation;
        assert_eq!(finding.severity, Severity::Warning);
        assert!(
            finding.found.contains("26 packets were dropped"),
            "{}",
            finding.found
        );
        let long = dropping.sysctl("net.core.netdev_max_backlog", "16384");
        assert_eq!(long.check("input-queue", &need).severity(), Severity::Fine);
        let short = Tree::healthy().sysctl("net.core.netdev_max_backlog", "300");
        assert_eq!(
            short.check("input-queue", &need).severity(),
            Severity::Warning
        );
    }
}

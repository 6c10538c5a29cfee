//! Connections that are being made, and what happens when there are too many of them.

use super::Check;
use crate::finding::{Group, Observation, Severity};
use crate::host::{Host, Unknown};
use crate::need::Need;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "syn-queue",
    group: Group::Network,
    run,
};

/// The length of Myriad's listen queue, which bounds the other, too.
const QUEUE: u64 = 4_096;

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let backlog = host.sysctl_number("net.ipv4.tcp_max_syn_backlog")?;
    // Without this file the kernel has no cookies.
    let has = host.has_sysctl("net.ipv4.tcp_syncookies");
    let cookies = if has {
        host.sysctl_number("net.ipv4.tcp_syncookies")?
    } else {
        0
    };
    let state = if cookies == 0 { "off" } else { "on" };
    let observation = Observation::new(
        format!("syn cookies {state}"),
        format!(
            "syn cookies are {state} (tcp_syncookies {cookies}), tcp_max_syn_backlog is {}",
            count(backlog)
        ),
    );
    if !need.serves() || cookies != 0 {
        return Ok(
            observation.needs("nothing: with cookies no connection is lost when the queue is full")
        );
    }
    let wanted = need.connections.min(QUEUE) * 4 / 3;
    Ok(observation
        .needs(format!(
            "{} connections at once × 4 ÷ 3 = {}: without cookies the last quarter is kept for known clients",
            count(need.connections.min(QUEUE)),
            count(wanted)
        ))
        .why("when the queue is full the client's first packet is dropped, and sent again after a second")
        .judged(
            backlog < wanted,
            Severity::Warning,
            [
                Remedy::sysctl("net.ipv4.tcp_syncookies", 1),
                Remedy::sysctl("net.ipv4.tcp_max_syn_backlog", 2 * QUEUE),
            ],
        ))
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::Need;
    use crate::tree::Tree;

    #[test]
    fn without_cookies_the_queue_must_be_long_enough() {
        let need = Need::new(100_000);
        let tree = Tree::healthy().sysctl("net.ipv4.tcp_max_syn_backlog", "1024");
        assert_eq!(tree.check("syn-queue", &need).severity(), Severity::Fine);
        let tree = tree.sysctl("net.ipv4.tcp_syncookies", "0");
        let finding = tree.check("syn-queue", &need).observation;
        assert_eq!(finding.severity, Severity::Warning);
        assert!(
            finding
                .needs
                .starts_with("4,096 connections at once × 4 ÷ 3 = 5,461"),
            "{}",
            finding.needs
        );
        let tree = tree.sysctl("net.ipv4.tcp_max_syn_backlog", "8192");
        assert_eq!(tree.check("syn-queue", &need).severity(), Severity::Fine);
    }

    #[test]
    fn a_kernel_without_cookies_counts_as_off() {
        let tree = Tree::healthy().without("proc/sys/net/ipv4/tcp_syncookies");
        let finding = tree.check("syn-queue", &Need::new(100_000));
        assert_eq!(finding.severity(), Severity::Warning);
    }
}

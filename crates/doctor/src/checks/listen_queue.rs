//! The queue of connections that wait to be accepted.

use super::Check;
use crate::finding::{Group, Observation, Severity};
use crate::host::{Host, Unknown};
use crate::need::Need;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "listen-queue",
    group: Group::Network,
    run,
};

/// Enough for any storm of clients, if they are accepted at all; Myriad asks for more (`server.listen_backlog`).
const ENOUGH: u64 = 4_096;

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let most = host.sysctl_number("net.core.somaxconn")?;
    let wanted = need.connections.min(ENOUGH);
    let observation = Observation::new(
        format!("listen queue {}", count(most)),
        format!(
            "net.core.somaxconn is {}: no listener's queue is longer",
            count(most)
        ),
    );
    if !need.serves() {
        return Ok(observation.needs("nothing here: the queue is the target's"));
    }
    Ok(observation
        .needs(format!(
            "{}: all {} clients may connect at once, after a restart for instance; {} are enough",
            count(wanted),
            count(need.connections),
            count(ENOUGH)
        ))
        .why(
            "when the queue is full the client's packets are dropped and sent again after 1 s, 3 s, 7 s; \
             over a unix socket connect fails with errno 11",
        )
        .judged(
            most < wanted,
            Severity::Warning,
            [Remedy::sysctl("net.core.somaxconn", ENOUGH)],
        ))
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::{Need, Role};
    use crate::tree::Tree;

    #[test]
    fn a_short_queue_delays_those_who_connect_at_once() {
        let need = Need::new(100_000);
        assert_eq!(
            Tree::healthy().check("listen-queue", &need).severity(),
            Severity::Fine
        );
        let tree = Tree::healthy().sysctl("net.core.somaxconn", "128");
        let finding = tree.check("listen-queue", &need).observation;
        assert_eq!(finding.severity, Severity::Warning);
        assert!(
            finding.needs.starts_with("4,096: all 100,000 clients"),
            "{}",
            finding.needs
        );
        assert_eq!(
            finding.remedies[0].now(),
            "sysctl -w net.core.somaxconn=4096"
        );
        assert_eq!(
            tree.check("listen-queue", &Need::new(100)).severity(),
            Severity::Fine
        );
        let clients = Need {
            role: Role::Clients,
            ..need
        };
        assert_eq!(
            tree.check("listen-queue", &clients).severity(),
            Severity::Fine
        );
    }
}

//! The table in which a firewall remembers connections.

use super::Check;
use crate::finding::{Group, Observation, Severity};
use crate::host::{Host, Unknown};
use crate::need::{Need, Role};
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "conntrack",
    group: Group::Network,
    run,
};

const MAX: &str = "net.netfilter.nf_conntrack_max";
const COUNT: &str = "net.netfilter.nf_conntrack_count";

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    if !host.has_sysctl(MAX) {
        // Where nothing of the network can be seen, its absence says nothing.
        host.sysctl("net.core.somaxconn")?;
        let found = "the kernel tracks no connections (no nf_conntrack)";
        return Ok(Observation::new("no conntrack", found).needs("nothing"));
    }
    let (most, used) = (host.sysctl_number(MAX)?, host.sysctl_number(COUNT)?);
    let left = most.saturating_sub(used);
    let wanted = need.connections + used;
    let needs = format!(
        "{} connections + {} tracked now = {}",
        count(need.connections),
        count(used),
        count(wanted)
    );
    let remedies = [
        Remedy::sysctl(MAX, wanted.next_power_of_two()),
        Remedy::advice(format!(
            "or leave the port out: nft add rule … tcp dport {{ 6033 }} notrack{}",
            if need.role == Role::Both {
                "; oifname lo notrack for loopback"
            } else {
                ""
            }
        )),
    ];
    let why = "when the table is full, packets of new connections are dropped without a word but in the \
               kernel's log (nf_conntrack: table full, dropping packet); clients see a timeout (errno 110)";
    if used == 0 && host.sockstat("TCP", "inuse")? > 0 {
        return Ok(Observation::new(
            "conntrack not in use",
            format!(
                "nothing is tracked here, though there are connections; nf_conntrack_max is {}",
                count(most)
            ),
        )
        .needs(format!(
            "{needs}, if a rule of a firewall began to track them"
        ))
        .why(why)
        .judged(left < need.connections, Severity::Warning, remedies));
    }
    Ok(Observation::new(
        format!("conntrack {} of {}", count(used), count(most)),
        format!(
            "{} of nf_conntrack_max {} connections are tracked",
            count(used),
            count(most)
        ),
    )
    .needs(needs)
    .why(why)
    .limited(left, need.connections, remedies))
}

#[cfg(test)]
mod tests {
    use super::{COUNT, MAX};
    use crate::finding::Severity;
    use crate::need::Need;
    use crate::tree::Tree;

    #[test]
    fn a_table_in_use_must_have_room() {
        let tree = Tree::healthy().sysctl(MAX, "65536").sysctl(COUNT, "536");
        let finding = tree.check("conntrack", &Need::new(100_000)).observation;
        assert_eq!(
            (finding.severity, finding.limit),
            (Severity::Fatal, Some(65_000))
        );
        assert_eq!(
            finding.needs,
            "100,000 connections + 536 tracked now = 100,536"
        );
        assert_eq!(
            finding.remedies[0].now(),
            "sysctl -w net.netfilter.nf_conntrack_max=131072"
        );
        let finding = tree.check("conntrack", &Need::new(65_000));
        assert_eq!(finding.severity(), Severity::Fine);
    }

    #[test]
    fn a_table_that_nothing_uses_is_only_a_warning() {
        let tree = Tree::healthy().sysctl(MAX, "65536").sysctl(COUNT, "0");
        let finding = tree.check("conntrack", &Need::new(100_000)).observation;
        assert_eq!((finding.severity, finding.limit), (Severity::Warning, None));
        assert_eq!(
            tree.check("conntrack", &Need::new(1_000)).severity(),
            Severity::Fine
        );
    }

    #[test]
    fn without_the_module_there_is_nothing_to_fill() {
        let finding = Tree::healthy().check("conntrack", &Need::new(1_000_000));
        assert_eq!(finding.severity(), Severity::Fine);
    }
}

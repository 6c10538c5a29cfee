//! Ports of connections that have ended: they rest for a while before they serve again.

use super::Check;
use crate::finding::{Group, Observation, Severity};
use crate::host::{Host, Unknown};
use crate::need::Need;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "time-wait",
    group: Group::Ports,
    run,
};

/// How long a closed connection is remembered; built into the kernel.
const TIME_WAIT_S: u64 = 60;
/// After how long its port may serve again where reuse is allowed.
const REUSE_S: u64 = 1;

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let reuse = host.sysctl_number("net.ipv4.tcp_tw_reuse")?;
    let buckets = host.sysctl_number("net.ipv4.tcp_max_tw_buckets")?;
    let fin = host.sysctl_number("net.ipv4.tcp_fin_timeout")?;
    let [first, last] = host.sysctl_numbers::<2>("net.ipv4.ip_local_port_range")?;
    let reused = match reuse {
        0 => "not reused",
        2 => "reused after 1 s on loopback only",
        _ => "reused after 1 s",
    };
    let rests_s = if reuse == 1 || (reuse == 2 && need.serves()) {
        REUSE_S
    } else {
        TIME_WAIT_S
    };
    let pairs = need.sources.unwrap_or(1).max(1) * need.targets;
    let ports = (last + 1).saturating_sub(first) * pairs;
    let most = ports / rests_s;
    let observation = Observation::new(
        format!("time-wait ports {reused}"),
        format!(
            "ports of closed connections are {reused} (tcp_tw_reuse {reuse}), up to {} are remembered \
             (tcp_max_tw_buckets), tcp_fin_timeout is {fin} s",
            count(buckets)
        ),
    )
    .why(
        "whoever closes first keeps the port in TIME-WAIT for 60 s, which tcp_fin_timeout does not change; \
         clients that connect anew all the time run out of ports (errno 99)",
    );
    if !need.connects() {
        return Ok(
            observation.needs("nothing here: clients that reconnect need it on their machines")
        );
    }
    let remedies = [Remedy::sysctl("net.ipv4.tcp_tw_reuse", 1)];
    Ok(observation
        .needs(format!(
            "{} reconnects/s; {} ports ÷ {rests_s} s = {}/s are possible",
            count(need.reconnects_per_s),
            count(ports),
            count(most)
        ))
        .judged(
            reuse == 0 || most < need.reconnects_per_s,
            Severity::Warning,
            remedies,
        ))
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::{Need, Role};
    use crate::tree::Tree;

    fn reconnecting(per_s: u64) -> Need {
        Need {
            role: Role::Clients,
            reconnects_per_s: per_s,
            ..Need::new(1_000)
        }
    }

    #[test]
    fn clients_that_reconnect_need_ports_that_rest() {
        let tree = Tree::healthy();
        assert_eq!(
            tree.check("time-wait", &reconnecting(400)).severity(),
            Severity::Fine
        );
        let finding = tree.check("time-wait", &reconnecting(500)).observation;
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.needs,
            "500 reconnects/s; 28,232 ports ÷ 60 s = 470/s are possible"
        );
        assert_eq!(
            finding.remedies[0].now(),
            "sysctl -w net.ipv4.tcp_tw_reuse=1"
        );
        let tree = tree.sysctl("net.ipv4.tcp_tw_reuse", "1");
        assert_eq!(
            tree.check("time-wait", &reconnecting(20_000)).severity(),
            Severity::Fine
        );
    }

    #[test]
    fn over_loopback_the_default_reuses() {
        let need = Need {
            role: Role::Both,
            ..reconnecting(20_000)
        };
        assert_eq!(
            Tree::healthy().check("time-wait", &need).severity(),
            Severity::Fine
        );
        let never = Tree::healthy().sysctl("net.ipv4.tcp_tw_reuse", "0");
        assert_eq!(
            never.check("time-wait", &need).severity(),
            Severity::Warning
        );
    }
}

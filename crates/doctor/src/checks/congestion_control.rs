//! The congestion control of TCP: no limit, but worth knowing when delays are compared.

use super::Check;
use crate::finding::{Group, Observation};
use crate::host::{Host, Unknown};
use crate::need::{Need, Role};

pub(super) const CHECK: Check = Check {
    name: "congestion-control",
    group: Group::Network,
    run,
};

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let name = host.sysctl("net.ipv4.tcp_congestion_control")?;
    let matters = match need.role {
        Role::Both => "nothing: over loopback no packet is lost",
        _ => "nothing: statements and answers are short, and lose little time to any of them",
    };
    Ok(
        Observation::new(name.clone(), format!("new connections use {name}"))
            .needs(matters)
            .why("it decides how fast long answers are sent over lossy or slow networks"),
    )
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::Need;
    use crate::tree::Tree;

    #[test]
    fn it_is_told_and_never_an_obstacle() {
        let need = Need::new(100_000);
        let tree = Tree::healthy().sysctl("net.ipv4.tcp_congestion_control", "htcp");
        let finding = tree.check("congestion-control", &need);
        assert_eq!(finding.severity(), Severity::Fine);
        assert_eq!(finding.observation.found, "new connections use htcp");
        let tree = tree.without("proc/sys/net/ipv4/tcp_congestion_control");
        let finding = tree.check("congestion-control", &need);
        assert_eq!(finding.severity(), Severity::Unknown);
    }
}

//! Source ports: one address reaches another only as often as there are ports.

use super::Check;
use crate::finding::{Group, Observation, Severity};
use crate::host::{Host, Unknown, number};
use crate::need::Need;
use crate::numbers::count;
use crate::remedy::Remedy;

pub(super) const CHECK: Check = Check {
    name: "ports",
    group: Group::Ports,
    run,
};

/// As many source addresses as the load generator takes by itself on the loopback network.
const LOOPBACK_SOURCES: u64 = 72;
/// Wider than that leaves nothing for servers.
const WIDE: [u64; 2] = [4_000, 65_000];

fn run(host: &Host, need: &Need) -> Result<Observation, Unknown> {
    let [first, last] = host.sysctl_numbers::<2>("net.ipv4.ip_local_port_range")?;
    let reserved = reserved(host, first, last)?;
    let ports = (last + 1).saturating_sub(first).saturating_sub(reserved);
    let but = if reserved > 0 {
        format!(" less {} reserved", count(reserved))
    } else {
        String::new()
    };
    let observation = Observation::new(
        format!("{} ports", count(ports)),
        format!("source ports are {first} to {last}{but}: {}", count(ports)),
    )
    .why(
        "a connection is told from others by source address, source port, target address and target port; \
         when all ports of a pair of addresses are in use, connect fails with errno 99 (Cannot assign \
         requested address), which clients call error 2003 (99)",
    );
    if !need.connects() {
        return Ok(of_server(observation, need, ports));
    }
    let (sources, chosen) = match need.sources {
        Some(sources) => (sources.max(1), ""),
        None => (LOOPBACK_SOURCES, " that the load generator may take"),
    };
    let limit = ports * sources * need.targets;
    Ok(observation
        .needs(format!(
            "{} ports × {sources} source addresses{chosen} × {} target addresses = {} for {} connections",
            count(ports),
            need.targets,
            count(limit),
            count(need.connections)
        ))
        .limited(limit, need.connections, remedies(need, sources)))
}

/// Clients elsewhere need ports there; what is short here are those to the database.
fn of_server(observation: Observation, need: &Need, ports: u64) -> Observation {
    let addresses = need.connections.div_ceil((ports * need.targets).max(1));
    let clients = format!(
        "{} connections ÷ ({} ports × {} addresses to connect to) = {addresses} client addresses \
         with this range of ports",
        count(need.connections),
        count(ports),
        need.targets
    );
    if !need.backends_over_tcp {
        return observation.needs(clients);
    }
    let remedies = [
        wider(),
        Remedy::advice("or reach the database through a unix socket"),
    ];
    observation
        .needs(format!("{clients}; {} for backends here", need.backends))
        .judged(ports < need.backends, Severity::Fatal, remedies)
}

fn remedies(need: &Need, sources: u64) -> Vec<Remedy> {
    let wide = WIDE[1] - WIDE[0] + 1;
    let pairs = need.connections.div_ceil(wide);
    let mut remedies = vec![wider()];
    if pairs > sources * need.targets {
        remedies.push(Remedy::advice(format!(
            "and use {pairs} pairs of addresses: several addresses to listen on (ip address add …; \
             server.listen), or several to connect from (--source)"
        )));
    }
    remedies
}

fn wider() -> Remedy {
    let [first, last] = WIDE;
    Remedy::sysctl_of("net.ipv4.ip_local_port_range", format!("{first} {last}"))
}

/// How many of the ports are kept from being chosen.
fn reserved(host: &Host, first: u64, last: u64) -> Result<u64, Unknown> {
    const NAME: &str = "net.ipv4.ip_local_reserved_ports";
    if !host.has_sysctl(NAME) {
        return Ok(0);
    }
    let list = host.sysctl(NAME)?;
    let ranges = list.split(',').filter(|part| !part.is_empty()).map(|part| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (number(NAME, from)?.max(first), number(NAME, to)?.min(last));
        Ok((to + 1).saturating_sub(from))
    });
    ranges.sum()
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::need::{Need, Role};
    use crate::tree::Tree;

    fn clients(connections: u64, sources: u64) -> Need {
        Need {
            role: Role::Clients,
            sources: Some(sources),
            ..Need::new(connections)
        }
    }

    #[test]
    fn ports_times_pairs_of_addresses_must_suffice() {
        let tree = Tree::healthy();
        let finding = tree.check("ports", &clients(100_000, 1)).observation;
        assert_eq!(
            (finding.severity, finding.limit),
            (Severity::Fatal, Some(28_232))
        );
        assert_eq!(
            finding.needs,
            "28,232 ports × 1 source addresses × 1 target addresses = 28,232 for 100,000 connections"
        );
        assert_eq!(
            finding.remedies[0].now(),
            "sysctl -w net.ipv4.ip_local_port_range='4000 65000'"
        );
        assert!(finding.remedies[1].now().contains("2 pairs of addresses"));
        let finding = tree.check("ports", &clients(100_000, 4)).observation;
        assert_eq!(
            (finding.severity, finding.limit),
            (Severity::Fine, Some(112_928))
        );
    }

    #[test]
    fn reserved_ports_are_not_chosen() {
        let tree = Tree::healthy()
            .sysctl("net.ipv4.ip_local_port_range", "40000 40099")
            .sysctl("net.ipv4.ip_local_reserved_ports", "3306,39990-40009,40050");
        let finding = tree.check("ports", &clients(100, 1)).observation;
        assert_eq!(
            (finding.severity, finding.limit),
            (Severity::Fatal, Some(89))
        );
        assert_eq!(
            finding.found,
            "source ports are 40000 to 40099 less 11 reserved: 89"
        );
    }

    #[test]
    fn over_loopback_the_generator_finds_addresses() {
        let finding = Tree::healthy()
            .check("ports", &Need::new(1_000_000))
            .observation;
        assert_eq!(
            (finding.severity, finding.limit),
            (Severity::Fine, Some(2_032_704))
        );
    }

    #[test]
    fn a_server_needs_ports_only_for_its_backends() {
        let need = Need {
            role: Role::Server,
            ..Need::new(100_000)
        };
        let tree = Tree::healthy();
        let finding = tree.check("ports", &need).observation;
        assert_eq!((finding.severity, finding.limit), (Severity::Fine, None));
        assert!(
            finding.needs.contains("= 4 client addresses"),
            "{}",
            finding.needs
        );
        let finding = tree
            .sysctl("net.ipv4.ip_local_port_range", "40000 40009")
            .check("ports", &need);
        assert_eq!(finding.severity(), Severity::Fatal);
    }
}

//! Which addresses connections come from, so that there are enough ports for them.

use std::net::{IpAddr, Ipv4Addr};

use driver::Address;

use crate::plan::Group;

/// Beyond so many connections from one address to another the kernel searches long for a port.
const PORTS_MAX: u32 = 14_000;

/// Connections that a client closes keep their port for a while: whoever reconnects all the time
/// needs more of them.
const RECONNECTING: u32 = 4;

/// More addresses than this are of no use: a million connections.
const SOURCES_MAX: u32 = 72;

/// The source addresses for these groups: none where the system's own choice will do, or where
/// the target is not on the loopback network, whose addresses (127.0.0.1, 127.0.0.2, …) are all there
/// without being set up.
pub fn loopback_sources(target: &[Address], groups: &[Group]) -> Vec<IpAddr> {
    let is_loopback = |address: &Address| match address {
        Address::Tcp(address) => matches!(address.ip(), IpAddr::V4(ip) if ip.is_loopback()),
        Address::Unix(_) => false,
    };
    if !target.iter().any(is_loopback) {
        return Vec::new();
    }
    let connections = groups.iter().map(|group| group.connections);
    let connections = connections.fold(0, u32::saturating_add);
    let mut wanted = connections.div_ceil(ports() * target.len() as u32);
    if groups.iter().any(Group::reconnects_at_will) {
        wanted = wanted.max(RECONNECTING);
    }
    let addresses = (0..wanted.min(SOURCES_MAX)).map(nth);
    if wanted > 1 {
        addresses.collect()
    } else {
        Vec::new()
    }
}

fn nth(number: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from(u32::from(Ipv4Addr::LOCALHOST) + number))
}

/// How many connections one address is to make to another: half of the ports, as `connect` tries the
/// even ones first. Source: `ip_sysctl`, `ip_local_port_range`.
fn ports() -> u32 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let ports = range.ok().and_then(|range| {
        let mut ends = range.split_whitespace().map(str::parse::<u32>);
        let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
        Some(last.saturating_sub(first) / 2)
    });
    ports.unwrap_or(PORTS_MAX).clamp(1, PORTS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::tests::plan;
    use crate::workload::{Rows, Workload};

    fn sources(target: &str, workload: Workload, connections: u32) -> Vec<IpAddr> {
        let target = [Address::Tcp(target.parse().unwrap())];
        loopback_sources(&target, &plan(workload, connections, 1).groups)
    }

    #[test]
    fn many_connections_over_loopback_come_from_several_addresses() {
        assert_eq!(
            sources("127.0.0.1:1", Workload::Idle, 100),
            [] as [IpAddr; 0]
        );
        assert_eq!(
            sources("10.0.0.1:1", Workload::Idle, 100_000),
            [] as [IpAddr; 0]
        );
        let many = sources("127.0.0.1:1", Workload::Idle, 100_000);
        assert!(many.len() as u32 >= 100_000 / PORTS_MAX);
        assert_eq!(
            many[..2],
            [IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2])]
        );
        let reconnecting = sources("127.0.0.1:1", Workload::Reconnect(Rows::default()), 1);
        assert_eq!(reconnecting.len(), RECONNECTING as usize);
    }
}

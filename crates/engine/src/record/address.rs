//! Addresses of clients: networks of the configuration, this machine, and the network that stands for all addresses of a
//! host.

use std::net::IpAddr;

use events::Peer;

/// Addresses that connections may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// The addresses that begin with so many bits of this one.
    Ip(IpAddr, u8),
    /// Unix sockets.
    Unix,
}

impl Network {
    /// Whether that is one of its addresses.
    pub fn contains(self, peer: Peer) -> bool {
        let (Self::Ip(network, bits), Peer::Tcp(address)) = (self, peer) else {
            return self == Self::Unix && peer == Peer::Unix;
        };
        let differing = match (network, address.ip().to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => (u32::from(a) ^ u32::from(b)).leading_zeros(),
            (IpAddr::V6(a), IpAddr::V6(b)) => (u128::from(a) ^ u128::from(b)).leading_zeros(),
            _ => return false,
        };
        differing >= u32::from(bits)
    }
}

/// Of IPv4 the address, of IPv6 the network of a host, who may have all addresses in it. All unix sockets are one.
pub(crate) fn network(peer: Peer) -> u128 {
    let Peer::Tcp(address) = peer else {
        return 0;
    };
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => u128::from(u32::from(ip)),
        // No IPv4 address is as large.
        IpAddr::V6(ip) => u128::from(ip) >> 64 << 64 | 1 << 63,
    }
}

/// True for a client on this machine.
pub(crate) fn is_here(peer: Peer) -> bool {
    match peer {
        Peer::Unix => true,
        Peer::Tcp(address) => address.ip().to_canonical().is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_the_addresses_with_their_first_bits() {
        let network = |ip: &str, bits| Network::Ip(ip.parse().unwrap(), bits);
        let peer = |ip: &str| Peer::Tcp((ip.parse::<IpAddr>().unwrap(), 1).into());
        for (network, ip, expected) in [
            (network("10.0.0.0", 8), "10.200.1.1", true),
            (network("10.0.0.0", 8), "11.0.0.1", false),
            (network("10.0.0.0", 8), "::ffff:10.1.1.1", true),
            (network("10.0.0.1", 32), "10.0.0.1", true),
            (network("10.0.0.1", 32), "10.0.0.0", false),
            (network("0.0.0.0", 0), "8.8.8.8", true),
            (network("0.0.0.0", 0), "fd00::1", false),
            (network("fd00::", 16), "fd00:1::1", true),
            (network("fd00::", 16), "fd01::1", false),
            (network("::1", 128), "::1", true),
            (Network::Unix, "127.0.0.1", false),
        ] {
            assert_eq!(network.contains(peer(ip)), expected, "{network:?} {ip}");
        }
        assert!(Network::Unix.contains(Peer::Unix));
        assert!(!network("0.0.0.0", 0).contains(Peer::Unix));
    }
}

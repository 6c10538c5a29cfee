//! What stands for the address of a client where all of somebody's are one: in tables of who failed to log in, and
//! of who is about to.

use std::net::IpAddr;

use events::Peer;

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

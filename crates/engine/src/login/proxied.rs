//! Clients behind a load balancer that says for whom it connects, ahead of their first packet.
//!
//! Owns who is believed, and what becomes of a client by that. How a header is written is `wire`'s matter. As on
//! MariaDB the greeting does not wait for a header, and who may send one may as well send none.

use std::net::{IpAddr, SocketAddr};

use events::{Io, Peer};
use membership::Key;
use wire::{Beginning, proxy_header};

use crate::client::{LoginStep, State};
use crate::errors::ClientError;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// Once so many bytes match, they can be nothing but a header.
const CERTAIN: usize = 12;

/// From where headers are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyNetwork {
    /// The addresses that begin with so many bits of this one.
    Ip(IpAddr, u8),
    /// Unix sockets.
    Unix,
}

impl ProxyNetwork {
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

impl Engine {
    /// Looks for a header ahead of everything that the client sends. Returns how many bytes were dealt with, or
    /// `None` if they are another's matter.
    pub(crate) fn proxied<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        bytes: &[u8],
    ) -> Option<usize> {
        let client = self.clients.get_mut(key)?;
        let login = client.login.as_mut()?;
        match login.step {
            LoginStep::Beginning => {}
            // Nothing that it says matters any more.
            LoginStep::Denied => return Some(bytes.len()),
            _ => return None,
        }
        let peer = client.origin.peer;
        let mut networks = self.settings.proxy_networks.iter();
        let trusted = networks.any(|network| network.contains(peer));
        match proxy_header(bytes) {
            Ok(Beginning::Other) => {
                login.step = LoginStep::Response;
                None
            }
            Ok(Beginning::TooShort) if trusted || bytes.len() < CERTAIN => Some(0),
            Ok(Beginning::Header(header)) if trusted => {
                login.step = LoginStep::Response;
                if let Some(address) = header.client {
                    self.came_from(turn, key, address);
                }
                Some(header.len)
            }
            _ => {
                self.refuse_header(turn, key, trusted);
                Some(bytes.len())
            }
        }
    }

    /// The client is somewhere else than its connection comes from.
    fn came_from<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, address: SocketAddr) {
        let peer = Peer::Tcp(address);
        if let Some(client) = self.clients.get_mut(key) {
            client.origin.peer = peer;
            let place = client.login.as_mut().and_then(|login| login.place.as_mut());
            place.into_iter().for_each(|place| place.moves_to(peer));
        }
        self.counters.proxy_headers += 1;
        if self
            .shared
            .strangers
            .is_blocked(peer, self.settings.max_connect_errors)
        {
            let error = ClientError::host_blocked(peer, self.flavor());
            self.refuse(turn, key, &error, DisconnectReason::HostBlocked);
        }
    }

    fn refuse_header<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, trusted: bool) {
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let from = crate::errors::host(client.origin.peer, true);
        self.counters.proxy_headers_refused += 1;
        let error = if trusted {
            tracing::warn!(from, "a PROXY header cannot be read");
            ClientError::proxy_header_unread()
        } else {
            // Whoever can connect could fill the log.
            let count = self.counters.proxy_headers_refused;
            if count.is_power_of_two() {
                let hint = "its address is not in proxy_protocol.networks";
                tracing::warn!(from, count, hint, "a PROXY header is not accepted");
            }
            ClientError::proxy_header_refused(&from)
        };
        if self.clients.state(key) == Some(State::Greeting) {
            return self.close_client(turn, key, DisconnectReason::Malformed);
        }
        self.refuse(turn, key, &error, DisconnectReason::Malformed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_the_addresses_with_their_first_bits() {
        let network = |ip: &str, bits| ProxyNetwork::Ip(ip.parse().unwrap(), bits);
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
            (ProxyNetwork::Unix, "127.0.0.1", false),
        ] {
            assert_eq!(network.contains(peer(ip)), expected, "{network:?} {ip}");
        }
        assert!(ProxyNetwork::Unix.contains(Peer::Unix));
        assert!(!network("0.0.0.0", 0).contains(Peer::Unix));
    }
}

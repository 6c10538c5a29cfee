//! Clients behind a load balancer that says for whom it connects, ahead of their first packet.
//!
//! Owns who is believed, and what becomes of a client by that. How a header is written is `wire`'s matter. As on
//! MariaDB the greeting does not wait for a header, and who may send one may as well send none.

use std::net::SocketAddr;

use events::{Io, Peer};
use membership::Key;
use wire::{Beginning, proxy_header};

use crate::client::{LoginStep, State};
use crate::errors::ClientError;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// Once so many bytes match, they can be nothing but a header.
const CERTAIN: usize = 12;

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
        if let Some(error) = self.blocked(peer) {
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

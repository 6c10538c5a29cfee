//! Handshakes that break, and the addresses that are blocked for them (`max_connect_errors`). Owns which handshakes count; the
//! counts are in `record::strangers`.

use carry::errors::{ClientError, host};
use events::{Io, Peer};

use crate::record::client::{Client, LoginStep, State};
use crate::record::counters::DisconnectReason;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// Why a client from there is refused, if its address is blocked.
    pub(crate) fn blocked(&self, peer: Peer) -> Option<ClientError> {
        if !self.shared.strangers.is_blocked(peer) {
            return None;
        }
        // A client that connects again and again could fill the log.
        let count = self.counters.disconnects[DisconnectReason::HostBlocked as usize] + 1;
        if count.is_power_of_two() {
            let from = host(peer, true);
            tracing::warn!(from, count, "connection refused: its address is blocked");
        }
        Some(ClientError::host_blocked(peer, self.known.flavor()))
    }

    /// Counts a client that ended in the connection phase: a probe if it said nothing, else a broken handshake. A
    /// client that was not greeted yet is neither.
    pub(crate) fn count_broken<I: Io<Mail>>(
        &mut self,
        turn: &Turn<'_, I>,
        state: Option<State>,
        client: &Client,
        reason: DisconnectReason,
    ) {
        let begun = client
            .login
            .as_ref()
            .is_some_and(|login| login.place.is_some());
        let hung_up = matches!(
            reason,
            DisconnectReason::ClientClosed | DisconnectReason::ClientFailed
        );
        let broken = hung_up
            || matches!(
                reason,
                DisconnectReason::Malformed | DisconnectReason::LoginTimeout
            );
        if !begun || !broken || !state.is_some_and(|state| State::LOGINS.contains(&state)) {
            return;
        }
        if hung_up && is_silent(client) {
            self.counters.client_probes += 1;
            return;
        }
        self.counters.handshakes_broken += 1;
        let peer = client.origin.peer;
        let settings = &self.settings;
        // A load balancer looks whether this is alive, and must not lock itself out.
        let mut exempt = settings
            .proxy_networks
            .iter()
            .chain(&settings.connect_errors_exempt);
        if exempt.any(|network| network.contains(peer)) {
            return;
        }
        let max = settings.max_connect_errors;
        if let Some(errors) = self.shared.strangers.broke(peer, max, turn.now) {
            let from = host(peer, true);
            tracing::warn!(
                from,
                errors,
                "address blocked: server.max_connect_errors handshakes in a row broke there; FLUSH HOSTS lifts the \
                 block, server.connect_errors_exempt exempts networks"
            );
        }
    }
}

/// True if the client has sent nothing of its own; a load balancer may have sent a header for it.
fn is_silent(client: &Client) -> bool {
    let said_nothing = client.login.as_ref().is_some_and(|login| {
        let waits = matches!(login.step, LoginStep::Beginning | LoginStep::Response);
        waits && login.sequence_id == 1
    });
    said_nothing && client.inbox.is_empty()
}

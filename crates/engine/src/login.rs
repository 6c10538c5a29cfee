//! The connection phase: of clients, and of backends, up to those that have become of no use.

mod anew;
mod backend_auth;
mod backend_login;
mod broken;
pub(crate) mod dawdlers;
pub(crate) mod denial;
mod directory;
mod expired;
mod full_exchange;
mod globals;
pub(crate) mod identity;
mod init_connect;
mod relay;
mod relayed;
mod retiring;
mod set_option;
mod tls;
mod told;
pub(crate) mod vouching;

use carry::errors::ClientError;
use carry::last_gtid::Gtid;
use events::{Close, Compression, Handle, Io, Peer, Tag};
use membership::Key;
use wire::{Capabilities, InitialHandshake, OkPacket, ServerStatus};

use crate::record::client::{Client, Origin, State};
use crate::record::counters::DisconnectReason;
use crate::record::facts::Facts;
use crate::record::owner::Owner;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// Counts one client more over all workers, unless there are as many as may be.
    pub(crate) fn admit_client(&mut self) -> bool {
        let admitted = self.shared.admit_client(self.settings.max_connections);
        self.counted += usize::from(admitted);
        admitted
    }

    /// Counts one client less.
    pub(crate) fn client_gone(&mut self) {
        self.shared.client_gone();
        self.counted -= 1;
    }

    /// Refuses a connection before its client has a record: tells why, and closes it.
    pub(crate) fn turn_away<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        handle: Handle,
        error: &ClientError,
        reason: DisconnectReason,
    ) -> Tag {
        let outbox = turn.io.outbox(handle);
        error.packet().encode(outbox, 0, Capabilities::empty());
        self.counters.disconnected(reason);
        turn.io.close(handle, Close::Flush);
        Owner::NOBODY
    }

    /// The record of a client whose connection was accepted.
    pub(crate) fn new_client<I: Io<Mail>>(
        &mut self,
        turn: &Turn<'_, I>,
        handle: Handle,
        peer: Peer,
        nonce: [u8; 32],
    ) -> Client {
        let origin = Origin {
            peer,
            nonce: printable(nonce),
            tls: None,
            asked_collation: 0,
            ignores_space: false,
            last_gtid: Gtid::default(),
        };
        let id = self.shared.connection_id(self.worker);
        Client::new(handle, id, origin, turn.now, &self.known.interner)
    }

    /// The backend's version is known, or known to be unknown: whoever waits is greeted.
    pub(crate) fn learn_facts<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, facts: Facts) {
        self.known.facts = Some(facts);
        while let Some(key) = self.clients.first(State::Greeting) {
            self.greet(turn, key);
        }
    }

    /// Sends the initial handshake.
    pub(crate) fn greet<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        self.clients.move_to(key, State::Login, turn.now);
        let (Some(client), Some(facts)) = (self.clients.get_mut(key), &self.known.facts) else {
            return;
        };
        let Some(login) = &mut client.login else {
            return;
        };
        let chosen = self.settings.default_auth_plugin;
        let plugin = chosen.unwrap_or_else(|| facts.auth_plugin());
        login.greeted = Some(plugin);
        let handshake = InitialHandshake {
            server_version: &facts.version,
            connection_id: client.id,
            nonce: client.origin.nonce,
            capabilities: facts.offered(&self.settings),
            extended: facts.extended,
            collation: facts.collation,
            status: facts.status,
            auth_plugin: plugin.name(),
        };
        login.sequence_id = handshake.encode(turn.io.outbox(client.handle), 0);
    }

    /// What a client is told whose login names a collation of a character set in which no statement can be read.
    pub(crate) fn unreadable(&self, collation: u8) -> Option<ClientError> {
        let charset = self.known.facts.as_ref()?.unreadable_charset(collation)?;
        Some(ClientError::unreadable_charset(charset))
    }

    /// The login succeeded. The caller moves the client on.
    pub(crate) fn welcome<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let may_initiate = self.may_initiate();
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let tracks = client.dialect().session_track;
        let is_new = client
            .login
            .as_ref()
            .is_some_and(|login| login.greeted.is_some());
        let mut block = Vec::new();
        if tracks && is_new {
            self.put_told_at_login(client, &mut block);
        }
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let Some(login) = client.login.take() else {
            return;
        };
        client.may_initiate = may_initiate && is_new;
        if let (true, Some(schema)) = (tracks, &client.session.schema) {
            client
                .tracks
                .put_login(schema, &self.known.track_lists, &mut block);
        }
        // Clients escape texts by one of these.
        let told =
            ServerStatus::AUTOCOMMIT | ServerStatus::IN_TRANS | ServerStatus::NO_BACKSLASH_ESCAPES;
        let ok = OkPacket {
            status: client.status & told,
            info: login.proof.as_ref().map_or(&[][..], |proof| &proof[..]),
            state_changes: &block,
            ..OkPacket::default()
        };
        ok.encode(turn.io.outbox(client.handle), login.sequence_id, 0x00);
        // COM_CHANGE_USER does not change the compression.
        if is_new && let Some(method) = compression(client.capabilities, login.zstd_level) {
            let connection = (client.handle, Owner::Client(key).tag());
            turn.io.compress(connection, method);
        }
        self.counters.logins += 1;
    }
}

/// How a client that logged in compresses: with zlib if it can do both, as on the servers.
fn compression(negotiated: Capabilities, zstd_level: u8) -> Option<Compression> {
    if negotiated.contains(Capabilities::COMPRESS) {
        return Some(Compression::Zlib);
    }
    let zstd = negotiated.contains(Capabilities::ZSTD_COMPRESSION);
    zstd.then_some(Compression::Zstd { level: zstd_level })
}

/// Nonces are sent as text that ends at a NUL: no byte of one may be 0, and the servers keep them
/// within ASCII.
fn printable(random: [u8; 32]) -> [u8; 20] {
    let mut nonce = [0; 20];
    for (byte, random) in nonce.iter_mut().zip(random) {
        *byte = random % 94 + 33;
    }
    nonce
}

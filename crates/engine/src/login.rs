//! The connection phase of clients.

pub(crate) mod address;
mod anew;
mod broken;
mod dawdlers;
pub(crate) mod denial;
pub(crate) mod directory;
pub(crate) mod full_exchange;
mod identity;
mod init_connect;
pub(crate) mod places;
pub(crate) mod proxied;
pub(crate) mod relay;
pub(crate) mod relay_places;
mod relayed;
pub(crate) mod strangers;
pub(crate) mod tls;
pub(crate) mod told;
pub(crate) mod vouching;

use events::{Close, Compression, Handle, Io, Peer, Tag};
use membership::Key;
use session::SessionState;
use session::statement::PinReasons;
use wire::{
    Capabilities, Command, ExtendedCapabilities, HandshakeResponse, InitialHandshake, Malformed,
    OkPacket, PacketWriter, ServerStatus, whole_packet,
};

use crate::backend::facts::Facts;
use crate::carried::last_gtid::Gtid;
use crate::carried::track_filter::TrackFilter;
use crate::client::{Client, Login, LoginStep, Origin, Pauses, State};
use crate::diagnostics::capture::Capture;
use crate::endings::retry::Retry;
use crate::errors::ClientError;
use crate::lanes::digests::Digest;
use crate::login::identity::{Asked, Claim};
use crate::owner::Owner;
use crate::report::counters::DisconnectReason;
use crate::settings::TlsMode;
use crate::{Engine, Mail, Turn};

/// No handshake response is longer: user, schema and connection attributes have limits of their
/// own in the servers, which take no more than 64 KiB of attributes.
const MAX_RESPONSE: usize = 80 << 10;

impl Engine {
    pub(crate) fn client_accepted<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        handle: Handle,
        peer: Peer,
        nonce: [u8; 32],
    ) -> Tag {
        self.counters.client_connections += 1;
        if !self.admit_client() {
            let error = ClientError::too_many_connections();
            return self.turn_away(turn, handle, (&error, DisconnectReason::TooManyConnections));
        }
        if let Some(error) = self.blocked(peer) {
            self.client_gone();
            return self.turn_away(turn, handle, (&error, DisconnectReason::HostBlocked));
        }
        let Some(slot) = self.place_to_log_in(turn, peer) else {
            self.client_gone();
            let error = ClientError::too_many_connections();
            return self.turn_away(turn, handle, (&error, DisconnectReason::TooManyLogins));
        };
        let client = self.new_client(turn, handle, peer, nonce);
        let id = client.id;
        let key = self.clients.insert(State::Greeting, client);
        if let Some(login) = self.clients.login_mut(key) {
            login.place = Some(self.places.give(slot, (peer, key)));
        }
        self.ids.insert(id, key);
        if self.draining.is_some() {
            self.refuse(
                turn,
                key,
                &ClientError::server_shutdown(),
                DisconnectReason::Drain,
            );
        } else if self.known.facts.is_some() {
            self.greet(turn, key);
        }
        Owner::Client(key).tag()
    }

    /// Counts one client more over all workers, unless there are as many as may be.
    fn admit_client(&mut self) -> bool {
        let admitted = self.shared.admit_client(self.settings.max_connections);
        self.counted += usize::from(admitted);
        admitted
    }

    /// Counts one less.
    pub(crate) fn client_gone(&mut self) {
        self.shared.client_gone();
        self.counted -= 1;
    }

    /// There is no room for the client, or none for whoever comes from there.
    fn turn_away<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        handle: Handle,
        (error, reason): (&ClientError, DisconnectReason),
    ) -> Tag {
        let outbox = turn.io.outbox(handle);
        error.packet().encode(outbox, 0, Capabilities::empty());
        self.counters.disconnected(reason);
        turn.io.close(handle, Close::Flush);
        Owner::NOBODY
    }

    fn new_client<I: Io<Mail>>(
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
        Client {
            handle,
            id: self.shared.connection_id(self.worker),
            account: 0,
            seat: None,
            key: pool::KeyId(0),
            capabilities: Capabilities::empty(),
            extended: ExtendedCapabilities::empty(),
            status: ServerStatus::AUTOCOMMIT,
            pins: PinReasons::NONE,
            pin_slot: None,
            holdings: None,
            statements: None,
            tracks: TrackFilter::default(),
            untold: None,
            rekeyed: false,
            may_initiate: false,
            defined_pinned: false,
            uploading: false,
            retry: Retry::Fresh,
            digest: Digest::NONE,
            session: SessionState::new(0, &self.known.interner),
            last_insert_id: 0,
            capture: Capture::default(),
            backend: None,
            since: turn.now,
            inbox: Vec::new(),
            paused: Pauses::empty(),
            answer_begins: 1,
            origin: Box::new(origin),
            login: Some(Login::new(LoginStep::Beginning, 0)),
        }
    }

    /// The backend's version is known, or known to be unknown: whoever waits is greeted.
    pub(crate) fn learn_facts<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, facts: Facts) {
        self.known.facts = Some(facts);
        while let Some(key) = self.clients.first(State::Greeting) {
            self.greet(turn, key);
        }
    }

    fn greet<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
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

    /// Bytes of a client that is not logged in yet. Returns how many were used.
    pub(crate) fn login_bytes<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        bytes: &[u8],
    ) -> usize {
        if let Some(used) = self.proxied(turn, key, bytes) {
            return used;
        }
        let packet = match whole_packet(bytes) {
            Ok(packet) => packet,
            Err(needed) if needed <= MAX_RESPONSE && bytes.len() <= MAX_RESPONSE => return 0,
            Err(_) => {
                let error = ClientError::bad_handshake();
                self.refuse(turn, key, &error, DisconnectReason::Malformed);
                return bytes.len();
            }
        };
        let Some(client) = self.clients.get_mut(key) else {
            return bytes.len();
        };
        let counted = turn.io.sequence_id(client.handle);
        let Some(login) = client.login.as_deref_mut() else {
            return bytes.len();
        };
        let in_order = counted.is_some() || packet.sequence_id == login.sequence_id;
        login.sequence_id = counted.unwrap_or(packet.sequence_id.wrapping_add(1));
        let payload = packet.payload.bytes();
        let relays = matches!(login.step, LoginStep::Relay(_));
        let step = match relays {
            true => LoginStep::Response,
            false => std::mem::replace(&mut login.step, LoginStep::Response),
        };
        let done = match step {
            _ if !in_order => Err(Malformed::Invalid("sequence id")),
            _ if relays => self.relay_answer(turn, key, payload),
            LoginStep::Response if self.may_begin_tls(key, payload) => {
                self.begin_tls(turn, key, &bytes[packet.consumed..]);
                return bytes.len();
            }
            step => self.step(turn, key, step, payload),
        };
        if done.is_err() {
            self.refuse(
                turn,
                key,
                &ClientError::bad_handshake(),
                DisconnectReason::Malformed,
            );
        }
        packet.consumed
    }

    /// What came is what this step waits for.
    fn step<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        step: LoginStep,
        payload: &[u8],
    ) -> Result<(), Malformed> {
        match step {
            LoginStep::Response => self.handshake_response(turn, key, payload),
            LoginStep::AuthSwitch {
                plugin,
                user,
                schema,
            } => {
                let claim = Claim {
                    user: &user,
                    schema: schema.as_deref(),
                    response: payload,
                };
                self.authenticate(turn, key, (plugin, Asked::NotYet), &claim);
                Ok(())
            }
            LoginStep::Schema | LoginStep::Relay(_) | LoginStep::Initiating { .. } => Ok(()),
            LoginStep::Password(answered) => {
                self.password_came(turn, key, (answered, self.is_secure(key)), payload)
            }
            LoginStep::Encrypted(answered) => {
                self.password_came(turn, key, (answered, false), payload)
            }
            LoginStep::Asking(_)
            | LoginStep::Checking(_)
            | LoginStep::Beginning
            | LoginStep::Denied => Err(Malformed::Invalid("nothing was asked")),
        }
    }

    fn handshake_response<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
    ) -> Result<(), Malformed> {
        let response = HandshakeResponse::parse(payload)?;
        let session = SessionState::new(response.collation, &self.known.interner);
        let (Some(client), Some(facts)) = (self.clients.get_mut(key), &self.known.facts) else {
            return Ok(());
        };
        let offered = facts.offered(&self.settings);
        client.capabilities = response.capabilities & offered;
        if let Some(login) = &mut client.login {
            login.zstd_level = HandshakeResponse::zstd_level(payload).unwrap_or_default();
        }
        client.extended = response.extended & facts.extended;
        client.session = session;
        client.origin.asked_collation = response.collation;
        client.begin_with(facts.begins_with(), &mut self.known.interner);
        client.begin_sql_mode(facts, &mut self.known.interner);
        client.tracks = self.known.track_lists.first();
        client.origin.ignores_space = client.capabilities.contains(Capabilities::IGNORE_SPACE);
        client.begin_interactively(facts, &mut self.known.interner);
        if let Some(error) = self.unreadable(response.collation) {
            self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
            return Ok(());
        }
        if self.settings.tls == TlsMode::Require && !self.is_secure(key) {
            let error = ClientError::secure_transport_required();
            self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
            return Ok(());
        }
        let claim = Claim {
            user: response.user,
            schema: response.schema,
            response: response.auth_response,
        };
        self.identify(turn, key, response.auth_plugin, &claim);
        Ok(())
    }

    /// What a client is told whose login names a collation of a character set in which no statement can be read.
    pub(crate) fn unreadable(&self, collation: u8) -> Option<ClientError> {
        let charset = self.known.facts.as_ref()?.unreadable_charset(collation)?;
        Some(ClientError::unreadable_charset(charset))
    }

    /// Only a backend can say whether the schema is there and open to this account: the client's
    /// first command is COM_INIT_DB, and what comes of it is what comes of the login.
    pub(crate) fn check_schema<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        schema: &[u8],
    ) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let Some(login) = &mut client.login else {
            return;
        };
        if self.known.schemas.contains(client.key, schema) {
            client.session.schema = Some(self.known.interner.schema(schema));
            if self.may_use_schema(turn, key) {
                self.begin(turn, key);
            }
            return;
        }
        login.step = LoginStep::Schema;
        let mut command = Vec::with_capacity(schema.len() + 5);
        let mut packet = PacketWriter::begin(&mut command, 0);
        packet.payload().push(Command::InitDb as u8);
        packet.payload().extend_from_slice(schema);
        packet.finish();
        if self.packet(turn, key, &command) == Some(0)
            && let Some(client) = self.clients.get_mut(key)
            && client.login.is_some()
        {
            client.inbox = command;
        }
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
        // COM_CHANGE_USER changes nothing about that.
        let method = compression(client.capabilities, login.zstd_level);
        if let Some(method) = method.filter(|_| is_new) {
            let connection = (client.handle, Owner::Client(key).tag());
            turn.io.compress(connection, method);
        }
        self.counters.logins += 1;
    }

    /// The login failed, or COM_CHANGE_USER did: tells why, and closes the connection.
    pub(crate) fn refuse<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &ClientError,
        reason: DisconnectReason,
    ) {
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let Some(login) = &client.login else { return };
        let outbox = turn.io.outbox(client.handle);
        // An ERR that stands in place of the initial handshake has no SQLSTATE yet.
        let capabilities = match login.sequence_id {
            0 => Capabilities::empty(),
            _ => Capabilities::PROTOCOL_41,
        };
        error
            .packet()
            .encode(outbox, login.sequence_id, capabilities);
        self.counters.logins_refused += 1;
        self.close_client(turn, key, reason);
    }
}

/// How a client that logged in compresses. Of two it is zlib, as the servers have it.
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

//! A backend connection from its handshake until it is ready, and what becomes of those that wait for it if it is refused.

use accounts::Secret;
use carry::errors::ClientError;
use events::{Close, Io, Span};
use membership::Key;
use pool::{KeyId, State as BackendState};
use wire::{
    AuthMoreData, AuthPlugin, AuthSwitchRequest, Capabilities, ErrPacket, ExtendedCapabilities,
    HEADER_LEN, HandshakeResponse, InitialHandshake, Malformed, OkPacket, REQUEST_PUBLIC_KEY,
    TextResultSet, code, encode_attributes, encrypt_password, whole_packet,
};
use zeroize::Zeroizing;

use crate::desk::Engine;
use crate::record::auth::{BackendLogin, Challenge, Greeted};
use crate::record::backend::{Backend, PoolKey};
use crate::record::counters::DisconnectReason;
use crate::record::facts::{Facts, REQUIRED};
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// What the server is told of us; its clients' own attributes would be wrong for most of them.
const ATTRIBUTES: [(&str, &str); 5] = [
    ("_client_name", "myriad"),
    ("_client_version", env!("CARGO_PKG_VERSION")),
    ("_os", std::env::consts::OS),
    ("_platform", std::env::consts::ARCH),
    ("program_name", "myriad"),
];

/// Connects that failed are tried again after 50 ms, 100 ms, … up to this.
const RETRY_MAX: Span = Span::from_secs(2);

/// What Myriad negotiates with each backend, whatever its key.
const ALWAYS: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::PLUGIN_AUTH_LENENC_DATA);

/// MariaDB tracks no variables in sessions that begin while its list of them is empty, whatever they set it to
/// themselves.
const TRACKS_NOTHING: &str = "does not tell which variables its sessions set, as session_track_system_variables is \
    empty there; SET GLOBAL session_track_system_variables = DEFAULT on it, and take the line out of its configuration";

impl Engine {
    /// The server wants another plugin than it named first.
    fn backend_auth_switch<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
        sequence_id: u8,
    ) -> Result<(), Malformed> {
        let request = AuthSwitchRequest::parse(payload)?;
        let Some(plugin) = AuthPlugin::named(request.plugin) else {
            let error = ClientError::unsupported_plugin(request.plugin);
            let mut packet = Vec::new();
            error
                .packet()
                .encode(&mut packet, 0, Capabilities::PROTOCOL_41);
            self.backend_refused(turn, key, &packet[HEADER_LEN..]);
            return Ok(());
        };
        let nonce = *request
            .data
            .first_chunk()
            .ok_or(Malformed::Truncated("nonce"))?;
        let challenge = Challenge { plugin, nonce };
        let directory = self.records.accounts.clone();
        let response = self
            .records
            .secret_for(key, &directory)
            .and_then(|secret| challenge.response(&secret));
        let Some(response) = response else {
            self.backend_locked_out(turn, key);
            return Ok(());
        };
        let step = BackendLogin::Response(challenge);
        self.records
            .backend_login_answer(turn, key, step, (sequence_id, &response));
        Ok(())
    }

    /// The server continues the exchange of `caching_sha2_password`.
    fn backend_more_data<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
        sequence_id: u8,
    ) -> Result<(), Malformed> {
        let step = self.records.pool.get(key).and_then(|backend| backend.login);
        match (step, AuthMoreData::parse(payload)?) {
            (Some(BackendLogin::Response(challenge)), data)
                if challenge.plugin == AuthPlugin::CachingSha2Password =>
            {
                match data {
                    AuthMoreData::FastAuthSuccess => {}
                    AuthMoreData::FullAuthentication => {
                        self.backend_full_authentication(turn, key, challenge, sequence_id);
                    }
                    AuthMoreData::Data(_) => return Err(Malformed::Invalid("auth more data")),
                }
            }
            (Some(BackendLogin::PublicKey(challenge)), AuthMoreData::Data(pem)) => {
                self.backend_public_key(turn, key, challenge, pem, sequence_id);
            }
            _ => return Err(Malformed::Invalid("auth more data")),
        }
        Ok(())
    }

    fn backend_full_authentication<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        challenge: Challenge,
        sequence_id: u8,
    ) {
        self.records.counters.backend_full_authentications += 1;
        if !self.records.settings.backend_on_unix_socket && !self.records.settings.backend_tls {
            let step = BackendLogin::PublicKey(challenge);
            return self.records.backend_login_answer(
                turn,
                key,
                step,
                (sequence_id, REQUEST_PUBLIC_KEY),
            );
        }
        let directory = self.records.accounts.clone();
        let secret = self.records.secret_for(key, &directory);
        let Some(password) = secret.as_ref().and_then(Secret::password) else {
            return self.backend_locked_out(turn, key);
        };
        let mut clear = Zeroizing::new(Vec::with_capacity(password.len() + 1));
        clear.extend_from_slice(password);
        clear.push(0);
        self.records
            .backend_login_answer(turn, key, BackendLogin::Verdict, (sequence_id, &clear));
    }

    fn backend_public_key<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        challenge: Challenge,
        pem: &[u8],
        sequence_id: u8,
    ) {
        let directory = self.records.accounts.clone();
        let secret = self.records.secret_for(key, &directory);
        let Some(password) = secret.as_ref().and_then(Secret::password) else {
            return self.backend_locked_out(turn, key);
        };
        match encrypt_password(password, &challenge.nonce, pem, &mut self.records.random) {
            Ok(encrypted) => {
                let answer = (sequence_id, &encrypted[..]);
                self.records
                    .backend_login_answer(turn, key, BackendLogin::Verdict, answer);
            }
            Err(error) => self.give_up_connect(turn, key, error.to_string()),
        }
    }

    /// Bytes of a backend that is not logged in to yet. Returns how many were used.
    pub(crate) fn backend_login_bytes<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        bytes: &[u8],
    ) -> usize {
        let Ok(packet) = whole_packet(bytes) else {
            return 0;
        };
        let payload = packet.payload.bytes();
        let step = self.records.pool.get(key).and_then(|backend| backend.login);
        let relays = self.records.decides_login(key);
        let done = match (step, payload.first()) {
            (_, Some(0xff)) if relays => {
                self.relay_refused(turn, key, payload);
                Ok(())
            }
            (Some(BackendLogin::Response(_)), _) if relays => {
                self.relay_packet(turn, key, payload, packet.sequence_id)
            }
            (_, Some(0xff)) => {
                self.backend_refused(turn, key, payload);
                Ok(())
            }
            (Some(BackendLogin::Handshake), _) => {
                let early = &bytes[packet.consumed..];
                let done = self.backend_handshake(turn, key, payload, early);
                if self.records.settings.backend_tls && done.is_ok() {
                    return bytes.len();
                }
                done
            }
            (Some(BackendLogin::Response(_) | BackendLogin::Verdict), Some(0x00)) => {
                self.backend_let_in(turn, key, payload)
            }
            (Some(BackendLogin::Response(_)), Some(0xfe)) => {
                self.backend_auth_switch(turn, key, payload, packet.sequence_id)
            }
            (Some(_), Some(0x01)) => self.backend_more_data(turn, key, payload, packet.sequence_id),
            _ => Err(Malformed::Invalid("answer to the handshake response")),
        };
        if let Err(error) = done {
            let text = format!("it does not speak the MySQL protocol: {error}");
            self.give_up_connect(turn, key, text);
        }
        packet.consumed
    }

    fn backend_handshake<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
        early: &[u8],
    ) -> Result<(), Malformed> {
        let handshake = InitialHandshake::parse(payload)?;
        let Some(id) = self.records.pool.key_of(key) else {
            return Ok(());
        };
        let wanted = self.records.pool.key(id).clone();
        if !handshake.capabilities.contains(REQUIRED) {
            let version = String::from_utf8_lossy(handshake.server_version);
            let text = format!(
                "{version} cannot track sessions; MariaDB 10.2 and MySQL 5.7 are the oldest that can"
            );
            self.server_unfit(turn, key, text);
            return Ok(());
        }
        let lacks = wanted.capabilities - handshake.capabilities;
        if lacks.contains(Capabilities::QUERY_ATTRIBUTES) {
            self.give_up_connect(turn, key, "it takes query attributes no more".to_owned());
            return Ok(());
        }
        let named = AuthPlugin::named(handshake.auth_plugin);
        let Some(plugin) = self.records.plugin_for(key, named) else {
            self.backend_locked_out(turn, key);
            return Ok(());
        };
        let Some(backend) = self.records.pool.get_mut(key) else {
            return Ok(());
        };
        backend.connection_id = handshake.connection_id;
        backend.attributes = wanted.capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
        let challenge = Challenge {
            plugin,
            nonce: handshake.nonce,
        };
        let tls = self.records.settings.backend_tls;
        let greeted = greeted(&handshake, challenge, &wanted, tls);
        match tls {
            true => self.secure_backend(turn, key, greeted, early),
            false => self.answer_backend(turn, key, greeted, 1),
        }
        let mut facts = Facts::from_handshake(&handshake);
        if let Some(known) = &self.records.known.facts {
            facts.keep(known);
        }
        if self.records.known.facts.as_ref() != Some(&facts) {
            self.records.learn_facts(turn, facts);
        }
        Ok(())
    }

    /// Answers the initial handshake of a backend, in a packet with this sequence id.
    pub(crate) fn answer_backend<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        greeted: Greeted,
        sequence_id: u8,
    ) {
        let Some(id) = self.records.pool.key_of(key) else {
            return;
        };
        let directory = self.records.accounts.clone();
        let account = directory.account(self.records.pool.key(id).account);
        let challenge = greeted.challenge;
        let proof = self.records.proof_for(key, &directory, challenge);
        let (Some(account), Some((plugin, response))) = (account, proof) else {
            return self.backend_locked_out(turn, key);
        };
        let Some(backend) = self.records.pool.get_mut(key) else {
            return;
        };
        backend.login = Some(BackendLogin::Response(challenge));
        let response = HandshakeResponse {
            capabilities: greeted.capabilities,
            extended: greeted.extended,
            max_packet_size: 1 << 30,
            collation: backend.session.collation,
            user: account.user().as_bytes(),
            auth_response: &response,
            schema: None,
            auth_plugin: plugin,
            attributes: &encode_attributes(&ATTRIBUTES),
        };
        response.encode(turn.io.outbox(backend.handle), sequence_id);
    }

    /// The backend is logged in to, and tells what a session begins with.
    pub(crate) fn backend_let_in<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
    ) -> Result<(), Malformed> {
        self.records
            .known
            .told_at_login
            .learn(&OkPacket::parse(payload)?);
        self.backend_ready(turn, key);
        Ok(())
    }

    fn backend_ready<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        self.records.counters.backend_connections += 1;
        if self.records.pool.state(key) == Some(BackendState::Reserved) {
            if let Some(backend) = self.records.pool.get_mut(key) {
                backend.login = None;
            }
            let id = self.records.pool.key_of(key);
            return id.map_or((), |id| self.send_kills(turn, id));
        }
        self.records
            .pool
            .move_to(key, BackendState::Resetting, turn.now);
        let id = self.records.pool.key_of(key);
        let is_ours = id.is_some_and(|id| {
            self.records
                .accounts
                .is_ours(self.records.pool.key(id).account)
        });
        let Some(backend) = self.records.pool.get_mut(key) else {
            return;
        };
        backend.login = None;
        // It was opened to see whether the server is there, and serves nobody.
        backend.retired |= is_ours;
        if id.is_some_and(|id| self.records.pool.key(id).is_sandbox()) {
            return self.sandbox_ready(turn, key);
        }
        self.records.set_up(turn, key);
    }

    /// The backend said what its account may do; it was the last thing to be asked of a new one.
    pub(crate) fn learn_privileges<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        rows: Option<&TextResultSet>,
    ) {
        if let Some(id) = self.records.pool.key_of(key) {
            let count = rows.and_then(|rows| rows.first(0));
            let state = &mut self.records.keys[id.0 as usize];
            state.kills_others = count.is_some_and(|count| count != b"0");
            (state.failures, state.retry_at) = (0, None);
            state.hides_variables = false;
        }
        if let Some(backend) = self.records.pool.get_mut(key) {
            backend.opening = turn.now.since(backend.opened);
            backend.opened = turn.now;
        }
        self.relay_done(turn, key, rows.and_then(|rows| rows.first(1)));
        self.records.clean_if_initiated(turn, key);
    }

    /// The server does not let us in: where waiting may help we wait, else whoever waits is told.
    fn backend_refused<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, payload: &[u8]) {
        let Ok(error) = ErrPacket::parse(payload) else {
            return self.give_up_connect(turn, key, "it refused the connection".to_owned());
        };
        let text = format!(
            "it answered {} {}",
            error.code,
            String::from_utf8_lossy(error.message)
        );
        let id = self.records.pool.key_of(key);
        self.give_up_connect(turn, key, text);
        let temporary = [
            code::TOO_MANY_CONNECTIONS,
            code::TOO_MANY_USER_CONNECTIONS,
            code::USER_LIMIT_REACHED,
            code::SERVER_SHUTDOWN,
        ];
        if temporary.contains(&error.code) {
            return;
        }
        if let Some(id) = id.filter(|&id| !self.records.is_served(id)) {
            self.refuse_waiters(turn, id, &error);
        }
    }

    /// No backend of `id` can be had: whoever waits for one is told.
    pub(crate) fn refuse_waiters<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        id: KeyId,
        error: &ErrPacket<'_>,
    ) {
        while let Some(client) = self.matching.first_in_need(&self.records, id) {
            self.answer_waiter(turn, client, error);
        }
        // Those who wait for permits would be told the same, one after the other.
        for client in self.matching.queued_for(id) {
            self.answer_waiter(turn, client, error);
        }
    }

    /// Answers the command of a waiting client with an ERR of the backend; it never runs.
    fn answer_waiter<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &ErrPacket<'_>,
    ) {
        if self.records.clients.login_mut(key).is_some() {
            let error = ClientError::told(error);
            return self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
        }
        self.records.tell_waiter(turn, key, error);
        self.drop_waiting_command(turn, key);
    }

    /// The connection could not be made; `key` is still in the pool and its socket open.
    pub(crate) fn give_up_connect<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        text: String,
    ) {
        if let Some(backend) = self.records.pool.get(key) {
            turn.io.close(backend.handle, Close::Abort);
        }
        self.connect_failed(turn, key, text);
    }

    /// The connection could not be made, and its socket is gone.
    pub(crate) fn connect_failed<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        text: String,
    ) {
        let Some(id) = self.records.pool.key_of(key) else {
            return;
        };
        let reserved = self.records.pool.state(key) == Some(BackendState::Reserved);
        let relay = self
            .records
            .pool
            .remove(key)
            .and_then(|backend| backend.relay);
        self.records.counters.backend_connect_errors += 1;
        if let Some(relay) = relay {
            tracing::warn!(error = text, "no login can be handed on");
            self.records.slot_returned(turn);
            self.relay_lost(turn, relay);
            return self.serve_all(turn);
        }
        if reserved {
            tracing::warn!(error = text, "no connection for KILL can be had");
            return self.give_up_kills(turn, id);
        }
        let worker = self.records.worker as u64;
        let state = &mut self.records.keys[id.0 as usize];
        tracing::warn!(
            error = text,
            attempt = state.failures + 1,
            "backend cannot be reached"
        );
        let step = Span::from_ms(50 << state.failures.min(6)).min(RETRY_MAX);
        // Workers that failed together do not come back together.
        let spread =
            (turn.now.as_us().wrapping_mul(0x9e37_79b9) ^ worker << 7) % (step.as_us() / 2);
        state.failures += 1;
        state.retry_at = Some(turn.now + Span::from_us(step.as_us() / 2 + spread));
        state.last_error = text;
        if std::mem::take(&mut state.unfit) {
            // Waiters that were to hear of it would be refused for another reason.
            self.locked_out.retain(|&told| told != id);
        }
        self.records.wake(id);
        self.records.learn_nothing(turn);
        self.records.slot_returned(turn);
        self.serve_all(turn);
    }

    /// A backend refused a command of ours that cannot fail on a sound connection.
    pub(crate) fn backend_refuses_us<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &[u8],
    ) {
        let is_new = self.records.pool.get(key).is_some_and(Backend::is_new);
        let parsed = ErrPacket::parse(error);
        if is_new
            && parsed
                .as_ref()
                .is_ok_and(|error| error.code == code::MUST_SET_PASSWORD)
        {
            // An account whose password has expired is let in, and refused all that it may ask for.
            self.relay_expired(turn, key);
            return self.backend_refused(turn, key, error);
        }
        let error = parsed.map_or_else(
            |_| String::from_utf8_lossy(error).into_owned(),
            |error| format!("{} {}", error.code, String::from_utf8_lossy(error.message)),
        );
        let text = format!("it refused a command of the front door: {error}");
        self.backend_unfit(turn, key, text);
    }

    /// No session can be served on a backend, for this reason.
    fn backend_unfit<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, text: String) {
        if self.records.pool.get(key).is_some_and(Backend::is_new) {
            // The next one would fare alike: that has to wait.
            return self.give_up_connect(turn, key, text);
        }
        tracing::warn!(error = text, "backend closed");
        self.backend_broken(turn, key);
    }

    /// A backend does not track which variables its session sets, so that no session's could be carried.
    pub(crate) fn backend_tracks_nothing<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let version = self
            .records
            .known
            .facts
            .as_ref()
            .map_or(&b""[..], |facts| &facts.version);
        let text = format!("{} {TRACKS_NOTHING}", String::from_utf8_lossy(version));
        match self.records.pool.get(key).is_some_and(Backend::is_new) {
            true => self.server_unfit(turn, key, text),
            false => self.backend_unfit(turn, key, text),
        }
    }

    /// No session can be served on this server: the clients that wait are told so, and those that come before the next
    /// attempt.
    pub(crate) fn server_unfit<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        text: String,
    ) {
        if let Some(client) = self.records.login_decided_by(key) {
            tracing::warn!(error = text, "no login can be handed on");
            let error = ClientError::server_unfit(&text);
            return self.refuse(turn, client, &error, DisconnectReason::LoginRefused);
        }
        let id = self.records.pool.key_of(key);
        self.give_up_connect(turn, key, text);
        if let Some(id) = id {
            self.records.keys[id.0 as usize].unfit = true;
            self.locked_out.push(id);
        }
    }

    /// Tells the clients that wait for a connection of `id` that the server is unfit.
    pub(crate) fn tell_unfit<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        // A server that was replaced may still have connections that are in order.
        if !self.records.is_served(id) {
            let error = ClientError::server_unfit(&self.records.keys[id.0 as usize].last_error);
            self.refuse_waiters(turn, id, &error.packet());
        }
    }
}

/// What is kept of a server's initial handshake, for a connection with the key `wanted`.
fn greeted(
    handshake: &InitialHandshake<'_>,
    challenge: Challenge,
    wanted: &PoolKey,
    tls: bool,
) -> Greeted {
    let mut capabilities = ALWAYS | REQUIRED | wanted.capabilities;
    capabilities |= handshake.capabilities & Capabilities::CONNECT_ATTRS;
    capabilities.set(Capabilities::SSL, tls);
    let bulk = handshake.extended & ExtendedCapabilities::STMT_BULK_OPERATIONS;
    let extended = wanted.extended | bulk;
    if !extended.is_empty() {
        capabilities.remove(Capabilities::LONG_PASSWORD);
    }
    Greeted {
        challenge,
        offered: handshake.capabilities,
        capabilities,
        extended,
    }
}

#[cfg(test)]
mod tests;

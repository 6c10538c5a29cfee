//! The connection phase of backends, and the first commands on a new connection.

use events::{Io, Span};
use membership::Key;
use pool::{KeyId, State as BackendState};
use session::statement::Flavor;
use wire::{
    AuthPlugin, Capabilities, ErrPacket, ExtendedCapabilities, HandshakeResponse, InitialHandshake,
    Malformed, OkPacket, TextResultSet, code, encode_attributes, whole_packet,
};

use crate::ask::Ask;
use crate::backend::PoolKey;
use crate::backend::auth::{BackendLogin, Challenge, Greeted};
use crate::backend::facts::Facts;
use crate::backend::setup::put_setup;
use crate::errors::ClientError;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// What Myriad negotiates with each backend, whatever its key.
const ALWAYS: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::PLUGIN_AUTH_LENENC_DATA);

/// Without these a backend cannot be multiplexed (rule 9).
const REQUIRED: Capabilities = Capabilities::SESSION_TRACK.union(Capabilities::DEPRECATE_EOF);

/// What the server is told of us; its clients' own attributes would be wrong for most of them.
const ATTRIBUTES: [(&str, &str); 5] = [
    ("_client_name", "myriad"),
    ("_client_version", env!("CARGO_PKG_VERSION")),
    ("_os", std::env::consts::OS),
    ("_platform", std::env::consts::ARCH),
    ("program_name", "myriad"),
];

/// Whether this account may end what other accounts run, and which it is. Source: "KILL" in the manuals of
/// MySQL and of MariaDB.
const PRIVILEGES: &[u8] =
    b"SELECT COUNT(*),CURRENT_USER() FROM information_schema.USER_PRIVILEGES \
    WHERE GRANTEE=CONCAT('''',REPLACE(CURRENT_USER(),'@','''@'''),'''') \
    AND PRIVILEGE_TYPE IN ('SUPER','CONNECTION ADMIN','CONNECTION_ADMIN')";

/// Connects that failed are tried again after 50 ms, 100 ms, … up to this.
const RETRY_MAX: Span = Span::from_secs(2);

impl Engine {
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
        let step = self.pool.get(key).and_then(|backend| backend.login);
        let relays = self.decides_login(key);
        let done = match (step, payload.first()) {
            (_, Some(0xff)) if relays => {
                self.relay_refused(turn, key, payload);
                Ok(())
            }
            (Some(BackendLogin::Response(_)), _) if relays => {
                self.relay_packet(turn, key, (payload, packet.sequence_id))
            }
            (_, Some(0xff)) => {
                self.backend_refused(turn, key, payload);
                Ok(())
            }
            (Some(BackendLogin::Handshake), _) => {
                let early = &bytes[packet.consumed..];
                let done = self.backend_handshake(turn, key, (payload, early));
                if self.settings.backend_tls && done.is_ok() {
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
        (payload, early): (&[u8], &[u8]),
    ) -> Result<(), Malformed> {
        let handshake = InitialHandshake::parse(payload)?;
        let Some(id) = self.pool.key_of(key) else {
            return Ok(());
        };
        let wanted = self.pool.key(id).clone();
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
        let Some(plugin) = self.plugin_for(key, named) else {
            self.backend_locked_out(turn, key);
            return Ok(());
        };
        let Some(backend) = self.pool.get_mut(key) else {
            return Ok(());
        };
        backend.connection_id = handshake.connection_id;
        backend.attributes = wanted.capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
        let challenge = Challenge {
            plugin,
            nonce: handshake.nonce,
        };
        let tls = self.settings.backend_tls;
        let greeted = greeted(&handshake, challenge, (&wanted, tls));
        match tls {
            true => self.secure_backend(turn, key, (greeted, early)),
            false => self.answer_backend(turn, key, (greeted, 1)),
        }
        let mut facts = Facts::from_handshake(&handshake);
        if let Some(known) = &self.known.facts {
            facts.keep(known);
        }
        if self.known.facts.as_ref() != Some(&facts) {
            self.learn_facts(turn, facts);
        }
        Ok(())
    }

    /// Tells a backend who we are, in a packet with this sequence id.
    pub(crate) fn answer_backend<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (greeted, sequence_id): (Greeted, u8),
    ) {
        let Some(id) = self.pool.key_of(key) else {
            return;
        };
        let directory = self.accounts.clone();
        let account = directory.account(self.pool.key(id).account);
        let challenge = greeted.challenge;
        let proof = self.proof_for(key, (&directory, challenge));
        let (Some(account), Some((plugin, response))) = (account, proof) else {
            return self.backend_locked_out(turn, key);
        };
        let Some(backend) = self.pool.get_mut(key) else {
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
        self.known.told_at_login.learn(&OkPacket::parse(payload)?);
        self.backend_ready(turn, key);
        Ok(())
    }

    pub(crate) fn backend_ready<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        self.counters.backend_connections += 1;
        if self.pool.state(key) == Some(BackendState::Reserved) {
            if let Some(backend) = self.pool.get_mut(key) {
                backend.login = None;
            }
            let id = self.pool.key_of(key);
            return id.map_or((), |id| self.send_kills(turn, id));
        }
        self.pool.move_to(key, BackendState::Resetting, turn.now);
        let id = self.pool.key_of(key);
        let is_ours = id.is_some_and(|id| self.accounts.is_ours(self.pool.key(id).account));
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        backend.login = None;
        // It was opened to see whether the server is there, and serves nobody.
        backend.retired |= is_ours;
        if id.is_some_and(|id| self.pool.key(id).is_sandbox()) {
            return self.sandbox_ready(turn, key);
        }
        self.set_up(turn, key);
    }

    /// Makes a backend ready that nobody has used.
    pub(crate) fn set_up<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let outbox = turn.io.outbox(backend.handle);
        put_setup(outbox, backend, self.known.facts.as_ref());
        self.probe_tracker(turn, key);
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let outbox = turn.io.outbox(backend.handle);
        backend.ask(outbox, Ask::Privileges, PRIVILEGES);
        if backend.dirty {
            // Something has changed for all sessions since it began.
            self.put_reset(turn, key);
        }
    }

    /// The backend said what its account may do; it was the last thing to be asked of a new one.
    pub(crate) fn learn_privileges<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        rows: Option<&TextResultSet>,
    ) {
        if let Some(id) = self.pool.key_of(key) {
            let count = rows.and_then(|rows| rows.first(0));
            let state = &mut self.keys[id.0 as usize];
            state.kills_others = count.is_some_and(|count| count != b"0");
            (state.failures, state.retry_at) = (0, None);
            state.hides_variables = false;
        }
        if let Some(backend) = self.pool.get_mut(key) {
            backend.opening = turn.now.since(backend.opened);
            backend.opened = turn.now;
        }
        self.relay_done(turn, key, rows.and_then(|rows| rows.first(1)));
        self.clean_if_initiated(turn, key);
    }

    /// The server may have run `init_connect` there: that is gone with a reset. On MySQL so are the character sets that
    /// the login named; on MariaDB those stay, but for a collation that the server does not know, for which a reset brings
    /// those of another session. What a reset does not tell of a login is taken from the server's list.
    fn clean_if_initiated<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(backend) = self.pool.get(key).filter(|backend| backend.dirty) else {
            return;
        };
        let collation = backend.session.collation;
        let facts = self.known.facts.as_ref();
        let stays =
            |facts: &&Facts| facts.flavor == Flavor::MariaDb && facts.has_collation(collation);
        let lost = facts.filter(|facts| !stays(facts));
        let lost = lost.and_then(|facts| facts.charset_of_login(collation));
        if let (Some(charset), None) = (lost, self.known.charsets.get(collation)) {
            let charset = self.known.interner.charset(charset);
            self.known.charsets.learn(collation, charset);
        }
        self.put_reset(turn, key);
    }

    /// The server does not let us in: where waiting may help we wait, else whoever waits is told.
    pub(crate) fn backend_refused<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
    ) {
        let Ok(error) = ErrPacket::parse(payload) else {
            return self.give_up_connect(turn, key, "it refused the connection".to_owned());
        };
        let text = format!(
            "it answered {} {}",
            error.code,
            String::from_utf8_lossy(error.message)
        );
        let id = self.pool.key_of(key);
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
        if let Some(id) = id.filter(|&id| !self.is_served(id)) {
            self.refuse_waiters(turn, id, &error);
        }
    }

    /// True if there are backends of `id` that are logged in: as on the server, sessions go on with them when their
    /// account's password changes. What is refused is tried again later, and told when the last of them is gone.
    pub(crate) fn is_served(&self, id: KeyId) -> bool {
        self.pool.owned(id) > self.pool.count(id, BackendState::Connecting)
    }

    /// No backend of `id` can be had: whoever waits for one is told.
    pub(crate) fn refuse_waiters<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        id: KeyId,
        error: &ErrPacket<'_>,
    ) {
        while let Some(client) = self.first_in_need(id) {
            self.answer_waiter(turn, client, error);
        }
        // Those who wait for permits would be told the same, one after the other.
        for client in self.queued_for(id) {
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
        if self.clients.login_mut(key).is_some() {
            let error = ClientError::told(error);
            return self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
        }
        self.tell_waiter(turn, key, error);
        self.drop_waiting_command(turn, key);
    }

    /// Tells a waiting client an ERR of the backend.
    fn tell_waiter<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &ErrPacket<'_>,
    ) {
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let sequence_id = client.login.as_ref().map_or(1, |login| login.sequence_id);
        let outbox = turn.io.outbox(client.handle);
        error.encode(outbox, sequence_id, Capabilities::PROTOCOL_41);
    }

    /// The connection could not be made; `key` is still in the pool and its socket open.
    pub(crate) fn give_up_connect<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        text: String,
    ) {
        if let Some(backend) = self.pool.get(key) {
            turn.io.close(backend.handle, events::Close::Abort);
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
        let Some(id) = self.pool.key_of(key) else {
            return;
        };
        let reserved = self.pool.state(key) == Some(BackendState::Reserved);
        let relay = self.pool.remove(key).and_then(|backend| backend.relay);
        self.counters.backend_connect_errors += 1;
        if let Some(relay) = relay {
            tracing::warn!(error = text, "no login can be handed on");
            self.slot_returned(turn);
            self.relay_lost(turn, relay);
            return self.serve_all(turn);
        }
        if reserved {
            tracing::warn!(error = text, "no connection for KILL can be had");
            return self.give_up_kills(turn, id);
        }
        let worker = self.worker as u64;
        let state = &mut self.keys[id.0 as usize];
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
        self.wake(id);
        self.learn_nothing(turn);
        self.slot_returned(turn);
        self.serve_all(turn);
    }
}

/// What is kept of a server's initial handshake, for a connection with the key `wanted`.
fn greeted(
    handshake: &InitialHandshake<'_>,
    challenge: Challenge,
    (wanted, tls): (&PoolKey, bool),
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

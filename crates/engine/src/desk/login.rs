//! A client's login, step by step: handshake, TLS, proof of identity, a place. Also COM_CHANGE_USER, and logins that the
//! database decides.

use std::net::SocketAddr;
use std::sync::Arc;

use accounts::{Account, Standing};
use carry::errors::{ClientError, host};
use events::{Close, Handle, Io, Peer, Tag, TlsSide};
use membership::Key;
use pool::KeyId;
use session::SessionState;
use wire::{
    AuthMoreData, AuthPlugin, AuthSwitchRequest, Beginning, Capabilities, ChangeUser, Command,
    ErrPacket, HandshakeResponse, Malformed, NATIVE_PASSWORD, PacketWriter, SslRequest, code,
    proxy_header, whole_packet, write_packet,
};

use crate::desk::Engine;
use crate::login::identity::{Asked, Claim, Doubt, proves};
use crate::login::vouching::Proved;
use crate::record::auth::{BackendLogin, Greeted};
use crate::record::backend::PoolKey;
use crate::record::client::{Answered, Login, LoginStep, RelayStage, Relaying, State};
use crate::record::counters::DisconnectReason;
use crate::record::facts::Anew;
use crate::record::owner::Owner;
use crate::record::relay::Relay;
use crate::record::settings::TlsMode;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// No handshake response is longer: user, schema and connection attributes have limits of their
/// own in the servers, which take no more than 64 KiB of attributes.
const MAX_RESPONSE: usize = 80 << 10;

/// So many bytes that match are certain to be a PROXY header.
const CERTAIN: usize = 12;

impl Engine {
    pub(crate) fn client_accepted<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        handle: Handle,
        peer: Peer,
        nonce: [u8; 32],
    ) -> Tag {
        self.records.counters.client_connections += 1;
        if !self.records.admit_client() {
            let error = ClientError::too_many_connections();
            let reason = DisconnectReason::TooManyConnections;
            return self.records.turn_away(turn, handle, &error, reason);
        }
        if let Some(error) = self.records.blocked(peer) {
            self.records.client_gone();
            return self
                .records
                .turn_away(turn, handle, &error, DisconnectReason::HostBlocked);
        }
        let Some(slot) = self.place_to_log_in(turn, peer) else {
            self.records.client_gone();
            let error = ClientError::too_many_connections();
            return self
                .records
                .turn_away(turn, handle, &error, DisconnectReason::TooManyLogins);
        };
        let client = self.records.new_client(turn, handle, peer, nonce);
        let id = client.id;
        let key = self.records.clients.insert(State::Greeting, client);
        if let Some(login) = self.records.clients.login_mut(key) {
            login.place = Some(self.places.give(slot, (peer, key)));
        }
        self.records.ids.insert(id, key);
        if self.draining.is_some() {
            self.refuse(
                turn,
                key,
                &ClientError::server_shutdown(),
                DisconnectReason::Drain,
            );
        } else if self.records.known.facts.is_some() {
            self.records.greet(turn, key);
        }
        Owner::Client(key).tag()
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
        let Some(client) = self.records.clients.get_mut(key) else {
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
            _ if relays => self.records.relay_answer(turn, key, payload),
            LoginStep::Response if self.records.may_begin_tls(key, payload) => {
                self.records.begin_tls(turn, key, &bytes[packet.consumed..]);
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

    /// Deals with a packet of a login, by the step that waits for it.
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
                let clear = self.records.is_secure(key);
                self.password_came(turn, key, answered, clear, payload)
            }
            LoginStep::Encrypted(answered) => {
                self.password_came(turn, key, answered, false, payload)
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
        let session = SessionState::new(response.collation, &self.records.known.interner);
        let (Some(client), Some(facts)) =
            (self.records.clients.get_mut(key), &self.records.known.facts)
        else {
            return Ok(());
        };
        let offered = facts.offered(&self.records.settings);
        client.capabilities = response.capabilities & offered;
        if let Some(login) = &mut client.login {
            login.zstd_level = HandshakeResponse::zstd_level(payload).unwrap_or_default();
        }
        client.extended = response.extended & facts.extended;
        client.session = session;
        client.origin.asked_collation = response.collation;
        client.begin_with(facts.begins_with(), &mut self.records.known.interner);
        client.begin_sql_mode(facts, &mut self.records.known.interner);
        client.tracks = self.records.known.track_lists.first();
        client.origin.ignores_space = client.capabilities.contains(Capabilities::IGNORE_SPACE);
        client.begin_interactively(facts, &mut self.records.known.interner);
        if let Some(error) = self.records.unreadable(response.collation) {
            self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
            return Ok(());
        }
        if self.records.settings.tls == TlsMode::Require && !self.records.is_secure(key) {
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

    /// Only a backend can say whether the schema is there and open to this account: the client's
    /// first command is COM_INIT_DB, and what comes of it is what comes of the login.
    fn check_schema<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, schema: &[u8]) {
        let Some(client) = self.records.clients.get_mut(key) else {
            return;
        };
        let Some(login) = &mut client.login else {
            return;
        };
        if self.records.known.schemas.contains(client.key, schema) {
            client.session.schema = Some(self.records.known.interner.schema(schema));
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
            && let Some(client) = self.records.clients.get_mut(key)
            && client.login.is_some()
        {
            client.inbox = command;
        }
    }

    /// The login failed, or COM_CHANGE_USER did: tells why, and closes the connection.
    pub(crate) fn refuse<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &ClientError,
        reason: DisconnectReason,
    ) {
        let Some(client) = self.records.clients.get(key) else {
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
        self.records.counters.logins_refused += 1;
        self.close_client(turn, key, reason);
    }

    /// COM_CHANGE_USER: a new session, as another account or the same one. The old session holds no backend any more.
    /// A client that is refused is closed, as by MySQL.
    pub(crate) fn change_user<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
    ) {
        let Some(client) = self.records.clients.get(key) else {
            return;
        };
        let change = ChangeUser::parse(payload, client.capabilities);
        let asked = change.as_ref().ok().and_then(|change| change.collation);
        let unreadable = asked.and_then(|asked| self.records.unreadable(asked));
        let asked = if unreadable.is_none() { asked } else { None };
        let Some(client) = self.records.clients.get_mut(key) else {
            return;
        };
        let collation = asked.unwrap_or(client.session.collation);
        let origin = &mut client.origin;
        origin.asked_collation = asked.unwrap_or(origin.asked_collation);
        client.login = Some(Login::new(LoginStep::Response, client.answer_begins));
        self.records.reset_session(key, collation, Anew::ChangeUser);
        if let Some(client) = self.records.clients.get_mut(key) {
            client.session.schema = None;
        }
        self.records.clients.move_to(key, State::Login, turn.now);
        let Ok(change) = change else {
            let error = ClientError::unknown_command();
            return self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
        };
        if let Some(error) = unreadable {
            return self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
        }
        let claim = Claim {
            user: change.user,
            schema: change.schema,
            response: change.auth_response,
        };
        self.identify(turn, key, change.auth_plugin, &claim);
    }

    /// Checks the proof that came with the plugin of this name, or asks for one that can be
    /// checked: whichever the client named if possible (rule 24).
    pub(crate) fn identify<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        plugin: &[u8],
        claim: &Claim<'_>,
    ) {
        self.follow_accounts(turn);
        if let Some(account) = self.records.relayed_account(key, claim) {
            return self.begin_relay(turn, key, &account, claim);
        }
        let (Some(client), Some(facts)) =
            (self.records.clients.get(key), &self.records.known.facts)
        else {
            return;
        };
        let Some(login) = &client.login else { return };
        let can_switch = client.capabilities.contains(Capabilities::PLUGIN_AUTH);
        // In COM_CHANGE_USER the servers ask, whatever came with it: some drivers send nothing of use. MariaDB does so
        // with the nonce of the login, and its clients take that for granted.
        let anew = login.greeted.is_none();
        if plugin.is_empty() && !anew || !can_switch {
            let native = (AuthPlugin::NativePassword, Asked::NotYet);
            return self.authenticate(turn, key, native, claim);
        }
        let named = AuthPlugin::named(plugin);
        let account = self.records.account_claimed(key, claim.user);
        let wanted = account.and_then(|account| account.credential.plugin());
        let suits = named.filter(|&named| wanted.is_none_or(|wanted| wanted == named));
        // A client that prefers another plugin than it was greeted with has no nonce for it, or
        // thinks so: it says nothing and waits to be asked. So do some in COM_CHANGE_USER.
        let silent = claim.response.is_empty() && login.greeted != named;
        match suits {
            Some(plugin) if !silent && !anew => {
                self.authenticate(turn, key, (plugin, Asked::NotYet), claim);
            }
            _ => {
                let chosen = wanted
                    .or(named.filter(|_| !anew))
                    .or(login.greeted)
                    .or(self.records.settings.default_auth_plugin);
                let plugin = chosen.unwrap_or_else(|| facts.auth_plugin());
                self.records.switch_plugin(turn, key, plugin, claim);
            }
        }
    }

    /// Checks the proof and goes on to the schema, if the client named one. Who is refused by what is known
    /// here waits until the database was asked.
    pub(crate) fn authenticate<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (plugin, asked): (AuthPlugin, Asked),
        claim: &Claim<'_>,
    ) {
        self.follow_accounts(turn);
        if let Some(account) = self.records.relayed_account(key, claim) {
            return self.begin_relay(turn, key, &account, claim);
        }
        let account = self.records.account_claimed(key, claim.user).cloned();
        let wanted = account
            .as_ref()
            .and_then(|account| account.credential.plugin());
        let can_switch = self
            .records
            .clients
            .get(key)
            .is_some_and(|client| client.capabilities.contains(Capabilities::PLUGIN_AUTH));
        if let Some(wanted) = wanted.filter(|&wanted| wanted != plugin && can_switch) {
            return self.records.switch_plugin(turn, key, wanted, claim);
        }
        let checked = self.records.check(key, account.as_deref(), plugin, claim);
        let expired = |account: &Arc<Account>| account.standing == Standing::Expired;
        let in_full = checked.is_ok() && !account.as_ref().is_some_and(expired);
        let refused = match checked {
            _ if !in_full && asked == Asked::NotYet && self.records.accounts.asks_database() => {
                let answered = Answered {
                    plugin,
                    user: claim.user.into(),
                    schema: claim.schema.map(Into::into),
                    response: claim.response.into(),
                };
                return self.ask_first(turn, key, answered);
            }
            Ok(()) => None,
            Err(_) if asked == Asked::InVain && !self.records.accounts.was_read() => {
                Some(ClientError::accounts_unread())
            }
            Err(Doubt::Password) => return self.records.ask_for_password(turn, key, claim),
            Err(Doubt::Refused(error)) => Some(error),
            Err(Doubt::Forgotten(refused)) => Some(self.records.not_remembered(&refused)),
        };
        match (refused, account) {
            (None, Some(account)) => {
                let proved = Proved {
                    awaits_word: plugin == AuthPlugin::CachingSha2Password
                        && proves(claim.response),
                    ..Proved::by(&account, plugin)
                };
                self.let_in(turn, key, &proved, claim);
            }
            (Some(error), _) => self.deny(turn, key, error),
            (None, None) => {}
        }
    }

    /// The client has proved to be an account.
    pub(crate) fn let_in<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        proved: &Proved<'_>,
        claim: &Claim<'_>,
    ) {
        let account = proved.account;
        let Some(client) = self.records.clients.get(key) else {
            return;
        };
        let mut of_client = PoolKey::new(account.number, client.capabilities, client.extended);
        if account.standing == Standing::Expired && account.credential.relayed().is_none() {
            of_client = of_client.sandboxed();
        }
        let sandboxed = of_client.is_sandbox();
        let id = self.records.key_id(&of_client);
        self.records.follow_credential(turn, id, account);
        self.records.leave_key(key);
        let Some(client) = self.records.clients.get_mut(key) else {
            return;
        };
        (client.account, client.key) = (account.number, id);
        if !self.take_seat(turn, key, claim.user) {
            return;
        }
        self.records.keys[id.0 as usize].sessions += 1;
        let Some(client) = self.records.clients.get_mut(key) else {
            return;
        };
        self.records
            .shared
            .strangers
            .proved(client.origin.peer, turn.now);
        if let Some(login) = &mut client.login {
            login.place = None;
            if proved.awaits_word {
                let outbox = turn.io.outbox(client.handle);
                login.sequence_id = AuthMoreData::FastAuthSuccess.encode(outbox, login.sequence_id);
            }
        }
        self.records.vouch(key, proved);
        match claim.schema {
            None => self.begin(turn, key),
            Some(schema) if sandboxed => {
                // No backend would say whether it is there.
                if let Some(client) = self.records.clients.get_mut(key) {
                    client.session.schema = Some(self.records.known.interner.schema(schema));
                }
                self.begin(turn, key);
            }
            Some(schema) => self.check_schema(turn, key, schema),
        }
    }

    /// The client is logged in, and may send commands.
    pub(crate) fn begin<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        self.records.welcome(turn, key);
        self.records.clients.move_to(key, State::Idle, turn.now);
        if self
            .records
            .clients
            .get(key)
            .is_some_and(|client| client.may_initiate)
        {
            self.consume_inbox(turn, key);
        }
    }

    /// `init_connect` has failed: tells the client so in place of an answer to its first command, and closes it, as the
    /// server does.
    pub(crate) fn not_initiated<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        self.records.initiated(key);
        let Some(client) = self.records.clients.get(key) else {
            return;
        };
        let account = self.records.accounts.account(client.account);
        let user = account.map_or("", |account| account.user());
        let schema = client.session.schema.as_deref().unwrap_or(b"unconnected");
        let text = format!(
            "Aborted connection {} to db: '{}' user: '{user}' host: '{}' (init_connect command failed)",
            client.id,
            String::from_utf8_lossy(schema),
            host(client.origin.peer, true),
        );
        let error = ClientError::new(code::NEW_ABORTING_CONNECTION, b"08S01", text);
        self.fail(turn, key, &error, DisconnectReason::LoginRefused);
    }

    /// Looks for a PROXY header ahead of everything that the client sends. Returns how many bytes were dealt with, or `None`
    /// if they are no part of one.
    pub(crate) fn proxied<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        bytes: &[u8],
    ) -> Option<usize> {
        let client = self.records.clients.get_mut(key)?;
        let login = client.login.as_mut()?;
        match login.step {
            LoginStep::Beginning => {}
            // Nothing that it says matters any more.
            LoginStep::Denied => return Some(bytes.len()),
            _ => return None,
        }
        let peer = client.origin.peer;
        let mut networks = self.records.settings.proxy_networks.iter();
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

    /// A PROXY header says where the client is.
    fn came_from<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, address: SocketAddr) {
        let peer = Peer::Tcp(address);
        if let Some(client) = self.records.clients.get_mut(key) {
            client.origin.peer = peer;
            let place = client.login.as_mut().and_then(|login| login.place.as_mut());
            place.into_iter().for_each(|place| place.moves_to(peer));
        }
        self.records.counters.proxy_headers += 1;
        if let Some(error) = self.records.blocked(peer) {
            self.refuse(turn, key, &error, DisconnectReason::HostBlocked);
        }
    }

    fn refuse_header<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, trusted: bool) {
        let Some(client) = self.records.clients.get(key) else {
            return;
        };
        let from = host(client.origin.peer, true);
        self.records.counters.proxy_headers_refused += 1;
        let error = if trusted {
            tracing::warn!(from, "a PROXY header cannot be read");
            ClientError::proxy_header_unread()
        } else {
            // Whoever can connect could fill the log.
            let count = self.records.counters.proxy_headers_refused;
            if count.is_power_of_two() {
                let hint = "its address is not in proxy_protocol.networks";
                tracing::warn!(from, count, hint, "a PROXY header is not accepted");
            }
            ClientError::proxy_header_refused(&from)
        };
        if self.records.clients.state(key) == Some(State::Greeting) {
            return self.close_client(turn, key, DisconnectReason::Malformed);
        }
        self.refuse(turn, key, &error, DisconnectReason::Malformed);
    }

    /// Begins TLS with a backend. The handshake response follows once TLS is established.
    pub(crate) fn secure_backend<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        greeted: Greeted,
        early: &[u8],
    ) {
        let Some(backend) = self.records.pool.get_mut(key) else {
            return;
        };
        if !greeted.offered.contains(Capabilities::SSL) {
            let text = "it offers no TLS, and backend.tls asks for it";
            return self.give_up_connect(turn, key, text.to_owned());
        }
        let request = SslRequest {
            capabilities: greeted.capabilities,
            extended: greeted.extended,
            max_packet_size: 1 << 30,
            collation: backend.session.collation,
        };
        backend.login = Some(BackendLogin::Securing(greeted));
        request.encode(turn.io.outbox(backend.handle), 1);
        let connection = (backend.handle, Owner::Backend(key).tag());
        turn.io.start_tls(connection, TlsSide::Client, early);
    }

    /// The backend speaks TLS: answers its handshake.
    pub(crate) fn backend_secured<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let step = self.records.pool.get(key).and_then(|backend| backend.login);
        if let Some(BackendLogin::Securing(greeted)) = step {
            self.answer_backend(turn, key, greeted, 2);
        }
    }

    /// Only the database can tell whether the client is who it says: a backend connection of its own decides its login.
    fn begin_relay<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        account: &Account,
        claim: &Claim<'_>,
    ) {
        if let Some(error) = self.records.why_not_relayed(key, account, claim) {
            return self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
        }
        let Some(client) = self.records.clients.get(key) else {
            return;
        };
        let of_client = PoolKey::new(account.number, client.capabilities, client.extended);
        let id = self.records.key_id(&of_client);
        let step = LoginStep::Relay(Box::new(Relaying {
            account: account.number,
            user: claim.user.into(),
            schema: claim.schema.map(Into::into),
            stage: RelayStage::Queued(self.matching.relays.add(key, id)),
        }));
        self.records.clients.set_step(key, step, turn.now);
        self.matching.open_relays(&mut self.records, turn);
    }

    /// A packet of the backend that is to decide a login.
    pub(crate) fn relay_packet<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
        sequence_id: u8,
    ) -> Result<(), Malformed> {
        let Some(relay) = self.records.relay_mut(key) else {
            return Ok(());
        };
        relay.sequence_id = sequence_id.wrapping_add(1);
        let client = relay.client;
        match payload.first() {
            Some(0x00) if relay.answered => return self.backend_let_in(turn, key, payload),
            // It asked nothing: it knows the front door, and not the client.
            Some(0x00) => {
                let error = ClientError::unchecked_plugin("no question");
                self.refuse(turn, client, &error, DisconnectReason::LoginRefused);
                return Ok(());
            }
            Some(0xfe) => {
                let request = AuthSwitchRequest::parse(payload)?;
                if let Some(needs) = self.records.unfit(client, request.plugin) {
                    let error = ClientError::unfit_channel(request.plugin, needs);
                    self.refuse(turn, client, &error, DisconnectReason::LoginRefused);
                    return Ok(());
                }
                if let Some(relay) = self.records.relay_mut(key) {
                    let is_native = request.plugin == NATIVE_PASSWORD;
                    relay.plugin = request.plugin.into();
                    relay.nonce = request.data.first_chunk().copied().filter(|_| is_native);
                }
                self.records.counters.auth_switches += 1;
            }
            _ => {}
        }
        self.records
            .set_stage(turn, client, RelayStage::Client(key));
        if let Some(record) = self.records.clients.get_mut(client)
            && let Some(login) = &mut record.login
        {
            let outbox = turn.io.outbox(record.handle);
            login.sequence_id = write_packet(outbox, login.sequence_id, payload);
        }
        Ok(())
    }

    /// The backend has let the client in, and said as whom.
    pub(crate) fn relay_done<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        current_user: Option<&[u8]>,
    ) {
        let backend = self.records.pool.get_mut(key);
        let Some(relay) = backend.and_then(|backend| backend.relay.take()) else {
            return;
        };
        let Relay {
            client,
            plugin,
            nonce,
            place,
            ..
        } = *relay;
        drop(place);
        let (Some(id), Some(relaying)) = (
            self.records.pool.key_of(key),
            self.records.take_relaying(client),
        ) else {
            return;
        };
        self.follow_accounts(turn);
        let account = self
            .records
            .account_claimed(client, &relaying.user)
            .cloned();
        let account = account.filter(|account| account.number == relaying.account);
        let is_same = |account: &Account| current_user.is_some_and(|user| is(account, user));
        let Some(account) = account.filter(|account| is_same(account)) else {
            self.records.retire(key);
            let error = ClientError::relayed_as_another(&relaying.user, current_user);
            self.refuse(turn, client, &error, DisconnectReason::LoginRefused);
            return self.matching.open_relays(&mut self.records, turn);
        };
        self.records.counters.relayed_logins += 1;
        let retired = self
            .records
            .pool
            .get(key)
            .is_some_and(|backend| backend.retired);
        self.records.follow_credential(turn, id, &account);
        if let Some(backend) = self.records.pool.get_mut(key) {
            // It was opened with what proves the account now.
            backend.retired = retired;
        }
        self.records.keep_relayed(turn, key);
        let claim = Claim {
            user: &relaying.user,
            schema: relaying.schema.as_deref(),
            response: b"",
        };
        let proved = Proved {
            account: &account,
            plugin: &plugin,
            nonce,
            awaits_word: false,
        };
        self.let_in(turn, client, &proved, &claim);
        self.matching.open_relays(&mut self.records, turn);
    }

    /// The backend does not let the client in.
    pub(crate) fn relay_refused<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
    ) {
        let Ok(error) = ErrPacket::parse(payload) else {
            return self.give_up_connect(turn, key, "it refused the connection".to_owned());
        };
        if [code::HOST_IS_BLOCKED, code::HOST_NOT_PRIVILEGED].contains(&error.code) {
            // That is between it and the front door, whose address it tells.
            let text = String::from_utf8_lossy(error.message);
            return self.give_up_connect(turn, key, format!("it answered {} {text}", error.code));
        }
        let Some(client) = self.records.login_decided_by(key) else {
            return;
        };
        if let Some(denial) = self.records.as_told_to(client, &error) {
            self.leave_relay(turn, client);
            return self.deny(turn, client, denial);
        }
        let error = ClientError::told(&error);
        self.refuse(turn, client, &error, DisconnectReason::LoginRefused);
    }

    /// The backend has let a client in, whose password has expired.
    pub(crate) fn relay_expired<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let backend = self.records.pool.get(key);
        if let Some(client) = backend.and_then(|backend| Some(backend.relay.as_ref()?.client)) {
            let error = ClientError::password_expired(self.records.known.flavor());
            self.refuse(turn, client, &error, DisconnectReason::LoginRefused);
        }
    }

    /// The backend that was to decide a login is lost, and no longer in the pool.
    pub(crate) fn relay_lost<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, relay: Box<Relay>) {
        let client = relay.client;
        drop(relay);
        if self.records.take_relaying(client).is_some() {
            let error = ClientError::server_shutdown();
            self.refuse(turn, client, &error, DisconnectReason::BackendLost);
        }
        self.matching.open_relays(&mut self.records, turn);
    }

    /// The client goes: nobody is left whom a backend could decide about.
    pub(crate) fn leave_relay<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) {
        let Some(relaying) = self.records.take_relaying(client) else {
            return;
        };
        match relaying.stage {
            RelayStage::Queued(number) => self.matching.relays.leave(number),
            RelayStage::Backend(key) | RelayStage::Client(key) => {
                if let Some(backend) = self.records.pool.remove(key) {
                    turn.io.close(backend.handle, Close::Abort);
                    drop(backend);
                    self.records.slot_returned(turn);
                }
            }
        }
        self.matching.open_relays(&mut self.records, turn);
    }

    /// Whoever has a backend wait for longer than an honest client would loses its place, if others wait for it.
    pub(crate) fn relays_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while self.records.relay_due().is_some_and(|due| turn.now >= due)
            && let Some(oldest) = self.records.clients.first(State::Challenged)
        {
            let error = ClientError::too_many_connections();
            self.refuse(turn, oldest, &error, DisconnectReason::TooManyLogins);
        }
    }

    /// Who waits for a connection of `id` is closed, as if the server had been restarted: only a login brings one.
    pub(crate) fn close_waiters<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, id: KeyId) {
        let error = ClientError::relayed_lost();
        while let Some(client) = self.matching.first_in_need(&self.records, id) {
            self.fail(turn, client, &error, DisconnectReason::BackendLost);
        }
        for client in self.matching.queued_for(id) {
            self.fail(turn, client, &error, DisconnectReason::BackendLost);
        }
    }
}

/// True if `CURRENT_USER()`, as a server told it, names the account.
fn is(account: &Account, current_user: &[u8]) -> bool {
    let name = account.name();
    let (user, host) = (name.user.as_bytes(), name.host.as_bytes());
    current_user
        .strip_prefix(user)
        .and_then(|rest| rest.strip_prefix(b"@"))
        .is_some_and(|told| told.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests;

//! Logins that a backend decides: whatever plugin the account has, its challenges are handed on to the client,
//! and the client's answers to it. The connection that is opened so stays, as one of the account's (`relayed`).
//!
//! Owns what is handed on, and when the client is let in. A password is never seen here, but
//! for those that plugins have clients send as they are; those pass, and are not kept.

use accounts::Account;
use events::{Close, Io};
use membership::Key;
use wire::{
    AuthSwitchRequest, Capabilities, ErrPacket, Malformed, NATIVE_PASSWORD, code, write_packet,
};

use crate::backend::{Backend, PoolKey};
use crate::client::{LoginStep, RelayStage, Relaying};
use crate::errors::{ClientError, host};
use crate::login::identity::Claim;
use crate::login::relay_places::RelayPlace;
use crate::login::vouching::Proved;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// The plugin that a backend is told to have been answered for. No account has it, so that each has its own
/// asked for, and with what it needs.
pub(crate) const PLUGIN: &[u8] = b"myriad_relay";

/// Plugins of clients that never send what could be used again, whatever they are asked for.
const DISCREET: [&[u8]; 9] = [
    b"client_ed25519",
    b"parsec",
    b"auth_gssapi_client",
    b"mysql_native_password",
    b"authentication_kerberos_client",
    b"authentication_ldap_sasl_client",
    b"authentication_fido_client",
    b"authentication_webauthn_client",
    b"authentication_windows_client",
];

/// A login that a backend decides, as the backend has it.
#[derive(Debug)]
pub(crate) struct Relay {
    /// Whose login.
    client: Key,
    /// The sequence id that the next packet to the backend has.
    sequence_id: u8,
    /// The client has answered something.
    answered: bool,
    /// The plugin that the client was asked for last, as clients call it.
    plugin: Box<[u8]>,
    /// The nonce that came with it, if clients take that one for the login's from then on.
    nonce: Option<[u8; 20]>,
    /// The right to be decided now.
    place: RelayPlace,
}

impl Relay {
    /// Of this client.
    /// Whose login it is.
    pub(crate) fn client(&self) -> Key {
        self.client
    }

    fn new(client: Key, place: RelayPlace) -> Box<Self> {
        Box::new(Self {
            client,
            sequence_id: 0,
            answered: false,
            plugin: Box::default(),
            nonce: None,
            place,
        })
    }
}

impl Engine {
    /// Only the database can tell whether the client is who it says.
    pub(crate) fn begin_relay<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        account: &Account,
        claim: &Claim<'_>,
    ) {
        if let Some(error) = self.why_not_relayed(key, account, claim) {
            return self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
        }
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let of_client = PoolKey::new(account.number, client.capabilities, client.extended);
        let id = self.key_id(&of_client);
        let step = LoginStep::Relay(Box::new(Relaying {
            account: account.number,
            user: claim.user.into(),
            schema: claim.schema.map(Into::into),
            stage: RelayStage::Queued(self.relays.add(key, id)),
        }));
        self.clients.set_step(key, step, turn.now);
        self.open_relays(turn);
    }

    /// What the client is told if the server is not even asked.
    fn why_not_relayed(
        &self,
        key: Key,
        account: &Account,
        claim: &Claim<'_>,
    ) -> Option<ClientError> {
        let client = self.clients.get(key)?;
        if !client.capabilities.contains(Capabilities::PLUGIN_AUTH) {
            return Some(ClientError::unknown_auth_switch());
        }
        if account.user().is_empty() {
            return Some(ClientError::nobody_relayed(account.name()));
        }
        if !self.meets(key, &account.requires) {
            let host = host(client.origin.peer, self.accounts.names_loopback());
            return Some(ClientError::access_denied(claim.user, &host, true));
        }
        self.check_behind(account, claim.user).err()
    }

    /// A connection over which a backend decides the client's login.
    pub(crate) fn relay_backend<I: Io<Mail>>(
        &self,
        turn: &Turn<'_, I>,
        (client, place): (Key, RelayPlace),
        collation: u8,
    ) -> Backend {
        let mut backend = self.new_backend(collation, turn.now);
        backend.relay = Some(Relay::new(client, place));
        backend
    }

    /// A packet of the backend that is to decide a login.
    pub(crate) fn relay_packet<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (payload, sequence_id): (&[u8], u8),
    ) -> Result<(), Malformed> {
        let Some(relay) = self.relay_mut(key) else {
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
                if let Some(needs) = self.unfit(client, request.plugin) {
                    let error = ClientError::unfit_channel(request.plugin, needs);
                    self.refuse(turn, client, &error, DisconnectReason::LoginRefused);
                    return Ok(());
                }
                if let Some(relay) = self.relay_mut(key) {
                    let is_native = request.plugin == NATIVE_PASSWORD;
                    relay.plugin = request.plugin.into();
                    relay.nonce = request.data.first_chunk().copied().filter(|_| is_native);
                }
                self.counters.auth_switches += 1;
            }
            _ => {}
        }
        self.set_stage(turn, client, RelayStage::Client(key));
        if let Some(record) = self.clients.get_mut(client)
            && let Some(login) = &mut record.login
        {
            let outbox = turn.io.outbox(record.handle);
            login.sequence_id = write_packet(outbox, login.sequence_id, payload);
        }
        Ok(())
    }

    /// The login that a backend decides.
    fn relay_mut(&mut self, key: Key) -> Option<&mut Relay> {
        self.pool.get_mut(key)?.relay.as_deref_mut()
    }

    /// What a client would need so that a plugin can be handed on; `None` if it has that.
    fn unfit(&self, client: Key, plugin: &[u8]) -> Option<&'static str> {
        let settings = &self.settings;
        let theirs = self.is_secure(client);
        let ours = settings.backend_on_unix_socket || settings.backend_tls;
        let record = self.clients.get(client);
        let over_tls = record.is_some_and(|client| client.origin.tls.is_some());
        let (suits, needs) = match plugin {
            _ if DISCREET.contains(&plugin) => (true, ""),
            // What they send differs by whether they think that somebody may listen.
            b"caching_sha2_password" => (
                theirs == ours,
                "if both the client and Myriad are connected over TLS or a unix socket, or neither",
            ),
            b"sha256_password" => (
                over_tls == settings.backend_tls,
                "if both the client and Myriad (backend.tls) are connected over TLS, or neither",
            ),
            _ => (
                theirs && ours,
                "if both the client and Myriad (backend.tls) are connected over TLS or a unix socket",
            ),
        };
        (!suits).then_some(needs)
    }

    /// A packet of a client whose login a backend decides.
    pub(crate) fn relay_answer<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
    ) -> Result<(), Malformed> {
        let Some(RelayStage::Client(backend)) = self.relaying(key).map(|relaying| relaying.stage)
        else {
            return Err(Malformed::Invalid("nothing was asked"));
        };
        self.set_stage(turn, key, RelayStage::Backend(backend));
        if let Some(record) = self.pool.get_mut(backend)
            && let Some(relay) = &mut record.relay
        {
            relay.answered = true;
            let outbox = turn.io.outbox(record.handle);
            relay.sequence_id = write_packet(outbox, relay.sequence_id, payload);
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
        let backend = self.pool.get_mut(key);
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
        let (Some(id), Some(relaying)) = (self.pool.key_of(key), self.take_relaying(client)) else {
            return;
        };
        self.follow_accounts(turn);
        let account = self.account_claimed(client, &relaying.user).cloned();
        let account = account.filter(|account| account.number == relaying.account);
        let is_same = |account: &Account| current_user.is_some_and(|user| is(account, user));
        let Some(account) = account.filter(|account| is_same(account)) else {
            self.retire(key);
            let error = ClientError::relayed_as_another(&relaying.user, current_user);
            self.refuse(turn, client, &error, DisconnectReason::LoginRefused);
            return self.open_relays(turn);
        };
        self.counters.relayed_logins += 1;
        let retired = self.pool.get(key).is_some_and(|backend| backend.retired);
        self.follow_credential(turn, id, &account);
        if let Some(backend) = self.pool.get_mut(key) {
            // It was opened with what proves the account now.
            backend.retired = retired;
        }
        self.keep_relayed(turn, key);
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
        self.open_relays(turn);
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
        let Some(client) = self.login_decided_by(key) else {
            return;
        };
        if let Some(denial) = self.as_told_to(client, &error) {
            self.leave_relay(turn, client);
            return self.deny(turn, client, denial);
        }
        let error = ClientError::told(&error);
        self.refuse(turn, client, &error, DisconnectReason::LoginRefused);
    }

    /// The backend has let a client in, whose password has expired.
    pub(crate) fn relay_expired<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let backend = self.pool.get(key);
        if let Some(client) = backend.and_then(|backend| Some(backend.relay.as_ref()?.client)) {
            let error = ClientError::password_expired(self.known.flavor());
            self.refuse(turn, client, &error, DisconnectReason::LoginRefused);
        }
    }

    /// What a server says of addresses is about the front door's, and here must be about the client's.
    fn as_told_to(&self, client: Key, error: &ErrPacket<'_>) -> Option<ClientError> {
        let user = &self.relaying(client)?.user;
        let peer = self.clients.get(client)?.origin.peer;
        let yes = b"(using password: YES)";
        let using_password = error.message.windows(yes.len()).any(|part| part == yes);
        let host = host(peer, self.accounts.names_loopback());
        match error.code {
            code::ACCESS_DENIED => Some(ClientError::access_denied(user, &host, using_password)),
            code::ACCESS_DENIED_NO_PASSWORD => {
                Some(ClientError::access_denied_whatever(user, &host))
            }
            _ => None,
        }
    }

    /// The backend that was to decide a login is lost, and no longer in the pool.
    pub(crate) fn relay_lost<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, relay: Box<Relay>) {
        let client = relay.client;
        drop(relay);
        if self.take_relaying(client).is_some() {
            let error = ClientError::server_shutdown();
            self.refuse(turn, client, &error, DisconnectReason::BackendLost);
        }
        self.open_relays(turn);
    }

    /// The client goes: nobody is left whom a backend could decide about.
    pub(crate) fn leave_relay<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) {
        let Some(relaying) = self.take_relaying(client) else {
            return;
        };
        match relaying.stage {
            RelayStage::Queued(number) => self.relays.leave(number),
            RelayStage::Backend(key) | RelayStage::Client(key) => {
                if let Some(backend) = self.pool.remove(key) {
                    turn.io.close(backend.handle, Close::Abort);
                    drop(backend);
                    self.slot_returned(turn);
                }
            }
        }
        self.open_relays(turn);
    }

    /// The client whose login a backend is to decide.
    pub(crate) fn login_decided_by(&self, key: Key) -> Option<Key> {
        Some(self.pool.get(key)?.relay.as_ref()?.client)
    }

    /// True if the backend is to decide a login.
    pub(crate) fn decides_login(&self, key: Key) -> bool {
        let backend = self.pool.get(key);
        backend.is_some_and(|backend| backend.relay.is_some())
    }

    fn relaying(&self, client: Key) -> Option<&Relaying> {
        match &self.clients.get(client)?.login.as_ref()?.step {
            LoginStep::Relay(relaying) => Some(relaying),
            _ => None,
        }
    }

    pub(crate) fn set_stage<I: Io<Mail>>(
        &mut self,
        turn: &Turn<'_, I>,
        client: Key,
        stage: RelayStage,
    ) {
        if let Some(mut relaying) = self.take_relaying(client) {
            relaying.stage = stage;
            let step = LoginStep::Relay(relaying);
            self.clients.set_step(client, step, turn.now);
        }
    }

    /// The backend has decided, or never will.
    fn take_relaying(&mut self, client: Key) -> Option<Box<Relaying>> {
        let login = self.clients.get_mut(client)?.login.as_mut()?;
        match std::mem::replace(&mut login.step, LoginStep::Response) {
            LoginStep::Relay(relaying) => Some(relaying),
            other => {
                login.step = other;
                None
            }
        }
    }
}

/// Whether a server that says so by `CURRENT_USER()` means the account.
fn is(account: &Account, current_user: &[u8]) -> bool {
    let name = account.name();
    let (user, host) = (name.user.as_bytes(), name.host.as_bytes());
    current_user
        .strip_prefix(user)
        .and_then(|rest| rest.strip_prefix(b"@"))
        .is_some_and(|told| told.eq_ignore_ascii_case(host))
}

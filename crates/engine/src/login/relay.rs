//! Logins that a backend decides: what is handed on between client and backend, and what is not.

use accounts::Account;
use carry::errors::{ClientError, host};
use events::Io;
use membership::Key;
use wire::{Capabilities, ErrPacket, Malformed, code, write_packet};

use crate::login::identity::Claim;
use crate::record::backend::Backend;
use crate::record::client::{LoginStep, RelayStage, Relaying};
use crate::record::records::Records;
use crate::record::relay::Relay;
use crate::record::relay_places::RelayPlace;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

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

impl Records {
    /// What the client is told if the server is not even asked.
    pub(crate) fn why_not_relayed(
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
        client: Key,
        place: RelayPlace,
        collation: u8,
    ) -> Backend {
        let mut backend = self.new_backend(collation, turn.now);
        backend.relay = Some(Relay::new(client, place));
        backend
    }

    /// The login that a backend decides.
    pub(crate) fn relay_mut(&mut self, key: Key) -> Option<&mut Relay> {
        self.pool.get_mut(key)?.relay.as_deref_mut()
    }

    /// What a client would need so that a plugin can be handed on; `None` if it has that.
    pub(crate) fn unfit(&self, client: Key, plugin: &[u8]) -> Option<&'static str> {
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

    /// What a server says of addresses is about the front door's, and here must be about the client's.
    pub(crate) fn as_told_to(&self, client: Key, error: &ErrPacket<'_>) -> Option<ClientError> {
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
    pub(crate) fn take_relaying(&mut self, client: Key) -> Option<Box<Relaying>> {
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

//! Who we are, proved to backends: responses, auth switches and the full exchange of
//! `caching_sha2_password`.
//!
//! A server that has not seen the account since it started wants the password itself. Over a unix
//! socket or TLS it gets it as it is, else encrypted with the server's public key.

use accounts::{Directory, Secret};
use events::Io;
use membership::Key;
use wire::{
    AuthMoreData, AuthPlugin, AuthSwitchRequest, Capabilities, ExtendedCapabilities, HEADER_LEN,
    Malformed, REQUEST_PUBLIC_KEY, encrypt_password, write_packet,
};
use zeroize::Zeroizing;

use crate::errors::ClientError;
use crate::login::relay;
use crate::{Engine, Mail, Turn};

/// How far a backend's connection phase has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackendLogin {
    /// The initial handshake is due.
    Handshake,
    /// TLS is being agreed upon.
    Securing(Greeted),
    /// The answer to our response to this challenge is due.
    Response(Challenge),
    /// The server's public key is due.
    PublicKey(Challenge),
    /// The password was sent: OK or ERR is due.
    Verdict,
}

/// What a server asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub plugin: AuthPlugin,
    pub nonce: [u8; 20],
}

/// What is kept of a server's initial handshake until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Greeted {
    pub challenge: Challenge,
    /// What it can do.
    pub offered: Capabilities,
    /// What is negotiated with it.
    pub capabilities: Capabilities,
    pub extended: ExtendedCapabilities,
}

impl Challenge {
    /// What answers it; `None` if that needs the password itself, which is not known.
    pub(crate) fn response(&self, secret: &Secret<'_>) -> Option<Vec<u8>> {
        secret.response(self.plugin, &self.nonce)
    }
}

impl Engine {
    /// The server wants another plugin than it named first.
    pub(crate) fn backend_auth_switch<I: Io<Mail>>(
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
        let directory = self.accounts.clone();
        let response = self
            .secret_for(key, &directory)
            .and_then(|secret| challenge.response(&secret));
        let Some(response) = response else {
            self.backend_locked_out(turn, key);
            return Ok(());
        };
        let step = BackendLogin::Response(challenge);
        self.backend_login_answer(turn, key, step, (sequence_id, &response));
        Ok(())
    }

    /// The server goes on within `caching_sha2_password`.
    pub(crate) fn backend_more_data<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        payload: &[u8],
        sequence_id: u8,
    ) -> Result<(), Malformed> {
        let step = self.pool.get(key).and_then(|backend| backend.login);
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
                self.backend_public_key(turn, key, (challenge, pem), sequence_id);
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
        self.counters.backend_full_authentications += 1;
        if !self.settings.backend_on_unix_socket && !self.settings.backend_tls {
            let step = BackendLogin::PublicKey(challenge);
            return self.backend_login_answer(turn, key, step, (sequence_id, REQUEST_PUBLIC_KEY));
        }
        let directory = self.accounts.clone();
        let secret = self.secret_for(key, &directory);
        let Some(password) = secret.as_ref().and_then(Secret::password) else {
            return self.backend_locked_out(turn, key);
        };
        let mut clear = Zeroizing::new(Vec::with_capacity(password.len() + 1));
        clear.extend_from_slice(password);
        clear.push(0);
        self.backend_login_answer(turn, key, BackendLogin::Verdict, (sequence_id, &clear));
    }

    fn backend_public_key<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (challenge, pem): (Challenge, &[u8]),
        sequence_id: u8,
    ) {
        let directory = self.accounts.clone();
        let secret = self.secret_for(key, &directory);
        let Some(password) = secret.as_ref().and_then(Secret::password) else {
            return self.backend_locked_out(turn, key);
        };
        match encrypt_password(password, &challenge.nonce, pem, &mut self.random) {
            Ok(encrypted) => {
                let answer = (sequence_id, &encrypted[..]);
                self.backend_login_answer(turn, key, BackendLogin::Verdict, answer);
            }
            Err(error) => self.give_up_connect(turn, key, error.to_string()),
        }
    }

    /// Sends the answer to the packet with this sequence id, after which `step` has been reached.
    fn backend_login_answer<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        step: BackendLogin,
        (sequence_id, answer): (u8, &[u8]),
    ) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        backend.login = Some(step);
        let outbox = turn.io.outbox(backend.handle);
        write_packet(outbox, sequence_id.wrapping_add(1), answer);
    }

    /// The plugin to answer a backend with that names one first; `None` if nothing is known that opens a
    /// connection of its account.
    pub(crate) fn plugin_for(&self, key: Key, named: Option<AuthPlugin>) -> Option<AuthPlugin> {
        if self.decides_login(key) {
            return named.or(Some(AuthPlugin::default()));
        }
        let secret = self.secret_for(key, &self.accounts)?;
        Some(secret.plugin_beside(named))
    }

    /// The plugin that a backend is answered with, and the answer. One that decides a login is to ask first.
    pub(crate) fn proof_for(
        &self,
        key: Key,
        (directory, challenge): (&Directory, Challenge),
    ) -> Option<(&'static [u8], Vec<u8>)> {
        if self.decides_login(key) {
            return Some((relay::PLUGIN, Vec::new()));
        }
        let secret = self.secret_for(key, directory)?;
        let response = challenge.response(&secret).unwrap_or_default();
        Some((challenge.plugin.name(), response))
    }

    fn secret_for<'a>(&self, key: Key, directory: &'a Directory) -> Option<Secret<'a>> {
        let number = self.pool.key(self.pool.key_of(key)?).account;
        directory.account(number)?.credential.secret()
    }
}

#[cfg(test)]
mod tests;

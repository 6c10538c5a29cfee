//! Who a client is: the plugin that it proves it with, and the check of the proof.
//!
//! The password of every account is known, so the response to a nonce is all that is needed: no
//! client is ever asked for the password itself.

use events::Io;
use membership::Key;
use wire::{AuthMoreData, AuthPlugin, AuthSwitchRequest, Capabilities};

use crate::backend::PoolKey;
use crate::client::{LoginStep, State};
use crate::counters::DisconnectReason;
use crate::errors::ClientError;
use crate::{Engine, Mail, Turn};

/// What a client says of itself.
pub(crate) struct Claim<'a> {
    /// User name.
    pub user: &'a [u8],
    /// The schema that it wants.
    pub schema: Option<&'a [u8]>,
    /// Its proof.
    pub response: &'a [u8],
}

impl Engine {
    /// Checks the proof that came with the plugin of this name, or asks for one that can be
    /// checked: whichever the client named if possible (rule 24).
    pub(crate) fn identify<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        plugin: &[u8],
        claim: &Claim<'_>,
    ) {
        let (Some(client), Some(facts)) = (self.clients.get(key), &self.facts) else {
            return;
        };
        let Some(login) = &client.login else { return };
        let can_switch = client.capabilities.contains(Capabilities::PLUGIN_AUTH);
        if plugin.is_empty() || !can_switch {
            return self.authenticate(turn, key, AuthPlugin::NativePassword, claim);
        }
        let named = AuthPlugin::named(plugin);
        // A client that prefers another plugin than it was greeted with has no nonce for it, or
        // thinks so: it says nothing and waits to be asked. So do some in COM_CHANGE_USER.
        let silent = claim.response.is_empty() && login.greeted != named;
        match named {
            Some(plugin) if !silent => self.authenticate(turn, key, plugin, claim),
            _ => {
                let chosen = named
                    .or(login.greeted)
                    .or(self.settings.default_auth_plugin);
                let plugin = chosen.unwrap_or_else(|| facts.auth_plugin());
                self.switch_plugin(turn, key, plugin, claim);
            }
        }
    }

    fn switch_plugin<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        plugin: AuthPlugin,
        claim: &Claim<'_>,
    ) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let Some(login) = &mut client.login else {
            return;
        };
        login.step = LoginStep::AuthSwitch {
            plugin,
            user: claim.user.into(),
            schema: claim.schema.map(Into::into),
        };
        let request = AuthSwitchRequest {
            plugin: plugin.name(),
            data: &client.origin.nonce,
        };
        let outbox = turn.io.outbox(client.handle);
        login.sequence_id = request.encode(outbox, login.sequence_id);
        self.counters.auth_switches += 1;
    }

    /// Checks the proof and goes on to the schema, if the client named one.
    pub(crate) fn authenticate<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        plugin: AuthPlugin,
        claim: &Claim<'_>,
    ) {
        let Some(account) = self.account_of_claim(key, plugin, claim) else {
            return self.deny(turn, key, claim);
        };
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let id = self.key_id(&PoolKey::new(account, client.capabilities, client.extended));
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        (client.account, client.key) = (account, id);
        if !self.take_seat(turn, key, claim.user) {
            return;
        }
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        if let Some(login) = &mut client.login {
            login.slot = None;
            if plugin == AuthPlugin::CachingSha2Password && proves(claim.response) {
                let outbox = turn.io.outbox(client.handle);
                login.sequence_id = AuthMoreData::FastAuthSuccess.encode(outbox, login.sequence_id);
            }
        }
        match claim.schema {
            None => {
                self.welcome(turn, key);
                self.clients.move_to(key, State::Idle, turn.now);
            }
            Some(schema) => self.check_schema(turn, key, schema),
        }
    }

    /// The place of the account whose password the client has proved to know.
    fn account_of_claim(&self, key: Key, plugin: AuthPlugin, claim: &Claim<'_>) -> Option<u32> {
        let nonce = &self.clients.get(key)?.origin.nonce;
        let accounts = &self.settings.accounts;
        let place = accounts
            .iter()
            .position(|account| account.user.as_bytes() == claim.user);
        // An unknown account is checked against a password all the same: it must not answer faster.
        let password = place.map_or("\0", |place| &accounts[place].password);
        let right = plugin.verify(password.as_bytes(), nonce, claim.response);
        let place = place.filter(|&place| right && self.meets(key, accounts[place].require));
        place.map(|place| place as u32)
    }

    fn deny<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, claim: &Claim<'_>) {
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let peer = client.origin.peer;
        let error = ClientError::access_denied(claim.user, peer, proves(claim.response));
        self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
    }
}

/// False for a response that says "no password".
fn proves(response: &[u8]) -> bool {
    !matches!(response, b"" | b"\0")
}

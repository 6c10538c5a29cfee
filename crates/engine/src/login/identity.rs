//! Who a client is: the account that it says it is, the plugin that it proves it with, and the check of the
//! proof.
//!
//! The database has the last word: who is refused by what is known here, or may only set a new password, waits until it
//! was asked once more (`directory`).

use std::sync::Arc;

use accounts::{Account, Credential, Origin, Proof, Refused, Standing};
use events::{Io, Peer};
use membership::Key;
use wire::{AuthMoreData, AuthPlugin, AuthSwitchRequest, Capabilities};

use crate::backend::PoolKey;
use crate::client::{Answered, LoginStep};
use crate::errors::{ClientError, host};
use crate::login::vouching::Proved;
use crate::{Engine, Mail, Turn};

/// Whether the database was asked after the client had answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Not yet.
    NotYet,
    /// What is known is no older than the client's answer.
    Answered,
    /// It could not be asked.
    InVain,
}

/// Why a client is not let in yet.
enum Doubt {
    /// Only the password itself can tell.
    Password,
    /// It has proved to be the account, but that is remembered nowhere.
    Forgotten(Refused),
    /// It will not be.
    Refused(ClientError),
}

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
        self.follow_accounts(turn);
        if let Some(account) = self.relayed_account(key, claim) {
            return self.begin_relay(turn, key, &account, claim);
        }
        let (Some(client), Some(facts)) = (self.clients.get(key), &self.known.facts) else {
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
        let account = self.account_claimed(key, claim.user);
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
        let request = AuthSwitchRequest {
            plugin: plugin.name(),
            data: &client.origin.nonce,
        };
        let outbox = turn.io.outbox(client.handle);
        login.sequence_id = request.encode(outbox, login.sequence_id);
        let step = LoginStep::AuthSwitch {
            plugin,
            user: claim.user.into(),
            schema: claim.schema.map(Into::into),
        };
        self.clients.set_step(key, step, turn.now);
        self.counters.auth_switches += 1;
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
        if let Some(account) = self.relayed_account(key, claim) {
            return self.begin_relay(turn, key, &account, claim);
        }
        let account = self.account_claimed(key, claim.user).cloned();
        let wanted = account
            .as_ref()
            .and_then(|account| account.credential.plugin());
        let can_switch = self
            .clients
            .get(key)
            .is_some_and(|client| client.capabilities.contains(Capabilities::PLUGIN_AUTH));
        if let Some(wanted) = wanted.filter(|&wanted| wanted != plugin && can_switch) {
            return self.switch_plugin(turn, key, wanted, claim);
        }
        let checked = self.check(key, account.as_deref(), plugin, claim);
        let expired = |account: &Arc<Account>| account.standing == Standing::Expired;
        let in_full = checked.is_ok() && !account.as_ref().is_some_and(expired);
        let refused = match checked {
            _ if !in_full && asked == Asked::NotYet && self.accounts.asks_database() => {
                let answered = Answered {
                    plugin,
                    user: claim.user.into(),
                    schema: claim.schema.map(Into::into),
                    response: claim.response.into(),
                };
                return self.ask_first(turn, key, answered);
            }
            Ok(()) => None,
            Err(_) if asked == Asked::InVain && !self.accounts.was_read() => {
                Some(ClientError::accounts_unread())
            }
            Err(Doubt::Password) => return self.ask_for_password(turn, key, claim),
            Err(Doubt::Refused(error)) => Some(error),
            Err(Doubt::Forgotten(refused)) => Some(self.not_remembered(&refused)),
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
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let mut of_client = PoolKey::new(account.number, client.capabilities, client.extended);
        if account.standing == Standing::Expired && account.credential.relayed().is_none() {
            of_client = of_client.sandboxed();
        }
        let sandboxed = of_client.is_sandbox();
        let id = self.key_id(&of_client);
        self.follow_credential(turn, id, account);
        self.leave_key(key);
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        (client.account, client.key) = (account.number, id);
        if !self.take_seat(turn, key, claim.user) {
            return;
        }
        self.keys[id.0 as usize].sessions += 1;
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        self.shared.strangers.proved(client.origin.peer, turn.now);
        if let Some(login) = &mut client.login {
            login.place = None;
            if proved.awaits_word {
                let outbox = turn.io.outbox(client.handle);
                login.sequence_id = AuthMoreData::FastAuthSuccess.encode(outbox, login.sequence_id);
            }
        }
        self.vouch(key, proved);
        match claim.schema {
            None => self.begin(turn, key),
            Some(schema) if sandboxed => {
                // No backend would say whether it is there.
                if let Some(client) = self.clients.get_mut(key) {
                    client.session.schema = Some(self.known.interner.schema(schema));
                }
                self.begin(turn, key);
            }
            Some(schema) => self.check_schema(turn, key, schema),
        }
    }

    /// The account of a client, if only the database can tell whether it is that.
    fn relayed_account(&self, key: Key, claim: &Claim<'_>) -> Option<Arc<Account>> {
        let account = self.account_claimed(key, claim.user)?;
        account.credential.relayed().map(|_| account.clone())
    }

    /// The client has its key no more, if it had one: it ends, or logs in anew.
    pub(crate) fn leave_key(&mut self, key: Key) {
        if let Some(client) = self.clients.get_mut(key)
            && client.seat.take().is_some()
        {
            self.keys[client.key.0 as usize].sessions -= 1;
        }
    }

    /// The account that the server would take a client for, if it said the same there.
    pub(crate) fn account_claimed(&self, key: Key, user: &[u8]) -> Option<&Arc<Account>> {
        let address = match self.clients.get(key)?.origin.peer {
            Peer::Unix => None,
            Peer::Tcp(address) => Some(address.ip()),
        };
        self.accounts.find(std::str::from_utf8(user).ok()?, address)
    }

    /// Whether the client has proved to be an account that may log in. `Err` is what it is told if not.
    fn check(
        &self,
        key: Key,
        account: Option<&Account>,
        plugin: AuthPlugin,
        claim: &Claim<'_>,
    ) -> Result<(), Doubt> {
        let Some(client) = self.clients.get(key) else {
            return Ok(());
        };
        let nonce = &client.origin.nonce;
        // An unknown account is checked against a password all the same: it must not answer faster.
        let unknown = Credential::Password("\0".to_owned().into());
        let credential = account.map_or(&unknown, |account| &account.credential);
        let shown = (nonce, claim.response);
        let proved = match credential.is_proved_by(plugin, shown, self.accounts.vault()) {
            Proof::Wrong => false,
            Proof::Right => true,
            Proof::Forgotten(refused) => return Err(Doubt::Forgotten(refused)),
        };
        if let Credential::Other(plugin) = credential {
            return Err(Doubt::Refused(ClientError::unchecked_plugin(&plugin.name)));
        }
        let may_show = self.accounts.needs_passwords() && proves(claim.response);
        if !proved && may_show && plugin == AuthPlugin::CachingSha2Password {
            return Err(Doubt::Password);
        }
        let account = account.filter(|_| proved);
        let admitted = self.check_standing(key, account, claim);
        admitted.map_err(Doubt::Refused)
    }

    /// Whether the client, which has proved to be the account, may log in. `None`: it has not.
    pub(crate) fn check_standing(
        &self,
        key: Key,
        account: Option<&Account>,
        claim: &Claim<'_>,
    ) -> Result<(), ClientError> {
        let Some(client) = self.clients.get(key) else {
            return Ok(());
        };
        let host = host(client.origin.peer, self.accounts.names_loopback());
        let account = account.filter(|account| self.meets(key, &account.requires));
        let Some(account) = account else {
            let using_password = proves(claim.response);
            return Err(ClientError::access_denied(
                claim.user,
                &host,
                using_password,
            ));
        };
        match account.standing {
            Standing::Open => self.check_behind(account, claim.user),
            Standing::Locked => Err(ClientError::account_locked(
                claim.user,
                &host,
                self.known.flavor(),
            )),
            Standing::Expired
                if client
                    .capabilities
                    .contains(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS) =>
            {
                self.check_behind(account, claim.user)
            }
            Standing::Expired => Err(ClientError::password_expired(self.known.flavor())),
        }
    }

    /// Whether the backend takes the front door for the account that the client is (rule 23).
    pub(crate) fn check_behind(&self, account: &Account, user: &[u8]) -> Result<(), ClientError> {
        if account.origin == Origin::Configured {
            return Ok(());
        }
        let user = String::from_utf8_lossy(user);
        let behind = self.accounts.find_behind(&user);
        match behind {
            Some(behind) if behind.number == account.number => Ok(()),
            behind => Err(ClientError::another_behind(
                account.name(),
                behind.map(|behind| behind.name()),
            )),
        }
    }
}

/// False for a response that says "no password".
fn proves(response: &[u8]) -> bool {
    !matches!(response, b"" | b"\0")
}

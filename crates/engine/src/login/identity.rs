//! Who a client is: the account that it claims, the plugin that it proves it with, and the check of the proof. A client that is
//! refused by what is known here waits until the database was asked once more (`desk::accounts`).

use std::sync::Arc;

use accounts::{Account, Credential, Origin, Proof, Refused, Standing};
use carry::errors::{ClientError, host};
use events::{Io, Peer};
use membership::Key;
use pool::KeyId;
use wire::{AuthPlugin, AuthSwitchRequest, Capabilities, code};

use crate::record::client::LoginStep;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

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
pub(crate) enum Doubt {
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

impl Records {
    /// Asks a client to prove itself with another plugin.
    pub(crate) fn switch_plugin<I: Io<Mail>>(
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

    /// The account of a client, if only the database can tell whether it is that.
    pub(crate) fn relayed_account(&self, key: Key, claim: &Claim<'_>) -> Option<Arc<Account>> {
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
    pub(crate) fn check(
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
        let account = if proved { account } else { None };
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

    /// True if nothing is known that opens a backend connection of `id`.
    pub(crate) fn is_locked_out(&self, id: KeyId) -> bool {
        let account = self.accounts.account(self.pool.key(id).account);
        account.is_none_or(|account| !account.credential.opens_backends())
    }
}

/// False for a response that says "no password".
pub(crate) fn proves(response: &[u8]) -> bool {
    !matches!(response, b"" | b"\0")
}

/// A session needs a backend connection, and nothing is known that opens one of its account.
pub(crate) fn locked_out(account: Option<&Account>) -> ClientError {
    let name = account.map_or(String::new(), |account| account.name().to_string());
    let text = match account {
        Some(account) if !account.is_gone() => format!(
            "Access denied for {name}: its password has changed since this session began, and \
             nobody has logged in with the new one; connect again"
        ),
        _ => format!("Access denied: the account {name} is no more"),
    };
    ClientError::new(code::ACCESS_DENIED, b"28000", text)
}

//! The full exchange of `caching_sha2_password` with clients: the password itself, over a channel that is
//! secure or under a key of our own.
//!
//! Owns the way of a login through it. Decrypting and checking take milliseconds, so they are done elsewhere,
//! by whoever is named to [`Shared::check_passwords_with`](crate::Shared::check_passwords_with).

use std::sync::Arc;

use accounts::{Account, Proof, Refused, Vault};
use events::Io;
use membership::Key;
use wire::{AuthMoreData, AuthPlugin, Malformed, REQUEST_PUBLIC_KEY};
use zeroize::Zeroizing;

use crate::client::{Answered, LoginStep};
use crate::errors::ClientError;
use crate::login::identity::Claim;
use crate::login::vouching::Proved;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// A password that a client has sent is to be checked; the worker is told by [`Mail::PasswordChecked`].
pub struct PasswordCheck {
    /// Whose it should be; `None`: nobody's.
    pub account: Option<Arc<Account>>,
    /// The password.
    pub sent: Sent,
    /// Where it is kept if it is right.
    pub vault: Arc<Vault>,
    /// The worker, and its client.
    pub asker: (usize, Key),
}

/// A password, as it came.
pub enum Sent {
    /// As it is.
    Clear(Zeroizing<Vec<u8>>),
    /// Under the public key, masked with this nonce.
    Encrypted(Vec<u8>, [u8; 20]),
}

/// Somebody who checks passwords.
pub trait Checker: Send + Sync {
    /// The public key that clients encrypt with, in PEM form; `None` if it is not there yet.
    fn public_key(&self) -> Option<&[u8]>;

    /// Takes an order. False if there are too many.
    fn check(&self, check: PasswordCheck) -> bool;

    /// Has a worker told when there is a key, as [`Mail::PublicKey`]. False if there are too many orders.
    fn make_key(&self, asker: (usize, Key)) -> bool;
}

impl Engine {
    /// Only the password itself can tell whether the client is who it says.
    pub(crate) fn ask_for_password<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        claim: &Claim<'_>,
    ) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let Some(login) = &mut client.login else {
            return;
        };
        let outbox = turn.io.outbox(client.handle);
        login.sequence_id = AuthMoreData::FullAuthentication.encode(outbox, login.sequence_id);
        let step = LoginStep::Password(Box::new(Answered {
            plugin: AuthPlugin::CachingSha2Password,
            user: claim.user.into(),
            schema: claim.schema.map(Into::into),
            response: claim.response.into(),
        }));
        self.clients.set_step(key, step, turn.now);
        self.counters.full_authentications += 1;
    }

    /// What the client sent when the password was due, as it is (`clear`) or under the key.
    pub(crate) fn password_came<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (answered, clear): (Box<Answered>, bool),
        payload: &[u8],
    ) -> Result<(), Malformed> {
        let Some(client) = self.clients.get(key) else {
            return Ok(());
        };
        let nonce = client.origin.nonce;
        if payload == REQUEST_PUBLIC_KEY {
            let step = LoginStep::Encrypted(answered);
            self.clients.set_step(key, step, turn.now);
            self.send_public_key(turn, key);
            return Ok(());
        }
        let sent = if clear {
            let password = payload.strip_suffix(b"\0");
            let password = password.ok_or(Malformed::Truncated("password"))?;
            Sent::Clear(Zeroizing::new(password.to_vec()))
        } else {
            Sent::Encrypted(payload.to_vec(), nonce)
        };
        let step = LoginStep::Checking(answered.clone());
        self.clients.set_step(key, step, turn.now);
        let account = self.account_claimed(key, &answered.user).cloned();
        let asker = (self.worker, key);
        let check = PasswordCheck {
            account,
            sent,
            vault: self.accounts.vault().clone(),
            asker,
        };
        if !self
            .shared
            .checker()
            .is_some_and(|checker| checker.check(check))
        {
            self.too_many_checks(turn, key);
        }
        Ok(())
    }

    /// Sends the key to encrypt with, at once or when there is one.
    pub(crate) fn send_public_key<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let shared = self.shared.clone();
        let Some(checker) = shared.checker() else {
            return self.too_many_checks(turn, key);
        };
        let Some(pem) = checker.public_key() else {
            if !checker.make_key((self.worker, key)) {
                self.too_many_checks(turn, key);
            }
            return;
        };
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let handle = client.handle;
        if let Some(login) = &mut client.login
            && matches!(login.step, LoginStep::Encrypted(_))
        {
            let outbox = turn.io.outbox(handle);
            login.sequence_id = AuthMoreData::Data(pem).encode(outbox, login.sequence_id);
        }
    }

    /// The password was looked at.
    pub(crate) fn password_checked<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        proof: &Proof,
    ) {
        let client = self.clients.get(key);
        let step = client.and_then(|client| Some(&client.login.as_ref()?.step));
        let Some(LoginStep::Checking(answered)) = step.cloned() else {
            return;
        };
        let claim = Claim {
            user: &answered.user,
            schema: answered.schema.as_deref(),
            response: &answered.response,
        };
        if let Proof::Forgotten(refused) = proof {
            let error = self.not_remembered(refused);
            return self.deny(turn, key, error);
        }
        // It may have changed while the password was looked at: then it must prove the new one.
        let account = self.account_claimed(key, claim.user).cloned();
        let right =
            |account: &Arc<Account>| proof.is_right() && account.credential.opens_backends();
        let account = account.filter(right);
        match (
            self.check_standing(key, account.as_deref(), &claim),
            account,
        ) {
            (Ok(()), Some(account)) => {
                let proved = Proved::by(&account, AuthPlugin::CachingSha2Password);
                self.let_in(turn, key, &proved, &claim);
            }
            (Err(error), _) => self.deny(turn, key, error),
            (Ok(()), None) => {}
        }
    }

    /// What a client is told whose proof is remembered nowhere: nothing would open a backend for it.
    pub(crate) fn not_remembered(&mut self, refused: &Refused) -> ClientError {
        self.counters.secrets_refused += 1;
        let count = self.counters.secrets_refused;
        // Each login would fill the log.
        if count.is_power_of_two() {
            tracing::warn!(error = %refused, count, "logins are refused");
        }
        ClientError::not_remembered(refused)
    }

    fn too_many_checks<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let error = ClientError::too_many_connections();
        self.refuse(turn, key, &error, DisconnectReason::TooManyLogins);
    }
}

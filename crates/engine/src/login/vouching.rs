//! How a client learns over TLS that it talks to its server, although nobody that it trusts vouches for the certificate: by a
//! proof of what the server keeps of the client's password. MariaDB's clients of 11.4 and newer verify by default, and go
//! on with either.
//!
//! Owns when a proof is sent. What one is, is in `wire`; what is known of passwords, in `accounts`.

use accounts::Account;
use membership::Key;
use session::statement::Flavor;
use wire::{AuthPlugin, server_proof};

use crate::record::records::Records;

/// How a client has proved to be an account.
pub(crate) struct Proved<'a> {
    /// Which one.
    pub account: &'a Account,
    /// The plugin that the client has used, as clients call it.
    pub plugin: &'a [u8],
    /// The nonce that it was given last, if that is not the one of its greeting.
    pub nonce: Option<[u8; 20]>,
    /// The client waits to be told that its proof was right.
    pub awaits_word: bool,
}

impl<'a> Proved<'a> {
    /// By a plugin that is checked here.
    pub(crate) fn by(account: &'a Account, plugin: AuthPlugin) -> Self {
        Self {
            account,
            plugin: plugin.name(),
            nonce: None,
            awaits_word: false,
        }
    }
}

impl Records {
    /// Keeps what the client is told with its OK, if it can be told anything: it has a password, and was shown a
    /// certificate. Like the server, Myriad says nothing in COM_CHANGE_USER. Other servers than MariaDB have no such proof, so
    /// their clients do not look for it.
    pub(crate) fn vouch(&mut self, key: Key, proved: &Proved<'_>) {
        if self.known.flavor() != Flavor::MariaDb {
            return;
        }
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let shown = client
            .origin
            .tls
            .as_ref()
            .and_then(|tls| tls.shown.as_ref());
        let login = client
            .login
            .as_mut()
            .filter(|login| login.greeted.is_some());
        let kept = proved.account.credential.kept(proved.plugin);
        if let (Some(shown), Some(login), Some(kept)) = (shown, login, kept) {
            let nonce = proved.nonce.as_ref().unwrap_or(&client.origin.nonce);
            login.proof = Some(Box::new(server_proof(&kept, nonce, shown)));
        }
    }
}

//! Myriad's own proof to a backend. Over a unix socket or TLS a server that asks for the password gets it as it is, else
//! encrypted with the server's public key.

use accounts::{Directory, Secret};
use events::Io;
use membership::Key;
use wire::{AuthPlugin, write_packet};

use crate::record::auth::{BackendLogin, Challenge};
use crate::record::records::Records;
use crate::record::relay;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// Sends the answer to the packet with this sequence id, after which `step` has been reached.
    pub(crate) fn backend_login_answer<I: Io<Mail>>(
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
        directory: &Directory,
        challenge: Challenge,
    ) -> Option<(&'static [u8], Vec<u8>)> {
        if self.decides_login(key) {
            return Some((relay::PLUGIN, Vec::new()));
        }
        let secret = self.secret_for(key, directory)?;
        let response = challenge.response(&secret).unwrap_or_default();
        Some((challenge.plugin.name(), response))
    }

    pub(crate) fn secret_for<'a>(&self, key: Key, directory: &'a Directory) -> Option<Secret<'a>> {
        let number = self.pool.key(self.pool.key_of(key)?).account;
        directory.account(number)?.credential.secret()
    }
}

//! What the server runs for each session that begins (`init_connect`), unless its account may do without. The session of a
//! client is not that of a backend connection, for which the server has run it when that was opened: so that one is
//! cleaned before anybody gets it, and the front door has the statements run as the client's first command, behind its login.
//! Nothing of the answer is told.
//!
//! Source: `init_connect` in the MySQL manual, and `CONNECTION ADMIN` in MariaDB's.

use std::sync::Arc;

use membership::Key;
use wire::{Capabilities, Command, NO_ATTRIBUTES, PacketWriter};

use crate::record::client::{Login, LoginStep, State};
use crate::record::records::Records;

/// Between statements.
const SEPARATOR: u8 = b';';

impl Records {
    /// What is run at the beginning of sessions; `None` if that is not known yet.
    fn init_connect(&self) -> Option<&Arc<[u8]>> {
        self.known.facts.as_ref()?.init_connect.as_ref()
    }

    /// True of a session that begins now if something may have to be run for it.
    pub(crate) fn may_initiate(&self) -> bool {
        self.init_connect().is_none_or(|text| !text.is_empty())
    }

    /// Puts what is run at the beginning of a session in front of what its client has sent, once, if it is due.
    pub(crate) fn initiate(&mut self, key: Key) {
        if !self
            .clients
            .get(key)
            .is_some_and(|client| client.may_initiate)
        {
            return;
        }
        let ready = [State::Idle, State::Active].map(Some);
        let is_ready = ready.contains(&self.clients.state(key));
        let text = self.init_connect().filter(|_| is_ready).cloned();
        let (Some(text), Some(client)) = (text, self.clients.get_mut(key)) else {
            return;
        };
        client.may_initiate = false;
        let id = client.key;
        let exempt = self.keys[id.0 as usize].kills_others || self.pool.key(id).is_sandbox();
        if text.is_empty() || exempt {
            return;
        }
        let mut command = Vec::with_capacity(text.len() + 5);
        let mut packet = PacketWriter::begin(&mut command, 0);
        packet.payload().push(Command::Query as u8);
        if client.capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            packet.payload().extend_from_slice(NO_ATTRIBUTES);
        }
        packet.payload().extend_from_slice(&text);
        packet.finish();
        client.inbox.splice(..0, command);
        // What is kept of a command that waited is not of this one.
        self.long.stands_back(key);
        // The server allows several statements there, whatever the client may send.
        let several = text.contains(&SEPARATOR) && client.backend.is_none();
        let adds = several && !client.capabilities.contains(Capabilities::MULTI_STATEMENTS);
        client.login = Some(Login::new(LoginStep::Initiating { adds }, 1));
        if adds && !self.is_relayed(id) {
            self.allow_several(key, true);
        }
    }

    fn allow_several(&mut self, key: Key, allowed: bool) {
        if let Some(client) = self.clients.get_mut(key) {
            client
                .capabilities
                .set(Capabilities::MULTI_STATEMENTS, allowed);
            client.rekeyed = true;
            if client.backend.is_none() {
                self.rekey(key);
            }
        }
    }

    /// True of a command that need not run after all: the account may do without, as is known since a backend was opened.
    pub(crate) fn initiates_in_vain(&self, key: Key) -> bool {
        let Some(client) = self.clients.get(key) else {
            return false;
        };
        let step = client.login.as_ref().map(|login| &login.step);
        matches!(step, Some(LoginStep::Initiating { .. }))
            && self.keys[client.key.0 as usize].kills_others
    }

    /// The session has begun.
    pub(crate) fn initiated(&mut self, key: Key) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let login = client.login.take();
        if let Some(LoginStep::Initiating { adds: true }) = login.map(|login| login.step) {
            self.allow_several(key, false);
        }
    }
}

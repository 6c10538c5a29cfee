//! Which commands a KILL may end, and connections that are kept free for it.

use carry::packet::{Packet, runs_statement};
use carry::victim::Victim;
use events::Span;
use membership::Key;
use pool::{KeyId, State as BackendState};
use wire::{Command, HEADER_LEN};

use crate::record::backend::Due;
use crate::record::client::State;
use crate::record::kill::ours;
use crate::record::records::Records;

/// How long a connection that is kept for KILL may be idle.
const RESERVED_IDLE: Span = Span::from_secs(60);

impl Records {
    /// The client of ours that a command wants ended.
    pub(crate) fn kill_named(&self, client: Key, packet: Packet<'_>) -> Option<Victim> {
        let (&command, argument) = packet.payload.split_first()?;
        if command != Command::ProcessKill as u8 {
            return self.victim(client, packet.text());
        }
        let id = u32::from_le_bytes(*argument.first_chunk()?);
        ours(id, false)
    }

    /// True if the client's command waited for its restore; what is restored stays.
    pub(crate) fn takes_back_command(&mut self, client: Key) -> bool {
        let backend = self.clients.get(client).and_then(|client| client.backend);
        let Some(backend) = backend.and_then(|key| self.pool.get_mut(key)) else {
            return false;
        };
        let waited = backend.due.contains(Due::COMMAND);
        backend.due -= Due::COMMAND;
        waited
    }

    /// True if the client's next statement is here, and its backend is still busy with what the one before has
    /// left to do, which nobody can see and no KILL is meant for.
    pub(crate) fn has_yet_to_begin(&self, key: Key) -> bool {
        let Some(client) = self.clients.get(key) else {
            return false;
        };
        if self.clients.state(key) != Some(State::Active) {
            return false;
        }
        let backend = client.backend.and_then(|key| self.pool.get(key));
        let at_rest = backend.is_some_and(|backend| !backend.may_be_ended());
        let is_complete = self.front_len(key, &client.inbox).is_ok();
        at_rest && is_complete && runs_statement(&client.inbox[HEADER_LEN..])
    }

    /// True if a KILL of what this backend runs is wanted, or was sent and not answered.
    pub(crate) fn has_kill_outstanding(&self, key: Key) -> bool {
        let backend = self.pool.get(key);
        backend.is_some_and(|backend| backend.kill_outstanding)
    }

    /// True if it is a client's command that the backend runs now. What is restored before it must
    /// not be hit in its place: the command would run all the same.
    pub(crate) fn runs_command(&self, key: Key) -> bool {
        let front = self.pool.get(key).and_then(|b| b.exchanges.front());
        front.is_some_and(|exchange| exchange.purpose.may_be_ended())
    }

    /// False if a connection of `id` cannot be opened, or could end nothing.
    pub(crate) fn opens_reserved(&self, id: KeyId) -> bool {
        !self.is_relayed(id) && !self.pool.key(id).is_sandbox()
    }

    /// When the connection of `id` that is kept for KILL is to be looked at.
    pub(crate) fn reserved_due(&self, id: KeyId) -> Option<events::Timestamp> {
        let key = self.pool.first(id, BackendState::Reserved)?;
        let limit = match self.pool.get(key)?.login {
            Some(_) => self.settings.connect_timeout,
            None => RESERVED_IDLE,
        };
        Some(self.pool.oldest(id, BackendState::Reserved)? + limit)
    }
}

//! A session and the backend that it is attached to: what the code works on that carries a session. It sees no other session,
//! no other backend and no list.

use carry::session_memory::SessionMemory;
use membership::Key;
use session::statement::PinReason;

use crate::record::backend::Backend;
use crate::record::carried::Carried;
use crate::record::client::Client;
use crate::record::counters::Counters;
use crate::record::key_state::KeyState;
use crate::record::known::Known;
use crate::record::records::Records;
use crate::record::settings::Settings;

/// A session, its backend, and what is known to the worker of both.
pub(crate) struct Pair<'a> {
    /// The session.
    pub client: &'a mut Client,
    /// The backend.
    pub backend: &'a mut Backend,
    /// What is known of their key.
    pub key: &'a mut KeyState,
    /// What is known of the server and of statements.
    pub known: &'a mut Known,
    /// What all sessions keep.
    pub memory: &'a SessionMemory,
    /// What the worker was told at its start.
    pub settings: &'a Settings,
    /// What is counted.
    pub counters: &'a mut Counters,
}

impl Pair<'_> {
    /// Pins the session for what has happened already: there is no refusing it. `Records::keep_pin`
    /// takes its pin slot once the answer at hand has been dealt with.
    pub(crate) fn pin_late(&mut self, reason: PinReason) {
        if !self.client.pins.contains(reason) {
            self.client.pins.insert(reason);
            self.counters.pinned(reason);
        }
    }

    /// False for a read in a lane: other sessions use that backend, too.
    pub(crate) fn may_ask(&self) -> bool {
        self.client.backend.is_some()
    }

    /// Has a thing asked for before anything else happens on the backend.
    pub(crate) fn asks(&mut self, thing: &'static Carried) {
        self.backend.agenda.add(thing);
    }

    /// Whether the session may keep more.
    pub(crate) fn has_memory(&self) -> bool {
        let most = self.settings.session_memory;
        self.memory.has_room(most, &self.known.interner)
    }
}

impl Records {
    /// A backend and the session that is attached to it.
    pub(crate) fn pair(&mut self, backend: Key) -> Option<Pair<'_>> {
        let client = self.pool.get(backend)?.client?;
        self.pair_of(client, backend)
    }

    /// A session and the backend that it is attached to.
    pub(crate) fn attached(&mut self, client: Key) -> Option<Pair<'_>> {
        let backend = self.clients.get(client)?.backend?;
        self.pair_of(client, backend)
    }

    /// Does something about the session that is attached to a backend. Without one nobody knows what the backend has now.
    pub(crate) fn of_session(&mut self, backend: Key, does: impl FnOnce(&mut Pair<'_>)) {
        match self.pair(backend) {
            Some(mut pair) => does(&mut pair),
            None => {
                if let Some(backend) = self.pool.get_mut(backend) {
                    backend.dirty = true;
                }
            }
        }
    }

    /// This session and this backend, which runs its command.
    pub(crate) fn pair_of(&mut self, client: Key, backend: Key) -> Option<Pair<'_>> {
        let client = self.clients.get_mut(client)?;
        Some(Pair {
            key: &mut self.keys[client.key.0 as usize],
            client,
            backend: self.pool.get_mut(backend)?,
            known: &mut self.known,
            memory: &self.session_memory,
            settings: &self.settings,
            counters: &mut self.counters,
        })
    }
}

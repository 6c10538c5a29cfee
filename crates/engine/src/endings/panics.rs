//! After an event has panicked: which client or order it was about, and the connections that there is a record of. The desk
//! closes the connections that the event concerned, and puts the records in order (docs/decisions/panics.md).

use std::collections::HashSet;

use events::Handle;
use membership::Key;

use crate::record::kill::KillOrder;
use crate::record::records::Records;
use crate::record::shared::Mail;

/// Whom a letter concerns. Should dealing with it panic, nobody else would ever tell them.
#[derive(Clone, Copy, Default)]
pub(crate) enum AtHand {
    #[default]
    Nobody,
    /// A client of this worker, which waits for it.
    Client(Key),
    /// Whoever has given this order.
    Order(KillOrder),
}

impl AtHand {
    pub(crate) fn of(mail: &Mail) -> Self {
        match mail {
            Mail::Kill(order) => Self::Order(*order),
            Mail::Killed(client, _)
            | Mail::LimitsKept(client, _)
            | Mail::CommandLost(client)
            | Mail::Memory(client, _)
            | Mail::PasswordChecked(client, _)
            | Mail::PublicKey(client) => Self::Client(*client),
            Mail::CommandPrepared(prepared) => Self::Client(prepared.client()),
            Mail::LockTurn(called) => Self::Client(called.client),
            _ => Self::Nobody,
        }
    }
}

impl Records {
    /// The connections that there is a record of.
    pub(crate) fn handles(&self) -> HashSet<Handle> {
        let clients = (0..self.clients.places()).filter_map(|place| self.clients.at(place));
        let backends = (0..self.pool.places()).filter_map(|place| self.pool.at(place));
        let clients = clients.map(|(_, client)| client.handle);
        clients
            .chain(backends.map(|(_, backend)| backend.handle))
            .collect()
    }

    pub(crate) fn clients_that(&self, wanted: impl Fn(Key, Handle) -> bool) -> Vec<Key> {
        let all = (0..self.clients.places()).filter_map(|place| self.clients.at(place));
        let found = all.filter(|&(key, client)| wanted(key, client.handle));
        found.map(|(key, _)| key).collect()
    }
}

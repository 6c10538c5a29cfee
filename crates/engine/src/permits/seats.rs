//! Whose limits hold for a client: its account's and its default schema's. Owns when `admission` is told
//! of either; the limits themselves are its matter.

use admission::{Identity, Rejection, Scheduler, Seat};
use events::{Io, Peer};
use membership::Key;

use crate::client::State;
use crate::errors::ClientError;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

impl Engine {
    /// A client has proved to be `user`. False if it is one too many, and was told so.
    pub(crate) fn take_seat<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        user: &[u8],
    ) -> bool {
        let Some(client) = self.clients.get_mut(key) else {
            return false;
        };
        // COM_CHANGE_USER: it must not be counted beside itself.
        client.seat = None;
        let user = String::from_utf8_lossy(user);
        let who = identity(&user, client.origin.peer);
        match self.scheduler.login(&who, turn.now) {
            Ok(seat) => {
                let (id, weight) = (client.key, self.scheduler.weight(&seat));
                client.seat = Some(seat);
                self.share_mut(id).weight = weight;
                true
            }
            Err(rejection) => {
                self.refuse_login(turn, key, &rejection);
                false
            }
        }
    }

    /// The schema of a login is there. False if it has too many sessions, and the client was told so.
    pub(crate) fn may_use_schema<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let used = self.with_schema(key, |scheduler, seat, schema| {
            scheduler.use_schema(seat, schema)
        });
        match used {
            Some(Err(rejection)) => {
                self.refuse_login(turn, key, &rejection);
                false
            }
            _ => true,
        }
    }

    /// The session's default schema is another now. It has happened, however many sessions are in it.
    pub(crate) fn follow_schema(&mut self, key: Key) {
        self.with_schema(key, |scheduler, seat, schema| {
            scheduler.follow_schema(seat, schema);
        });
    }

    /// Other limits are in force.
    pub(crate) fn rules_changed(&mut self) {
        self.scheduler.rules_changed();
        for state in self.client_states().collect::<Vec<State>>() {
            let keys = self.clients.iter(state).map(|(key, _)| key);
            for key in keys.collect::<Vec<Key>>() {
                self.follow_schema(key);
                self.follow_weight(key);
            }
        }
    }

    /// Clients of one key may be of several accounts, by their hosts; the last one counts.
    fn follow_weight(&mut self, key: Key) {
        let client = self.clients.get(key);
        if let Some((id, seat)) = client.and_then(|c| Some((c.key, c.seat.as_ref()?))) {
            self.share_mut(id).weight = self.scheduler.weight(seat);
        }
    }

    /// Tells admission of a client's default schema, if any schema has limits.
    fn with_schema<T>(
        &mut self,
        key: Key,
        tell: impl FnOnce(&mut Scheduler<Key>, &mut Seat, Option<&str>) -> T,
    ) -> Option<T> {
        let client = self.clients.get_mut(key)?;
        let seat = client.seat.as_mut()?;
        if !self.scheduler.knows_schemas() && !seat.is_in_schema() {
            return None;
        }
        let schema = client.session.schema.as_deref();
        let schema = schema.map(String::from_utf8_lossy);
        Some(tell(&mut self.scheduler, seat, schema.as_deref()))
    }

    fn refuse_login<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        rejection: &Rejection,
    ) {
        let error = ClientError::rejected(rejection);
        self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
    }
}

fn identity(user: &str, peer: Peer) -> Identity<'_> {
    let address = match peer {
        Peer::Unix => None,
        Peer::Tcp(address) => Some(address.ip()),
    };
    let is_local = address.is_none_or(|address| address.to_canonical().is_loopback());
    Identity {
        user,
        address,
        host: is_local.then_some("localhost"),
    }
}

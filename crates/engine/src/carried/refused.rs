//! Restores that are refused. Most are about variables which the server does not let anybody set again: their
//! plugin is gone, a privilege was taken away, or SET GLOBAL has changed what may be set.
//!
//! On the server a session keeps them. So what makes no difference any more is given up, and whoever comes to a
//! connection that has it is not told. All else is the answer to each statement, until it is set to something else.

use events::Io;
use membership::Key;
use session::statement::{Kind, Statement, replaces};
use session::{SessionState, meaningless};
use wire::{ErrPacket, code};

use crate::backend::{Backend, Due, RestorePart};
use crate::commands::Packet;
use crate::{Engine, Mail, Turn};

/// What stands behind the server's words.
const WAY_OUT: &[u8] =
    b"; the statement was not run: that was about a variable which the session has set before. \
                         To go on set it anew, or reset the session";

impl Engine {
    /// Whether the command goes on once its backend is clean, although the restore was refused: it was about what
    /// another session has left there, or about what can be given up.
    pub(crate) fn goes_without(&mut self, key: Key, part: &RestorePart, error: &[u8]) -> bool {
        let gives_up = match *part {
            RestorePart::Variables { gives_up } => gives_up,
            RestorePart::Schema(_) => return self.takes_former_role(key, part, error),
            _ => return false,
        };
        let Some(backend) = self.pool.get_mut(key) else {
            return false;
        };
        let client = backend
            .client
            .filter(|_| backend.due.contains(Due::COMMAND));
        let client = client.and_then(|client| self.clients.get_mut(client));
        let Some(client) = client.filter(|client| !client.holds_backend()) else {
            return false;
        };
        if !gives_up {
            let Ok(error) = ErrPacket::parse(error) else {
                return false;
            };
            let Some(name) = meaningless(&client.session, error.code, error.message) else {
                return false;
            };
            let name = name.to_vec();
            client.session.forget_variable(&name, &mut self.interner);
        }
        backend.dirty = true;
        backend.due |= Due::CLEAN;
        true
    }

    /// The role of the session does not open its schema: whether the command goes on under the one that the session
    /// had when it selected it.
    fn takes_former_role(&mut self, key: Key, part: &RestorePart, error: &[u8]) -> bool {
        let error = ErrPacket::parse(error);
        let is_denied = error.is_ok_and(|error| error.code == code::SCHEMA_ACCESS_DENIED);
        let Some(backend) = self.pool.get_mut(key).filter(|_| is_denied) else {
            return false;
        };
        let waiting = backend
            .client
            .filter(|_| backend.due.contains(Due::COMMAND));
        let client = waiting.and_then(|client| self.clients.get_mut(client));
        let goes_on = client.is_some_and(|client| client.session.needs_former_role());
        if goes_on {
            backend.stays_without(part);
        }
        goes_on
    }

    /// A command goes on whose backend is at rest, after that was cleaned if it has to be.
    pub(crate) fn resume_command<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) {
        let backend = self.clients.get(client).and_then(|client| client.backend);
        let backend = backend.and_then(|key| self.pool.get_mut(key));
        match backend.map(|backend| backend.due) {
            Some(due) if due.contains(Due::CLEAN) => self.clean_attached(turn, client),
            _ => self.send_from_inbox(turn, client),
        }
    }

    /// The state in which a statement can run that replaces variables, or needs none, after one was refused: for those
    /// the backend stays as it is.
    pub(crate) fn beside_replaced(
        &mut self,
        client: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> Option<SessionState> {
        let client = self.clients.get(client).filter(|client| client.refused)?;
        let backend = self.pool.get(client.backend?)?;
        if backend.session.matches(&client.session) {
            return None;
        }
        let names = match statement.kind {
            // Nothing is open: whether the session goes on is all that can matter.
            Kind::Rollback if !client.holds_backend() => {
                let without = |name: &[u8]| name != b"completion_type";
                let own = &client.session;
                return own.without(without, &backend.session, &mut self.interner);
            }
            Kind::Set => replaces(
                packet.text(),
                &self.facts.as_ref()?.dialect(&client.session)?,
            ),
            _ => return None,
        };
        let within = |name: &[u8]| names.iter().any(|replaced| replaced == name);
        let own = &client.session;
        own.without(within, &backend.session, &mut self.interner)
    }
}

impl Backend {
    /// A part of a restore was refused: what is there is what was there before, as far as that is known.
    pub(crate) fn stays_without(&mut self, part: &RestorePart) {
        match part {
            RestorePart::Schema(previous) => self.session.schema.clone_from(previous),
            // Behind a schema that took another role there was a second one.
            RestorePart::Role(previous) => {
                self.session.set_role(previous.as_deref());
                self.dirty = true;
            }
            // Part of it may have been done.
            RestorePart::Variables { .. }
            | RestorePart::Set
            | RestorePart::InsertId
            | RestorePart::Warnings => self.dirty = true,
        }
    }
}

/// The server's error about a part of a restore, for the session; with what can be done about it, which is written
/// to `words`.
pub(crate) fn explained<'a>(
    part: &RestorePart,
    error: &'a [u8],
    words: &'a mut Vec<u8>,
) -> Option<ErrPacket<'a>> {
    let error = ErrPacket::parse(error).ok()?;
    words.extend_from_slice(error.message);
    if let RestorePart::Variables { .. } = part {
        words.extend_from_slice(WAY_OUT);
    }
    Some(ErrPacket {
        message: words,
        ..error
    })
}

//! Restores that the server refuses. Most are about a variable that the session may not set again: its plugin is gone, or a
//! privilege was taken away. Each statement of the session gets the server's error and is not run, until the session is reset
//! or connects again.

use membership::Key;
use wire::ErrPacket;

use crate::record::backend::{Backend, Due, RestorePart};
use crate::record::client::Client;
use crate::record::records::Records;

/// What stands behind the server's words.
const WAY_OUT: &[u8] =
    b"; the statement was not run: this is about a variable that the session has set before. \
                         To go on, reset the session or connect again";

impl Records {
    /// Whether the command goes on once its backend is clean, although the restore was refused: it was about what
    /// another session has left there.
    pub(crate) fn goes_without(&mut self, key: Key, part: &RestorePart) -> bool {
        if !matches!(*part, RestorePart::Variables { gives_up: true }) {
            return false;
        }
        let Some(backend) = self.pool.get_mut(key) else {
            return false;
        };
        let client = backend.client.and_then(|client| self.clients.get(client));
        if !backend.due.contains(Due::COMMAND) || client.is_none_or(Client::holds_backend) {
            return false;
        }
        backend.dirty = true;
        backend.due |= Due::CLEAN;
        true
    }
}

impl Backend {
    /// A part of a restore was refused: what is there is what was there before, as far as that is known.
    pub(crate) fn stays_without(&mut self, part: &RestorePart) {
        match part {
            RestorePart::Schema(previous) => self.session.schema.clone_from(previous),
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

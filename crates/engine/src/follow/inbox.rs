//! Inboxes: bytes that clients have sent and Myriad has not dealt with. Owns how these buffers come and go, that nothing of a
//! login stays in them, and when a client is read from.

use events::Io;
use membership::Key;
use wire::{HEADER_LEN, Header};
use zeroize::Zeroize;

use crate::record::buffering::FLOOR;
use crate::record::client::{Pauses, State};
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// Buffers that are kept for the next inbox.
const SPARES: usize = 4_096;

impl Records {
    /// Bytes that stay for later, behind what is there already: the command that stands for the
    /// schema of a login was never sent by the client.
    pub(crate) fn put_in_inbox(&mut self, key: Key, bytes: Vec<u8>) {
        match self.clients.get_mut(key) {
            Some(client) if client.inbox.is_empty() => client.inbox = bytes,
            Some(client) => client.inbox.extend_from_slice(&bytes),
            None => self.recycle(bytes),
        }
    }

    /// A client that sends ahead while something runs is not read from until that is done: what
    /// it may leave here is bounded by one read. One that sends a file is read from as its backend keeps up.
    pub(crate) fn balance_receiving<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let busy = self.clients.state(key).is_some_and(State::is_busy);
        let Some(client) = self.clients.get(key) else {
            return;
        };
        if client.uploading {
            return;
        }
        let ahead = match self.long.is_away(key) {
            true => !client.inbox.is_empty(),
            false => sent_ahead(&client.inbox),
        };
        if busy && ahead {
            self.pause_client(turn, key, Pauses::AHEAD);
        } else if !busy {
            self.resume_client(turn, key, Pauses::AHEAD);
        }
    }

    /// Does not read from a client any more, for this reason besides others.
    pub(crate) fn pause_client<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        why: Pauses,
    ) {
        if let Some(client) = self.clients.get_mut(key) {
            let reads = client.paused.is_empty();
            client.paused |= why;
            if reads {
                turn.io.pause_receive(client.handle);
            }
        }
    }

    /// Reads from a client again, unless there is another reason not to.
    pub(crate) fn resume_client<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        why: Pauses,
    ) {
        if let Some(client) = self.clients.get_mut(key)
            && client.paused.intersects(why)
        {
            client.paused -= why;
            if client.paused.is_empty() {
                turn.io.resume_receive(client.handle);
            }
        }
    }

    /// A buffer that is no longer needed.
    pub(crate) fn recycle(&mut self, mut buffer: Vec<u8>) {
        let keep = buffer.capacity() > 0 && buffer.capacity() <= FLOOR;
        if keep && self.spares.len() < SPARES {
            buffer.clear();
            self.spares.push(buffer);
        }
    }
}

/// Makes room for so many bytes more behind what may be a password, of which no copy is left elsewhere.
pub(crate) fn make_room(secret: &mut Vec<u8>, more: usize) {
    if secret.capacity() - secret.len() < more {
        let mut larger = Vec::with_capacity(2 * (secret.len() + more));
        larger.extend_from_slice(secret);
        std::mem::replace(secret, larger).zeroize();
    }
}

/// Takes what has been dealt with, and may be a password, off the front.
pub(crate) fn forget_front(secret: &mut Vec<u8>, used: usize) {
    let rest = secret.split_off(used);
    std::mem::replace(secret, rest).zeroize();
}

/// True if there is more in the inbox than the one command that waits.
fn sent_ahead(inbox: &[u8]) -> bool {
    match Header::parse(inbox) {
        Some(header) => inbox.len() > HEADER_LEN + header.len,
        None => !inbox.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_with_a_secret_grows_and_shrinks_to_what_it_should_hold() {
        let mut secret = Vec::with_capacity(4);
        for part in [b"se".as_slice(), b"cret", b" and a command"] {
            make_room(&mut secret, part.len());
            let before = secret.as_ptr();
            secret.extend_from_slice(part);
            assert_eq!(secret.as_ptr(), before, "it was moved and a copy left");
        }
        forget_front(&mut secret, 6);
        assert_eq!(secret, b" and a command");
        forget_front(&mut secret, 14);
        assert!(secret.is_empty());
    }
}

//! A large command on its way to the backend: piece by piece, as that takes it. It stays in the buffer that its client sent
//! it into, so that it is neither copied nor fills an outbox, and no turn moves more than a piece of it.

use events::Io;
use membership::Key;
use wire::{HEADER_LEN, Header, number_packets};

use crate::backend::Backend;
use crate::commands::reservations::Reservation;
use crate::{Engine, Mail, Turn};

/// Longer commands are sent so.
pub(crate) const LARGE: usize = 256 << 10;

const PIECE: usize = 128 << 10;

/// What a command was put into an outbox as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Put {
    /// The sequence id of its last packet.
    pub last: u8,
    /// Only the beginning was put there.
    pub is_begun: bool,
}

impl Put {
    /// All of it.
    pub(crate) fn whole(last: u8) -> Self {
        Self {
            last,
            is_begun: false,
        }
    }
}

/// What is still to be sent of a command.
pub(crate) struct Rest {
    /// The buffer that the command is in; empty until it is handed over.
    buffer: Vec<u8>,
    /// Where in it the next piece begins, and where the command ends.
    at: usize,
    end: usize,
    reservation: Option<Reservation>,
}

impl Rest {
    /// Of a command of so many bytes, of which the first piece was sent.
    pub(crate) fn of(len: usize) -> Self {
        Self {
            buffer: Vec::new(),
            at: PIECE,
            end: len,
            reservation: None,
        }
    }

    fn next(&mut self) -> &[u8] {
        let piece = self.at..self.end.min(self.at + PIECE);
        self.at = piece.end;
        self.buffer.get(piece).unwrap_or_default()
    }

    fn is_sent(&self) -> bool {
        self.at >= self.end
    }
}

/// Appends a command as its client sent it, or its first piece. Its packets are numbered anew: clients that compress need
/// not count them.
pub(crate) fn put_as_sent(outbox: &mut Vec<u8>, raw: &[u8]) -> Put {
    let begin = outbox.len();
    if raw.len() <= LARGE {
        outbox.extend_from_slice(raw);
        return Put::whole(number_packets(&mut outbox[begin..]));
    }
    outbox.extend_from_slice(&raw[..PIECE]);
    outbox[begin + HEADER_LEN - 1] = 0;
    Put {
        last: last_number(raw),
        is_begun: true,
    }
}

/// The number of the last packet of a command, the first having 0.
fn last_number(mut command: &[u8]) -> u8 {
    let mut last = 0_u8;
    while let Some(header) = Header::parse(command) {
        command = command
            .get(HEADER_LEN + header.len..)
            .unwrap_or_default();
        last = last.wrapping_add(u8::from(!command.is_empty()));
    }
    last
}

impl Engine {
    /// True if a command of the client was sent in part, and its buffer is to go with it.
    pub(crate) fn awaits_buffer(&self, client: Key) -> bool {
        let backend = self.clients.get(client).and_then(|client| client.backend);
        let rest = backend.and_then(|key| self.pool.get(key)?.rest.as_ref());
        rest.is_some_and(|rest| rest.buffer.is_empty())
    }

    /// Of what is in `inbox`, `used` bytes were dealt with. If the last of them are a command that was sent in part, its
    /// buffer goes with it. Returns what is left.
    pub(crate) fn hand_over<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        mut inbox: Vec<u8>,
        used: usize,
    ) -> Vec<u8> {
        let backend = self.clients.get(client).and_then(|client| client.backend);
        let backend = backend.and_then(|key| self.pool.get_mut(key));
        let awaited = |rest: &&mut Box<Rest>| rest.buffer.is_empty();
        let Some(backend) = backend.filter(|backend| backend.rest.is_some()) else {
            inbox.drain(..used);
            return inbox;
        };
        let handle = backend.handle;
        let Some(rest) = backend.rest.as_mut().filter(awaited) else {
            inbox.drain(..used);
            return inbox;
        };
        let left = inbox[used..].to_vec();
        inbox.truncate(used);
        let begin = used.saturating_sub(rest.end);
        number_packets(&mut inbox[begin..]);
        rest.buffer = inbox;
        (rest.at, rest.end) = (begin + rest.at, used);
        rest.reservation = self.buffering.take_reservation(client);
        turn.io.notify_drained(handle);
        left
    }

    /// The backend took what there was of a command: it gets the next piece. False if there is none.
    pub(crate) fn send_next_piece<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
    ) -> bool {
        let Some(backend) = self.pool.get_mut(key) else {
            return false;
        };
        let handle = backend.handle;
        let Some(rest) = &mut backend.rest else {
            return false;
        };
        turn.io.outbox(handle).extend_from_slice(rest.next());
        match rest.is_sent() {
            true => backend.rest = None,
            false => turn.io.notify_drained(handle),
        }
        true
    }
}

impl Backend {
    /// A command was answered. A server that answers before it has all of it closes the connection behind that.
    pub(crate) fn answered_early(&mut self) {
        self.retired |= self.rest.is_some();
    }
}

#[cfg(test)]
mod tests {
    use wire::write_packet;

    use super::*;

    #[test]
    fn the_pieces_of_a_command_are_the_command() {
        for len in [1_000, LARGE, LARGE + 1, wire::MAX_PAYLOAD, 40_000_000] {
            let mut command = Vec::new();
            let next = write_packet(&mut command, 0, &vec![7; len]);
            // A client that compresses may number them as it likes.
            let mut sent = command.clone();
            sent[HEADER_LEN - 1] = 9;
            let mut outbox = b"before".to_vec();
            let put = put_as_sent(&mut outbox, &sent);
            assert_eq!(put.last, next.wrapping_sub(1), "{len}");
            if put.is_begun {
                number_packets(&mut sent);
                let mut rest = Rest {
                    buffer: sent.clone(),
                    ..Rest::of(sent.len())
                };
                while !rest.is_sent() {
                    let piece = rest.next();
                    assert!(piece.len() <= PIECE);
                    outbox.extend_from_slice(piece);
                }
            }
            assert!(outbox.ends_with(&command) && outbox.len() == command.len() + 6);
        }
    }
}

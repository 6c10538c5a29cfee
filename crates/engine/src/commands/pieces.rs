//! A large command on its way to the backend: piece by piece, as that takes it. It stays in the buffer that its client sent
//! it into, so that it is neither copied nor fills an outbox, and no turn moves more than a piece of it.

use events::Io;
use membership::Key;
use wire::{HEADER_LEN, Header, MAX_PAYLOAD, number_packets, write_packet};

use crate::backend::Backend;
use crate::commands::Packet;
use crate::commands::reservations::Reservation;
use crate::{Engine, Mail, Turn};

/// Longer commands are sent so.
const LARGE: usize = 256 << 10;

const PIECE: usize = 128 << 10;

/// What was put into an outbox of a command.
pub(crate) struct Put {
    /// The sequence id of its last packet.
    pub last: u8,
    /// What is still to be sent of it.
    pub rest: Option<Box<Rest>>,
}

impl Put {
    /// All of it.
    pub(crate) fn whole(last: u8) -> Self {
        Self { last, rest: None }
    }
}

/// What is still to be sent of a command.
pub(crate) struct Rest {
    /// The buffer that the command is in; empty until it is handed over.
    buffer: Vec<u8>,
    /// Where in it the payload begins.
    begin: usize,
    /// Bytes of the payload, and how many of them were sent.
    len: usize,
    at: usize,
    is_sent: bool,
    reservation: Option<Reservation>,
}

impl Rest {
    fn of(len: usize) -> Self {
        Self {
            buffer: Vec::new(),
            begin: 0,
            len,
            at: 0,
            is_sent: false,
            reservation: None,
        }
    }

    /// Appends the next piece of this payload, with the headers of its packets.
    fn put(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        let end = self.len.min(self.at + PIECE);
        while self.at < end {
            self.put_header(out);
            let left = MAX_PAYLOAD - self.at % MAX_PAYLOAD;
            let piece = self.at..end.min(self.at + left);
            self.at = piece.end;
            out.extend_from_slice(payload.get(piece).unwrap_or_default());
        }
        if self.at == self.len {
            // A full packet is followed by an empty one.
            self.put_header(out);
            self.is_sent = true;
        }
    }

    /// A packet begins with each so many bytes.
    fn put_header(&self, out: &mut Vec<u8>) {
        if self.at.is_multiple_of(MAX_PAYLOAD) {
            let header = Header {
                len: MAX_PAYLOAD.min(self.len - self.at),
                sequence_id: (self.at / MAX_PAYLOAD) as u8,
            };
            out.extend_from_slice(&header.to_bytes());
        }
    }

    fn put_next(&mut self, out: &mut Vec<u8>) {
        let buffer = std::mem::take(&mut self.buffer);
        self.put(buffer.get(self.begin..).unwrap_or_default(), out);
        self.buffer = buffer;
    }
}

/// Appends a command as its client sent it, or the first piece. Its packets are numbered anew: clients that compress need
/// not count them.
pub(crate) fn put_as_sent(outbox: &mut Vec<u8>, packet: Packet<'_>) -> Put {
    let Packet { raw, payload, .. } = packet;
    let in_one_piece = raw.len() == HEADER_LEN + payload.len();
    if !in_one_piece {
        return Put::whole(write_packet(outbox, 0, payload).wrapping_sub(1));
    }
    if payload.len() <= LARGE {
        let begin = outbox.len();
        outbox.extend_from_slice(raw);
        return Put::whole(number_packets(&mut outbox[begin..]));
    }
    let mut rest = Rest::of(payload.len());
    rest.put(payload, outbox);
    Put {
        last: (payload.len() / MAX_PAYLOAD) as u8,
        rest: Some(Box::new(rest)),
    }
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
        let awaited = backend.and_then(|backend| Some((backend.handle, backend.rest.as_mut()?)));
        let Some((handle, rest)) = awaited.filter(|(_, rest)| rest.buffer.is_empty()) else {
            inbox.drain(..used);
            return inbox;
        };
        let left = inbox[used..].to_vec();
        inbox.truncate(used);
        rest.begin = used.saturating_sub(rest.len);
        rest.buffer = inbox;
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
        let cut_off = backend.is_cut_off();
        let Some(rest) = backend.rest.as_mut().filter(|_| !cut_off) else {
            return false;
        };
        rest.put_next(turn.io.outbox(handle));
        match rest.is_sent {
            true => backend.rest = None,
            false => turn.io.notify_drained(handle),
        }
        true
    }
}

impl Backend {
    /// True if the command was answered that has not been sent completely. Nothing else may follow it on the connection,
    /// and a server that answers so closes it.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.rest.is_some() && self.exchanges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_command_are_the_command() {
        for len in [
            1_000,
            LARGE,
            LARGE + 1,
            MAX_PAYLOAD - 1,
            MAX_PAYLOAD,
            2 * MAX_PAYLOAD,
            40_000_000,
        ] {
            let payload: Vec<u8> = (0..len).map(|i| (i / 5) as u8).collect();
            let mut command = Vec::new();
            let next = write_packet(&mut command, 0, &payload);
            // A client that compresses may number its packets as it likes.
            let raw = [&command[..HEADER_LEN - 1], &[9], &payload].concat();
            let packet = Packet {
                raw: &raw,
                payload: &raw[HEADER_LEN..],
                attributes: 0,
            };
            let mut outbox = b"before".to_vec();
            let put = put_as_sent(&mut outbox, packet);
            assert_eq!(put.last, next.wrapping_sub(1), "{len}");
            if let Some(mut rest) = put.rest {
                (rest.buffer, rest.begin) = (raw.clone(), HEADER_LEN);
                while !rest.is_sent {
                    let before = outbox.len();
                    rest.put_next(&mut outbox);
                    assert!(outbox.len() - before <= PIECE + 2 * HEADER_LEN);
                }
            }
            assert!(outbox[6..] == command, "{len}");
        }
    }
}

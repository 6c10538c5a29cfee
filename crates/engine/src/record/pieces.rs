//! A large command on its way to the backend, piece by piece, as the backend takes it. It stays in the buffer that its client
//! sent it into: it is not copied, and fills no outbox. So does long data, which waits here for its execution.

use carry::packet::Packet;
use carry::prepared::client_statements::LongData;
use wire::{HEADER_LEN, Header, MAX_PAYLOAD, number_packets, write_packet};

use crate::record::reservations::Reservation;

/// Longer commands are sent so.
pub(crate) const LARGE: usize = 256 << 10;

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

/// The rest of a command, which its backend has not been sent yet.
#[derive(Default)]
pub(crate) struct Rest {
    ahead: Option<Ahead>,
    /// The buffer that the command is in. It comes when the client's inbox is handed over, and never for a command
    /// (`len` is 0) that is complete behind its long data.
    pub buffer: Vec<u8>,
    /// Where in it the payload begins.
    pub begin: usize,
    /// Bytes of the payload, and how many of them were sent.
    pub len: usize,
    at: usize,
    pub is_sent: bool,
    pub reservation: Option<Reservation>,
}

/// Long data, which goes ahead of its execution.
struct Ahead {
    long: Box<LongData>,
    sent: usize,
    /// The execution, or its first piece.
    execution: Vec<u8>,
}

impl Rest {
    fn of(len: usize) -> Self {
        Self {
            len,
            ..Self::default()
        }
    }

    /// Appends the first piece of long data. The rest of it follows, then the execution, of which `rest` is not in
    /// `execution`.
    pub(crate) fn behind(
        long: Box<LongData>,
        (execution, rest): (Vec<u8>, Option<Box<Self>>),
        out: &mut Vec<u8>,
    ) -> Box<Self> {
        let mut rest = rest.unwrap_or_default();
        rest.ahead = Some(Ahead {
            long,
            sent: 0,
            execution,
        });
        rest.put_next(out);
        rest
    }

    /// True until the buffer is there that the command is in.
    pub(crate) fn awaits_buffer(&self) -> bool {
        self.len > 0 && self.buffer.is_empty()
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

    pub(crate) fn put_next(&mut self, out: &mut Vec<u8>) {
        if let Some(ahead) = &mut self.ahead {
            if ahead.put_piece(out) {
                self.ahead = None;
                self.is_sent = self.len == 0;
            }
            return;
        }
        let buffer = std::mem::take(&mut self.buffer);
        self.put(buffer.get(self.begin..).unwrap_or_default(), out);
        self.buffer = buffer;
    }
}

impl Ahead {
    /// Appends the next piece of long data, and the execution behind the last one. Returns whether that was it.
    fn put_piece(&mut self, out: &mut Vec<u8>) -> bool {
        let left = self.long.packets().get(self.sent..).unwrap_or_default();
        let piece = left.get(..PIECE).unwrap_or(left);
        out.extend_from_slice(piece);
        self.sent += piece.len();
        let is_last = piece.len() == left.len();
        if is_last {
            out.append(&mut self.execution);
        }
        is_last
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn long_data_goes_ahead_in_pieces_and_gives_its_memory_back() {
        for (long_len, execution_len) in [
            (LARGE + 1, 10),
            (3 * PIECE, 10),
            (3 * PIECE + 1, LARGE + 1),
            (20_000_000, MAX_PAYLOAD + 5),
        ] {
            let total = Arc::new(AtomicUsize::new(0));
            let mut long = Box::new(LongData::new(&total));
            let packets: Vec<u8> = (0..long_len).map(|i| (i / 3) as u8).collect();
            assert!(long.keep(&packets, long_len, long_len));
            let payload: Vec<u8> = (0..execution_len).map(|i| (i / 7) as u8).collect();
            let mut command = Vec::new();
            write_packet(&mut command, 0, &payload);
            let in_one_packet = [&[0; HEADER_LEN], &payload[..]].concat();
            let packet = Packet {
                raw: &in_one_packet,
                payload: &payload,
                attributes: 0,
            };
            let mut execution = Vec::new();
            let put = put_as_sent(&mut execution, packet);
            let execution = match put.rest {
                Some(_) => execution,
                None => command.clone(),
            };
            let mut outbox = Vec::new();
            let mut rest = Rest::behind(long, (execution, put.rest), &mut outbox);
            assert_eq!(outbox.len(), PIECE);
            assert_eq!(rest.awaits_buffer(), execution_len > LARGE);
            (rest.buffer, rest.begin) = (in_one_packet, HEADER_LEN);
            while !rest.is_sent {
                let before = outbox.len();
                rest.put_next(&mut outbox);
                assert!(outbox.len() - before <= 2 * PIECE + 2 * HEADER_LEN);
                let held = total.load(Ordering::Relaxed);
                assert_eq!(held, if rest.ahead.is_some() { long_len } else { 0 });
            }
            assert!(outbox == [packets, command].concat(), "{long_len}");
        }
    }

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

//! LOAD DATA LOCAL: the server asks for a file, and it is the client that reads it. Its packets pass
//! through as they come; never is a file of this host read.

use events::Io;
use membership::Key;
use wire::{HEADER_LEN, Header, write_packet};

use crate::backend::{Backend, Exchange, Purpose};
use crate::client::Pauses;
use crate::{Engine, Mail, Turn};

/// How far a file has come that a client sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Upload {
    /// Bytes that are still to come of the packet at hand.
    left: usize,
    /// The sequence id that the backend expects next. The client's own may be others: one that compresses does
    /// not count its packets as the backend would.
    next: u8,
}

/// What came of some bytes of a file.
struct Passed {
    /// How many were used.
    used: usize,
    /// The sequence id of the empty packet that ends the file.
    last: Option<u8>,
}

impl Upload {
    /// Appends what `bytes` hold of the file, with the backend's sequence ids.
    fn pass(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Passed {
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            let take = rest.len().min(self.left);
            out.extend_from_slice(&rest[..take]);
            self.left -= take;
            used += take;
            let header = Header::parse(&bytes[used..]).filter(|_| self.left == 0);
            let Some(header) = header else {
                return Passed { used, last: None };
            };
            let sequence_id = self.next;
            self.next = sequence_id.wrapping_add(1);
            out.extend_from_slice(&bytes[used..used + HEADER_LEN - 1]);
            out.push(sequence_id);
            used += HEADER_LEN;
            self.left = header.len;
            if header.len == 0 {
                let last = Some(sequence_id);
                return Passed { used, last };
            }
        }
    }
}

impl Backend {
    /// The file is complete: the answer follows.
    fn file_sent(&mut self, sequence_id: u8) {
        self.upload = None;
        if let Some(exchange) = self.exchanges.front_mut() {
            exchange.walk.file_sent(sequence_id);
        }
    }
}

impl Engine {
    /// The server asks for a file. If nobody is left to send it, it is empty.
    pub(crate) fn file_asked_for<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        exchange: &mut Exchange,
    ) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let Purpose::Command(command) = &exchange.purpose else {
            return;
        };
        let client = command.client.and_then(|key| self.clients.get_mut(key));
        if let Some(client) = client {
            client.uploading = true;
            let next = exchange.walk.next_sequence_id();
            backend.upload = Some(Upload { left: 0, next });
        } else {
            let sequence_id = exchange.walk.next_sequence_id();
            write_packet(turn.io.outbox(backend.handle), sequence_id, b"");
            exchange.walk.file_sent(sequence_id);
        }
    }

    /// Bytes of a file that a client sends. Returns how many were used.
    pub(crate) fn upload_bytes<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        bytes: &[u8],
    ) -> usize {
        let Some(client) = self.clients.get_mut(key) else {
            return bytes.len();
        };
        let Some(backend) = client.backend.and_then(|key| self.pool.get_mut(key)) else {
            return 0;
        };
        let Some(mut upload) = backend.upload else {
            return 0;
        };
        let passed = upload.pass(bytes, turn.io.outbox(backend.handle));
        backend.upload = Some(upload);
        if let Some(sequence_id) = passed.last {
            client.uploading = false;
            backend.file_sent(sequence_id);
        } else if turn.io.unsent(backend.handle) > self.settings.answer_buffer
            && client.paused.is_empty()
        {
            turn.io.notify_drained(backend.handle);
            self.pause_client(turn, key, Pauses::UPLOAD);
        }
        passed.used
    }

    /// The backend took all that was there of a command, or of a file.
    pub(crate) fn backend_drained<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        if self.send_next_piece(turn, key) {
            return;
        }
        if let Some(client) = self.pool.get(key).and_then(|backend| backend.client) {
            self.resume_client(turn, client, Pauses::UPLOAD);
        }
    }

    /// A client that was not listened to while its statement ran may have begun with its file.
    pub(crate) fn take_upload<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let client = self.pool.get(key).and_then(|backend| backend.client);
        let uploading = |client: &Key| {
            self.clients.get(*client).is_some_and(|client| {
                client.uploading && (!client.paused.is_empty() || !client.inbox.is_empty())
            })
        };
        let Some(key) = client.filter(uploading) else {
            return;
        };
        self.resume_client(turn, key, Pauses::all());
        self.consume_inbox(turn, key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_passes_however_it_is_cut() {
        let mut file = Vec::new();
        let next = write_packet(&mut file, 3, b"1,2\n");
        let next = write_packet(&mut file, next, b"3,4\n");
        write_packet(&mut file, next, b"");
        for step in 1..=file.len() {
            let mut upload = Upload { left: 0, next: 2 };
            let (mut pending, mut out, mut last) = (Vec::new(), Vec::new(), None);
            for part in file.chunks(step) {
                pending.extend_from_slice(part);
                let passed = upload.pass(&pending, &mut out);
                pending.drain(..passed.used);
                last = last.or(passed.last);
            }
            let mut expected = Vec::new();
            write_packet(&mut expected, 2, b"1,2\n");
            write_packet(&mut expected, 3, b"3,4\n");
            write_packet(&mut expected, 4, b"");
            assert_eq!((last, out), (Some(4), expected), "step {step}");
        }
    }
}

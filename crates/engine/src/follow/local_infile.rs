//! LOAD DATA LOCAL: the client's file on its way to the backend.

use events::Io;
use membership::Key;
use wire::write_packet;

use crate::record::backend::{Backend, Exchange, Purpose};
use crate::record::client::Pauses;
use crate::record::local_infile::Upload;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Backend {
    /// The file is complete: the answer follows.
    fn file_sent(&mut self, sequence_id: u8) {
        self.upload = None;
        if let Some(exchange) = self.exchanges.front_mut() {
            exchange.walk.file_sent(sequence_id);
        }
    }
}

impl Records {
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
}

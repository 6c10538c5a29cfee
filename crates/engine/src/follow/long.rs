//! Long commands that another thread classifies meanwhile.

use events::Io;
use membership::Key;
use session::statement::classify;
use wire::{
    Command, Complete, HEADER_LEN, Header, Payload, join_packets, query_attributes, whole_len,
    whole_packet,
};

use crate::record::client::State;
use crate::record::long::{Known, LONG, LongCommand, PreparedCommand};
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl LongCommand {
    /// The worker that it is from.
    pub fn worker(&self) -> usize {
        self.asker.0
    }

    /// The worker and the client that wait for it.
    pub fn asker(&self) -> (usize, Key) {
        self.asker
    }

    /// Joins its packets and classifies its text, which takes its time. Returns the mail that tells of it, and the worker
    /// that it is for.
    pub fn prepare(mut self) -> (usize, Mail) {
        let (len, sequence_id) = join_packets(&mut self.buffer[..self.len]);
        self.buffer.drain(len..self.len);
        let text = self.dialect.and_then(|dialect| {
            let payload = &self.buffer[HEADER_LEN..len];
            let attributes = match self.has_attributes && payload[0] == Command::Query as u8 {
                true => query_attributes(payload).ok()?,
                false => 0,
            };
            let text = payload.get(1 + attributes..)?;
            Some((text.len(), dialect, classify(text, &dialect)))
        });
        let (worker, client) = self.asker;
        let prepared = PreparedCommand {
            client,
            buffer: self.buffer,
            known: Known {
                len,
                sequence_id,
                text,
            },
        };
        (worker, Mail::CommandPrepared(Box::new(prepared)))
    }
}

impl Records {
    /// The command at the front of what a client sent. `Err` as of [`whole_packet`].
    pub(crate) fn front<'a>(&self, client: Key, bytes: &'a [u8]) -> Result<Complete<'a>, usize> {
        let Some(known) = self.long.known(client) else {
            return whole_packet(bytes);
        };
        let payload = bytes.get(HEADER_LEN..known.len).ok_or(known.len)?;
        Ok(Complete {
            payload: Payload::Whole(payload),
            sequence_id: known.sequence_id,
            consumed: known.len,
        })
    }

    /// Bytes of the command at the front of what a client sent, its headers included. `Err` as of [`whole_len`].
    pub(crate) fn front_len(&self, client: Key, bytes: &[u8]) -> Result<usize, usize> {
        match self.long.known(client) {
            Some(known) => Ok(known.len),
            None => whole_len(bytes),
        }
    }

    /// True if the complete command of `len` bytes at the beginning of `bytes` is to be prepared elsewhere first: as soon
    /// as its buffer is back.
    pub(crate) fn prepares_first<I: Io<Mail>>(
        &mut self,
        turn: &Turn<'_, I>,
        key: Key,
        bytes: &[u8],
        len: usize,
    ) -> bool {
        let known = self.long.known(key).is_some();
        if len <= LONG || known || self.shared.preparer().is_none() {
            return false;
        }
        let (Some(client), Some(facts)) = (self.clients.get(key), &self.known.facts) else {
            return false;
        };
        // Something is about to come in front of it.
        if client.may_initiate {
            return false;
        }
        let command = bytes.get(HEADER_LEN).copied().and_then(Command::from_byte);
        let has_text = matches!(command, Some(Command::Query | Command::StmtPrepare));
        let executes = matches!(
            command,
            Some(Command::StmtExecute | Command::StmtBulkExecute)
        );
        let dialect = facts.dialect(&client.session).filter(|_| has_text);
        let has_parts = Header::parse(bytes).is_some_and(|first| HEADER_LEN + first.len < len);
        if dialect.is_none() && !(has_parts && (has_text || executes)) {
            return false;
        }
        self.long.next = Some((key, dialect));
        self.clients.move_to(key, State::Asking, turn.now);
        true
    }
}

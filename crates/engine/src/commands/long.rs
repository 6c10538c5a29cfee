//! Long commands: classifying a text of megabytes takes milliseconds per megabyte, and joining packets takes copying. No
//! worker has time for that, so it is done elsewhere, by whoever is named to
//! [`Shared::prepare_commands_with`](crate::Shared::prepare_commands_with).
//!
//! Meanwhile the command is there, with its buffer, and the client counts as one that has asked somebody else. Owns what is
//! known of a long command afterwards, for as long as it stands at the front of the inbox; and the classification of
//! any command that waits there.

use std::collections::{HashMap, HashSet};

use events::Io;
use membership::Key;
use session::statement::{Dialect, Statement, classify};
use wire::{
    Command, Complete, HEADER_LEN, Header, Payload, join_packets, query_attributes, whole_len,
    whole_packet,
};

use crate::client::State;
use crate::owner::Owner;
use crate::{Engine, Mail, Turn};

/// Longer texts are classified elsewhere: it would take about a millisecond here.
pub(crate) const LONG: usize = 32 << 10;

/// A long command, and what is to be known of it.
#[derive(Debug)]
pub struct LongCommand {
    /// The worker, and its client.
    asker: (usize, Key),
    /// The command, and what came behind it.
    buffer: Vec<u8>,
    /// Bytes of the command in it.
    len: usize,
    /// How its text is read, if it is one that can be.
    dialect: Option<Dialect>,
    /// Query attributes may stand before the text.
    has_attributes: bool,
}

/// Somebody who prepares long commands.
pub trait Preparer: Send + Sync {
    /// Takes one. It comes back if there are too many.
    fn prepare(&self, command: LongCommand) -> Result<(), LongCommand>;
}

/// A long command that was prepared.
#[derive(Debug)]
pub struct PreparedCommand {
    pub(crate) client: Key,
    buffer: Vec<u8>,
    known: Known,
}

/// The dialect in which a text was classified, and its classification.
pub(crate) type Read = (Dialect, Statement);

/// What is known of the command at the front of a client's inbox: its payload is in one piece, behind one header.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Its bytes, header included.
    len: usize,
    /// The number of its last packet: the answer begins with the next one.
    sequence_id: u8,
    /// Bytes of the text, how it was read, and what that says.
    text: Option<(usize, Dialect, Statement)>,
}

/// The long commands of a worker.
#[derive(Default)]
pub(crate) struct LongCommands {
    known: HashMap<Key, Known>,
    /// The classification of commands that wait: at most one for each client, and none in a lane.
    waiting: HashMap<Key, Read>,
    /// Clients whose commands are being prepared.
    away: HashSet<Key>,
    /// The client whose command is to be prepared as soon as it is back in the inbox.
    next: Option<(Key, Option<Dialect>)>,
}

impl LongCommand {
    /// The worker that it is from.
    pub fn worker(&self) -> usize {
        self.asker.0
    }

    /// That worker, and the client that waits for it.
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

impl PreparedCommand {
    /// Whose it is.
    pub(crate) fn client(&self) -> Key {
        self.client
    }
}

impl LongCommands {
    /// What a text of a client was found to be, if it is that of the command at the front of its inbox and was read so.
    pub(crate) fn statement(
        &self,
        client: Key,
        text: &[u8],
        dialect: &Dialect,
    ) -> Option<Statement> {
        if text.len() <= LONG / 2 || self.known.is_empty() {
            return None;
        }
        let (len, read_as, statement) = self.known.get(&client)?.text?;
        (len == text.len() && read_as == *dialect).then_some(statement)
    }

    /// The command at the front of a client's inbox waits there.
    pub(crate) fn waits(&mut self, client: Key, read: Read) {
        self.waiting.insert(client, read);
    }

    /// The classification of the command that has waited at the front of a client's inbox.
    pub(crate) fn waited(&mut self, client: Key) -> Option<Read> {
        match self.waiting.is_empty() {
            true => None,
            false => self.waiting.remove(&client),
        }
    }

    /// The command of a client is gone.
    pub(crate) fn forget(&mut self, client: Key) {
        self.waited(client);
        if !self.known.is_empty() {
            self.known.remove(&client);
        }
        if !self.away.is_empty() {
            self.away.remove(&client);
        }
    }

    /// True while the command of a client is being prepared: it is not in the inbox, and its memory is still used.
    pub(crate) fn is_away(&self, client: Key) -> bool {
        !self.away.is_empty() && self.away.contains(&client)
    }

    fn known(&self, client: Key) -> Option<&Known> {
        match self.known.is_empty() {
            true => None,
            false => self.known.get(&client),
        }
    }
}

impl Engine {
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
        (bytes, len): (&[u8], usize),
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

    /// Has the command prepared whose turn that is, now that its buffer is in the inbox.
    pub(crate) fn prepare_elsewhere<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some((_, dialect)) = self.long.next.take_if(|(client, _)| *client == key) else {
            return;
        };
        self.working_on(Owner::Client(key), |engine| {
            engine.give_to_prepare(turn, key, dialect);
        });
    }

    /// Takes the command out of the inbox, which a panic must not leave without it.
    fn give_to_prepare<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        dialect: Option<Dialect>,
    ) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let buffer = std::mem::take(&mut client.inbox);
        let Ok(len) = whole_len(&buffer) else {
            debug_assert!(false, "a command is to be prepared that is not complete");
            return;
        };
        let command = LongCommand {
            asker: (self.worker, key),
            buffer,
            len,
            dialect,
            has_attributes: client.has_attributes(),
        };
        self.counters.long_commands += 1;
        self.long.away.insert(key);
        let refused = self
            .shared
            .preparer()
            .and_then(|preparer| preparer.prepare(command).err());
        // Then this takes the worker's time.
        if let Some(command) = refused
            && let (_, Mail::CommandPrepared(prepared)) = command.prepare()
        {
            self.command_prepared(turn, *prepared);
        }
    }

    /// A command is back, and goes on.
    pub(crate) fn command_prepared<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        prepared: PreparedCommand,
    ) {
        let PreparedCommand {
            client: key,
            mut buffer,
            known,
        } = prepared;
        self.long.away.remove(&key);
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        // What came meanwhile is behind it.
        buffer.append(&mut client.inbox);
        client.inbox = buffer;
        self.long.known.insert(key, known);
        self.asked(turn, key);
    }
}

#[cfg(test)]
mod tests {
    use session::statement::Flavor;

    use super::*;

    #[test]
    fn a_classification_is_kept_for_as_long_as_its_command_waits() {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        let [read, other] =
            ["SELECT 1", "BEGIN"].map(|text| (dialect, classify(text.as_bytes(), &dialect)));
        let [a, b] = [1, 2].map(Key::from_bits);
        let mut commands = LongCommands::default();
        commands.waits(a, read);
        commands.waits(b, other);
        assert_eq!(
            [a, b].map(|key| commands.waited(key)),
            [Some(read), Some(other)]
        );
        assert_eq!(commands.waited(a), None);
        commands.waits(a, read);
        commands.forget(a);
        assert_eq!(commands.waited(a), None);
    }
}

//! The command phase of clients: packets are cut out of what arrives, and each command is
//! answered here, sent to a backend, or kept until it can be.

pub(crate) mod answers;
mod attach;
pub(crate) mod buffering;
mod detach;
pub(crate) mod dispatch;
mod expired;
mod inbox;
pub(crate) mod local_infile;
pub(crate) mod long;
mod own_status;
pub(crate) mod pieces;
pub(crate) mod reservations;
pub(crate) mod rewrite;
mod sending;
mod set_option;
pub(crate) mod settle;
mod statements;
mod unasked;

use events::{Io, Timestamp};
use membership::Key;
use session::statement::Flavor;
use wire::{Capabilities, Command, ErrPacket, OkPacket};

use crate::backend::facts::Anew;
use crate::client::State;
use crate::conditions::binary_rows::Form;
use crate::errors::ClientError;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// A command as it came.
#[derive(Clone, Copy)]
pub(crate) struct Packet<'a> {
    /// Its packets, headers included: what is sent on.
    pub raw: &'a [u8],
    /// Its payload.
    pub payload: &'a [u8],
    /// How many bytes of query attributes are between command byte and text.
    pub attributes: usize,
}

impl<'a> Packet<'a> {
    /// The text of a COM_QUERY or COM_STMT_PREPARE; empty for other commands.
    pub(crate) fn text(&self) -> &'a [u8] {
        let with_text = [Command::Query as u8, Command::StmtPrepare as u8];
        match self.payload.split_first() {
            Some((command, behind)) if with_text.contains(command) => {
                behind.get(self.attributes..).unwrap_or_default()
            }
            _ => b"",
        }
    }

    /// The query attributes in front of the text.
    pub(crate) fn attributes(&self) -> &'a [u8] {
        let attributes = self.payload.get(1..1 + self.attributes);
        attributes.unwrap_or_default()
    }

    /// True if it runs a statement.
    pub(crate) fn is_statement(&self) -> bool {
        runs_statement(self.payload)
    }
}

/// True of the payload of a command that runs a statement.
pub(crate) fn runs_statement(payload: &[u8]) -> bool {
    let runs = [
        Command::Query,
        Command::StmtExecute,
        Command::StmtBulkExecute,
    ];
    let command = payload.first().copied().and_then(Command::from_byte);
    command.is_some_and(|command| runs.contains(&command))
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It was answered or sent; its bytes are no longer needed.
    Now,
    /// It must wait; its bytes stay at the front of the inbox.
    Later,
}

impl Engine {
    /// Takes as many commands off `bytes` as can be dealt with. Returns how many bytes that were.
    pub(crate) fn consume<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        bytes: &[u8],
    ) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let used = match self.clients.state(key) {
                // Closed meanwhile: what it sent ahead is of no use any more.
                None => return bytes.len(),
                Some(State::Login | State::Challenged | State::Judged) => {
                    self.login_bytes(turn, key, &bytes[at..])
                }
                Some(State::Idle | State::Held) => self
                    .packet(turn, key, &bytes[at..])
                    .unwrap_or(bytes.len() - at),
                Some(State::Greeting) => {
                    if let Some(used) = self.proxied(turn, key, &bytes[at..]) {
                        if used == 0 {
                            break;
                        }
                        at += used;
                        continue;
                    }
                    self.close_client(turn, key, DisconnectReason::Malformed);
                    return bytes.len();
                }
                Some(State::Active) if self.uploads(key) => {
                    self.upload_bytes(turn, key, &bytes[at..])
                }
                Some(
                    State::ForLock
                    | State::Queued
                    | State::Waiting(_)
                    | State::ForLane(_)
                    | State::InLane
                    | State::Active
                    | State::Asking,
                ) => 0,
            };
            if used == 0 {
                break;
            }
            at += used;
        }
        at
    }

    /// The command at the front of `bytes`, if all of it is here. Returns how many bytes were
    /// used; `None` if the client was closed.
    pub(crate) fn packet<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        bytes: &[u8],
    ) -> Option<usize> {
        let longest = self.settings.longest_command();
        // Of a client that compresses the servers check the ids of compressed packets only, and so does that layer.
        let counts = !self.clients.get(key)?.compresses();
        if counts && bytes.get(3).is_some_and(|&sequence_id| sequence_id != 0) {
            self.out_of_order(turn, key);
            return None;
        }
        let consumed = match self.front_len(key, bytes) {
            Ok(len) if len <= longest => len,
            Err(needed) if needed <= longest => return Some(0),
            Ok(_) | Err(_) => {
                let error = ClientError::packet_too_large();
                self.fail(turn, key, &error, DisconnectReason::PacketTooLarge);
                return None;
            }
        };
        if self.prepares_first(turn, key, (bytes, consumed)) {
            return Some(0);
        }
        let packet = self.front(key, bytes).ok()?;
        let client = self.clients.get_mut(key)?;
        let next = turn.io.sequence_id(client.handle);
        client.answer_begins = next.unwrap_or(packet.sequence_id.wrapping_add(1));
        let Ok(attributes) = client.attributes(packet.payload.bytes()) else {
            self.answer_err(
                turn,
                key,
                &ClientError::malformed_packet(self.known.flavor()),
            );
            self.touch(key, turn.now);
            return Some(consumed);
        };
        let packet = Packet {
            raw: &bytes[..consumed],
            payload: packet.payload.bytes(),
            attributes,
        };
        match self.command(turn, key, packet) {
            Taken::Now => {
                self.long.forget(key);
                Some(consumed)
            }
            Taken::Later => Some(0),
        }
    }

    fn command<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
    ) -> Taken {
        self.counters.commands += 1;
        let Some(command) = packet.payload.first().copied().and_then(Command::from_byte) else {
            self.refuse_command(turn, key, &ClientError::unknown_command());
            self.touch(key, turn.now);
            return Taken::Now;
        };
        if self.refuses_expired(turn, key, (command, packet)) {
            return Taken::Now;
        }
        if matches!(command, Command::ResetConnection | Command::ChangeUser) {
            if self.asks_for_prepared(turn, key) {
                return Taken::Later;
            }
            self.part_with_prepared(turn, key);
        }
        match command {
            Command::Quit => self.close_client(turn, key, DisconnectReason::Quit),
            Command::Ping => self.answer_without_rows(turn, key),
            Command::Query if may_be_kill(packet.text()) => {
                return self.kill_command(turn, key, packet);
            }
            Command::Query
                if self.answered_from_capture(turn, key, (packet.text(), Form::Text)) => {}
            Command::ProcessKill => return self.kill_command(turn, key, packet),
            Command::StmtBulkExecute if self.refuses_bulk(turn, key, packet) => {}
            Command::StmtExecute
            | Command::StmtBulkExecute
            | Command::StmtFetch
            | Command::StmtReset
            | Command::StmtClose
            | Command::StmtSendLongData => {
                return self.prepared_command(turn, key, (command, packet));
            }
            Command::StmtPrepare if self.refuses_statement(turn, key) => {}
            Command::SetOption if self.set_option(turn, key, packet.payload) => {}
            Command::Query
            | Command::InitDb
            | Command::StmtPrepare
            | Command::SetOption
            | Command::FieldList
            | Command::Statistics
            | Command::ProcessInfo
            | Command::Refresh
            | Command::Debug => return self.attach_and_send(turn, key, packet),
            Command::ResetConnection | Command::ChangeUser if self.holds(key) => {
                self.reset_attached(turn, key);
                return Taken::Later;
            }
            Command::ResetConnection => {
                let collation = self.collation_after_reset(key);
                self.reset_session(key, collation, Anew::Reset);
                self.answer_ok(turn, key);
            }
            Command::ChangeUser => self.change_user(turn, key, &packet.payload[1..]),
            _ => self.refuse_command(turn, key, &ClientError::refused(command)),
        }
        self.touch(key, turn.now);
        Taken::Now
    }

    fn collation_after_reset(&self, key: Key) -> u8 {
        let collation = self
            .clients
            .get(key)
            .map_or(0, |c| c.origin.asked_collation);
        let facts = self.known.facts.as_ref();
        facts.map_or(collation, |facts| facts.collation_after_reset(collation))
    }

    fn uploads(&self, key: Key) -> bool {
        self.clients.get(key).is_some_and(|client| client.uploading)
    }

    fn holds(&self, key: Key) -> bool {
        self.clients
            .get(key)
            .is_some_and(|client| client.backend.is_some())
    }

    /// So many rows the session's last command has changed, as `ROW_COUNT()` tells it.
    pub(crate) fn counts_rows(&mut self, key: Key, rows: i64) {
        if let Some(client) = self.clients.get_mut(key) {
            client.capture.row_count = rows;
        }
    }

    /// Answers a command that is no statement with OK: it has changed no rows.
    pub(crate) fn answer_without_rows<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        self.counts_rows(key, 0);
        self.answer_ok(turn, key);
    }

    /// Answers a command with OK, as the server would that has nothing to say. MySQL tells with what is no statement how
    /// many warnings the statement before had; nobody asks for that.
    pub(crate) fn answer_ok<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let mut block = Vec::new();
        let flavor = self.known.flavor();
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        client.put_untold_alone(flavor, &mut block);
        let ok = OkPacket {
            status: client.status,
            state_changes: &block,
            ..OkPacket::default()
        };
        ok.encode(turn.io.outbox(client.handle), client.answer_begins, 0x00);
        self.counters.local_answers += 1;
        self.touch(key, turn.now);
    }

    /// Answers a statement with ERR.
    pub(crate) fn answer_err<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &ClientError,
    ) {
        self.put_err(turn, key, error);
        self.keep_refusal(key, error, true);
    }

    /// Answers a command with ERR that is no statement, or does not get as far as that.
    pub(crate) fn refuse_command<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &ClientError,
    ) {
        self.put_err(turn, key, error);
        self.keep_refusal(key, error, false);
    }

    fn put_err<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, error: &ClientError) {
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let login = client.login.as_ref();
        let sequence_id = login.map_or(client.answer_begins, |login| login.sequence_id);
        let outbox = turn.io.outbox(client.handle);
        error
            .packet()
            .encode(outbox, sequence_id, wire::Capabilities::PROTOCOL_41);
        self.counters.local_answers += 1;
    }

    /// The session can ask about an ERR of the front door's own as about any. MySQL adds that of a command which is
    /// no statement to what there is.
    pub(crate) fn keep_refusal(&mut self, key: Key, error: &ClientError, is_statement: bool) {
        let adds = !is_statement && self.known.flavor() == Flavor::MySql;
        let client = self.clients.get_mut(key);
        if let Some(client) = client.filter(|client| client.login.is_none()) {
            client.capture.row_count = -1;
            client.capture.conditions.refused(error.clone(), adds);
        }
    }

    /// Answers with ERR and closes.
    pub(crate) fn fail<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &ClientError,
        reason: DisconnectReason,
    ) {
        self.answer_err(turn, key, error);
        self.close_client(turn, key, reason);
    }

    /// The client's packets do not follow each other: it is told so, and closed.
    pub(crate) fn out_of_order<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        if let Some(client) = self.clients.get_mut(key) {
            client.answer_begins = turn.io.sequence_id(client.handle).unwrap_or(1);
        }
        let error = ClientError::packets_out_of_order();
        self.fail(turn, key, &error, DisconnectReason::Malformed);
    }

    /// Tells a client an error that answers nothing: the servers do so before they close.
    pub(crate) fn tell_unasked<I: Io<Mail>>(
        &self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &ErrPacket<'_>,
    ) {
        if let Some(client) = self.clients.get(key) {
            let outbox = turn.io.outbox(client.handle);
            error.encode(outbox, 0, Capabilities::PROTOCOL_41);
        }
    }

    /// The client was heard of: its silence begins anew.
    pub(crate) fn touch(&mut self, key: Key, now: Timestamp) {
        if let Some(state @ (State::Idle | State::Held)) = self.clients.state(key) {
            self.clients.renew(key, state, now);
        }
    }
}

/// True if a text has `name` in it, in any case, alone or as a part of a word.
pub(crate) fn mentions(text: &[u8], name: &[u8]) -> bool {
    let mut parts = text.windows(name.len());
    parts.any(|part| part.eq_ignore_ascii_case(name))
}

/// True for texts that begin as a KILL may, so that the others are not looked at twice.
fn may_be_kill(text: &[u8]) -> bool {
    matches!(
        text.trim_ascii_start().first(),
        Some(b'k' | b'K' | b'/' | b'#' | b'-')
    )
}

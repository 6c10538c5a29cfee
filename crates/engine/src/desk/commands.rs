//! What clients send: packets become commands, within the memory that there is for them.

use carry::conditions::binary_rows::Form;
use carry::errors::ClientError;
use carry::packet::{Packet, Taken};
use events::{Io, Timestamp};
use membership::Key;
use session::statement::Dialect;
use wire::{Command, whole_len};

use crate::desk::Engine;
use crate::follow::inbox::{forget_front, make_room};
use crate::record::buffering::Wants;
use crate::record::client::{Pauses, State};
use crate::record::counters::DisconnectReason;
use crate::record::facts::Anew;
use crate::record::long::{LongCommand, PreparedCommand};
use crate::record::owner::Owner;
use crate::record::reservations::Need;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// What a driver may have received already of a client that is not read from any more.
const ON_ITS_WAY: usize = 16 << 10;

impl Engine {
    /// Takes as many commands off `bytes` as can be dealt with. Returns how many bytes that were.
    fn consume<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let used = match self.records.clients.state(key) {
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
                Some(State::Active) if self.records.uploads(key) => {
                    self.records.upload_bytes(turn, key, &bytes[at..])
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
        let longest = self.records.settings.longest_command();
        // Of a client that compresses the servers check the ids of compressed packets only, and so does that layer.
        let counts = !self.records.clients.get(key)?.compresses();
        if counts && bytes.get(3).is_some_and(|&sequence_id| sequence_id != 0) {
            self.out_of_order(turn, key);
            return None;
        }
        let consumed = match self.records.front_len(key, bytes) {
            Ok(len) if len <= longest => len,
            Err(needed) if needed <= longest => return Some(0),
            Ok(_) | Err(_) => {
                let error = ClientError::packet_too_large();
                self.fail(turn, key, &error, DisconnectReason::PacketTooLarge);
                return None;
            }
        };
        if self.records.prepares_first(turn, key, bytes, consumed) {
            return Some(0);
        }
        let packet = self.records.front(key, bytes).ok()?;
        let client = self.records.clients.get_mut(key)?;
        let next = turn.io.sequence_id(client.handle);
        client.answer_begins = next.unwrap_or(packet.sequence_id.wrapping_add(1));
        let Ok(attributes) = client.attributes(packet.payload.bytes()) else {
            self.records.answer_err(
                turn,
                key,
                &ClientError::malformed_packet(self.records.known.flavor()),
            );
            self.records.touch(key, turn.now);
            return Some(consumed);
        };
        let packet = Packet {
            raw: &bytes[..consumed],
            payload: packet.payload.bytes(),
            attributes,
        };
        match self.command(turn, key, packet) {
            Taken::Now => {
                self.records.long.forget(key);
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
        self.records.counters.commands += 1;
        let Some(command) = packet.payload.first().copied().and_then(Command::from_byte) else {
            self.records
                .refuse_command(turn, key, &ClientError::unknown_command());
            self.records.touch(key, turn.now);
            return Taken::Now;
        };
        if self.records.refuses_expired(turn, key, command, packet) {
            return Taken::Now;
        }
        if matches!(command, Command::ResetConnection | Command::ChangeUser) {
            if self.records.asks_for_prepared(turn, key) {
                return Taken::Later;
            }
            self.part_with_prepared(turn, key);
        }
        match command {
            Command::Quit => self.close_client(turn, key, DisconnectReason::Quit),
            Command::Ping => self.records.answer_without_rows(turn, key),
            Command::Query if may_be_kill(packet.text()) => {
                return self.kill_command(turn, key, packet);
            }
            Command::Query
                if self
                    .records
                    .answered_from_capture(turn, key, packet.text(), Form::Text) => {}
            Command::ProcessKill => return self.kill_command(turn, key, packet),
            Command::StmtBulkExecute if self.records.refuses_bulk(turn, key, packet) => {}
            Command::StmtExecute
            | Command::StmtBulkExecute
            | Command::StmtFetch
            | Command::StmtReset
            | Command::StmtClose
            | Command::StmtSendLongData => {
                return self.prepared_command(turn, key, command, packet);
            }
            Command::StmtPrepare if self.records.refuses_statement(turn, key) => {}
            Command::SetOption if self.records.set_option(turn, key, packet.payload) => {}
            Command::Query
            | Command::InitDb
            | Command::StmtPrepare
            | Command::SetOption
            | Command::FieldList
            | Command::Statistics
            | Command::ProcessInfo
            | Command::Refresh
            | Command::Debug => return self.attach_and_send(turn, key, packet),
            Command::ResetConnection | Command::ChangeUser if self.records.holds(key) => {
                self.records.reset_attached(turn, key);
                return Taken::Later;
            }
            Command::ResetConnection => {
                let collation = self.records.collation_after_reset(key);
                self.records.reset_session(key, collation, Anew::Reset);
                self.records.answer_ok(turn, key);
            }
            Command::ChangeUser => self.change_user(turn, key, &packet.payload[1..]),
            _ => self
                .records
                .refuse_command(turn, key, &ClientError::refused(command)),
        }
        self.records.touch(key, turn.now);
        Taken::Now
    }

    /// Answers with ERR and closes.
    pub(crate) fn fail<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &ClientError,
        reason: DisconnectReason,
    ) {
        self.records.answer_err(turn, key, error);
        self.close_client(turn, key, reason);
    }

    /// The client's packets do not follow each other: it is told so, and closed.
    pub(crate) fn out_of_order<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        if let Some(client) = self.records.clients.get_mut(key) {
            client.answer_begins = turn.io.sequence_id(client.handle).unwrap_or(1);
        }
        let error = ClientError::packets_out_of_order();
        self.fail(turn, key, &error, DisconnectReason::Malformed);
    }

    /// A client has more or fewer bytes here than before: it gets memory, waits for some, or gives it back.
    pub(crate) fn balance_memory<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        match self.records.wants(key) {
            Wants::AsBefore => return,
            Wants::Little => self.records.give_memory_back(turn, key),
            Wants::AsMuch(bytes) => self.count_memory(turn, key, bytes),
            Wants::AllOf { bytes, here } => self.reserve_memory(turn, key, bytes, here),
        }
        self.records.watch_progress(turn, key);
    }

    /// The layer below holds back so many bytes of a client; 0: no longer more than a little.
    pub(crate) fn client_withheld<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        bytes: usize,
    ) {
        if bytes > 0 {
            self.records.buffering.held.entry(key).or_default().withheld = bytes;
        } else if let Some(held) = self.records.buffering.held.get_mut(&key) {
            held.withheld = 0;
        }
        self.balance_memory(turn, key);
    }

    /// Counts `bytes` of a client as its account's. If the account has too much, the command ends.
    fn count_memory<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, bytes: usize) {
        self.records.waits_no_more(turn, key);
        if !self.records.counts(key, bytes) {
            self.refuse_for_memory(turn, key);
        }
    }

    /// Memory for all `bytes` of a command, of which `here` have come: the client has it, gets it, or waits for it.
    fn reserve_memory<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        bytes: usize,
        here: usize,
    ) {
        let Some(client) = self.records.clients.get(key) else {
            return;
        };
        let limits = self.records.settings.command_limits();
        let need = Need {
            account: client.buffers_for(),
            bytes: bytes.min(limits.largest),
            urgent: client.backend.is_some(),
        };
        let held = self.records.buffering.held.entry(key).or_default();
        if let Some(own) = held.reservation.as_ref().filter(|own| own.is_granted())
            && own.bytes() >= need.bytes
        {
            return;
        }
        if held.waits.is_none() {
            // What it has is part of what it needs.
            held.reservation = None;
            held.reservation = self.records.shared.commands.reserve(&need, &limits);
            if held.reservation.is_some() {
                return self.records.allot_inbox(key);
            }
        }
        if !self.records.counts(key, here + ON_ITS_WAY) {
            return self.refuse_for_memory(turn, key);
        }
        self.records.wait_for_memory(turn, key, need);
    }

    /// Gives memory that was given back to those who wait for some, wherever they are.
    pub(crate) fn hand_memory_out<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if !self.records.shared.commands.has_news() {
            return;
        }
        let limits = self.records.settings.command_limits();
        while let Some((waiter, reservation)) = self.records.shared.commands.next(&limits) {
            let client = waiter.client;
            if waiter.worker == self.records.worker {
                self.working_on(Owner::Client(client), |engine| {
                    engine.records.memory_came(turn, client, reservation);
                });
            } else {
                // A worker that has ended gives it back with its mail.
                let _ended = turn
                    .io
                    .post(waiter.worker, Mail::Memory(client, reservation));
            }
        }
    }

    /// A command does not fit into the memory that its account may use: it is refused, and its client closed unless the
    /// command has come completely. A client whose statement runs is only not read from: what it has sent ahead is bounded by
    /// one read, and its statement may be a write, of which it has to learn what became.
    fn refuse_for_memory<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let state = self.records.clients.state(key);
        let waits = state.is_some_and(State::waits);
        if !waits && state.is_some_and(State::is_busy) {
            return self.records.pause_client(turn, key, Pauses::AHEAD);
        }
        self.records.counters.commands_refused_for_memory += 1;
        let error = ClientError::out_of_command_memory(self.records.settings.command_buffer_total);
        if waits {
            self.records.answer_err(turn, key, &error);
            return self.drop_waiting_command(turn, key);
        }
        self.fail(turn, key, &error, DisconnectReason::CommandMemory);
    }

    /// Ends those that have not gone on with their commands, or have waited too long for memory.
    pub(crate) fn end_unfinished<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while self
            .records
            .unfinished_due()
            .is_some_and(|due| turn.now >= due)
            && let Some((_, key)) = self.records.buffering.due.pop_first()
        {
            self.records.buffering.looked_at.remove(&key);
            if let Some(since) = self.records.buffering.waits_since(key) {
                self.end_waiting(turn, key, since);
            } else if self.records.buffering.unfinished.contains(&key) {
                self.end_silent_command(turn, key);
            }
        }
    }

    fn end_waiting<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, since: Timestamp) {
        let due = since + self.records.settings.queue_timeout;
        if turn.now < due {
            return self.records.buffering.look_at(key, due);
        }
        self.refuse_for_memory(turn, key);
    }

    fn end_silent_command<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(client) = self.records.clients.get(key) else {
            return;
        };
        let due = client.since + self.records.settings.client_read_timeout;
        if !self.records.is_unfinished(key) {
            self.records.buffering.unfinished.remove(&key);
        } else if turn.now < due {
            self.records.buffering.look_at(key, due);
        } else {
            let error = ClientError::read_timeout();
            self.fail(turn, key, &error, DisconnectReason::ReadTimeout);
        }
    }

    pub(crate) fn client_received<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        bytes: &[u8],
    ) {
        let Some(client) = self.records.clients.get_mut(key) else {
            return;
        };
        if client.inbox.is_empty() && !client.may_initiate {
            let used = self.consume(turn, key, bytes);
            if self.records.awaits_buffer(key) {
                let rest = self.records.hand_over(turn, key, bytes.to_vec(), used);
                return self.keep(turn, key, &rest);
            }
            self.keep(turn, key, &bytes[used..]);
        } else {
            if client.login.is_some() {
                make_room(&mut client.inbox, bytes.len());
            }
            client.inbox.extend_from_slice(bytes);
            self.consume_inbox(turn, key);
        }
    }

    /// Goes on with what the client sent ahead.
    pub(crate) fn consume_inbox<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        self.records.initiate(key);
        self.working_on(Owner::Client(key), |engine| {
            engine.consume_from_inbox(turn, key);
        });
        self.records.balance_receiving(turn, key);
        self.balance_memory(turn, key);
        self.prepare_elsewhere(turn, key);
    }

    fn consume_from_inbox<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(client) = self.records.clients.get_mut(key) else {
            return;
        };
        let mut inbox = std::mem::take(&mut client.inbox);
        let is_secret = client.login.is_some();
        let used = self.consume(turn, key, &inbox);
        match is_secret {
            true => forget_front(&mut inbox, used),
            false => inbox = self.records.hand_over(turn, key, inbox, used),
        }
        match inbox.is_empty() {
            true => self.records.recycle(inbox),
            false => self.records.put_in_inbox(key, inbox),
        }
    }

    /// Keeps bytes that cannot be dealt with yet.
    fn keep<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let mut inbox = self.records.spares.pop().unwrap_or_default();
        inbox.extend_from_slice(bytes);
        self.records.put_in_inbox(key, inbox);
        self.records.balance_receiving(turn, key);
        self.balance_memory(turn, key);
        self.prepare_elsewhere(turn, key);
    }

    /// Has the command prepared whose turn that is, now that its buffer is in the inbox.
    fn prepare_elsewhere<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some((_, dialect)) = self.records.long.next.take_if(|(client, _)| *client == key)
        else {
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
        let Some(client) = self.records.clients.get_mut(key) else {
            return;
        };
        let buffer = std::mem::take(&mut client.inbox);
        let Ok(len) = whole_len(&buffer) else {
            debug_assert!(false, "a command is to be prepared that is not complete");
            return;
        };
        let command = LongCommand {
            asker: (self.records.worker, key),
            buffer,
            len,
            dialect,
            has_attributes: client.has_attributes(),
        };
        self.records.counters.long_commands += 1;
        self.records.long.away.insert(key);
        let refused = self
            .records
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
        self.records.long.away.remove(&key);
        let Some(client) = self.records.clients.get_mut(key) else {
            return;
        };
        // What came meanwhile is behind it.
        buffer.append(&mut client.inbox);
        client.inbox = buffer;
        self.records.long.known.insert(key, known);
        self.asked(turn, key);
    }
}

/// True for texts that begin as a KILL may, so that the others are not looked at twice.
fn may_be_kill(text: &[u8]) -> bool {
    matches!(
        text.trim_ascii_start().first(),
        Some(b'k' | b'K' | b'/' | b'#' | b'-')
    )
}

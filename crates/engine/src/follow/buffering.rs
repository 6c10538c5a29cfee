//! How much memory each client's command may have, and which clients wait for more.

use events::{Io, Timestamp};
use membership::Key;
use wire::{HEADER_LEN, Header, MAX_PAYLOAD, whole_len};

use crate::record::buffering::{FLOOR, OF_COMPRESSION, Wants};
use crate::record::client::{Client, Pauses, State};
use crate::record::records::Records;
use crate::record::reservations::{NOBODY, Need, Reservation, Waiter};
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// Bytes that the TLS layer of a client holds while a command is received.
const OF_TLS: usize = 32 << 10;

/// The longest compressed packet: zstd keeps as much while it unpacks one.
const WINDOW_MAX: usize = 16 << 20;

impl Client {
    /// Whose share its commands are part of.
    pub(crate) fn buffers_for(&self) -> u32 {
        match self.login {
            Some(_) => NOBODY,
            None => self.account,
        }
    }

    /// What layers hold besides while a command of so many bytes is received.
    fn of_layers(&self, command: usize) -> usize {
        let tls = if self.origin.tls.is_some() { OF_TLS } else { 0 };
        let compression = match (self.compresses(), self.compresses_with_zstd()) {
            (false, _) => 0,
            (true, false) => OF_COMPRESSION,
            (true, true) => OF_COMPRESSION + command.min(WINDOW_MAX),
        };
        tls + compression
    }
}

impl Records {
    /// How much memory a client needs now.
    pub(crate) fn wants(&self, key: Key) -> Wants {
        let (Some(client), Some(state)) = (self.clients.get(key), self.clients.state(key)) else {
            return Wants::Little;
        };
        let withheld = self.buffering.withheld(key);
        let here = client.inbox.len() + withheld.min(OF_COMPRESSION);
        if client.uploading {
            // A file passes through as its backend takes it.
            return Wants::Little;
        }
        if self.long.is_away(key) {
            return Wants::AsBefore;
        }
        let command = match whole_len(&client.inbox) {
            _ if state.is_busy() => return Wants::of(here),
            Ok(_) => return Wants::of(here),
            Err(_) if client.inbox.is_empty() => withheld,
            // How many packets follow is not known.
            Err(_) if is_continued(&client.inbox) => self.settings.longest_command(),
            Err(whole) => whole,
        };
        let bytes = command.max(client.inbox.len());
        match bytes > FLOOR {
            true => Wants::AllOf {
                bytes: bytes + client.of_layers(bytes),
                here,
            },
            false => Wants::of(here),
        }
    }

    /// Gives back what a client has reserved.
    pub(crate) fn give_memory_back<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        if self.buffering.held.is_empty() {
            return;
        }
        let Some(held) = self.buffering.held.get_mut(&key) else {
            return;
        };
        held.reservation = None;
        self.waits_no_more(turn, key);
        if self.buffering.withheld(key) == 0 {
            self.buffering.held.remove(&key);
        }
    }

    /// Counts `bytes` as a client's. False if its account has too much.
    pub(crate) fn counts(&mut self, key: Key, bytes: usize) -> bool {
        let Some(client) = self.clients.get(key) else {
            return true;
        };
        let limits = self.settings.command_limits();
        let held = self.buffering.held.entry(key).or_default();
        match &mut held.reservation {
            // One is as large as its command, and what is sent ahead comes to that.
            Some(own) if own.bytes() >= bytes && own.bytes() / 2 <= bytes => true,
            Some(own) => own.resize(bytes, &limits),
            None => {
                let own = (client.buffers_for(), bytes);
                held.reservation = self.shared.commands.count(own, &limits);
                held.reservation.is_some()
            }
        }
    }

    /// Allots all memory of a command that may come completely. An inbox that grows step by step copies megabytes within
    /// one turn, and holds the command twice meanwhile, although the reservation counts it once.
    pub(crate) fn allot_inbox(&mut self, key: Key) {
        let longest = self.settings.longest_command();
        let client = self.clients.get_mut(key);
        // Growing would leave a copy of the password behind (`inbox::make_room`).
        let Some(client) = client.filter(|client| client.login.is_none()) else {
            return;
        };
        let inbox = &mut client.inbox;
        let whole = match whole_len(inbox) {
            Err(_) if is_continued(inbox) => longest,
            Err(whole) => whole.min(longest),
            Ok(_) => return,
        };
        let more = whole.saturating_sub(inbox.len());
        if inbox.try_reserve_exact(more).is_err() {
            tracing::debug!(
                bytes = whole,
                "no memory to allot a command at once, it grows as it comes"
            );
        }
    }

    /// Has a client wait for memory; it is not read from meanwhile.
    pub(crate) fn wait_for_memory<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        need: Need,
    ) {
        let held = self.buffering.held.entry(key).or_default();
        if held.waits.is_some() {
            return;
        }
        held.waits = Some((turn.now, need.account));
        self.counters.commands_deferred += 1;
        self.shared.commands.wait(Waiter {
            worker: self.worker,
            client: key,
            need,
        });
        self.pause_client(turn, key, Pauses::MEMORY);
        let due = turn.now + self.settings.queue_timeout;
        self.buffering.look_at(key, due);
    }

    /// A client does not wait for memory any more.
    pub(crate) fn waits_no_more<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let held = self.buffering.held.get_mut(&key);
        if let Some((_, account)) = held.and_then(|held| held.waits.take()) {
            self.shared.commands.leave(account, (self.worker, key));
            self.resume_client(turn, key, Pauses::MEMORY);
        }
    }

    /// A client has what it waited for, and is read from again.
    pub(crate) fn memory_came<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        reservation: Reservation,
    ) {
        let held = self.buffering.held.get_mut(&key);
        let Some(held) = held.filter(|held| held.waits.is_some()) else {
            return;
        };
        held.waits = None;
        held.reservation = Some(reservation);
        self.allot_inbox(key);
        self.touch(key, turn.now);
        self.resume_client(turn, key, Pauses::MEMORY);
        self.watch_progress(turn, key);
    }

    /// A client is gone: gives back its memory.
    pub(crate) fn forget_memory(&mut self, key: Key) {
        if let Some(held) = self.buffering.held.remove(&key)
            && let Some((_, account)) = held.waits
        {
            self.shared.commands.leave(account, (self.worker, key));
        }
        self.buffering.unfinished.remove(&key);
        self.buffering.look_no_more(key);
    }

    /// A client in the middle of a command must send more of it within `client_read_timeout`.
    pub(crate) fn watch_progress<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        if !self.is_unfinished(key) {
            if !self.buffering.unfinished.is_empty() {
                self.buffering.unfinished.remove(&key);
            }
            return;
        }
        self.touch(key, turn.now);
        if self.buffering.unfinished.insert(key) {
            let due = turn.now + self.settings.client_read_timeout;
            self.buffering.look_at(key, due);
        }
    }

    /// A client is not read from for lack of memory exactly while it waits for some.
    pub(crate) fn check_memory(&self, key: Key, client: &Client) -> Result<(), String> {
        match client.paused.contains(Pauses::MEMORY) == self.buffering.waits(key) {
            true => Ok(()),
            false => Err("it is paused for memory and does not wait for any".to_owned()),
        }
    }

    /// True of a client that is in the middle of a command, and is read from. Logins have a time of their own.
    pub(crate) fn is_unfinished(&self, key: Key) -> bool {
        let Some(client) = self.clients.get(key) else {
            return false;
        };
        if !matches!(self.clients.state(key), Some(State::Idle | State::Held)) {
            return false;
        }
        let begun = !client.inbox.is_empty() || self.buffering.withheld(key) > 0;
        begun && !self.buffering.waits(key)
    }

    /// When a client in the middle of a command is to be looked at.
    pub(crate) fn unfinished_due(&self) -> Option<Timestamp> {
        let (due, _) = self.buffering.due.first()?;
        Some(*due)
    }
}

/// True of a command whose first packet says that others follow.
fn is_continued(command: &[u8]) -> bool {
    debug_assert!(command.len() < HEADER_LEN || Header::parse(command).is_some());
    Header::parse(command).is_some_and(|header| header.len == MAX_PAYLOAD)
}

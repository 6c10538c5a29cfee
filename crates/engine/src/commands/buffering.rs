//! Memory for what clients send and what is not sent on yet: who may go on sending, who waits for that, and who takes too
//! long.
//!
//! A client may always have a few KiB here. For more it needs a reservation (`reservations`); until it has one it is not
//! read from. Whoever waits is served where memory is given back, on any worker.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

use events::{Io, Timestamp};
use membership::Key;
use wire::{HEADER_LEN, Header, MAX_PAYLOAD, whole_len};

use crate::client::{Client, Pauses, State};
use crate::commands::reservations::{Limits, NOBODY, Need, Reservation, Waiter};
use crate::errors::ClientError;
use crate::owner::Owner;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Settings, Turn};

/// A client may have so much here without a reservation.
pub(crate) const FLOOR: usize = 4 << 10;

/// Layers hold so much more while a command is received: what came and is not unpacked, and what they unpack with.
const OF_COMPRESSION: usize = 256 << 10;
const OF_TLS: usize = 32 << 10;

/// What a driver may have received already of a client that is not read from any more.
const ON_ITS_WAY: usize = 16 << 10;

/// The longest compressed packet: zstd keeps as much while it unpacks one.
const WINDOW_MAX: usize = 16 << 20;

/// What the clients of a worker have reserved, and which of them are in the middle of a command.
#[derive(Default)]
pub(crate) struct Buffering {
    /// Those who have, or want, more than [`FLOOR`].
    held: HashMap<Key, Held>,
    /// Those of whose commands a part has come.
    unfinished: HashSet<Key>,
    /// When one of them, or one who waits, is to be looked at: once for each. A client that is done stays until its time
    /// comes, so that a command that arrives in two parts costs nothing here if the one before did, too.
    due: BTreeSet<(Timestamp, Key)>,
    /// The same by client.
    looked_at: HashMap<Key, Timestamp>,
}

/// What a client has reserved.
#[derive(Default)]
struct Held {
    reservation: Option<Reservation>,
    /// What layers hold back, or are about to tell.
    withheld: usize,
    /// Since when it waits for memory, and as which account.
    waits: Option<(Timestamp, u32)>,
}

/// What a client needs memory for.
enum Wants {
    /// What it has: its command is away.
    AsBefore,
    /// No more than everybody may have.
    Little,
    /// What is here already.
    AsMuch(usize),
    /// All of a command that is to come; `here` of it has come.
    AllOf { bytes: usize, here: usize },
}

impl Settings {
    /// How much memory there is for commands.
    pub(crate) fn command_limits(&self) -> Limits {
        Limits {
            total: self.command_buffer_total,
            largest: self.longest_command() + OF_COMPRESSION,
        }
    }

    /// The longest command, with the headers of its packets.
    pub(crate) fn longest_command(&self) -> usize {
        self.max_allowed_packet + (self.max_allowed_packet >> 20) + 16
    }
}

impl Client {
    /// Whose share its commands are part of.
    fn buffers_for(&self) -> u32 {
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

impl Engine {
    /// To be called when a client has more or less here than before: it gets memory, waits for some, or gives it back.
    pub(crate) fn balance_memory<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        match self.wants(key) {
            Wants::AsBefore => return,
            Wants::Little => self.give_memory_back(turn, key),
            Wants::AsMuch(bytes) => self.count_memory(turn, key, bytes),
            Wants::AllOf { bytes, here } => self.reserve_memory(turn, key, (bytes, here)),
        }
        self.watch_progress(turn, key);
    }

    /// A layer holds back so much, or little again if it is 0.
    pub(crate) fn client_withheld<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        bytes: usize,
    ) {
        if bytes > 0 {
            self.buffering.held.entry(key).or_default().withheld = bytes;
        } else if let Some(held) = self.buffering.held.get_mut(&key) {
            held.withheld = 0;
        }
        self.balance_memory(turn, key);
    }

    fn wants(&self, key: Key) -> Wants {
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

    fn give_memory_back<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
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

    /// What is here is counted as the account's. If that has too much, the command ends.
    fn count_memory<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, bytes: usize) {
        self.waits_no_more(turn, key);
        if !self.counts(key, bytes) {
            self.refuse_for_memory(turn, key);
        }
    }

    /// Counts so much of a client's. False if its account has too much.
    fn counts(&mut self, key: Key, bytes: usize) -> bool {
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

    /// Memory for all of a command: the client has it, gets it, or waits for it.
    fn reserve_memory<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (bytes, here): (usize, usize),
    ) {
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let limits = self.settings.command_limits();
        let need = Need {
            account: client.buffers_for(),
            bytes: bytes.min(limits.largest),
            urgent: client.backend.is_some(),
        };
        let held = self.buffering.held.entry(key).or_default();
        if let Some(own) = held.reservation.as_ref().filter(|own| own.is_granted())
            && own.bytes() >= need.bytes
        {
            return;
        }
        if held.waits.is_none() {
            // What it has is part of what it needs.
            held.reservation = None;
            held.reservation = self.shared.commands.reserve(&need, &limits);
            if held.reservation.is_some() {
                return self.allot_inbox(key);
            }
        }
        if !self.counts(key, here + ON_ITS_WAY) {
            return self.refuse_for_memory(turn, key);
        }
        self.wait_for_memory(turn, key, need);
    }

    /// Allots all memory of a command that may come completely. An inbox that grows step by step copies megabytes within
    /// one turn, and holds the command twice meanwhile, although the reservation counts it once.
    fn allot_inbox(&mut self, key: Key) {
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

    fn wait_for_memory<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, need: Need) {
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

    fn waits_no_more<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let held = self.buffering.held.get_mut(&key);
        if let Some((_, account)) = held.and_then(|held| held.waits.take()) {
            self.shared.commands.leave(account, (self.worker, key));
            self.resume_client(turn, key, Pauses::MEMORY);
        }
    }

    /// Gives memory that was given back to those who wait for some, wherever they are.
    pub(crate) fn hand_memory_out<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if !self.shared.commands.has_news() {
            return;
        }
        let limits = self.settings.command_limits();
        while let Some((waiter, reservation)) = self.shared.commands.next(&limits) {
            let client = waiter.client;
            if waiter.worker == self.worker {
                self.working_on(Owner::Client(client), |engine| {
                    engine.memory_came(turn, client, reservation);
                });
            } else {
                // A worker that has ended gives it back with its mail.
                let _ended = turn
                    .io
                    .post(waiter.worker, Mail::Memory(client, reservation));
            }
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

    /// A client is gone.
    pub(crate) fn forget_memory(&mut self, key: Key) {
        if let Some(held) = self.buffering.held.remove(&key)
            && let Some((_, account)) = held.waits
        {
            self.shared.commands.leave(account, (self.worker, key));
        }
        self.buffering.unfinished.remove(&key);
        self.buffering.look_no_more(key);
    }

    /// A command does not fit into the memory that its account may use: it is refused, and its client closed unless the
    /// command has come completely. A client whose statement runs is only not read from: what it has sent ahead is bounded by
    /// one read, and its statement may be a write, of which it has to learn what became.
    fn refuse_for_memory<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let state = self.clients.state(key);
        let waits = state.is_some_and(State::waits);
        if !waits && state.is_some_and(State::is_busy) {
            return self.pause_client(turn, key, Pauses::AHEAD);
        }
        self.counters.commands_refused_for_memory += 1;
        let error = ClientError::out_of_command_memory(self.settings.command_buffer_total);
        if waits {
            self.answer_err(turn, key, &error);
            return self.drop_waiting_command(turn, key);
        }
        self.fail(turn, key, &error, DisconnectReason::CommandMemory);
    }

    /// A client in the middle of a command must send more of it within `client_read_timeout`.
    fn watch_progress<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
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
    fn is_unfinished(&self, key: Key) -> bool {
        let between = matches!(self.clients.state(key), Some(State::Idle | State::Held));
        let Some(client) = self.clients.get(key).filter(|_| between) else {
            return false;
        };
        let begun = !client.inbox.is_empty() || self.buffering.withheld(key) > 0;
        begun && !self.buffering.waits(key)
    }

    /// When somebody who is in the middle of a command is to be looked at.
    pub(crate) fn unfinished_due(&self) -> Option<Timestamp> {
        let (due, _) = self.buffering.due.first()?;
        Some(*due)
    }

    /// Ends those that have not gone on with their commands, or have waited too long for memory.
    pub(crate) fn end_unfinished<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        while self.unfinished_due().is_some_and(|due| turn.now >= due)
            && let Some((_, key)) = self.buffering.due.pop_first()
        {
            self.buffering.looked_at.remove(&key);
            if let Some(since) = self.buffering.waits_since(key) {
                self.end_waiting(turn, key, since);
            } else if self.buffering.unfinished.contains(&key) {
                self.end_silent_command(turn, key);
            }
        }
    }

    fn end_waiting<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, since: Timestamp) {
        let due = since + self.settings.queue_timeout;
        if turn.now < due {
            return self.buffering.look_at(key, due);
        }
        self.refuse_for_memory(turn, key);
    }

    fn end_silent_command<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let due = client.since + self.settings.client_read_timeout;
        if !self.is_unfinished(key) {
            self.buffering.unfinished.remove(&key);
        } else if turn.now < due {
            self.buffering.look_at(key, due);
        } else {
            let error = ClientError::read_timeout();
            self.fail(turn, key, &error, DisconnectReason::ReadTimeout);
        }
    }
}

impl Wants {
    fn of(bytes: usize) -> Self {
        match bytes > FLOOR {
            true => Self::AsMuch(bytes),
            false => Self::Little,
        }
    }
}

impl Buffering {
    /// The reservation of a client goes with its command, which is sent on piece by piece.
    pub(crate) fn take_reservation(&mut self, key: Key) -> Option<Reservation> {
        self.held.get_mut(&key)?.reservation.take()
    }

    fn withheld(&self, key: Key) -> usize {
        match self.held.is_empty() {
            true => 0,
            false => self.held.get(&key).map_or(0, |held| held.withheld),
        }
    }

    /// Clients that are not known any more.
    pub(crate) fn strangers(&self, is_known: impl Fn(&Key) -> bool) -> Vec<Key> {
        let all = self.held.keys().chain(&self.unfinished);
        let all = all.chain(self.looked_at.keys());
        all.filter(|key| !is_known(key)).copied().collect()
    }

    fn waits_since(&self, key: Key) -> Option<Timestamp> {
        let (since, _) = self.held.get(&key)?.waits?;
        Some(since)
    }

    fn waits(&self, key: Key) -> bool {
        !self.held.is_empty() && self.waits_since(key).is_some()
    }

    /// Has a client looked at when this time has come, or before.
    fn look_at(&mut self, key: Key, due: Timestamp) {
        match self.looked_at.entry(key) {
            Entry::Occupied(known) if *known.get() <= due => return,
            Entry::Occupied(mut known) => {
                self.due.remove(&(known.insert(due), key));
            }
            Entry::Vacant(unknown) => {
                unknown.insert(due);
            }
        }
        self.due.insert((due, key));
    }

    fn look_no_more(&mut self, key: Key) {
        if let Some(due) = self.looked_at.remove(&key) {
            self.due.remove(&(due, key));
        }
    }
}

/// True of a command whose first packet says that others follow.
fn is_continued(command: &[u8]) -> bool {
    debug_assert!(command.len() < HEADER_LEN || Header::parse(command).is_some());
    Header::parse(command).is_some_and(|header| header.len == MAX_PAYLOAD)
}

#[cfg(test)]
mod tests {
    use events::Span;

    use super::*;

    #[test]
    fn a_client_is_looked_at_once_however_many_commands_it_begins() {
        let client = membership::Slab::default().insert(());
        let mut buffering = Buffering::default();
        let at = |seconds| Timestamp::ZERO + Span::from_secs(seconds);
        for seconds in 60..1_000 {
            buffering.look_at(client, at(seconds));
        }
        assert_eq!(buffering.due, [(at(60), client)].into());
        buffering.look_at(client, at(30));
        assert_eq!(buffering.due, [(at(30), client)].into());
        buffering.look_no_more(client);
        assert!(buffering.due.is_empty() && buffering.looked_at.is_empty());
    }
}

//! Memory for what clients send and Myriad has not sent on: which client has reserved how much, waits for some, or is in
//! the middle of a command. A client may always have [`FLOOR`] bytes; for more it needs a reservation (`reservations`).

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

use events::Timestamp;
use membership::Key;

use crate::record::reservations::{Limits, Reservation};
use crate::record::settings::Settings;

/// A client may have so much here without a reservation.
pub(crate) const FLOOR: usize = 4 << 10;

/// Bytes that the compression layer of a client holds while a command is received: packed bytes, and its own buffers.
pub(crate) const OF_COMPRESSION: usize = 256 << 10;

/// What the clients of a worker have reserved, and which of them are in the middle of a command.
#[derive(Default)]
pub(crate) struct Buffering {
    /// The clients that have, or want, more than [`FLOOR`].
    pub held: HashMap<Key, Held>,
    /// The clients in the middle of a command.
    pub unfinished: HashSet<Key>,
    /// When one of them, or one who waits, is to be looked at: once for each. A client that is done stays until its time
    /// comes, so that a command that arrives in two parts costs nothing here if the one before did, too.
    pub due: BTreeSet<(Timestamp, Key)>,
    /// `due` by client.
    pub looked_at: HashMap<Key, Timestamp>,
}

/// What a client has reserved.
#[derive(Default)]
pub(crate) struct Held {
    pub reservation: Option<Reservation>,
    /// What layers hold back, or are about to tell.
    pub withheld: usize,
    /// Since when it waits for memory, and as which account.
    pub waits: Option<(Timestamp, u32)>,
}

/// What a client needs memory for.
pub(crate) enum Wants {
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

impl Wants {
    pub(crate) fn of(bytes: usize) -> Self {
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

    pub(crate) fn withheld(&self, key: Key) -> usize {
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

    pub(crate) fn waits_since(&self, key: Key) -> Option<Timestamp> {
        let (since, _) = self.held.get(&key)?.waits?;
        Some(since)
    }

    pub(crate) fn waits(&self, key: Key) -> bool {
        !self.held.is_empty() && self.waits_since(key).is_some()
    }

    /// Has a client looked at when this time has come, or before.
    pub(crate) fn look_at(&mut self, key: Key, due: Timestamp) {
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

    pub(crate) fn look_no_more(&mut self, key: Key) {
        if let Some(due) = self.looked_at.remove(&key) {
            self.due.remove(&(due, key));
        }
    }
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

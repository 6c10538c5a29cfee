//! The connections that speak TLS, and what of them is under way within an event.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use events::{Handle, Tag};

use crate::session::{RECORD_MAX, Session};

/// A connection that speaks TLS. It owns no buffer while nothing is under way.
pub(crate) struct Connection {
    pub(crate) session: Session,
    pub(crate) tag: Tag,
    pub(crate) phase: Phase,
    /// The beginning of what is not complete.
    pub(crate) inbox: Vec<u8>,
    /// What leaves, not yet encrypted.
    pub(crate) staged: Vec<u8>,
    /// The handler is to be told when what is staged has left.
    pub(crate) drain_wanted: bool,
    /// The handler knows that much of a record is here.
    withholds: bool,
}

/// The handler need not know of less.
const FLOOR: usize = 4 << 10;

impl Connection {
    /// How much is held back of a record, if the handler is to be told: when that has become much, or nothing again.
    pub(crate) fn withheld(&mut self) -> Option<usize> {
        let len = self.inbox.len();
        let changes = match self.withholds {
            true => len == 0,
            false => len > FLOOR,
        };
        self.withholds ^= changes;
        let bytes = if self.withholds { RECORD_MAX } else { 0 };
        changes.then_some(bytes)
    }
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Both ends agree on keys.
    Handshake,
    /// They have.
    Established,
    /// Nothing can be said or heard any more. What stands in the outbox still leaves.
    Failed,
}

/// All of a worker.
#[derive(Default)]
pub(crate) struct Connections {
    by_handle: HashMap<Handle, Box<Connection>, BuildHasherDefault<Spread>>,
    handles: HashMap<Tag, Handle, BuildHasherDefault<Spread>>,
    /// Those with something staged.
    pub(crate) staged: Vec<Handle>,
    /// Those that have something to do without anything happening.
    pub(crate) due: Vec<Tag>,
}

impl Connections {
    /// True if there is none at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_handle.is_empty()
    }

    /// From now on this one speaks TLS. `early` is what came already.
    pub(crate) fn insert(&mut self, (handle, tag): (Handle, Tag), session: Session, early: &[u8]) {
        let connection = Connection {
            session,
            tag,
            phase: Phase::Handshake,
            inbox: early.to_vec(),
            staged: Vec::new(),
            drain_wanted: false,
            withholds: false,
        };
        self.by_handle.insert(handle, Box::new(connection));
        self.handles.insert(tag, handle);
        self.due.push(tag);
    }

    /// The handle of the one with this tag.
    pub(crate) fn handle(&self, tag: Tag) -> Option<Handle> {
        match self.is_empty() {
            true => None,
            false => self.handles.get(&tag).copied(),
        }
    }

    /// The one with this handle.
    pub(crate) fn get(&self, handle: Handle) -> Option<&Connection> {
        match self.is_empty() {
            true => None,
            false => self.by_handle.get(&handle).map(Box::as_ref),
        }
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, handle: Handle) -> Option<&mut Connection> {
        match self.is_empty() {
            true => None,
            false => self.by_handle.get_mut(&handle).map(Box::as_mut),
        }
    }

    /// All others are gone.
    pub(crate) fn retain(&mut self, kept: &HashSet<Handle>) {
        self.by_handle.retain(|handle, _| kept.contains(handle));
        self.handles.retain(|_, handle| kept.contains(handle));
    }

    /// Takes it out: it is closed.
    pub(crate) fn remove(&mut self, handle: Handle) -> Option<Box<Connection>> {
        let connection = self.by_handle.remove(&handle)?;
        self.handles.remove(&connection.tag);
        Some(connection)
    }
}

/// Places and generations, which no peer chooses, spread over all bits.
#[derive(Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let product = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }
}

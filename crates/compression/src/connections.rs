//! The connections that are compressed, and what of them is under way.

use std::collections::{HashMap, HashSet, VecDeque};

use events::{Compression, Handle, Tag};

use crate::codec::Opened;

/// A connection that is compressed. It owns no buffer while nothing is under way.
pub(crate) struct Connection {
    pub(crate) handle: Handle,
    pub(crate) method: Compression,
    /// What the next compressed packet is to have, whichever end it comes from.
    pub(crate) sequence_id: u8,
    /// Bytes that came and are not unpacked.
    pub(crate) inbox: Vec<u8>,
    /// The packet that is being unpacked, if it takes more than one step.
    pub(crate) opened: Option<Box<Opened>>,
    /// What leaves, not yet compressed.
    pub(crate) staged: Vec<u8>,
    /// The handler is to be told when all of that has left.
    pub(crate) drain_wanted: bool,
    /// The handler does not want to hear of it now.
    pub(crate) paused: bool,
    /// It waits for its turn to go on unpacking.
    pub(crate) behind: bool,
    /// Bytes that the handler was told it has not heard of.
    pub(crate) withheld: usize,
    /// The same of the layer before this one.
    pub(crate) withheld_before: usize,
}

/// All of a worker.
#[derive(Default)]
pub(crate) struct Connections {
    by_tag: HashMap<Tag, Connection>,
    tags: HashMap<Handle, Tag>,
    /// Those with something staged.
    pub(crate) staged: VecDeque<Tag>,
    /// Bytes that were left staged when connections were last packed.
    pub(crate) left_staged: usize,
    /// Those that are to be heard of again.
    pub(crate) resumed: Vec<Tag>,
    /// Those that have more to unpack than this turn allowed, the first first.
    pub(crate) behind: VecDeque<Tag>,
}

impl Connection {
    /// True if nothing is read from it for now.
    pub(crate) fn is_held(&self) -> bool {
        self.paused || self.behind
    }
}

impl Connections {
    /// True if there is none at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }

    /// From now on this one is compressed.
    pub(crate) fn insert(&mut self, (handle, tag): (Handle, Tag), method: Compression) {
        let connection = Connection {
            handle,
            method,
            sequence_id: 0,
            inbox: Vec::new(),
            opened: None,
            staged: Vec::new(),
            drain_wanted: false,
            paused: false,
            behind: false,
            withheld: 0,
            withheld_before: 0,
        };
        self.by_tag.insert(tag, connection);
        self.tags.insert(handle, tag);
    }

    /// The one with this tag.
    pub(crate) fn get_mut(&mut self, tag: Tag) -> Option<&mut Connection> {
        self.by_tag.get_mut(&tag)
    }

    /// The tag of the one with this handle.
    pub(crate) fn tag(&self, handle: Handle) -> Option<Tag> {
        match self.is_empty() {
            true => None,
            false => self.tags.get(&handle).copied(),
        }
    }

    /// The one with this handle.
    pub(crate) fn find(&self, handle: Handle) -> Option<&Connection> {
        self.by_tag.get(&self.tag(handle)?)
    }

    /// The same, to be changed.
    pub(crate) fn find_mut(&mut self, handle: Handle) -> Option<&mut Connection> {
        let tag = self.tag(handle)?;
        self.by_tag.get_mut(&tag)
    }

    /// Takes it out: it is closed.
    pub(crate) fn remove(&mut self, handle: Handle) -> Option<Connection> {
        let tag = self.tag(handle)?;
        self.tags.remove(&handle);
        self.by_tag.remove(&tag)
    }

    /// Those that something was staged for which nobody will complete.
    pub(crate) fn take_staged(&mut self) -> impl Iterator<Item = Handle> {
        let staged = self.staged.drain(..);
        staged.filter_map(|tag| Some(self.by_tag.get(&tag)?.handle))
    }

    /// Forgets all other connections after a panic, and lists those that are behind anew: the panic may have taken the
    /// list with it.
    pub(crate) fn retain(&mut self, kept: &HashSet<Handle>) {
        self.by_tag
            .retain(|_, connection| kept.contains(&connection.handle));
        self.tags.retain(|handle, _| kept.contains(handle));
        let behind = self.by_tag.iter().filter(|(_, one)| one.behind);
        self.behind = behind.map(|(&tag, _)| tag).collect();
        // So that a simulated run with the same seed is the same run.
        self.behind.make_contiguous().sort_unstable();
    }

    /// Where what leaves is put.
    pub(crate) fn stage(&mut self, tag: Tag) -> Option<&mut Vec<u8>> {
        let connection = self.by_tag.get_mut(&tag)?;
        if connection.staged.is_empty() && self.staged.back() != Some(&tag) {
            self.staged.push_back(tag);
        }
        Some(&mut connection.staged)
    }
}

//! The connections that are compressed, and what of them is under way within a turn.

use std::collections::HashMap;

use events::{Compression, Handle, Tag};

/// A connection that is compressed. It owns no buffer while nothing is under way.
pub(crate) struct Connection {
    pub(crate) handle: Handle,
    pub(crate) method: Compression,
    /// What the next compressed packet that leaves is to have.
    pub(crate) sequence_id: u8,
    /// The beginning of a packet, or what came while nobody wants to hear of it.
    pub(crate) inbox: Vec<u8>,
    /// What leaves, not yet compressed.
    pub(crate) staged: Vec<u8>,
    /// Nobody wants to hear of it now.
    pub(crate) paused: bool,
}

/// All of a worker.
#[derive(Default)]
pub(crate) struct Connections {
    by_tag: HashMap<Tag, Connection>,
    tags: HashMap<Handle, Tag>,
    /// Those with something staged.
    pub(crate) staged: Vec<Tag>,
    /// Those that are to be heard of again.
    pub(crate) resumed: Vec<Tag>,
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
            staged: Vec::new(),
            paused: false,
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

    /// Where what leaves is put.
    pub(crate) fn stage(&mut self, tag: Tag) -> Option<&mut Vec<u8>> {
        let connection = self.by_tag.get_mut(&tag)?;
        if connection.staged.is_empty() && self.staged.last() != Some(&tag) {
            self.staged.push(tag);
        }
        Some(&mut connection.staged)
    }
}

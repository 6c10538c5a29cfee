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
    /// Bytes that leave and are not compressed yet.
    pub(crate) staged: Staged,
    /// It is among those that wait for their turn to be packed.
    pub(crate) waits: bool,
    /// What it has in [`Connections::left_staged`].
    counted: usize,
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

/// Bytes that leave in their order, packed from the front. Packing a part moves nothing until more is packed than is left,
/// so that an answer is moved once over and not once per part.
#[derive(Default)]
pub(crate) struct Staged {
    bytes: Vec<u8>,
    packed: usize,
}

/// All of a worker.
#[derive(Default)]
pub(crate) struct Connections {
    by_tag: HashMap<Tag, Connection>,
    tags: HashMap<Handle, Tag>,
    /// Those for which something was staged since connections were last packed.
    pub(crate) staged: VecDeque<Tag>,
    /// Those with more staged than their turn allowed, the first first.
    pub(crate) waiting: VecDeque<Tag>,
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

impl Staged {
    pub(crate) fn len(&self) -> usize {
        self.rest().len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// What is not packed yet.
    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.packed..).unwrap_or_default()
    }

    /// So many bytes of the rest are packed. No memory stays when all are.
    pub(crate) fn advance(&mut self, len: usize) {
        self.packed += len;
        if self.packed >= self.bytes.len() {
            *self = Self::default();
        } else if self.packed > self.bytes.len() / 2 {
            self.bytes.drain(..self.packed);
            self.packed = 0;
        }
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
            staged: Staged::default(),
            waits: false,
            counted: 0,
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
        let connection = self.by_tag.remove(&tag)?;
        self.left_staged -= connection.counted;
        Some(connection)
    }

    /// Counts what a connection has left now, and lists it with those that wait if that is anything.
    pub(crate) fn leave(&mut self, tag: Tag) {
        let Some(connection) = self.by_tag.get_mut(&tag) else {
            return;
        };
        let left = connection.staged.len();
        self.left_staged = self.left_staged + left - connection.counted;
        connection.counted = left;
        if left > 0 && !connection.waits {
            connection.waits = true;
            self.waiting.push_back(tag);
        }
    }

    /// Those that something was staged for which nobody will complete.
    pub(crate) fn take_staged(&mut self) -> impl Iterator<Item = Handle> {
        let staged = self.staged.drain(..);
        staged.filter_map(|tag| Some(self.by_tag.get(&tag)?.handle))
    }

    /// Forgets all other connections after a panic, and makes anew what is listed and counted beside them: the panic may
    /// have taken a list with it.
    pub(crate) fn retain(&mut self, kept: &HashSet<Handle>) {
        self.by_tag
            .retain(|_, connection| kept.contains(&connection.handle));
        self.tags.retain(|handle, _| kept.contains(handle));
        for connection in self.by_tag.values_mut() {
            connection.counted = connection.staged.len();
            connection.waits = connection.counted > 0;
        }
        self.left_staged = self.by_tag.values().map(|one| one.counted).sum();
        self.waiting = self.list(|one| one.waits);
        self.behind = self.list(|one| one.behind);
    }

    /// Sorted, so that a simulated run with the same seed is the same run.
    fn list(&self, belongs: impl Fn(&Connection) -> bool) -> VecDeque<Tag> {
        let connections = self.by_tag.iter();
        let listed = connections.filter(|(_, connection)| belongs(connection));
        let mut tags: Vec<Tag> = listed.map(|(&tag, _)| tag).collect();
        tags.sort_unstable();
        tags.into()
    }

    /// Where what leaves is put.
    pub(crate) fn stage(&mut self, tag: Tag) -> Option<&mut Vec<u8>> {
        let connection = self.by_tag.get_mut(&tag)?;
        if self.staged.back() != Some(&tag) {
            self.staged.push_back(tag);
        }
        Some(&mut connection.staged.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_in_parts_moves_little_and_leaves_no_memory() {
        let all: Vec<u8> = (0..100).collect();
        let mut staged = Staged::default();
        staged.bytes.extend_from_slice(&all);
        for packed in 1..all.len() {
            let before = staged.bytes.as_ptr().wrapping_add(staged.packed);
            staged.advance(1);
            assert_eq!(staged.rest(), &all[packed..]);
            let after = staged.bytes.as_ptr().wrapping_add(staged.packed);
            let was_moved = after != before.wrapping_add(1);
            assert_eq!(
                was_moved,
                [51, 76, 89, 95, 98].contains(&packed),
                "{packed}"
            );
        }
        staged.bytes.push(100);
        assert_eq!(staged.rest(), [99, 100]);
        staged.advance(2);
        assert!(staged.is_empty());
        assert_eq!(staged.bytes.capacity(), 0);
    }
}

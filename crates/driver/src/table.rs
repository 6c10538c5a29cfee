//! The connections of one worker, by handle.

use events::Handle;
use membership::{Key, Slab};

use crate::connection::Connection;

/// All connections of a worker.
pub(crate) struct Table<S> {
    slab: Slab<Connection<S>>,
}

impl<S> Default for Table<S> {
    fn default() -> Self {
        Self {
            slab: Slab::default(),
        }
    }
}

impl<S> Table<S> {
    /// Stores a connection under a handle that was never used before.
    pub(crate) fn insert(&mut self, connection: Connection<S>) -> Handle {
        handle(self.slab.insert(connection))
    }

    /// The connection, unless it is gone.
    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> Option<&Connection<S>> {
        self.slab.get(Key::from_bits(handle.0))
    }

    /// The connection, unless it is gone.
    #[inline]
    pub(crate) fn get_mut(&mut self, handle: Handle) -> Option<&mut Connection<S>> {
        self.slab.get_mut(Key::from_bits(handle.0))
    }

    /// Takes the connection out; its handle is stale from now on.
    pub(crate) fn remove(&mut self, handle: Handle) -> Option<Connection<S>> {
        self.slab.remove(Key::from_bits(handle.0))
    }

    /// No connection has a place from this one on.
    pub(crate) fn places(&self) -> usize {
        self.slab.places()
    }

    /// The connection at a place, if there is one.
    pub(crate) fn at(&mut self, place: usize) -> Option<(Handle, &mut Connection<S>)> {
        let (key, connection) = self.slab.at_mut(place)?;
        Some((handle(key), connection))
    }

    /// The handles of all connections.
    pub(crate) fn handles(&self) -> impl Iterator<Item = Handle> {
        self.slab.keys().map(handle)
    }

    /// Bytes that the connections take, without their outboxes.
    pub(crate) fn bytes(&self) -> usize {
        self.slab.bytes()
    }
}

fn handle(key: Key) -> Handle {
    Handle(key.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::Tag;

    #[test]
    fn a_place_is_small() {
        // What the slab adds is its key's generation.
        type Epoll = (u32, Option<Connection<Option<std::os::fd::OwnedFd>>>);
        assert!(size_of::<Epoll>() <= 40, "{}", size_of::<Epoll>());
    }

    #[test]
    fn a_stale_handle_finds_nothing() {
        let mut table = Table::default();
        let old = table.insert(Connection::connecting(Tag(1), ()));
        assert_eq!(
            table.remove(old).map(|connection| connection.tag),
            Some(Tag(1))
        );
        let new = table.insert(Connection::connecting(Tag(2), ()));
        assert_eq!(old.0 as u32, new.0 as u32);
        assert!(table.get(old).is_none() && table.get_mut(old).is_none());
        assert!(table.remove(old).is_none());
        assert_eq!(
            table.get(new).map(|connection| connection.tag),
            Some(Tag(2))
        );
        assert!(table.get(Handle(u64::MAX)).is_none());
    }

    #[test]
    fn grows_over_pages_and_keeps_every_connection() {
        let mut table = Table::default();
        let handles: Vec<_> = (0..5_000)
            .map(|n| table.insert(Connection::connecting(Tag(n), ())))
            .collect();
        for (handle, n) in handles.iter().zip(0..) {
            assert_eq!(
                table.get(*handle).map(|connection| connection.tag),
                Some(Tag(n))
            );
        }
        for handle in handles.iter().step_by(2) {
            table.remove(*handle);
        }
        let left: Vec<_> = handles.into_iter().skip(1).step_by(2).collect();
        assert_eq!(table.handles().collect::<Vec<_>>(), left);
        let places = 0..table.places();
        let found = places.filter_map(|place| table.at(place).map(|(handle, _)| handle));
        assert_eq!(found.collect::<Vec<_>>(), left);
    }
}

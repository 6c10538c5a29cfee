//! The connections of one worker, by handle. Pages instead of one array, so that growing never
//! copies what is there; generations, so that a stale handle finds nothing.

use events::Handle;

use crate::connection::Connection;

/// Places per page.
const PAGE: usize = 1024;

/// All connections of a worker.
pub(crate) struct Table<S> {
    pages: Vec<Vec<Slot<S>>>,
    free: Vec<u32>,
}

struct Slot<S> {
    generation: u32,
    connection: Option<Connection<S>>,
}

impl<S> Default for Table<S> {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<S> Table<S> {
    /// Stores a connection under a handle that was never used before.
    pub(crate) fn insert(&mut self, connection: Connection<S>) -> Handle {
        if self.free.is_empty() {
            self.add_page();
        }
        let index = self.free.pop().unwrap_or_default();
        let slot = &mut self.pages[index as usize / PAGE][index as usize % PAGE];
        slot.connection = Some(connection);
        handle(index, slot.generation)
    }

    /// The connection, unless it is gone.
    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> Option<&Connection<S>> {
        let slot = self
            .pages
            .get(index(handle) / PAGE)?
            .get(index(handle) % PAGE)?;
        slot.connection
            .as_ref()
            .filter(|_| slot.generation == generation(handle))
    }

    /// The connection, unless it is gone.
    #[inline]
    pub(crate) fn get_mut(&mut self, handle: Handle) -> Option<&mut Connection<S>> {
        let slot = self.slot_mut(handle)?;
        slot.connection.as_mut()
    }

    /// Takes the connection out; its handle is stale from now on.
    pub(crate) fn remove(&mut self, handle: Handle) -> Option<Connection<S>> {
        let slot = self.slot_mut(handle)?;
        let connection = slot.connection.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index(handle) as u32);
        Some(connection)
    }

    /// How many places there are, taken or not.
    pub(crate) fn places(&self) -> usize {
        self.pages.len() * PAGE
    }

    /// The connection at a place, if there is one.
    pub(crate) fn at(&mut self, place: usize) -> Option<(Handle, &mut Connection<S>)> {
        let slot = self.pages.get_mut(place / PAGE)?.get_mut(place % PAGE)?;
        let handle = handle(place as u32, slot.generation);
        Some((handle, slot.connection.as_mut()?))
    }

    /// The handles of all connections.
    pub(crate) fn handles(&self) -> impl Iterator<Item = Handle> {
        let slots = self.pages.iter().flatten().zip(0..);
        slots
            .filter(|(slot, _)| slot.connection.is_some())
            .map(|(s, n)| handle(n, s.generation))
    }

    #[inline]
    fn slot_mut(&mut self, handle: Handle) -> Option<&mut Slot<S>> {
        let slot = self
            .pages
            .get_mut(index(handle) / PAGE)?
            .get_mut(index(handle) % PAGE)?;
        (slot.generation == generation(handle)).then_some(slot)
    }

    fn add_page(&mut self) {
        let first = (self.pages.len() * PAGE) as u32;
        let slots = (0..PAGE).map(|_| Slot {
            generation: 0,
            connection: None,
        });
        self.pages.push(slots.collect());
        // Low places first: used pages stay dense.
        self.free.extend((first..first + PAGE as u32).rev());
    }
}

fn handle(index: u32, generation: u32) -> Handle {
    Handle(u64::from(generation) << 32 | u64::from(index))
}

fn index(handle: Handle) -> usize {
    (handle.0 & u64::from(u32::MAX)) as usize
}

fn generation(handle: Handle) -> u32 {
    (handle.0 >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::Tag;

    #[test]
    fn a_place_is_small() {
        type Epoll = Slot<Option<std::os::fd::OwnedFd>>;
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
        assert_eq!(index(old), index(new));
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

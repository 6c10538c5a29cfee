//! The outboxes of a worker: which are in use, what they hold in all, and which are to be written.
//! Writing is the driver's.

use events::Handle;

use crate::connection::{Connection, Marks};
use crate::outbox::{LARGE, Outbox, SpareOutboxes};
use crate::table::Table;

/// Which outboxes are in use and what they hold in all.
#[derive(Default)]
pub(crate) struct Outgoing {
    /// The outbox that the handler got last; what it appended has not been counted yet.
    lent: Option<Handle>,
    /// Connections that the event at hand has written to or asked for.
    pub(crate) touched: Vec<Handle>,
    /// Outboxes to be written at the end of the turn.
    pub(crate) dirty: Vec<Handle>,
    /// Outboxes to be written as soon as the handler returns.
    pub(crate) large: Vec<Handle>,
    spare: SpareOutboxes,
    scratch: Vec<u8>,
    pub(crate) unsent_total: usize,
}

impl Outgoing {
    /// The connection's outbox, to be appended to.
    pub(crate) fn lend<'a, S>(
        &mut self,
        handle: Handle,
        connection: &'a mut Connection<S>,
    ) -> &'a mut Vec<u8> {
        self.lent = Some(handle);
        &mut connection
            .outbox
            .get_or_insert_with(|| self.spare.take())
            .bytes
    }

    /// A place for bytes that go nowhere.
    pub(crate) fn scratch(&mut self) -> &mut Vec<u8> {
        self.scratch = Vec::new();
        &mut self.scratch
    }

    /// Unsent bytes of all connections, those just appended included.
    pub(crate) fn unsent_total<S>(&self, table: &Table<S>) -> usize {
        let lent = self
            .lent
            .and_then(|handle| table.get(handle)?.outbox.as_ref());
        self.unsent_total + lent.map_or(0, |outbox| outbox.unsent())
            - lent.map_or(0, |outbox| outbox.counted)
    }

    /// Takes an outbox back from a connection; what it holds is dropped.
    pub(crate) fn give_back(&mut self, outbox: Box<Outbox>) {
        self.unsent_total -= outbox.counted;
        self.spare.give(outbox);
    }

    /// Counts what the handler has appended to the outbox that it got last.
    pub(crate) fn settle<S>(&mut self, table: &mut Table<S>) {
        let Some(handle) = self.lent.take() else {
            return;
        };
        self.touched.push(handle);
        let Some(connection) = table.get_mut(handle) else {
            return;
        };
        let Some(outbox) = &mut connection.outbox else {
            return;
        };
        let unsent = outbox.unsent();
        self.unsent_total = self.unsent_total - outbox.counted + unsent;
        outbox.counted = unsent;
        if connection.marks.contains(Marks::BLOCKED) {
            return;
        }
        if unsent > LARGE {
            self.large.push(handle);
        }
        self.mark_dirty(table, handle);
    }

    /// Has the connection's outbox written at the end of the turn.
    pub(crate) fn mark_dirty<S>(&mut self, table: &mut Table<S>, handle: Handle) {
        if let Some(connection) = table.get_mut(handle)
            && !connection.marks.contains(Marks::DIRTY)
        {
            connection.marks.insert(Marks::DIRTY);
            self.dirty.push(handle);
        }
    }
}

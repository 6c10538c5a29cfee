//! Outboxes on their way: which are sent when, and what follows when one is empty or cannot be
//! sent. Moving the bytes is the multiplexer's.

use events::Handle;
use rustix::io::Errno;

use crate::connection::{Marks, Phase};
use crate::notice::Notice;

use super::effects::Effects;
use super::multiplexer::Multiplexer;

impl<M, X: Multiplexer<M>> Effects<M, X> {
    /// Counts what the handler has appended to the outbox that it got last.
    pub(super) fn settle(&mut self) {
        self.outgoing.settle(&mut self.table);
    }

    /// To be called whenever the handler returns: what it wrote is counted, and sent if it is much.
    #[inline]
    pub(crate) fn handled(&mut self) {
        self.settle();
        self.outgoing.touched.clear();
        if !self.outgoing.large.is_empty() {
            X::flush_large(self);
        }
    }

    /// Sends all outboxes that were touched in this turn.
    pub(crate) fn flush_dirty(&mut self) {
        let mut dirty = std::mem::take(&mut self.outgoing.dirty);
        for handle in dirty.drain(..) {
            if let Some(connection) = self.table.get_mut(handle) {
                connection.marks.remove(Marks::DIRTY);
                X::flush(self, handle);
            }
        }
        // What came up meanwhile belongs to the next turn.
        dirty.append(&mut self.outgoing.dirty);
        self.outgoing.dirty = dirty;
    }

    pub(crate) fn mark_dirty(&mut self, handle: Handle) {
        self.outgoing.mark_dirty(&mut self.table, handle);
    }

    /// All is sent: the connection needs no outbox for now.
    pub(crate) fn emptied(&mut self, handle: Handle) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        if let Some(outbox) = connection.outbox.take() {
            self.outgoing.give_back(outbox);
        }
        if connection.marks.contains(Marks::DRAIN_WANTED) {
            connection.marks.remove(Marks::DRAIN_WANTED);
            self.notices.push((handle, Notice::Drained));
        }
        if connection.phase == Phase::Flushing {
            self.linger(handle);
        }
    }

    /// Nothing can be sent any more. What the peer sent before is still worth reading, so the
    /// failure is reported behind it.
    pub(crate) fn broke(&mut self, handle: Handle, errno: Errno) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        if connection.phase == Phase::Flushing {
            return self.discard(handle);
        }
        if let Some(outbox) = connection.outbox.take() {
            self.outgoing.give_back(outbox);
        }
        connection.failure.get_or_insert(errno);
        connection.marks.remove(Marks::DRAIN_WANTED);
        connection.marks.insert(Marks::BROKEN);
        X::end_input(self, handle);
    }
}

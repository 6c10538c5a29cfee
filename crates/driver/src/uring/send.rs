//! Outboxes on their way into the kernel: noted at the end of the turn and submitted together, or
//! at once when one grows large. An outbox in flight is the ring's; what is written meanwhile
//! collects in another.

use events::{Handle, Handler};
use rustix::io::Errno;

use crate::connection::{Marks, Phase};
use crate::notice::Notice;
use crate::outbox::Outbox;

use super::effects::Effects;
use super::kernel::Completion;
use super::seat::Armed;
use super::turn::Loop;

impl<M> Effects<M> {
    /// Counts what the handler has appended to the outbox that it got last.
    pub(super) fn settle(&mut self) {
        self.outgoing.settle(&mut self.table);
    }

    /// To be called whenever the handler returns: what it wrote is counted, and sent if it is much.
    #[inline]
    pub(super) fn handled(&mut self) {
        self.settle();
        if !self.outgoing.large.is_empty() {
            self.flush_large();
        }
    }

    fn flush_large(&mut self) {
        while let Some(handle) = self.outgoing.large.pop() {
            self.flush(handle);
        }
        // An error shows itself when the loop waits.
        let _ = self.rings.submit();
        while let Some((ring, completion)) = self.rings.take_new() {
            match completion {
                Completion::Sent {
                    handle,
                    outbox,
                    outcome,
                } => self.sent(handle, outbox, outcome),
                other => self.rings.put_back(ring, other),
            }
        }
    }

    /// Sends all outboxes that were touched in this turn.
    pub(super) fn flush_dirty(&mut self) {
        let mut dirty = std::mem::take(&mut self.outgoing.dirty);
        for handle in dirty.drain(..) {
            if let Some(connection) = self.table.get_mut(handle) {
                connection.marks.remove(Marks::DIRTY);
                self.flush(handle);
            }
        }
        // What came up meanwhile belongs to the next turn.
        dirty.append(&mut self.outgoing.dirty);
        self.outgoing.dirty = dirty;
    }

    pub(super) fn mark_dirty(&mut self, handle: Handle) {
        self.outgoing.mark_dirty(&mut self.table, handle);
    }

    fn flush(&mut self, handle: Handle) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        if connection.marks.contains(Marks::BLOCKED) {
            return;
        }
        match connection.outbox.take() {
            Some(outbox) if outbox.unsent() > 0 => self.launch(handle, outbox),
            Some(outbox) => {
                self.outgoing.give_back(outbox);
                self.emptied(handle);
            }
            None => self.emptied(handle),
        }
    }

    fn launch(&mut self, handle: Handle, outbox: Box<Outbox>) {
        let seated = self.table.get_mut(handle);
        let seated = seated.and_then(|connection| Some((connection.socket.slot()?, connection)));
        let Some((slot, connection)) = seated else {
            return self.outgoing.give_back(outbox);
        };
        let ring = self.rings.of(&connection.socket);
        connection.socket.flight = ring.send(slot, handle, outbox);
        connection.socket.armed.insert(Armed::SEND);
        connection.marks.insert(Marks::BLOCKED);
    }

    /// An outbox came back.
    pub(super) fn sent(
        &mut self,
        handle: Handle,
        mut outbox: Box<Outbox>,
        outcome: Result<usize, Errno>,
    ) {
        let Some(connection) = self.table.get_mut(handle) else {
            return self.outgoing.give_back(outbox);
        };
        connection.socket.armed.remove(Armed::SEND);
        connection.marks.remove(Marks::BLOCKED);
        let leaving = connection.phase == Phase::Leaving;
        if let Ok(count) = outcome {
            self.counts.bytes_sent += count as u64;
            self.outgoing.unsent_total -= count.min(outbox.counted);
            outbox.taken(count);
        }
        match outcome {
            _ if leaving => {
                self.outgoing.give_back(outbox);
                self.leave(handle);
            }
            Ok(_) if outbox.unsent() == 0 => {
                self.outgoing.give_back(outbox);
                self.flush(handle);
            }
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => self.launch(handle, outbox),
            Err(errno) => {
                self.outgoing.give_back(outbox);
                self.broke(handle, errno);
            }
        }
    }

    /// All is sent.
    fn emptied(&mut self, handle: Handle) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
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
    fn broke(&mut self, handle: Handle, errno: Errno) {
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
        let armed = connection.socket.armed;
        let told = armed.intersects(Armed::RECEIVE | Armed::INPUT);
        if told && !connection.marks.contains(Marks::PAUSED) {
            self.receive(handle);
            // To end the input behind what is there already.
            self.install(handle);
        } else {
            connection.marks.insert(Marks::ENDING);
            self.make_ready(handle);
        }
    }
}

impl<H: Handler> Loop<H> {
    /// Takes in the sends that have ended; true if that is all there is to do.
    pub(super) fn only_sent(&mut self) -> bool {
        if self.io.rings.has_put_back() {
            return false;
        }
        while let Some((ring, completion)) = self.io.rings.take_new() {
            match completion {
                Completion::Sent {
                    handle,
                    outbox,
                    outcome,
                } => self.io.sent(handle, outbox, outcome),
                Completion::Nothing => {}
                other => {
                    self.io.rings.put_back(ring, other);
                    return false;
                }
            }
        }
        !self.io.has_work()
    }
}

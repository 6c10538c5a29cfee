//! Outboxes on their way into the kernel: at the end of the turn, with one system call per
//! socket, or at once when one grows large.

use events::Handle;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::connection::{Connection, Marks, Phase};
use crate::notice::Notice;

use super::effects::{Effects, Socket};

impl<M> Effects<M> {
    /// Counts what the handler has appended to the outbox that it got last.
    pub(super) fn settle(&mut self) {
        self.outgoing.settle(&mut self.table);
    }

    /// To be called whenever the handler returns: what it wrote is counted, and sent if it is much.
    #[inline]
    pub(super) fn handled(&mut self) {
        self.settle();
        while let Some(handle) = self.outgoing.large.pop() {
            self.flush(handle);
        }
    }

    /// Writes all outboxes that were touched in this turn.
    pub(super) fn flush_dirty(&mut self) {
        let mut dirty = std::mem::take(&mut self.outgoing.dirty);
        for handle in dirty.drain(..) {
            if let Some(connection) = self.table.get_mut(handle) {
                connection.marks.remove(Marks::DIRTY);
                self.flush(handle);
            }
        }
        self.outgoing.dirty = dirty;
    }

    /// The kernel takes bytes again.
    pub(super) fn unblock(&mut self, handle: Handle) {
        if let Some(connection) = self.table.get_mut(handle)
            && connection.marks.contains(Marks::BLOCKED)
        {
            connection.marks.remove(Marks::BLOCKED);
            self.mark_dirty(handle);
        }
    }

    pub(super) fn mark_dirty(&mut self, handle: Handle) {
        self.outgoing.mark_dirty(&mut self.table, handle);
    }

    /// Writes what the kernel takes now. It reports by itself when it takes more.
    fn flush(&mut self, handle: Handle) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        if connection.marks.contains(Marks::BLOCKED) {
            return;
        }
        match send_outbox(connection) {
            Ok(sent) => {
                self.outgoing.unsent_total -= sent;
                self.counts.bytes_sent += sent as u64;
                if connection.unsent() == 0 {
                    self.emptied(handle);
                } else {
                    connection.marks.insert(Marks::BLOCKED);
                }
            }
            Err(Errno::AGAIN) => connection.marks.insert(Marks::BLOCKED),
            Err(errno) => self.broke(handle, errno),
        }
    }

    /// All is sent: the connection needs no outbox for now.
    fn emptied(&mut self, handle: Handle) {
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
        connection.failure = Some(errno);
        connection.marks.remove(Marks::DRAIN_WANTED);
        connection
            .marks
            .insert(Marks::BROKEN | Marks::READABLE | Marks::ENDING);
        self.make_ready(handle);
    }
}

/// Sends as much of the outbox as the kernel takes, and returns how much that was. Less than all
/// means that it is full.
fn send_outbox(connection: &mut Connection<Socket>) -> Result<usize, Errno> {
    let sent = match &connection.outbox {
        Some(outbox) if outbox.unsent() > 0 => loop {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            match send(connection.socket()?, outbox.unsent_bytes(), flags) {
                Err(Errno::INTR) => {}
                sent => break sent?,
            }
        },
        _ => 0,
    };
    if let Some(outbox) = &mut connection.outbox {
        outbox.taken(sent);
    }
    Ok(sent)
}

//! Outboxes on their way into the kernel: one system call per socket.

use events::Handle;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::connection::{Connection, Marks};

use super::readiness::{Effects, Socket};

impl<M> Effects<M> {
    /// The kernel takes bytes again.
    pub(super) fn unblock(&mut self, handle: Handle) {
        if let Some(connection) = self.table.get_mut(handle)
            && connection.marks.contains(Marks::BLOCKED)
        {
            connection.marks.remove(Marks::BLOCKED);
            self.mark_dirty(handle);
        }
    }

    /// Writes what the kernel takes now. It reports by itself when it takes more.
    pub(super) fn flush(&mut self, handle: Handle) {
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

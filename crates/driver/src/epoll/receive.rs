//! Input: one buffer per socket and turn, up to a short read; then the peer's end.

use events::{Handle, Handler, HangUp};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv, sockopt};

use crate::connection::{Connection, Marks, Phase};
use crate::event_loop::{About, Loop, tell};

use super::readiness::{Effects, Readiness, Socket};

/// What one look at a socket brought.
enum Input {
    /// So many bytes in the buffer.
    Bytes(usize),
    /// Nothing for now.
    Nothing,
    /// The peer's end or a failure.
    End(HangUp),
}

impl<H: Handler> Loop<H, Readiness> {
    /// Epoll reported something about a connection.
    pub(super) fn connection_event(&mut self, handle: Handle, flags: EventFlags) {
        let Some(connection) = self.io.table.get(handle) else {
            return;
        };
        if let Phase::Connecting { address } = connection.phase
            && !self.connecting_event(handle, address)
        {
            return;
        }
        if self.io.note(handle, flags) {
            self.serve(handle);
        }
    }

    /// Reads a connection if it is to be read, and tells its end.
    pub(super) fn serve(&mut self, handle: Handle) {
        let Some(connection) = self.io.table.get(handle) else {
            return;
        };
        let marks = connection.marks;
        match connection.phase {
            Phase::Open if marks.contains(Marks::HUNG_UP) => {}
            Phase::Open if marks.contains(Marks::PAUSED) => {
                if marks.contains(Marks::ENDING) {
                    let how = hang_up_unread(connection);
                    self.report_hang_up(handle, how);
                }
            }
            Phase::Open => self.receive(handle),
            Phase::Lingering => {
                if let Input::End(_) = self.io.read(handle, &mut self.desk.buffer) {
                    self.io.discard(handle);
                }
            }
            Phase::Connecting { .. } | Phase::Flushing | Phase::Leaving => {}
        }
    }

    fn receive(&mut self, handle: Handle) {
        let now = self.io.now;
        match self.io.read(handle, &mut self.desk.buffer) {
            Input::Bytes(count) => {
                let Some(connection) = self.io.table.get(handle) else {
                    return;
                };
                let tag = connection.tag;
                let bytes = &self.desk.buffer[..count];
                let told = tell(&mut self.handler, &mut self.io, |handler, io| {
                    handler.received(io, tag, bytes, now);
                });
                if told.is_none() {
                    self.panicked(About::Connection(handle));
                }
            }
            Input::Nothing => {}
            Input::End(how) => self.report_hang_up(handle, how),
        }
    }
}

impl<M> Effects<M> {
    /// Remembers what an event says. True if the connection is to be served now; false also if it
    /// will be served in this turn anyway.
    fn note(&mut self, handle: Handle, flags: EventFlags) -> bool {
        const ENDED: EventFlags = EventFlags::RDHUP
            .union(EventFlags::HUP)
            .union(EventFlags::ERR);
        if flags.intersects(EventFlags::OUT | EventFlags::HUP | EventFlags::ERR) {
            self.unblock(handle);
        }
        let Some(connection) = self.table.get_mut(handle) else {
            return false;
        };
        if !flags.intersects(ENDED | EventFlags::IN) {
            return false;
        }
        connection.marks.insert(Marks::READABLE);
        if flags.intersects(ENDED) {
            connection.marks.insert(Marks::ENDING);
        }
        !connection.marks.contains(Marks::READY)
    }

    /// Reads once. A short read has emptied the socket, unless its end has been seen: then the
    /// next read finds that.
    fn read(&mut self, handle: Handle, buffer: &mut [u8]) -> Input {
        let Some(connection) = self.table.get_mut(handle) else {
            return Input::Nothing;
        };
        if !connection.marks.contains(Marks::READABLE) {
            return Input::Nothing;
        }
        let input = input_of(connection, buffer);
        match input {
            Input::Bytes(count) => {
                self.counts.bytes_received += count as u64;
                if count == buffer.len() || connection.marks.contains(Marks::ENDING) {
                    self.make_ready(handle);
                } else {
                    connection.marks.remove(Marks::READABLE);
                }
            }
            Input::Nothing => connection.marks.remove(Marks::READABLE),
            Input::End(_) => {
                connection.marks.remove(Marks::READABLE);
                connection.marks.insert(Marks::ENDING);
            }
        }
        input
    }
}

/// What the socket holds.
fn input_of(connection: &Connection<Socket>, buffer: &mut [u8]) -> Input {
    loop {
        let received = connection
            .socket()
            .and_then(|fd| recv(fd, &mut *buffer, RecvFlags::DONTWAIT));
        return match received {
            Ok((0, _)) => Input::End(connection.end()),
            Ok((count, _)) => Input::Bytes(count),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) if connection.marks.contains(Marks::ENDING) => {
                Input::End(connection.end())
            }
            Err(Errno::AGAIN) => Input::Nothing,
            Err(errno) => Input::End(HangUp::Failed(errno.raw_os_error())),
        };
    }
}

/// How a connection ended whose input nobody wants to read.
fn hang_up_unread(connection: &Connection<Socket>) -> HangUp {
    let pending = connection.socket().and_then(sockopt::socket_error);
    match pending {
        Ok(Ok(())) => connection.end(),
        Ok(Err(errno)) | Err(errno) => HangUp::Failed(errno.raw_os_error()),
    }
}

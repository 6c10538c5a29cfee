//! Input as it comes, in buffers of the rings; what comes unwanted is kept and receiving stops;
//! then the peer's end.

use events::{Handle, Handler};
use rustix::event::PollFlags;
use rustix::io::Errno;

use crate::connection::{Connection, Marks, Phase};
use crate::event_loop::{About, Loop};

use super::completions::{Completions, Effects};
use super::kernel::Filled;
use super::seat::{Armed, Seat};

/// The most kept input that the handler is told of at once.
const PIECE: usize = 64 * 1024;
/// How many connections that found no buffer receive again at a time: fewer than a ring has buffers.
const FED_MAX: usize = 128;

impl<H: Handler> Loop<H, Completions> {
    /// Bytes or an end came. With `more`, receiving goes on.
    pub(super) fn received(
        &mut self,
        handle: Handle,
        outcome: Result<Option<&Filled>, Errno>,
        more: bool,
    ) {
        let Some(connection) = self.io.table.get_mut(handle) else {
            return;
        };
        if !more {
            connection
                .socket
                .armed
                .remove(Armed::RECEIVE | Armed::CANCELLING);
            self.io.multiplexer.receiving -= 1;
        }
        if outcome.as_ref().err() != Some(&Errno::CANCELED) {
            connection.marks.insert(Marks::HEARD);
        }
        match outcome {
            Ok(Some(filled)) => self.bytes(handle, filled.bytes()),
            Ok(None) => connection.marks.insert(Marks::ENDING),
            Err(Errno::NOBUFS) if connection.phase != Phase::Leaving => {
                self.io.counts.buffer_shortages += 1;
                return self.io.multiplexer.starved.push_back(handle);
            }
            Err(Errno::NOBUFS) => {}
            Err(Errno::CANCELED | Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => {
                connection.marks.insert(Marks::ENDING);
                connection.failure.get_or_insert(errno);
            }
        }
        self.serve(handle);
    }

    fn bytes(&mut self, handle: Handle, bytes: &[u8]) {
        self.io.counts.bytes_received += bytes.len() as u64;
        let Some(connection) = self.io.table.get(handle) else {
            return;
        };
        let (tag, marks, now) = (connection.tag, connection.marks, self.io.now);
        if connection.phase != Phase::Open || marks.contains(Marks::HUNG_UP) {
            return;
        }
        if marks.intersects(Marks::PAUSED | Marks::READABLE) {
            return self.io.keep(handle, bytes);
        }
        self.tell(About::Connection(handle), |handler, io| {
            handler.received(io, tag, bytes, now);
        });
    }

    /// The awaited readiness of a connection.
    pub(super) fn polled(&mut self, handle: Handle, outcome: Result<PollFlags, Errno>) {
        let Some(connection) = self.io.table.get_mut(handle) else {
            return;
        };
        let input = connection.socket.armed.contains(Armed::INPUT);
        if input && connection.marks.contains(Marks::HEARD) {
            connection.marks.remove(Marks::RARE);
        }
        connection.marks.set(
            Marks::HEARD,
            input || connection.marks.contains(Marks::HEARD),
        );
        connection.socket.armed.remove(Armed::POLL | Armed::INPUT);
        let receives = connection.socket.armed.contains(Armed::RECEIVE);
        match (connection.phase, outcome) {
            // Receiving finds out by itself.
            (Phase::Open, Ok(_)) if receives => {}
            (Phase::Open, Ok(_)) if !connection.marks.contains(Marks::PAUSED) => {
                self.io.receive_rarely(handle);
            }
            (Phase::Open, Ok(flags)) if flags.contains(PollFlags::ERR) => {
                return self.io.install(handle);
            }
            (Phase::Open, Ok(flags)) if flags.intersects(PollFlags::RDHUP | PollFlags::HUP) => {
                connection.marks.insert(Marks::ENDING);
            }
            _ => {}
        }
        self.serve(handle);
    }

    /// Has those receive again that found no buffer, once the buffers have come back: they are in
    /// completions that have not been taken, and until then receiving would only fail again.
    pub(super) fn feed_starved(&mut self) {
        if self.io.multiplexer.starved.is_empty() || self.io.multiplexer.rings.have_told() {
            return;
        }
        for _ in 0..FED_MAX {
            let Some(handle) = self.io.multiplexer.starved.pop_front() else {
                return;
            };
            self.serve(handle);
        }
    }

    fn hang_up(&mut self, handle: Handle) {
        if let Some(connection) = self.io.table.get(handle) {
            let how = connection.end();
            self.report_hang_up(handle, how);
        }
    }

    /// An attempt to connect has come to its end.
    pub(super) fn attempted(&mut self, handle: Handle, address: u16) {
        if let Some(connection) = self.io.table.get_mut(handle) {
            connection.socket.armed.remove(Armed::POLL);
        }
        if self.connecting_event(handle, address) {
            self.serve(handle);
        }
    }

    /// Does what a connection's state asks for: tells what is due, and has the kernel tell the
    /// next.
    pub(super) fn serve(&mut self, handle: Handle) {
        let Some(connection) = self.io.table.get(handle) else {
            return;
        };
        let marks = connection.marks;
        match connection.phase {
            Phase::Open if marks.contains(Marks::HUNG_UP) => {}
            Phase::Open if marks.contains(Marks::PAUSED) => match marks.contains(Marks::ENDING) {
                true => self.hang_up(handle),
                false => self.io.await_end(handle),
            },
            Phase::Open if marks.contains(Marks::READABLE) => self.deliver_kept(handle),
            Phase::Open | Phase::Lingering if !marks.contains(Marks::ENDING) => {
                self.io.listen(handle);
            }
            Phase::Open => self.hang_up(handle),
            Phase::Lingering => self.io.discard(handle),
            Phase::Leaving => self.io.leave(handle),
            Phase::Connecting { .. } | Phase::Flushing => {}
        }
    }

    fn deliver_kept(&mut self, handle: Handle) {
        let Some(connection) = self.io.table.get_mut(handle) else {
            return;
        };
        let (kept, has_more) = self.io.multiplexer.kept.take(handle, PIECE);
        if !has_more {
            connection.marks.remove(Marks::READABLE);
        }
        let (tag, now) = (connection.tag, self.io.now);
        self.io.make_ready(handle);
        self.tell(About::Connection(handle), |handler, io| {
            handler.received(io, tag, &kept, now);
        });
    }
}

impl<M> Effects<M> {
    /// Has the kernel tell of input: by receiving it or, for a connection that is silent for long,
    /// at the price of a poll.
    fn listen(&mut self, handle: Handle) {
        let Some((slot, connection)) = self.seated(handle) else {
            return;
        };
        let armed = &mut connection.socket.armed;
        if armed.intersects(Armed::RECEIVE | Armed::INPUT) {
            return;
        }
        let silent = !connection.marks.contains(Marks::HEARD);
        let rare = silent || connection.marks.contains(Marks::RARE);
        if !rare || connection.phase != Phase::Open || armed.contains(Armed::POLL) {
            return self.receive(handle);
        }
        armed.insert(Armed::POLL | Armed::INPUT);
        connection.marks.insert(Marks::RARE);
        let ring = usize::from(connection.socket.ring);
        self.multiplexer.rings.ring(ring).poll_input(slot, handle);
    }

    /// Has the kernel receive, unless it does.
    pub(super) fn receive(&mut self, handle: Handle) {
        if let Some((slot, ring)) = self.begin_to_receive(handle) {
            self.multiplexer.rings.ring(ring).receive(slot, handle);
        }
    }

    /// The same, but once, if the connection speaks so rarely that it is polled for in between:
    /// that costs far less than to end a receiving that goes on.
    fn receive_rarely(&mut self, handle: Handle) {
        let rare = |connection: &Connection<Seat>| connection.marks.contains(Marks::RARE);
        if self.table.get(handle).is_some_and(rare)
            && let Some((slot, ring)) = self.begin_to_receive(handle)
        {
            self.multiplexer.rings.ring(ring).receive_once(slot, handle);
        }
    }

    /// Notes that the connection receives from now on. Returns its place; nothing if it does.
    fn begin_to_receive(&mut self, handle: Handle) -> Option<(u32, usize)> {
        let (slot, connection) = self.seated(handle)?;
        if connection.socket.armed.contains(Armed::RECEIVE) {
            return None;
        }
        connection.socket.armed.insert(Armed::RECEIVE);
        let ring = usize::from(connection.socket.ring);
        self.multiplexer.receiving += 1;
        Some((slot, ring))
    }

    /// Has the kernel tell of the peer's end while nothing is received.
    fn await_end(&mut self, handle: Handle) {
        if let Some((slot, connection)) = self.seated(handle)
            && !connection
                .socket
                .armed
                .intersects(Armed::RECEIVE | Armed::POLL)
        {
            connection.socket.armed.insert(Armed::POLL);
            let ring = usize::from(connection.socket.ring);
            self.multiplexer.rings.ring(ring).poll_end(slot, handle);
        }
    }

    fn seated(&mut self, handle: Handle) -> Option<(u32, &mut Connection<Seat>)> {
        let connection = self.table.get_mut(handle)?;
        Some((connection.socket.slot()?, connection))
    }

    /// Keeps input that comes unwanted, and stops receiving: the rest is to wait in the kernel,
    /// where the peer feels it.
    fn keep(&mut self, handle: Handle, bytes: &[u8]) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        connection.marks.insert(Marks::READABLE);
        self.multiplexer.kept.add(handle, bytes);
        let armed = &mut connection.socket.armed;
        if armed.contains(Armed::RECEIVE) && !armed.contains(Armed::CANCELLING) {
            armed.insert(Armed::CANCELLING);
            let ring = usize::from(connection.socket.ring);
            self.multiplexer.rings.ring(ring).cancel_receive(handle);
        }
        if !connection.marks.contains(Marks::PAUSED) {
            self.make_ready(handle);
        }
    }
}

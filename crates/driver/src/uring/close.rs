//! Closing without losing the last answer, and without leaving anything to the kernel.
//!
//! A socket that is closed with unread input resets the connection, and the reset may destroy an
//! answer that the peer has not read yet. So a gentle close sends what is left, ends the sending
//! direction and reads on until the peer closes, too; both for a bounded time.
//!
//! A slot may be used again only when nothing is in flight for it any more, so a connection that
//! is gone for everybody else leaves the table when the kernel has ended all of that.

use events::{Handle, Handler};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown, sockopt};
use std::os::fd::OwnedFd;

use crate::connection::{Marks, Phase};

use super::effects::Effects;
use super::seat::Armed;
use super::token::Op;
use super::turn::Loop;

impl<M> Effects<M> {
    /// Sends what is left and closes. A connection with nothing to say and nothing unread is
    /// closed at once.
    pub(super) fn close_gently(&mut self, handle: Handle) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        let (marks, armed) = (connection.marks, connection.socket.armed);
        let sending = armed.contains(Armed::SEND) || connection.unsent() > 0;
        let told = armed.intersects(Armed::RECEIVE | Armed::INPUT);
        let all_read = told || marks.contains(Marks::ENDING);
        let silent = !sending && all_read && !marks.contains(Marks::READABLE);
        let unable = connection.phase != Phase::Open || marks.contains(Marks::BROKEN);
        if silent || unable {
            return self.discard(handle);
        }
        connection.phase = Phase::Flushing;
        connection
            .marks
            .remove(Marks::PAUSED | Marks::DRAIN_WANTED | Marks::READABLE);
        self.kept.remove(&handle);
        self.closing.flush(handle, self.now);
        if !sending {
            self.linger(handle);
        }
    }

    /// Nothing is left to send: waits for the peer's end, unless it is here already.
    pub(super) fn linger(&mut self, handle: Handle) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        if connection.marks.contains(Marks::ENDING) {
            return self.discard(handle);
        }
        connection.phase = Phase::Lingering;
        self.closing.linger(handle, self.now);
        // To end the sending direction.
        self.install(handle);
        self.make_ready(handle);
    }

    /// Asks for a descriptor of the socket, for what only system calls can do.
    pub(super) fn install(&mut self, handle: Handle) {
        if let Some(connection) = self.table.get(handle)
            && let Some(slot) = connection.socket.slot()
        {
            self.rings.of(&connection.socket).install(slot, handle);
        }
    }

    /// Closes those whose time is over.
    pub(super) fn expire_closing(&mut self) {
        while let Some(handle) = self.closing.expired(&self.table, self.now) {
            self.discard(handle);
        }
    }

    /// Closes whatever the handler has not closed.
    pub(super) fn abandon_owned(&mut self) {
        let owned = |handle: &Handle| self.table.get(*handle).is_some_and(|c| c.is_owned());
        let abandoned: Vec<_> = self.table.handles().filter(owned).collect();
        for handle in abandoned {
            self.discard(handle);
        }
    }

    /// Takes the connection out of everything and closes its socket as soon as nothing is in
    /// flight for it.
    pub(super) fn discard(&mut self, handle: Handle) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        match connection.phase {
            Phase::Leaving => return,
            Phase::Flushing | Phase::Lingering => self.closing.ended(),
            Phase::Connecting { .. } | Phase::Open => {}
        }
        connection.phase = Phase::Leaving;
        self.leaving += 1;
        if connection.marks.contains(Marks::ACCEPTED) {
            self.balance.closed(self.worker);
        }
        if connection.marks.contains(Marks::READABLE) {
            self.kept.remove(&handle);
        }
        if let Some(outbox) = connection.outbox.take() {
            self.outgoing.give_back(outbox);
        }
        self.cancel_all(handle);
        self.leave(handle);
    }

    /// A connection on its way out leaves the table if the kernel has ended its work for it.
    pub(super) fn leave(&mut self, handle: Handle) {
        let done = |socket: &super::seat::Seat| !socket.is_busy();
        if !self.table.get(handle).is_some_and(|c| done(&c.socket)) {
            return;
        }
        let Some(connection) = self.table.remove(handle) else {
            return;
        };
        self.leaving -= 1;
        if let Some(slot) = connection.socket.slot() {
            self.rings.of(&connection.socket).close(slot);
        }
    }

    fn cancel_all(&mut self, handle: Handle) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        let seat = &connection.socket;
        let ring = self.rings.of(seat);
        if seat.armed.contains(Armed::RECEIVE) {
            ring.cancel_receive(handle);
        }
        if seat.armed.contains(Armed::POLL) {
            ring.cancel_poll(handle);
        }
        if seat.armed.contains(Armed::SEND) {
            self.outgoing.unsent_total -= ring.disown(seat.flight);
            ring.cancel_send(seat.flight, handle);
        }
    }

    /// Something was to be cancelled. If it was not found though it goes on, it was between two
    /// states, and is to be looked for again.
    pub(super) fn cancelled(&mut self, handle: Handle, op: Op, found: bool) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        if op == Op::CancelReceive {
            connection.socket.armed.remove(Armed::CANCELLING);
        }
        if found || connection.phase != Phase::Leaving {
            return;
        }
        let seat = &connection.socket;
        let ring = self.rings.of(seat);
        match op {
            Op::CancelReceive if seat.armed.contains(Armed::RECEIVE) => ring.cancel_receive(handle),
            Op::CancelPoll if seat.armed.contains(Armed::POLL) => ring.cancel_poll(handle),
            Op::CancelSend if seat.armed.contains(Armed::SEND) => {
                ring.cancel_send(seat.flight, handle);
            }
            _ => {}
        }
    }
}

impl<H: Handler> Loop<H> {
    /// The descriptor that was asked for.
    pub(super) fn installed(&mut self, handle: Handle, outcome: Result<OwnedFd, Errno>) {
        let Some(connection) = self.io.table.get_mut(handle) else {
            return;
        };
        match connection.phase {
            Phase::Lingering => {
                let ended = outcome.and_then(|fd| shutdown(&fd, Shutdown::Write));
                if ended.is_err() {
                    self.io.discard(handle);
                }
            }
            Phase::Open if connection.marks.contains(Marks::PAUSED) => {
                let failed = outcome.and_then(|fd| sockopt::socket_error(&fd));
                if let Ok(Err(errno)) | Err(errno) = failed {
                    connection.failure.get_or_insert(errno);
                }
                connection.marks.insert(Marks::ENDING);
                self.serve(handle);
            }
            Phase::Open if connection.marks.contains(Marks::BROKEN) => {
                // The receiving that goes on finds its end.
                let _ = outcome.and_then(|fd| shutdown(&fd, Shutdown::Read));
            }
            _ => {}
        }
    }
}

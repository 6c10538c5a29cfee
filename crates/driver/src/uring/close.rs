//! Leaving nothing to the kernel.
//!
//! A slot may be used again only when nothing is in flight for it any more, so a connection that
//! is gone for everybody else leaves the table when the kernel has ended all of that.

use events::{Handle, Handler};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown, sockopt};
use std::os::fd::OwnedFd;

use crate::connection::{Marks, Phase};
use crate::event_loop::Loop;

use super::completions::{Completions, Effects};
use super::seat::Armed;
use super::token::Op;

impl<M> Effects<M> {
    /// Asks for a descriptor of the socket, for what only system calls can do.
    pub(super) fn install(&mut self, handle: Handle) {
        if let Some(connection) = self.table.get(handle)
            && let Some(slot) = connection.socket.slot()
        {
            self.multiplexer
                .rings
                .of(&connection.socket)
                .install(slot, handle);
        }
    }

    /// Takes the connection out of everything and closes its socket as soon as nothing is in
    /// flight for it.
    pub(super) fn begin_to_leave(&mut self, handle: Handle) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        match connection.phase {
            Phase::Leaving => return,
            Phase::Flushing | Phase::Lingering => self.closing.ended(),
            Phase::Connecting { .. } | Phase::Open => {}
        }
        connection.phase = Phase::Leaving;
        self.multiplexer.leaving += 1;
        if connection.marks.contains(Marks::ACCEPTED) {
            self.balance.closed(self.worker);
        }
        if connection.marks.contains(Marks::READABLE) {
            self.multiplexer.kept.forget(handle);
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
        self.multiplexer.leaving -= 1;
        if let Some(slot) = connection.socket.slot() {
            self.multiplexer.rings.of(&connection.socket).close(slot);
        }
    }

    fn cancel_all(&mut self, handle: Handle) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        let seat = &connection.socket;
        let ring = self.multiplexer.rings.of(seat);
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
        let ring = self.multiplexer.rings.of(seat);
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

impl<H: Handler> Loop<H, Completions> {
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

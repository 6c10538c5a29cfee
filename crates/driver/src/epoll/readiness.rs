//! Being told of readiness: what is registered in the epoll instance, and whom an event is about.

use std::os::fd::{BorrowedFd, OwnedFd};

use events::{Handle, Handler, Timestamp};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown, sockopt};

use crate::connection::{Connection, Marks, Phase};
use crate::counters::DriverCounts;
use crate::doors::Doors;
use crate::error::DriverError;
use crate::event_loop::{Loop, Multiplexer};
use crate::uring::queued;

use super::poll::{EVENTS_MAX, Events, Poll, Token};

/// Size of the worker's one receive buffer: the most that a socket may bring per turn.
const BUFFER: usize = 64 * 1024;

/// A connection's socket; absent only while no address could be connected to.
pub(super) type Socket = Option<OwnedFd>;
/// The sockets of a worker over epoll.
pub(super) type Effects<M> = crate::event_loop::Effects<M, Readiness>;

/// The epoll instance of a worker.
pub(super) struct Readiness {
    poll: Poll,
    /// The last wait brought as many events as it may.
    is_full: bool,
}

/// Where events and input come to lie.
pub(super) struct Desk {
    events: Events,
    pub(super) buffer: Box<[u8]>,
}

impl Default for Desk {
    fn default() -> Self {
        Self {
            events: Events::new(),
            buffer: vec![0; BUFFER].into(),
        }
    }
}

impl Readiness {
    /// Tells of mail by `wake`.
    pub(super) fn new(wake: BorrowedFd<'_>) -> Result<Self, DriverError> {
        let poll = Poll::new().map_err(DriverError::setup("the event loop"))?;
        poll.add_wake(wake)
            .map_err(DriverError::setup("a mailbox"))?;
        Ok(Self {
            poll,
            is_full: false,
        })
    }
}

impl<M> Multiplexer<M> for Readiness {
    type Socket = Socket;
    type Desk = Desk;

    fn no_socket() -> Socket {
        None
    }

    fn watch(&mut self, doors: &Doors) -> Result<(), Errno> {
        for (number, listener) in doors.sockets().iter().enumerate() {
            match self.poll.add_listener(listener, number) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    fn look_away(&mut self, doors: &Doors) {
        for listener in doors.sockets() {
            // One that is not registered is as wanted.
            let _ = self.poll.remove(listener);
        }
    }

    /// Those that did not leave the epoll instance would stay registered as long as any other
    /// worker has them.
    fn let_go(&mut self, doors: &Doors) {
        Multiplexer::<M>::look_away(self, doors);
    }

    fn has_told_all(&self) -> bool {
        !self.is_full
    }

    /// Accepting finds out.
    fn find_room(&mut self) -> Result<(), Errno> {
        Ok(())
    }

    fn seat(io: &mut Effects<M>, handle: Handle, fd: OwnedFd) -> Result<(), Errno> {
        io.multiplexer.poll.add_connection(&fd, handle)?;
        if let Some(connection) = io.table.get_mut(handle) {
            connection.socket = Some(fd);
        }
        Ok(())
    }

    fn await_connected(io: &mut Effects<M>, handle: Handle, fd: OwnedFd) -> Result<(), Errno> {
        Self::seat(io, handle, fd)
    }

    fn connected(io: &mut Effects<M>, handle: Handle) -> Result<(), Errno> {
        let connection = io.table.get_mut(handle).ok_or(Errno::NOTCONN)?;
        let outcome = connection.socket().and_then(sockopt::socket_error);
        let outcome = outcome.and_then(|pending| pending);
        if outcome.is_err() {
            // Nothing must be heard of this socket again.
            connection.socket = None;
        }
        outcome
    }

    /// What is not read is reported no more.
    fn paused(_: &mut Effects<M>, _: Handle) {}

    fn resumed(io: &mut Effects<M>, handle: Handle) {
        let readable = |c: &Connection<Socket>| c.marks.contains(Marks::READABLE);
        if io.table.get(handle).is_some_and(readable) {
            io.make_ready(handle);
        }
    }

    fn flush(io: &mut Effects<M>, handle: Handle) {
        io.flush(handle);
    }

    fn flush_large(io: &mut Effects<M>) {
        while let Some(handle) = io.outgoing.large.pop() {
            io.flush(handle);
        }
    }

    fn in_flight(&self, _: &Socket) -> usize {
        0
    }

    fn queued(io: &mut Effects<M>, handle: Handle) -> usize {
        let socket = io.table.get(handle).map(Connection::socket);
        let bytes = socket.map(|socket| socket.and_then(queued));
        bytes.and_then(Result::ok).unwrap_or_default()
    }

    fn all_read(connection: &Connection<Socket>) -> bool {
        !connection.marks.contains(Marks::READABLE)
    }

    /// It is the kernel's.
    fn forget_unread(_: &mut Effects<M>, _: Handle) {}

    fn end_sending(io: &mut Effects<M>, handle: Handle) -> Result<(), Errno> {
        match io.table.get(handle).map(Connection::socket) {
            Some(Ok(fd)) => shutdown(fd, Shutdown::Write),
            _ => Ok(()),
        }
    }

    fn end_input(io: &mut Effects<M>, handle: Handle) {
        if let Some(connection) = io.table.get_mut(handle) {
            connection.marks.insert(Marks::READABLE | Marks::ENDING);
            io.make_ready(handle);
        }
    }

    fn discard(io: &mut Effects<M>, handle: Handle) {
        let Some(connection) = io.table.remove(handle) else {
            return;
        };
        if let Some(outbox) = connection.outbox {
            io.outgoing.give_back(outbox);
        }
        if matches!(connection.phase, Phase::Flushing | Phase::Lingering) {
            io.closing.ended();
        }
        if connection.marks.contains(Marks::ACCEPTED) {
            io.balance.closed(io.worker);
        }
    }

    fn has_work(&mut self) -> bool {
        false
    }

    fn wake_at(&self) -> Option<Timestamp> {
        None
    }

    fn is_clear(&self) -> bool {
        true
    }

    fn count(&self, counts: &mut DriverCounts) {
        counts.receive_buffer_bytes = BUFFER as u64;
    }

    fn wait<H: Handler<Mail = M>>(turn: &mut Loop<H, Self>) -> Result<(), DriverError> {
        let timeout = turn.timeout();
        let poll = &turn.io.multiplexer.poll;
        poll.wait(&mut turn.desk.events, timeout)
            .map_err(|e| DriverError::Wait(e.into()))?;
        turn.io.multiplexer.is_full = turn.desk.events.len() >= EVENTS_MAX;
        turn.io.counts.loop_events += turn.desk.events.len() as u64;
        Ok(())
    }

    fn deliver<H: Handler<Mail = M>>(turn: &mut Loop<H, Self>) {
        let mut events = std::mem::take(&mut turn.desk.events);
        for event in events.drain(..) {
            match Token::of(&event) {
                Token::Connection(handle) => turn.connection_event(handle, event.flags),
                // What is left there is reported again in the next turn.
                Token::Listener(number) => turn.accept(number),
                Token::Wake => {}
            }
        }
        turn.desk.events = events;
    }

    fn serve<H: Handler<Mail = M>>(turn: &mut Loop<H, Self>, handle: Handle) {
        turn.serve(handle);
    }

    fn served<H: Handler<Mail = M>>(_: &mut Loop<H, Self>) {}
}

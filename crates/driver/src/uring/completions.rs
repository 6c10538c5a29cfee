//! Being told of completions: the rings of a worker, and what is known of its connections beside
//! what the loop knows.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use events::{Handle, Handler, Timestamp};
use rustix::io::Errno;
use rustix::net::sockopt;

use crate::connection::{Connection, Marks};
use crate::counters::DriverCounts;
use crate::doors::Doors;
use crate::error::DriverError;
use crate::event_loop::{Loop, Multiplexer};

use super::kept::Kept;
use super::rings::Rings;
use super::seat::{Armed, Seat};
use super::sweep::Sweep;

/// The sockets of a worker over io_uring.
pub(super) type Effects<M> = crate::event_loop::Effects<M, Completions>;

/// The rings of a worker.
pub(super) struct Completions {
    pub(super) rings: Rings,
    /// By listener: whether the kernel tells of the next client.
    watched: Vec<bool>,
    /// How many connections the kernel still works for though they are gone.
    pub(super) leaving: usize,
    /// Input that came while nobody wanted it. Those that have some are marked as readable.
    pub(super) kept: Kept,
    /// Connections that found no buffer to receive into.
    pub(super) starved: VecDeque<Handle>,
    /// How many connections receive.
    pub(super) receiving: usize,
    pub(super) sweep: Sweep,
    /// The turn left completions for the next.
    pub(super) leaves_some: bool,
}

impl Completions {
    /// Tells of mail by `wake`.
    pub(super) fn new(wake: BorrowedFd<'_>) -> Result<Self, DriverError> {
        let mut rings = Rings::new().map_err(DriverError::refused)?;
        rings.watch_mail(wake);
        Ok(Self {
            rings,
            watched: Vec::new(),
            leaving: 0,
            kept: Kept::default(),
            starved: VecDeque::new(),
            receiving: 0,
            sweep: Sweep::default(),
            leaves_some: false,
        })
    }

    /// The kernel has told of a client at a listener, and does so no more.
    pub(super) fn unwatched(&mut self, number: usize) {
        if let Some(watched) = self.watched.get_mut(number) {
            *watched = false;
        }
    }
}

impl<M> Multiplexer<M> for Completions {
    type Socket = Seat;
    type Desk = ();

    fn no_socket() -> Seat {
        Seat::none()
    }

    fn watch(&mut self, doors: &Doors) -> Result<(), Errno> {
        self.watched.resize(doors.sockets().len(), false);
        let listeners = doors.sockets().iter().zip(&mut self.watched).zip(0..);
        for ((listener, watched), number) in listeners.filter(|((_, watched), _)| !**watched) {
            self.rings.first().poll_listener(listener.as_fd(), number);
            *watched = true;
        }
        Ok(())
    }

    /// Each listener is told of once only.
    fn look_away(&mut self, _: &Doors) {}

    /// A listener lives as long as a ring watches it, even if it is closed.
    fn let_go(&mut self, _: &Doors) {
        for (watched, number) in self.watched.drain(..).zip(0..) {
            if watched {
                self.rings.first().release_listener(number);
            }
        }
    }

    fn has_told_all(&self) -> bool {
        !self.leaves_some
    }

    fn find_room(&mut self) -> Result<(), Errno> {
        self.rings.find_room().map(drop)
    }

    /// The connection keeps no descriptor.
    fn seat(io: &mut Effects<M>, handle: Handle, fd: OwnedFd) -> Result<(), Errno> {
        let seat = io.multiplexer.rings.seat(&fd)?;
        if let Some(connection) = io.table.get_mut(handle) {
            connection.socket = seat;
        }
        Ok(())
    }

    /// Until it stands, a connection has a descriptor of its own, so that all that is done to
    /// sockets before that is done as everywhere.
    fn await_connected(io: &mut Effects<M>, handle: Handle, fd: OwnedFd) -> Result<(), Errno> {
        if let Some(connection) = io.table.get_mut(handle) {
            let ring = io.multiplexer.rings.first();
            ring.poll_connected(fd.as_fd(), handle);
            connection.socket.fd = Some(fd);
            connection.socket.armed.insert(Armed::POLL);
        }
        Ok(())
    }

    fn connected(io: &mut Effects<M>, handle: Handle) -> Result<(), Errno> {
        let connection = io.table.get_mut(handle).ok_or(Errno::NOTCONN)?;
        let fd = connection.socket.fd.take().ok_or(Errno::NOTCONN)?;
        sockopt::socket_error(&fd)??;
        Self::seat(io, handle, fd)
    }

    /// Receiving goes on until something comes: mostly nothing does until it is wanted again.
    fn paused(io: &mut Effects<M>, handle: Handle) {
        let receives = |c: &Connection<Seat>| c.socket.armed.contains(Armed::RECEIVE);
        if !io.table.get(handle).is_some_and(receives) {
            io.make_ready(handle);
        }
    }

    fn resumed(io: &mut Effects<M>, handle: Handle) {
        let Some(connection) = io.table.get(handle) else {
            return;
        };
        let waiting = connection.marks.intersects(Marks::READABLE | Marks::ENDING);
        if waiting || !connection.socket.armed.contains(Armed::RECEIVE) {
            io.make_ready(handle);
        }
    }

    fn flush(io: &mut Effects<M>, handle: Handle) {
        io.flush(handle);
    }

    fn flush_large(io: &mut Effects<M>) {
        io.flush_large();
    }

    fn in_flight(&self, seat: &Seat) -> usize {
        match seat.armed.contains(Armed::SEND) {
            true => self.rings.unsent(seat),
            false => 0,
        }
    }

    fn queued(io: &mut Effects<M>, handle: Handle) -> usize {
        io.queued(handle)
    }

    fn all_read(connection: &Connection<Seat>) -> bool {
        let armed = connection.socket.armed;
        let told = armed.intersects(Armed::RECEIVE | Armed::INPUT);
        let ended = connection.marks.contains(Marks::ENDING);
        (told || ended) && !connection.marks.contains(Marks::READABLE)
    }

    fn forget_unread(io: &mut Effects<M>, handle: Handle) {
        if let Some(connection) = io.table.get_mut(handle)
            && connection.marks.contains(Marks::READABLE)
        {
            connection.marks.remove(Marks::READABLE);
            io.multiplexer.kept.forget(handle);
        }
    }

    fn end_sending(io: &mut Effects<M>, handle: Handle) -> Result<(), Errno> {
        io.install(handle);
        Ok(())
    }

    fn end_input(io: &mut Effects<M>, handle: Handle) {
        io.end_input(handle);
    }

    fn discard(io: &mut Effects<M>, handle: Handle) {
        io.begin_to_leave(handle);
    }

    fn has_work(&mut self) -> bool {
        !self.starved.is_empty() || self.rings.have_told()
    }

    fn wake_at(&self) -> Option<Timestamp> {
        self.sweep_at()
    }

    fn is_clear(&self) -> bool {
        self.leaving == 0
    }

    fn count(&self, counts: &mut DriverCounts) {
        counts.receiving = self.receiving as u64;
        counts.io_uring_enters = self.rings.enters;
        counts.receive_buffer_bytes = self.rings.buffer_bytes() as u64;
        counts.kept_bytes = self.kept.bytes() as u64;
    }

    fn wait<H: Handler<Mail = M>>(turn: &mut Loop<H, Self>) -> Result<(), DriverError> {
        turn.wait_for_more_than_sends()
    }

    fn deliver<H: Handler<Mail = M>>(turn: &mut Loop<H, Self>) {
        turn.deliver_completions();
    }

    fn serve<H: Handler<Mail = M>>(turn: &mut Loop<H, Self>, handle: Handle) {
        turn.serve(handle);
    }

    fn served<H: Handler<Mail = M>>(turn: &mut Loop<H, Self>) {
        turn.feed_starved();
        turn.io.sweep();
    }
}

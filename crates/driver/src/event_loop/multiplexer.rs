//! What the loop leaves to epoll or io_uring: being told of what happens on sockets, and moving
//! bytes. Whose turn it is, and what follows, is decided in the loop.

use std::os::fd::OwnedFd;

use events::{Handle, Handler, Timestamp};
use rustix::io::Errno;

use crate::connection::Connection;
use crate::counters::DriverCounts;
use crate::doors::Doors;
use crate::error::DriverError;

use super::effects::Effects;
use super::turn::Loop;

/// One way of being told of many sockets, `M` being the workers' mail.
pub(crate) trait Multiplexer<M>: Sized {
    /// What a connection's socket is known by.
    type Socket;
    /// What the loop has at hand beside the sockets.
    type Desk: Default;

    /// The socket of a connection that has none.
    fn no_socket() -> Self::Socket;

    /// Tells of clients that wait at the listeners, from now on, until [`Self::let_go`].
    fn watch(&mut self, doors: &Doors) -> Result<(), Errno>;

    /// Tells of clients no more until it is asked again.
    fn look_away(&mut self, doors: &Doors);

    /// Lets go of the listeners, which are about to be closed.
    fn let_go(&mut self, doors: &Doors);

    /// Fails if no accepted connection can be held.
    fn find_room(&mut self) -> Result<(), Errno>;

    /// Takes over an accepted connection's socket. What fails is discarded by the caller.
    fn seat(io: &mut Effects<M, Self>, handle: Handle, fd: OwnedFd) -> Result<(), Errno>;

    /// Takes over the socket of a connection that is being made, and tells of its end.
    fn await_connected(io: &mut Effects<M, Self>, handle: Handle, fd: OwnedFd)
    -> Result<(), Errno>;

    /// Whether a connection that was being made stands now. If not, its socket is gone.
    fn connected(io: &mut Effects<M, Self>, handle: Handle) -> Result<(), Errno>;

    /// The handler does not want to receive any more.
    fn paused(io: &mut Effects<M, Self>, handle: Handle);

    /// The handler wants to receive again.
    fn resumed(io: &mut Effects<M, Self>, handle: Handle);

    /// Sends what is in the connection's outbox, or begins to.
    fn flush(io: &mut Effects<M, Self>, handle: Handle);

    /// Sends those that have grown large.
    fn flush_large(io: &mut Effects<M, Self>);

    /// Bytes that are being sent, and are in no outbox.
    fn in_flight(&self, socket: &Self::Socket) -> usize;

    /// Bytes that were sent, and that the kernel keeps until the peer takes them; 0 if it does not tell.
    fn queued(io: &mut Effects<M, Self>, handle: Handle) -> usize;

    /// Whether the peer has said nothing that is not received.
    fn all_read(connection: &Connection<Self::Socket>) -> bool;

    /// Nobody wants what was said and not received.
    fn forget_unread(io: &mut Effects<M, Self>, handle: Handle);

    /// Ends the sending direction. What fails is discarded by the caller.
    fn end_sending(io: &mut Effects<M, Self>, handle: Handle) -> Result<(), Errno>;

    /// Has a connection that cannot send find the end of its input behind what is there.
    fn end_input(io: &mut Effects<M, Self>, handle: Handle);

    /// Takes the connection out of everything and closes its socket.
    fn discard(io: &mut Effects<M, Self>, handle: Handle);

    /// Whether there is work without waiting, beside what the loop knows of.
    fn has_work(&mut self) -> bool;

    /// When there will be, at the latest.
    fn wake_at(&self) -> Option<Timestamp>;

    /// Whether nothing is left of connections that were discarded.
    fn is_clear(&self) -> bool;

    /// Adds what only it counts.
    fn count(&self, counts: &mut DriverCounts);

    /// Sleeps until there is something to do, which may be now.
    fn wait<H: Handler<Mail = M>>(turn: &mut Loop<H, Self>) -> Result<(), DriverError>;

    /// Does what follows from what has happened.
    fn deliver<H: Handler<Mail = M>>(turn: &mut Loop<H, Self>);

    /// Whether the turn took in all that had happened when it began.
    fn has_told_all(&self) -> bool;

    /// Does what a connection's state asks for.
    fn serve<H: Handler<Mail = M>>(turn: &mut Loop<H, Self>, handle: Handle);

    /// What else is to be done in a turn, once all connections have been served.
    fn served<H: Handler<Mail = M>>(turn: &mut Loop<H, Self>);
}

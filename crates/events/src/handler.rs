//! What a driver tells a state machine.

use std::collections::HashSet;
use std::net::SocketAddr;

use crate::io::{Handle, Io, Tag};
use crate::time::Timestamp;
use crate::tls::TlsFacts;

/// Where an accepted connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// TCP, with the peer's address.
    Tcp(SocketAddr),
    /// A unix socket: the peer is on this host.
    Unix,
}

/// Why a connection that the handler asked for could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// The operating system's error number (`errno`) of `connect` or `socket`.
    Os(i32),
    /// The address could not be resolved or is not of a kind this driver can connect to.
    Address,
}

/// How the peer ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangUp {
    /// The peer closed its end, or at least its sending half (FIN, RDHUP).
    Closed,
    /// The connection failed with this `errno` (ECONNRESET, ETIMEDOUT, …).
    Failed(i32),
    /// A layer cannot go on: the peer's packets do not follow each other. The peer is still there to be told.
    OutOfOrder,
}

/// A state machine that lives on one worker thread and is told of everything that happens there.
///
/// Order within one connection: `accepted` or `connected` comes first; then any number of
/// `received` and `drained`; then at most one `hung_up`. After the handler has called
/// [`Io::close`] nothing more is reported for that handle. `hung_up` closes nothing by itself: the
/// handler still owns the handle and must close it.
pub trait Handler {
    /// What other threads may post to this worker.
    type Mail: Send + 'static;

    /// A connection was accepted. `nonce` holds fresh random bytes for whatever needs them.
    /// Returns the tag for all later events of this connection.
    fn accepted<I: Io<Self::Mail>>(
        &mut self,
        io: &mut I,
        handle: Handle,
        peer: Peer,
        nonce: [u8; 32],
        now: Timestamp,
    ) -> Tag;

    /// A connection asked for with [`Io::connect`] is established.
    fn connected<I: Io<Self::Mail>>(&mut self, io: &mut I, tag: Tag, now: Timestamp);

    /// A connection asked for with [`Io::connect`] could not be made. The handle is already gone
    /// and must not be closed.
    fn connect_failed<I: Io<Self::Mail>>(
        &mut self,
        io: &mut I,
        tag: Tag,
        error: ConnectError,
        now: Timestamp,
    );

    /// Bytes arrived. The slice is the worker's shared buffer: what is needed later must be copied.
    fn received<I: Io<Self::Mail>>(&mut self, io: &mut I, tag: Tag, bytes: &[u8], now: Timestamp);

    /// Layers hold back so many bytes of what the peer sent, or are about to: the beginning of something that cannot be told
    /// in part, or of something that is told part by part from now on. Told when that becomes much, and when it is over.
    fn withheld<I: Io<Self::Mail>>(
        &mut self,
        _io: &mut I,
        _tag: Tag,
        _bytes: usize,
        _now: Timestamp,
    ) {
    }

    /// A connection for which [`Io::start_tls`] was asked speaks TLS. What the peer sends from here on comes
    /// over it.
    fn tls_established<I: Io<Self::Mail>>(
        &mut self,
        _io: &mut I,
        _tag: Tag,
        _facts: TlsFacts,
        _now: Timestamp,
    ) {
    }

    /// All bytes of the outbox have been taken by the kernel, after [`Io::notify_drained`].
    fn drained<I: Io<Self::Mail>>(&mut self, io: &mut I, tag: Tag, now: Timestamp);

    /// The peer hung up or the connection failed. Reported also while receiving is paused, then
    /// possibly before bytes that are still unread; those are lost.
    fn hung_up<I: Io<Self::Mail>>(&mut self, io: &mut I, tag: Tag, how: HangUp, now: Timestamp);

    /// Another thread posted something.
    fn mail<I: Io<Self::Mail>>(&mut self, io: &mut I, mail: Self::Mail, now: Timestamp);

    /// The time of [`Handler::next_timer`] has come (or passed; drivers may be late, never early).
    fn timer<I: Io<Self::Mail>>(&mut self, io: &mut I, now: Timestamp);

    /// When the handler next wants to be called; asked once at the end of each loop turn.
    fn next_timer(&self) -> Option<Timestamp>;

    /// All events of this loop turn have been delivered and the outboxes are about to be flushed.
    fn turn_ended<I: Io<Self::Mail>>(&mut self, io: &mut I, now: Timestamp);

    /// An event has panicked in the handler, which was left where it stood. `suspects` are the connections that the event was
    /// about, that it has written to or that it has asked for: nobody knows what became of them. The handler closes them with
    /// [`Close::Abort`](crate::Close::Abort), together with what is tied to them, and puts its records in order. Layers
    /// add the connections of which they hold something back.
    ///
    /// Returns the connections that it still has; the driver closes all others, without a word. `None` if the records
    /// cannot be brought into order: then this is called again with all connections there are, and if that does not
    /// help either, the worker ends.
    fn recover<I: Io<Self::Mail>>(
        &mut self,
        _io: &mut I,
        _suspects: &mut Vec<Handle>,
        _now: Timestamp,
    ) -> Option<HashSet<Handle>> {
        None
    }

    /// True once the handler has finished its work after being told to drain: the driver then
    /// flushes, closes its sockets and returns.
    fn finished(&self) -> bool;
}

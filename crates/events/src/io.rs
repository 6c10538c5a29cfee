//! What a state machine may ask of its driver.

use crate::time::Span;

/// The driver's name for a connection: its place in the driver's table and how often that place
/// was used before, so that a stale handle is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u64);

impl Handle {
    /// No connection has this one.
    pub const NONE: Self = Self(u64::MAX);
}

/// What the handler wants to be told with each event of a connection: its own name for it.
///
/// The driver stores it beside the socket and never looks inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u64);

/// How a connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// Send what is in the outbox first (bounded in time by the driver), then close.
    Flush,
    /// Close at once; unsent bytes are dropped.
    Abort,
}

/// How what a client sends and is sent is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// With zlib.
    Zlib,
    /// With zstd.
    Zstd {
        /// What the client asks for, from 1 to 22.
        level: u8,
    },
}

/// Which end of a connection that becomes a TLS connection is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsSide {
    /// The peer begins.
    Server,
    /// We begin.
    Client,
}

/// The effects of a state machine on the world, `M` being the mail of its worker.
///
/// None of them blocks and none calls back into the handler: what follows from an effect arrives
/// as a later event.
pub trait Io<M> {
    /// The bytes that leave for this connection at the end of the turn; append to them, or swap a
    /// whole buffer in when it is empty. Bytes of one turn leave in as few system calls as possible.
    fn outbox(&mut self, handle: Handle) -> &mut Vec<u8>;

    /// Bytes of the outbox that the kernel has not taken yet.
    fn unsent(&self, handle: Handle) -> usize;

    /// Bytes that the peer has not taken yet: those of the outbox, and those that the kernel keeps for it. Costs a few
    /// system calls.
    fn untaken(&mut self, handle: Handle) -> usize {
        self.unsent(handle)
    }

    /// [`Io::unsent`] over all connections of this worker.
    fn unsent_total(&self) -> usize;

    /// Asks for one [`drained`](crate::Handler::drained) as soon as the outbox is empty.
    fn notify_drained(&mut self, handle: Handle);

    /// Stops reading from the peer; a hang-up is still reported.
    fn pause_receive(&mut self, handle: Handle);

    /// Reads again.
    fn resume_receive(&mut self, handle: Handle);

    /// Opens a connection to the backend that the driver was configured with. `connected` or
    /// `connect_failed` follows, with `tag`, in a later event; never before this call returns.
    fn connect(&mut self, tag: Tag) -> Handle;

    /// Gives the connection back. No event of this handle is reported any more. A connection that
    /// is still being made is given up.
    fn close(&mut self, handle: Handle, how: Close);

    /// Posts to another worker of the process. Returns the mail if that worker has ended.
    fn post(&mut self, worker: usize, mail: M) -> Result<(), M>;

    /// Stops accepting new connections on this worker's listeners, for good: a drain has begun.
    fn stop_accepting(&mut self);

    /// From now on all that comes from this connection and leaves for it, behind what is in the outbox, is
    /// compressed. A driver does nothing of that kind: whoever offers compression puts a layer between.
    fn compress(&mut self, _connection: (Handle, Tag), _method: Compression) {}

    /// A part of an answer ends here, one of several results. If the connection is compressed, what was put into the outbox
    /// leaves in packets of its own, and the sequence id of the next one is returned: the next packet within has it, too,
    /// and clients rely on that (`net_flush` of the servers).
    fn end_part(&mut self, _handle: Handle) -> Option<u8> {
        None
    }

    /// The sequence id that the next compressed packet to this connection has, if it is compressed. The servers begin
    /// each answer with it, too, and do not look at the ids of the packets within.
    fn sequence_id(&self, _handle: Handle) -> Option<u8> {
        None
    }

    /// From now on all that comes from this connection and leaves for it, behind what is in the outbox, goes over
    /// TLS. `early` is what came already and belongs to it. [`tls_established`](crate::Handler::tls_established)
    /// follows, or the connection fails. As with compression, a driver does nothing of that kind.
    fn start_tls(&mut self, _connection: (Handle, Tag), _side: TlsSide, _early: &[u8]) {}

    /// What is told in this turn may have happened so much earlier than its time, because the driver
    /// was busy with what happened before. A time that was measured between two events may be too
    /// long by so much, and it was not the peer's.
    fn told_late(&self) -> Span {
        Span::ZERO
    }

    /// False if more has happened before this turn's time than was told so far: that nothing was
    /// heard of a peer means nothing then. True to those who ask before the turn's events were told
    /// only by chance.
    fn has_told_all(&self) -> bool {
        true
    }
}

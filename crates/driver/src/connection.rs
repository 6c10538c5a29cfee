//! What the driver remembers of one socket. It is kept small: there may be a million of them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bitflags::bitflags;
use events::Tag;
use rustix::io::Errno;

use crate::outbox::Outbox;

/// One socket of a worker, or the place of one that could not be made.
#[derive(Debug)]
pub(crate) struct Connection<S> {
    /// The handler's name for it.
    pub(crate) tag: Tag,
    /// Present only while there is something to send.
    pub(crate) outbox: Option<Box<Outbox>>,
    /// What the driver knows its socket by.
    pub(crate) socket: S,
    pub(crate) marks: Marks,
    pub(crate) phase: Phase,
    /// Why sending failed, to be reported once all input has been read.
    pub(crate) failure: Option<Errno>,
}

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Being made, to the backend address with this number.
    Connecting { address: u16 },
    /// The handler's to use.
    Open,
    /// Closed by the handler; its last bytes are being sent.
    Flushing,
    /// Closed by the handler and nothing left to send; waiting for the peer to close, too.
    Lingering,
    /// Gone for everybody but the kernel, which still works for it.
    Leaving,
}

bitflags! {
    /// Independent facts about a connection.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Marks: u16 {
        /// The kernel may hold input that was not read.
        const READABLE = 1;
        /// The peer's end, or a failure, has been seen; it comes behind the unread input.
        const ENDING = 1 << 1;
        /// On the list of connections to be read without a further event.
        const READY = 1 << 2;
        /// The handler does not want to receive.
        const PAUSED = 1 << 3;
        /// The hang-up has been reported.
        const HUNG_UP = 1 << 4;
        /// The kernel takes no more until it says so.
        const BLOCKED = 1 << 5;
        /// On the list of outboxes to be written at the end of the turn.
        const DIRTY = 1 << 6;
        /// The handler wants to know when the outbox is empty.
        const DRAIN_WANTED = 1 << 7;
        /// Sending failed; further output is dropped.
        const BROKEN = 1 << 8;
        /// Came from a listener and is counted among this worker's.
        const ACCEPTED = 1 << 9;
        /// Something came since this was last looked at; who is new counts as heard.
        const HEARD = 1 << 10;
        /// Was silent for long and has hardly spoken since: receives once per poll.
        const RARE = 1 << 11;
    }
}

impl<S> Connection<S> {
    /// A connection that a listener gave.
    pub(crate) fn accepted(socket: S) -> Self {
        Self {
            marks: Marks::ACCEPTED | Marks::HEARD,
            ..Self::new(Phase::Open, Tag(0), socket)
        }
    }

    /// A connection that is to be made; until then it takes no output.
    pub(crate) fn connecting(tag: Tag, socket: S) -> Self {
        Self {
            marks: Marks::BLOCKED | Marks::HEARD,
            ..Self::new(Phase::Connecting { address: 0 }, tag, socket)
        }
    }

    fn new(phase: Phase, tag: Tag, socket: S) -> Self {
        Self {
            tag,
            outbox: None,
            socket,
            marks: Marks::empty(),
            phase,
            failure: None,
        }
    }

    /// Whether the handler still owns it.
    pub(crate) fn is_owned(&self) -> bool {
        matches!(self.phase, Phase::Connecting { .. } | Phase::Open)
    }

    /// Bytes of the outbox that the kernel has not taken.
    pub(crate) fn unsent(&self) -> usize {
        self.outbox.as_ref().map_or(0, |outbox| outbox.unsent())
    }
}

impl Connection<Option<OwnedFd>> {
    /// The socket's descriptor; there is none while no address could be connected to.
    pub(crate) fn socket(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.socket.as_ref().map(AsFd::as_fd).ok_or(Errno::NOTCONN)
    }
}

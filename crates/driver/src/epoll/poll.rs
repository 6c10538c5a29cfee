//! The epoll instance of a worker and the names of what is registered in it.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use events::Handle;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::Timespec;

/// How many events a turn may bring. Answers leave at the end of the turn, so this bounds how long
/// the first of them waits for the last.
pub(super) const EVENTS_MAX: usize = 256;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Mail for a sleeping worker.
    Wake,
    /// The listener with this number.
    Listener(usize),
    /// A connection.
    Connection(Handle),
}

/// Places of the connection table that are never used, so that their handles can name other
/// things. The generation part of such a handle is the number of the listener.
const WAKE: u64 = u32::MAX as u64;
const LISTENER: u64 = WAKE - 1;

/// An epoll instance and the events of its last wait.
pub(super) struct Poll {
    fd: OwnedFd,
}

/// Events as epoll reports them.
pub(super) type Events = Vec<Event>;

impl Poll {
    pub(super) fn new() -> Result<Self, Errno> {
        Ok(Self {
            fd: epoll::create(CreateFlags::CLOEXEC)?,
        })
    }

    /// Waits until something happens, for at most `timeout` (rounded up to milliseconds), or for
    /// ever. `events` is replaced.
    pub(super) fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> Result<(), Errno> {
        events.clear();
        events.reserve(EVENTS_MAX);
        // A longer one than the kernel takes is cut: waking early harms nobody.
        let timeout = timeout.map(|timeout| timeout.min(Duration::from_secs(3600)));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match epoll::wait(&self.fd, spare_capacity(events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Reports every edge of the connection's socket from now on; the present state counts as one.
    pub(super) fn add_connection(&self, fd: impl AsFd, handle: Handle) -> Result<(), Errno> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        self.add(fd, Token::Connection(handle), flags)
    }

    /// Reports to one of the workers sharing the listener that a connection waits there.
    pub(super) fn add_listener(&self, fd: impl AsFd, number: usize) -> Result<(), Errno> {
        self.add(
            fd,
            Token::Listener(number),
            EventFlags::IN | EventFlags::EXCLUSIVE,
        )
    }

    /// Reports each signal of the mailbox; it need not be read.
    pub(super) fn add_wake(&self, fd: impl AsFd) -> Result<(), Errno> {
        self.add(fd, Token::Wake, EventFlags::IN | EventFlags::ET)
    }

    /// Reports nothing more about it.
    pub(super) fn remove(&self, fd: impl AsFd) -> Result<(), Errno> {
        epoll::delete(&self.fd, fd)
    }

    fn add(&self, fd: impl AsFd, token: Token, flags: EventFlags) -> Result<(), Errno> {
        epoll::add(&self.fd, fd, EventData::new_u64(token.into_data()), flags)
    }
}

impl Token {
    pub(super) fn of(event: &Event) -> Self {
        let data = event.data;
        Self::from_data(data.u64())
    }

    fn from_data(data: u64) -> Self {
        match data & u64::from(u32::MAX) {
            WAKE => Self::Wake,
            LISTENER => Self::Listener((data >> 32) as usize),
            _ => Self::Connection(Handle(data)),
        }
    }

    fn into_data(self) -> u64 {
        match self {
            Self::Wake => WAKE,
            Self::Listener(number) => (number as u64) << 32 | LISTENER,
            Self::Connection(handle) => handle.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_survive_the_kernel() {
        let handle = Handle(7 << 32 | 5);
        for token in [
            Token::Wake,
            Token::Listener(0),
            Token::Listener(9),
            Token::Connection(handle),
        ] {
            assert_eq!(Token::from_data(token.into_data()), token);
        }
    }
}

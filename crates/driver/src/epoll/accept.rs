//! Accepting: a bounded batch per turn, dealt to the workers, and a pause when the process has no
//! descriptors left.

use std::os::fd::OwnedFd;

use events::{Handle, Handler, Peer, Span, Tag, Timestamp};
use rustix::io::Errno;

use crate::connection::Connection;
use crate::listener::Listeners;
use crate::mailbox::Letter;
use crate::nonces::Nonces;

use super::effects::Effects;
use super::poll::Poll;
use super::turn::Loop;

/// How many connections a listener may bring per turn: a storm of them must not starve those that
/// are executing statements.
const BATCH: usize = 32;
/// How long nothing is accepted after it failed.
const RETRY: Span = Span::from_ms(100);
/// How often failures are logged at most.
const WARN_INTERVAL: Span = Span::from_secs(1);

/// Where connections come in. Dropping it without leaving the epoll instance would keep the
/// listeners registered as long as any other worker has them.
pub(super) struct Doors {
    listeners: Listeners,
    nonces: Nonces,
    suspended_until: Option<Timestamp>,
    warned_at: Option<Timestamp>,
    errors_unlogged: u64,
}

impl Doors {
    /// Begins to accept.
    pub(super) fn open(listeners: Listeners, poll: &Poll) -> Result<Self, Errno> {
        let doors = Self {
            listeners,
            nonces: Nonces::new(),
            suspended_until: None,
            warned_at: None,
            errors_unlogged: 0,
        };
        doors.register(poll)?;
        Ok(doors)
    }

    /// When accepting goes on after a failure.
    pub(super) fn resume_at(&self) -> Option<Timestamp> {
        self.suspended_until
    }

    fn register(&self, poll: &Poll) -> Result<(), Errno> {
        for (number, listener) in self.listeners.sockets().iter().enumerate() {
            match poll.add_listener(listener, number) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Leaves the epoll instance; those not registered there are as wanted.
    fn deregister(&self, poll: &Poll) {
        for listener in self.listeners.sockets() {
            let _ = poll.remove(listener);
        }
    }

    fn accept(&self, number: usize) -> Result<(OwnedFd, Peer), Errno> {
        match self.listeners.sockets().get(number) {
            Some(listener) if self.suspended_until.is_none() => listener.accept(),
            _ => Err(Errno::AGAIN),
        }
    }

    fn nonce(&mut self) -> Result<[u8; 32], Errno> {
        self.nonces.next()
    }

    /// Accepts nothing for a while and says why, though not each time.
    fn suspend(&mut self, poll: &Poll, errno: Errno, now: Timestamp) {
        self.deregister(poll);
        self.suspended_until = Some(now + RETRY);
        self.errors_unlogged += 1;
        if self
            .warned_at
            .is_none_or(|at| now.since(at) >= WARN_INTERVAL)
        {
            tracing::warn!(
                error = %errno,
                errors = self.errors_unlogged,
                "cannot accept connections; raise the limit of open files or lower the number of \
                 connections"
            );
            self.warned_at = Some(now);
            self.errors_unlogged = 0;
        }
    }

    fn resume(&mut self, poll: &Poll, now: Timestamp) {
        self.suspended_until = None;
        if let Err(errno) = self.register(poll) {
            self.suspend(poll, errno, now);
        }
    }
}

impl<M> Effects<M> {
    /// Stops accepting for good.
    pub(super) fn close_doors(&mut self) {
        if let Some(doors) = self.doors.take() {
            self.balance.retire(self.worker);
            doors.deregister(&self.poll);
        }
    }

    /// Accepts again when a pause is over.
    pub(super) fn reopen_doors(&mut self) {
        if let Some(doors) = &mut self.doors
            && doors.suspended_until.is_some_and(|until| until <= self.now)
        {
            doors.resume(&self.poll, self.now);
        }
    }

    fn accept_failed(&mut self, errno: Errno) {
        self.counts.accept_errors += 1;
        if let Some(doors) = &mut self.doors {
            doors.suspend(&self.poll, errno, self.now);
        }
    }

    fn register_accepted(&mut self, fd: OwnedFd) -> Result<(Handle, [u8; 32]), Errno> {
        let nonce = self
            .doors
            .as_mut()
            .map_or(Err(Errno::CONNABORTED), Doors::nonce);
        let nonce = nonce.inspect_err(|_| self.balance.closed(self.worker))?;
        let handle = self.table.insert(Connection::accepted(fd));
        let registered = match self.table.get(handle).map(Connection::socket) {
            Some(Ok(fd)) => self.poll.add_connection(fd, handle),
            _ => Err(Errno::BADF),
        };
        if let Err(errno) = registered {
            self.discard(handle);
            return Err(errno);
        }
        Ok((handle, nonce))
    }
}

impl<H: Handler> Loop<H> {
    /// Accepts from a listener. What is left there is reported again in the next turn.
    pub(super) fn accept(&mut self, number: usize) {
        for _ in 0..BATCH {
            let Some(doors) = &self.io.doors else { return };
            match doors.accept(number) {
                Ok((fd, peer)) => self.deal(fd, peer),
                Err(Errno::AGAIN) => return,
                // About that one connection only.
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO | Errno::PERM) => {}
                Err(errno) => return self.io.accept_failed(errno),
            }
        }
    }

    /// Gives the connection to the worker that shall have it, which mostly is this one.
    fn deal(&mut self, fd: OwnedFd, peer: Peer) {
        self.io.counts.accepts += 1;
        let own = self.io.worker;
        let chosen = self.io.balance.choose(own);
        self.io.balance.opened(chosen);
        if chosen == own {
            return self.adopt(fd, peer);
        }
        match self.io.postboxes.send(chosen, Letter::Adopt(fd, peer)) {
            Ok(()) => self.io.counts.accepts_handed_over += 1,
            Err(letter) => {
                self.io.balance.closed(chosen);
                self.io.balance.opened(own);
                if let Letter::Adopt(fd, peer) = letter {
                    self.adopt(fd, peer);
                }
            }
        }
    }

    /// Makes an accepted connection, already counted as this worker's, known to the handler.
    pub(super) fn adopt(&mut self, fd: OwnedFd, peer: Peer) {
        match self.io.register_accepted(fd) {
            Ok((handle, nonce)) => {
                let now = self.io.now;
                let tag: Tag = self
                    .handler
                    .accepted(&mut self.io, handle, peer, nonce, now);
                if let Some(connection) = self.io.table.get_mut(handle) {
                    connection.tag = tag;
                }
                self.io.handled();
            }
            Err(errno) => self.io.accept_failed(errno),
        }
    }
}

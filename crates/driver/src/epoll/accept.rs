//! Accepting: a bounded batch per turn, dealt to the workers, and a pause when the process has no
//! descriptors left.

use std::os::fd::OwnedFd;

use events::{Handle, Handler, Peer, Tag};
use rustix::io::Errno;

use crate::connection::Connection;
use crate::doors::{BATCH, Doors};
use crate::listener::Listeners;
use crate::mailbox::Letter;

use super::effects::Effects;
use super::poll::Poll;
use super::turn::Loop;

impl<M> Effects<M> {
    /// Begins to accept.
    pub(super) fn open_doors(&mut self, listeners: Listeners) -> Result<(), Errno> {
        let doors = Doors::new(listeners);
        register(&doors, &self.poll)?;
        self.doors = Some(doors);
        Ok(())
    }

    /// Stops accepting for good. Listeners that did not leave the epoll instance would stay
    /// registered as long as any other worker has them.
    pub(super) fn close_doors(&mut self) {
        if let Some(doors) = self.doors.take() {
            self.balance.retire(self.worker);
            deregister(&doors, &self.poll);
        }
    }

    /// Accepts again when a pause is over.
    pub(super) fn reopen_doors(&mut self) {
        if let Some(doors) = &mut self.doors
            && doors.resume(self.now)
            && let Err(errno) = register(doors, &self.poll)
        {
            self.suspend(errno);
        }
    }

    fn accept_failed(&mut self, errno: Errno) {
        self.counts.accept_errors += 1;
        self.suspend(errno);
    }

    fn suspend(&mut self, errno: Errno) {
        if let Some(doors) = &mut self.doors {
            deregister(doors, &self.poll);
            doors.suspend(errno, self.now);
        }
    }

    fn register_accepted(&mut self, fd: OwnedFd) -> Result<(Handle, [u8; 32]), Errno> {
        let nonce = self
            .doors
            .as_mut()
            .map_or(Err(Errno::CONNABORTED), Doors::nonce);
        let nonce = nonce.inspect_err(|_| self.balance.closed(self.worker))?;
        let handle = self.table.insert(Connection::accepted(Some(fd)));
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

fn register(doors: &Doors, poll: &Poll) -> Result<(), Errno> {
    for (number, listener) in doors.sockets().iter().enumerate() {
        match poll.add_listener(listener, number) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Leaves the epoll instance; those not registered there are as wanted.
fn deregister(doors: &Doors, poll: &Poll) {
    for listener in doors.sockets() {
        let _ = poll.remove(listener);
    }
}

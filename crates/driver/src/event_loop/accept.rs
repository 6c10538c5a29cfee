//! Accepting: a bounded batch per turn, dealt to the workers, and a pause while no more can be held.

use std::os::fd::OwnedFd;

use events::{Handle, Handler, Peer, Tag};
use rustix::io::Errno;

use crate::connection::Connection;
use crate::doors::{Doors, batch};
use crate::listener::Listeners;
use crate::mailbox::Letter;

use super::effects::Effects;
use super::multiplexer::Multiplexer;
use super::tell::About;
use super::turn::Loop;

impl<M, X: Multiplexer<M>> Effects<M, X> {
    /// Begins to accept.
    pub(super) fn open_doors(&mut self, listeners: Listeners) -> Result<(), Errno> {
        let doors = Doors::new(listeners);
        self.multiplexer.watch(&doors)?;
        self.doors = Some(doors);
        Ok(())
    }

    /// Stops accepting for good. A listener lives as long as anybody watches it, even if it is
    /// closed, so it is let go of here.
    pub(super) fn close_doors(&mut self) {
        if let Some(doors) = self.doors.take() {
            self.balance.retire(self.worker);
            self.multiplexer.let_go(&doors);
        }
    }

    /// Accepts again when a pause is over.
    pub(super) fn reopen_doors(&mut self) {
        if let Some(doors) = &mut self.doors
            && doors.resume(self.now)
            && let Err(errno) = self.multiplexer.watch(doors)
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
            self.multiplexer.look_away(doors);
            doors.suspend(errno, self.now);
        }
    }

    /// The next client of a listener; none is taken that cannot be held.
    fn next_client(&mut self, number: usize) -> Result<(OwnedFd, Peer), Errno> {
        self.multiplexer.find_room()?;
        match &self.doors {
            Some(doors) => doors.accept(number),
            None => Err(Errno::AGAIN),
        }
    }

    fn seat_accepted(&mut self, fd: OwnedFd) -> Result<(Handle, [u8; 32]), Errno> {
        let nonce = self
            .doors
            .as_mut()
            .map_or(Err(Errno::CONNABORTED), Doors::nonce);
        let nonce = nonce.inspect_err(|_| self.balance.closed(self.worker))?;
        let connection = Connection::accepted(X::no_socket());
        let handle = self.table.insert(connection);
        if let Err(errno) = X::seat(self, handle, fd) {
            self.discard(handle);
            return Err(errno);
        }
        Ok((handle, nonce))
    }
}

impl<H: Handler, X: Multiplexer<H::Mail>> Loop<H, X> {
    /// Accepts from a listener.
    pub(crate) fn accept(&mut self, number: usize) {
        let behind = self.io.behind_since.is_some();
        for _ in 0..batch(self.io.events_before, behind) {
            match self.io.next_client(number) {
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
        match self.io.seat_accepted(fd) {
            Ok((handle, nonce)) => {
                let now = self.io.now;
                let told = self.tell(About::Connection(handle), |handler, io| {
                    let tag: Tag = handler.accepted(io, handle, peer, nonce, now);
                    if let Some(connection) = io.table.get_mut(handle) {
                        connection.tag = tag;
                    }
                });
                if told.is_some() {
                    X::serve(self, handle);
                }
            }
            Err(errno) => self.io.accept_failed(errno),
        }
    }
}

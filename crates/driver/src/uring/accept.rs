//! Accepting: a bounded batch per turn, dealt to the workers, and a pause while no table has room.

use std::os::fd::{AsFd, OwnedFd};

use events::{Handle, Handler, Peer, Tag};
use rustix::io::Errno;

use crate::connection::Connection;
use crate::doors::{BATCH, Doors};
use crate::listener::Listeners;
use crate::mailbox::Letter;

use super::effects::Effects;
use super::rings::Rings;
use super::turn::Loop;

/// The doors and who watches them.
pub(super) struct Entrance {
    pub(super) doors: Doors,
    /// By listener: whether the kernel tells of the next client.
    watched: Vec<bool>,
}

impl Entrance {
    fn watch(&mut self, rings: &mut Rings) {
        for (number, watched) in self.watched.iter_mut().enumerate() {
            if !*watched && let Some(listener) = self.doors.sockets().get(number) {
                rings.first().poll_listener(listener.as_fd(), number as u32);
                *watched = true;
            }
        }
    }
}

impl<M> Effects<M> {
    /// Begins to accept.
    pub(super) fn open_entrance(&mut self, listeners: Listeners) {
        let doors = Doors::new(listeners);
        let mut entrance = Entrance {
            watched: vec![false; doors.sockets().len()],
            doors,
        };
        entrance.watch(&mut self.rings);
        self.entrance = Some(entrance);
    }

    /// Stops accepting for good. A listener lives as long as a ring watches it, even if it is
    /// closed, so the rings let go of it here.
    pub(super) fn close_entrance(&mut self) {
        let Some(entrance) = self.entrance.take() else {
            return;
        };
        self.balance.retire(self.worker);
        for (number, watched) in entrance.watched.iter().enumerate() {
            if *watched {
                self.rings.first().release_listener(number as u32);
            }
        }
    }

    /// Accepts again when a pause is over.
    pub(super) fn reopen_entrance(&mut self) {
        if let Some(entrance) = &mut self.entrance
            && entrance.doors.resume(self.now)
        {
            entrance.watch(&mut self.rings);
        }
    }

    fn accept_failed(&mut self, errno: Errno) {
        self.counts.accept_errors += 1;
        if let Some(entrance) = &mut self.entrance {
            entrance.doors.suspend(errno, self.now);
        }
    }

    /// The next client of a listener; none is taken that no table has room for.
    fn next_client(&mut self, number: usize) -> Result<(OwnedFd, Peer), Errno> {
        self.rings.find_room()?;
        match &self.entrance {
            Some(entrance) => entrance.doors.accept(number),
            None => Err(Errno::AGAIN),
        }
    }

    fn seat_accepted(&mut self, fd: &OwnedFd) -> Result<(Handle, [u8; 32]), Errno> {
        let entrance = self.entrance.as_mut().ok_or(Errno::CONNABORTED);
        let nonce = entrance.and_then(|entrance| entrance.doors.nonce());
        let seat = nonce.and_then(|nonce| Ok((nonce, self.rings.seat(fd)?)));
        let (nonce, seat) = seat.inspect_err(|_| self.balance.closed(self.worker))?;
        Ok((self.table.insert(Connection::accepted(seat)), nonce))
    }
}

impl<H: Handler> Loop<H> {
    /// A client waits at a listener, or the watch has ended otherwise.
    pub(super) fn listener_event(&mut self, number: usize) {
        if let Some(entrance) = &mut self.io.entrance
            && let Some(watched) = entrance.watched.get_mut(number)
        {
            *watched = false;
        }
        self.accept(number);
        // What is left there is reported at once.
        if let Some(entrance) = &mut self.io.entrance
            && entrance.doors.resume_at().is_none()
        {
            entrance.watch(&mut self.io.rings);
        }
    }

    fn accept(&mut self, number: usize) {
        for _ in 0..BATCH {
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
            return self.adopt(&fd, peer);
        }
        match self.io.postboxes.send(chosen, Letter::Adopt(fd, peer)) {
            Ok(()) => self.io.counts.accepts_handed_over += 1,
            Err(letter) => {
                self.io.balance.closed(chosen);
                self.io.balance.opened(own);
                if let Letter::Adopt(fd, peer) = letter {
                    self.adopt(&fd, peer);
                }
            }
        }
    }

    /// Makes an accepted connection, already counted as this worker's, known to the handler. It
    /// keeps no descriptor.
    pub(super) fn adopt(&mut self, fd: &OwnedFd, peer: Peer) {
        match self.io.seat_accepted(fd) {
            Ok((handle, nonce)) => {
                let now = self.io.now;
                let tag: Tag = self
                    .handler
                    .accepted(&mut self.io, handle, peer, nonce, now);
                if let Some(connection) = self.io.table.get_mut(handle) {
                    connection.tag = tag;
                }
                self.io.handled();
                self.serve(handle);
            }
            Err(errno) => self.io.accept_failed(errno),
        }
    }
}

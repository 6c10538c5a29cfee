//! Connections that this worker makes: to the first backend address that takes one.
//!
//! Until it stands, a connection has a descriptor of its own, so that all that is done to sockets
//! before that is done as everywhere.

use std::os::fd::{AsFd, OwnedFd};

use events::{ConnectError, Handle, Handler};
use rustix::io::Errno;
use rustix::net::sockopt;

use crate::connection::{Marks, Phase};
use crate::notice::Notice;
use crate::socket;

use super::effects::Effects;
use super::seat::{Armed, Seat};
use super::turn::Loop;

impl<M> Effects<M> {
    /// Connects to the backend addresses from number `first` on until one of them takes the
    /// attempt; `error` is what is reported if none is left.
    pub(super) fn try_addresses(&mut self, handle: Handle, first: u16, error: ConnectError) {
        let mut error = error;
        for number in first..u16::try_from(self.backend.len()).unwrap_or(u16::MAX) {
            match self.try_address(handle, number) {
                Ok(()) => return,
                Err(errno) => error = ConnectError::Os(errno.raw_os_error()),
            }
        }
        self.notices.push((handle, Notice::ConnectFailed(error)));
    }

    /// Begins to connect. Also a connection that is established at once is found by the event that
    /// follows.
    fn try_address(&mut self, handle: Handle, number: u16) -> Result<(), Errno> {
        let address = &self.backend[usize::from(number)];
        let fd = socket::open(address)?;
        self.sources.bind(&fd, address, self.backend.len())?;
        match socket::connect(&fd, address) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        if let Some(connection) = self.table.get_mut(handle) {
            self.rings.first().poll_connected(fd.as_fd(), handle);
            connection.phase = Phase::Connecting { address: number };
            connection.socket.fd = Some(fd);
            connection.socket.armed.insert(Armed::POLL);
        }
        Ok(())
    }

    /// Looks at an attempt that has come to its end.
    fn connect_outcome(&mut self, fd: Option<OwnedFd>) -> Result<Seat, Errno> {
        let fd = fd.ok_or(Errno::NOTCONN)?;
        sockopt::socket_error(&fd)??;
        self.rings.seat(&fd)
    }
}

impl<H: Handler> Loop<H> {
    /// An attempt has come to its end.
    pub(super) fn connecting_event(&mut self, handle: Handle, address: u16) {
        let Some(connection) = self.io.table.get_mut(handle) else {
            return;
        };
        let fd = connection.socket.fd.take();
        let seat = match self.io.connect_outcome(fd) {
            Ok(seat) => seat,
            Err(errno) => {
                let error = ConnectError::Os(errno.raw_os_error());
                return self
                    .io
                    .try_addresses(handle, address.saturating_add(1), error);
            }
        };
        let Some(connection) = self.io.table.get_mut(handle) else {
            return;
        };
        connection.socket = seat;
        connection.phase = Phase::Open;
        let (tag, marks, now) = (connection.tag, connection.marks, self.io.now);
        connection.marks.remove(Marks::BLOCKED);
        if connection.outbox.is_some() || marks.contains(Marks::DRAIN_WANTED) {
            self.io.mark_dirty(handle);
        }
        self.handler.connected(&mut self.io, tag, now);
        self.io.handled();
        self.serve(handle);
    }
}

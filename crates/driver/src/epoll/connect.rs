//! Connections that this worker makes: to the first backend address that takes one.

use events::{ConnectError, Handle, Handler};
use rustix::io::Errno;
use rustix::net::sockopt;

use crate::connection::{Marks, Phase};
use crate::notice::Notice;
use crate::socket;

use super::effects::Effects;
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
        self.poll.add_connection(&fd, handle)?;
        if let Some(connection) = self.table.get_mut(handle) {
            connection.phase = Phase::Connecting { address: number };
            connection.socket = Some(fd);
        }
        Ok(())
    }
}

impl<H: Handler> Loop<H> {
    /// Epoll reported that an attempt has come to its end. True if the connection is established
    /// and the event may also be about its input.
    pub(super) fn connecting_event(&mut self, handle: Handle, address: u16) -> bool {
        let Some(connection) = self.io.table.get_mut(handle) else {
            return false;
        };
        let outcome = connection.socket().and_then(sockopt::socket_error);
        if let Ok(Err(errno)) | Err(errno) = outcome {
            let error = ConnectError::Os(errno.raw_os_error());
            // Nothing must be heard of this socket again.
            connection.socket = None;
            self.io
                .try_addresses(handle, address.saturating_add(1), error);
            return false;
        }
        connection.phase = Phase::Open;
        let (tag, marks, now) = (connection.tag, connection.marks, self.io.now);
        if connection.outbox.is_some() || marks.contains(Marks::DRAIN_WANTED) {
            self.io.unblock(handle);
        } else {
            connection.marks.remove(Marks::BLOCKED);
        }
        self.handler.connected(&mut self.io, tag, now);
        self.io.handled();
        true
    }
}

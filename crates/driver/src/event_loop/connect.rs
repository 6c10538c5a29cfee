//! Connections that this worker makes: to the first backend address that takes one.

use events::{ConnectError, Handle, Handler};
use rustix::io::Errno;

use crate::connection::{Marks, Phase};
use crate::notice::Notice;
use crate::socket;

use super::effects::Effects;
use super::multiplexer::Multiplexer;
use super::tell::About;
use super::turn::Loop;

impl<M, X: Multiplexer<M>> Effects<M, X> {
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
        X::await_connected(self, handle, fd)?;
        if let Some(connection) = self.table.get_mut(handle) {
            connection.phase = Phase::Connecting { address: number };
        }
        Ok(())
    }
}

impl<H: Handler, X: Multiplexer<H::Mail>> Loop<H, X> {
    /// An attempt has come to its end. True if the connection stands.
    pub(crate) fn connecting_event(&mut self, handle: Handle, address: u16) -> bool {
        if let Err(errno) = X::connected(&mut self.io, handle) {
            let error = ConnectError::Os(errno.raw_os_error());
            let next = address.saturating_add(1);
            self.io.try_addresses(handle, next, error);
            return false;
        }
        let Some(connection) = self.io.table.get_mut(handle) else {
            return false;
        };
        connection.phase = Phase::Open;
        let (tag, marks, now) = (connection.tag, connection.marks, self.io.now);
        connection.marks.remove(Marks::BLOCKED);
        if connection.outbox.is_some() || marks.contains(Marks::DRAIN_WANTED) {
            self.io.mark_dirty(handle);
        }
        let told = self.tell(About::Connection(handle), |handler, io| {
            handler.connected(io, tag, now);
        });
        told.is_some()
    }
}

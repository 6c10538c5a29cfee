//! Serving those connections that were noted for it, and the end of the input. Receiving is the
//! multiplexer's.

use events::{Handle, Handler, HangUp};

use crate::connection::{Connection, Marks};

use super::multiplexer::Multiplexer;
use super::tell::About;
use super::turn::Loop;

impl<H: Handler, X: Multiplexer<H::Mail>> Loop<H, X> {
    /// Looks at those connections that need nothing to happen to go on.
    pub(super) fn serve_ready(&mut self) {
        let mut serving = std::mem::take(&mut self.serving);
        std::mem::swap(&mut serving, &mut self.io.ready);
        for handle in serving.drain(..) {
            if let Some(connection) = self.io.table.get_mut(handle) {
                connection.marks.remove(Marks::READY);
                X::serve(self, handle);
            }
        }
        self.serving = serving;
    }

    /// Tells that the input has ended.
    pub(crate) fn report_hang_up(&mut self, handle: Handle, how: HangUp) {
        let Some(connection) = self.io.table.get_mut(handle) else {
            return;
        };
        connection.marks.insert(Marks::HUNG_UP);
        let (tag, now) = (connection.tag, self.io.now);
        X::forget_unread(&mut self.io, handle);
        self.tell(About::Connection(handle), |handler, io| {
            handler.hung_up(io, tag, how, now);
        });
    }
}

impl<S> Connection<S> {
    /// How a connection ended whose input has been read.
    pub(crate) fn end(&self) -> HangUp {
        match self.failure {
            Some(errno) => HangUp::Failed(errno.raw_os_error()),
            None => HangUp::Closed,
        }
    }
}

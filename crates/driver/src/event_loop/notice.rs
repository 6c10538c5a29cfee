//! Telling the handler what followed from its own effects.

use events::{ConnectError, Handle, Handler, Io};

use crate::connection::Marks;
use crate::notice::Notice;

use super::multiplexer::Multiplexer;
use super::tell::About;
use super::turn::Loop;

impl<H: Handler, X: Multiplexer<H::Mail>> Loop<H, X> {
    /// Tells the handler what followed from the effects of the last turn.
    pub(super) fn deliver_notices(&mut self) {
        let mut notices = std::mem::take(&mut self.io.notices);
        for (handle, notice) in notices.drain(..) {
            match notice {
                Notice::Drained => self.deliver_drained(handle),
                Notice::ConnectFailed(error) => self.deliver_connect_failed(handle, error),
            }
        }
        // What came up meanwhile waits for the next turn.
        notices.append(&mut self.io.notices);
        self.io.notices = notices;
    }

    fn deliver_drained(&mut self, handle: Handle) {
        let unsent = self.io.unsent(handle);
        let Some(connection) = self.io.owned(handle) else {
            return;
        };
        if unsent > 0 {
            connection.marks.insert(Marks::DRAIN_WANTED);
            return;
        }
        let (tag, now) = (connection.tag, self.io.now);
        self.tell(About::Connection(handle), |handler, io| {
            handler.drained(io, tag, now);
        });
    }

    fn deliver_connect_failed(&mut self, handle: Handle, error: ConnectError) {
        let Some(connection) = self.io.owned(handle) else {
            return;
        };
        let (tag, now) = (connection.tag, self.io.now);
        self.io.discard(handle);
        self.tell(About::Connection(handle), |handler, io| {
            handler.connect_failed(io, tag, error, now);
        });
    }
}

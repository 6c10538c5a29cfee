//! Closing without losing the last answer.
//!
//! A socket that is closed with unread input resets the connection, and the reset may destroy an
//! answer that the peer has not read yet. So a gentle close sends what is left, ends the sending
//! direction and reads on until the peer closes, too; both for a bounded time.

use events::{Handle, Io};

use crate::connection::{Marks, Phase};

use super::effects::Effects;
use super::multiplexer::Multiplexer;

impl<M, X: Multiplexer<M>> Effects<M, X> {
    /// Sends what is left and closes. A connection with nothing to say and nothing unread is
    /// closed at once.
    pub(super) fn close_gently(&mut self, handle: Handle) {
        let sending = self.unsent(handle) > 0;
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        let silent = !sending && X::all_read(connection);
        let unable = connection.phase != Phase::Open || connection.marks.contains(Marks::BROKEN);
        if silent || unable {
            return self.discard(handle);
        }
        connection.phase = Phase::Flushing;
        connection.marks.remove(Marks::PAUSED | Marks::DRAIN_WANTED);
        X::forget_unread(self, handle);
        self.closing.flush(handle, self.now);
        if !sending {
            self.linger(handle);
        }
    }

    /// Nothing is left to send: waits for the peer's end, unless it is here already.
    pub(super) fn linger(&mut self, handle: Handle) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        let marks = connection.marks;
        let peer_is_gone = marks.contains(Marks::ENDING) && !marks.contains(Marks::READABLE);
        if peer_is_gone || X::end_sending(self, handle).is_err() {
            return self.discard(handle);
        }
        if let Some(connection) = self.table.get_mut(handle) {
            connection.phase = Phase::Lingering;
        }
        self.closing.linger(handle, self.now);
        self.make_ready(handle);
    }

    /// Closes those whose time is over.
    pub(super) fn expire_closing(&mut self) {
        while let Some(handle) = self.closing.expired(&self.table, self.now) {
            self.discard(handle);
        }
    }

    /// Closes whatever the handler has not closed.
    pub(super) fn abandon_owned(&mut self) {
        let owned = |handle: &Handle| self.table.get(*handle).is_some_and(|c| c.is_owned());
        let abandoned: Vec<_> = self.table.handles().filter(owned).collect();
        for handle in abandoned {
            self.discard(handle);
        }
    }
}

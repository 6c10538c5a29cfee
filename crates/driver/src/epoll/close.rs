//! Closing without losing the last answer.
//!
//! A socket that is closed with unread input resets the connection, and the reset may destroy an
//! answer that the peer has not read yet. So a gentle close sends what is left, ends the sending
//! direction and reads on until the peer closes, too; both for a bounded time.

use std::collections::VecDeque;

use events::{Handle, Span, Timestamp};
use rustix::net::{Shutdown, shutdown};

use crate::connection::{Marks, Phase};
use crate::table::Table;

use super::effects::Effects;

/// How long the peer may take to read what is left.
const FLUSH_MAX: Span = Span::from_secs(5);
/// How long the peer may take to close its end.
const LINGER_MAX: Span = Span::from_secs(1);

/// Connections that the handler has closed but that are not gone. Entries of those that are gone
/// by now are skipped.
#[derive(Default)]
pub(super) struct Closing {
    flushing: VecDeque<(Timestamp, Handle)>,
    lingering: VecDeque<(Timestamp, Handle)>,
    open: usize,
}

impl Closing {
    /// Whether all of them are gone.
    pub(super) fn is_done(&self) -> bool {
        self.open == 0
    }

    /// One of them is gone.
    pub(super) fn ended(&mut self) {
        self.open -= 1;
    }

    /// When the next of them has had its time.
    pub(super) fn deadline(&mut self, table: &Table) -> Option<Timestamp> {
        let flushing = next(&mut self.flushing, table, Phase::Flushing);
        let lingering = next(&mut self.lingering, table, Phase::Lingering);
        flushing
            .into_iter()
            .chain(lingering)
            .map(|(deadline, _)| deadline)
            .min()
    }

    fn expired(&mut self, table: &Table, now: Timestamp) -> Option<Handle> {
        let due = |entry: &(Timestamp, Handle)| entry.0 <= now;
        let flushing = next(&mut self.flushing, table, Phase::Flushing).filter(due);
        let entry =
            flushing.or_else(|| next(&mut self.lingering, table, Phase::Lingering).filter(due));
        entry.map(|(_, handle)| handle)
    }
}

impl<M> Effects<M> {
    /// Sends what is left and closes. A connection with nothing to say and nothing unread is
    /// closed at once.
    pub(super) fn close_gently(&mut self, handle: Handle) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        let silent = connection.unsent() == 0 && !connection.marks.contains(Marks::READABLE);
        let unable = connection.phase != Phase::Open || connection.marks.contains(Marks::BROKEN);
        if silent || unable {
            return self.discard(handle);
        }
        connection.phase = Phase::Flushing;
        connection.marks.remove(Marks::PAUSED | Marks::DRAIN_WANTED);
        self.closing.open += 1;
        self.closing
            .flushing
            .push_back((self.now + FLUSH_MAX, handle));
        if connection.unsent() == 0 {
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
        let cannot_end = |fd| shutdown(fd, Shutdown::Write).is_err();
        if peer_is_gone || connection.socket().is_ok_and(cannot_end) {
            return self.discard(handle);
        }
        connection.phase = Phase::Lingering;
        self.closing
            .lingering
            .push_back((self.now + LINGER_MAX, handle));
        if marks.contains(Marks::READABLE) {
            self.make_ready(handle);
        }
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

/// The first entry that still says the truth; those before it are dropped.
fn next(
    queue: &mut VecDeque<(Timestamp, Handle)>,
    table: &Table,
    phase: Phase,
) -> Option<(Timestamp, Handle)> {
    while let Some(&(deadline, handle)) = queue.front() {
        if table
            .get(handle)
            .is_some_and(|connection| connection.phase == phase)
        {
            return Some((deadline, handle));
        }
        queue.pop_front();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Connection;
    use events::Tag;

    fn closed(table: &mut Table, phase: Phase) -> Handle {
        table.insert(Connection {
            phase,
            ..Connection::connecting(Tag(0))
        })
    }

    #[test]
    fn each_gets_its_time_and_those_gone_none() {
        let (mut table, mut closing) = (Table::default(), Closing::default());
        let at = Timestamp::from_us;
        let gone = closed(&mut table, Phase::Flushing);
        let slow = closed(&mut table, Phase::Flushing);
        let waiting = closed(&mut table, Phase::Lingering);
        closing
            .flushing
            .extend([(at(10), gone), (at(20), waiting), (at(30), slow)]);
        closing.lingering.push_back((at(25), waiting));
        table.remove(gone);
        assert_eq!(closing.deadline(&table), Some(at(25)));
        assert_eq!(closing.expired(&table, at(24)), None);
        assert_eq!(closing.expired(&table, at(25)), Some(waiting));
        table.remove(waiting);
        assert_eq!(closing.expired(&table, at(29)), None);
        assert_eq!(closing.expired(&table, at(30)), Some(slow));
        table.remove(slow);
        assert_eq!(closing.deadline(&table), None);
    }
}

//! Connections that the handler has closed and that are brought to their end in bounded time.

use std::collections::VecDeque;

use events::{Handle, Span, Timestamp};

use crate::connection::Phase;
use crate::table::Table;

/// How long the peer may take to read what is left.
const FLUSH_MAX: Span = Span::from_secs(5);
/// How long the peer may take to close its end.
const LINGER_MAX: Span = Span::from_secs(1);

/// Connections that the handler has closed but that are not gone. Entries of those that are gone
/// by now are skipped.
#[derive(Default)]
pub(crate) struct Closing {
    flushing: VecDeque<(Timestamp, Handle)>,
    lingering: VecDeque<(Timestamp, Handle)>,
    open: usize,
}

impl Closing {
    /// Whether all of them are gone.
    pub(crate) fn is_done(&self) -> bool {
        self.open == 0
    }

    /// A connection is closed; its peer may still read what is left.
    pub(crate) fn flush(&mut self, handle: Handle, now: Timestamp) {
        self.open += 1;
        self.flushing.push_back((now + FLUSH_MAX, handle));
    }

    /// A closed connection has nothing left to send; its peer may close, too.
    pub(crate) fn linger(&mut self, handle: Handle, now: Timestamp) {
        self.lingering.push_back((now + LINGER_MAX, handle));
    }

    /// One of them is gone.
    pub(crate) fn ended(&mut self) {
        self.open -= 1;
    }

    /// When the next of them has had its time.
    pub(crate) fn deadline<S>(&mut self, table: &Table<S>) -> Option<Timestamp> {
        let flushing = next(&mut self.flushing, table, Phase::Flushing);
        let lingering = next(&mut self.lingering, table, Phase::Lingering);
        flushing
            .into_iter()
            .chain(lingering)
            .map(|(deadline, _)| deadline)
            .min()
    }

    /// One whose time is over.
    pub(crate) fn expired<S>(&mut self, table: &Table<S>, now: Timestamp) -> Option<Handle> {
        let due = |entry: &(Timestamp, Handle)| entry.0 <= now;
        let flushing = next(&mut self.flushing, table, Phase::Flushing).filter(due);
        let entry =
            flushing.or_else(|| next(&mut self.lingering, table, Phase::Lingering).filter(due));
        entry.map(|(_, handle)| handle)
    }
}

/// The first entry that still says the truth; those before it are dropped.
fn next<S>(
    queue: &mut VecDeque<(Timestamp, Handle)>,
    table: &Table<S>,
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

    fn closed(table: &mut Table<()>, phase: Phase) -> Handle {
        table.insert(Connection {
            phase,
            ..Connection::connecting(Tag(0), ())
        })
    }

    #[test]
    fn each_gets_its_time_and_those_gone_none() {
        let (mut table, mut closing) = (Table::<()>::default(), Closing::default());
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

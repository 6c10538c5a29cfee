//! What happens next: the virtual clock and the events that lie ahead of it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use engine::Mail;
use events::{Handle, Span, Timestamp};

/// Something that will happen.
pub(crate) enum Event {
    /// The turn of a worker is over: its outboxes are flushed.
    TurnEnd(usize),
    /// The timer of a worker, unless it was set anew since.
    Timer { worker: usize, generation: u64 },
    /// Mail reaches a worker.
    Mail { worker: usize, mail: Mail },
    /// Bytes of the engine, or the end of them, reach the peer.
    ToPeer(Handle),
    /// Bytes of the peer, or the end of them, reach the engine.
    ToEngine(Handle),
    /// An outbox that the engine asked about is empty.
    Drained(Handle),
    /// A connection attempt of the engine reaches the database.
    Connect(Handle),
    /// A client comes.
    Arrive(usize),
    /// A client does the next thing.
    Act { client: usize, number: u64 },
    /// A statement of a database connection has taken its time.
    Done { connection: usize, number: u64 },
    /// A statement has waited for a lock long enough.
    LockTimeout { connection: usize, number: u64 },
    /// Something happens to the database.
    Incident,
    /// Limits change.
    Rules,
    /// The workers are told to drain.
    Drain,
}

/// Events in the order in which they happen; those of one moment in the order of their planning.
pub(crate) struct Schedule {
    now: Timestamp,
    planned: u64,
    heap: BinaryHeap<Entry>,
}

struct Entry {
    at: Timestamp,
    number: u64,
    event: Event,
}

impl Schedule {
    pub(crate) fn new() -> Self {
        Self {
            now: Timestamp::from_us(1),
            planned: 0,
            heap: BinaryHeap::new(),
        }
    }

    /// The time of the event that happens now.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    /// Plans an event `us` µs ahead.
    pub(crate) fn after_us(&mut self, us: u64, event: Event) {
        self.at(self.now + Span::from_us(us), event);
    }

    /// Plans an event; one that lies behind happens now.
    pub(crate) fn at(&mut self, at: Timestamp, event: Event) {
        self.planned += 1;
        self.heap.push(Entry {
            at: at.max(self.now),
            number: self.planned,
            event,
        });
    }

    /// The next event; the clock goes there.
    pub(crate) fn next(&mut self) -> Option<Event> {
        let entry = self.heap.pop()?;
        self.now = entry.at;
        Some(entry.event)
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

//! What a driver counts. A worker counts in plain integers and publishes them once per loop turn,
//! so that counting costs the data path nothing.

use std::sync::atomic::{AtomicU64, Ordering};

/// The published counters of one worker; read them from any thread.
#[derive(Debug, Default)]
pub struct DriverCounters {
    accepts: AtomicU64,
    accept_errors: AtomicU64,
    accepts_handed_over: AtomicU64,
    bytes_received: AtomicU64,
    bytes_sent: AtomicU64,
    turns: AtomicU64,
    epoll_events: AtomicU64,
    outbox_bytes: AtomicU64,
}

/// What one worker has counted up to some loop turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriverCounts {
    /// Connections accepted from a listener, also those handed over to another worker.
    pub accepts: u64,
    /// Connections that could not be accepted or set up.
    pub accept_errors: u64,
    /// Accepted connections that went to a worker with fewer of them.
    pub accepts_handed_over: u64,
    /// Bytes read from sockets.
    pub bytes_received: u64,
    /// Bytes that the kernel took from outboxes.
    pub bytes_sent: u64,
    /// Turns of the event loop.
    pub turns: u64,
    /// Events that epoll reported.
    pub epoll_events: u64,
    /// Bytes waiting in outboxes at the end of the last turn (a level, not a count).
    pub outbox_bytes: u64,
}

impl DriverCounters {
    /// The counts as of a recent loop turn.
    pub fn read(&self) -> DriverCounts {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        DriverCounts {
            accepts: load(&self.accepts),
            accept_errors: load(&self.accept_errors),
            accepts_handed_over: load(&self.accepts_handed_over),
            bytes_received: load(&self.bytes_received),
            bytes_sent: load(&self.bytes_sent),
            turns: load(&self.turns),
            epoll_events: load(&self.epoll_events),
            outbox_bytes: load(&self.outbox_bytes),
        }
    }

    /// Called by the owning worker only, so that plain stores suffice.
    pub(crate) fn publish(&self, counts: &DriverCounts) {
        let store = |counter: &AtomicU64, count| counter.store(count, Ordering::Relaxed);
        store(&self.accepts, counts.accepts);
        store(&self.accept_errors, counts.accept_errors);
        store(&self.accepts_handed_over, counts.accepts_handed_over);
        store(&self.bytes_received, counts.bytes_received);
        store(&self.bytes_sent, counts.bytes_sent);
        store(&self.turns, counts.turns);
        store(&self.epoll_events, counts.epoll_events);
        store(&self.outbox_bytes, counts.outbox_bytes);
    }
}

impl DriverCounts {
    /// The counts of several workers added up.
    pub fn sum(workers: &[std::sync::Arc<DriverCounters>]) -> Self {
        workers
            .iter()
            .map(|worker| worker.read())
            .fold(Self::default(), |sum, counts| Self {
                accepts: sum.accepts + counts.accepts,
                accept_errors: sum.accept_errors + counts.accept_errors,
                accepts_handed_over: sum.accepts_handed_over + counts.accepts_handed_over,
                bytes_received: sum.bytes_received + counts.bytes_received,
                bytes_sent: sum.bytes_sent + counts.bytes_sent,
                turns: sum.turns + counts.turns,
                epoll_events: sum.epoll_events + counts.epoll_events,
                outbox_bytes: sum.outbox_bytes + counts.outbox_bytes,
            })
    }

    /// Name, meaning and value of each count that only grows.
    pub fn each(&self) -> Vec<(&'static str, &'static str, u64)> {
        vec![
            ("accepts", "Connections accepted.", self.accepts),
            (
                "accept_errors",
                "Connections that could not be accepted.",
                self.accept_errors,
            ),
            (
                "accepts_handed_over",
                "Accepted connections given to a worker with fewer of them.",
                self.accepts_handed_over,
            ),
            (
                "socket_bytes_received",
                "Bytes read from sockets.",
                self.bytes_received,
            ),
            (
                "socket_bytes_sent",
                "Bytes that the kernel took.",
                self.bytes_sent,
            ),
            ("loop_turns", "Turns of the event loops.", self.turns),
            (
                "loop_events",
                "Events that the event loops were told of.",
                self.epoll_events,
            ),
        ]
    }
}

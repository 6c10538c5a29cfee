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
    loop_events: AtomicU64,
    io_uring_enters: AtomicU64,
    buffer_shortages: AtomicU64,
    idle_polls: AtomicU64,
    outbox_bytes: AtomicU64,
    connection_bytes: AtomicU64,
    receive_buffer_bytes: AtomicU64,
    kept_bytes: AtomicU64,
    receiving: AtomicU64,
    worker_panics: AtomicU64,
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
    /// Events that epoll, or completions that io_uring reported.
    pub loop_events: u64,
    /// Calls of io_uring_enter; none where epoll runs.
    pub io_uring_enters: u64,
    /// How often receiving stopped because all buffers of a ring were in use.
    pub buffer_shortages: u64,
    /// How often a connection that was silent for long stopped receiving, to be polled instead.
    pub idle_polls: u64,
    /// Bytes waiting in outboxes at the end of the last turn (a level, not a count).
    pub outbox_bytes: u64,
    /// Bytes of the records of connections (a level).
    pub connection_bytes: u64,
    /// Bytes of the buffers that all connections are received into (a level).
    pub receive_buffer_bytes: u64,
    /// Bytes that came of connections that are not read from (a level; 0 where epoll runs).
    pub kept_bytes: u64,
    /// Connections that the kernel receives for at the end of the last turn, instead of polling (a
    /// level; 0 where epoll runs).
    pub receiving: u64,
    /// Events that panicked in the handler.
    pub worker_panics: u64,
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
            loop_events: load(&self.loop_events),
            io_uring_enters: load(&self.io_uring_enters),
            buffer_shortages: load(&self.buffer_shortages),
            idle_polls: load(&self.idle_polls),
            outbox_bytes: load(&self.outbox_bytes),
            connection_bytes: load(&self.connection_bytes),
            receive_buffer_bytes: load(&self.receive_buffer_bytes),
            kept_bytes: load(&self.kept_bytes),
            receiving: load(&self.receiving),
            worker_panics: load(&self.worker_panics),
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
        store(&self.loop_events, counts.loop_events);
        store(&self.io_uring_enters, counts.io_uring_enters);
        store(&self.buffer_shortages, counts.buffer_shortages);
        store(&self.idle_polls, counts.idle_polls);
        store(&self.outbox_bytes, counts.outbox_bytes);
        store(&self.connection_bytes, counts.connection_bytes);
        store(&self.receive_buffer_bytes, counts.receive_buffer_bytes);
        store(&self.kept_bytes, counts.kept_bytes);
        store(&self.receiving, counts.receiving);
        store(&self.worker_panics, counts.worker_panics);
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
                loop_events: sum.loop_events + counts.loop_events,
                io_uring_enters: sum.io_uring_enters + counts.io_uring_enters,
                buffer_shortages: sum.buffer_shortages + counts.buffer_shortages,
                idle_polls: sum.idle_polls + counts.idle_polls,
                outbox_bytes: sum.outbox_bytes + counts.outbox_bytes,
                connection_bytes: sum.connection_bytes + counts.connection_bytes,
                receive_buffer_bytes: sum.receive_buffer_bytes + counts.receive_buffer_bytes,
                kept_bytes: sum.kept_bytes + counts.kept_bytes,
                receiving: sum.receiving + counts.receiving,
                worker_panics: sum.worker_panics + counts.worker_panics,
            })
    }

    /// Memory in bytes, by kind.
    pub fn memory(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("connections", self.connection_bytes),
            ("outboxes", self.outbox_bytes),
            ("receive_buffers", self.receive_buffer_bytes),
            ("kept_input", self.kept_bytes),
        ]
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
                self.loop_events,
            ),
            (
                "io_uring_enters",
                "Calls of io_uring_enter; 0 where epoll runs.",
                self.io_uring_enters,
            ),
            (
                "receive_buffer_shortages",
                "Times that receiving stopped for want of a buffer (io_uring).",
                self.buffer_shortages,
            ),
            (
                "idle_polls",
                "Times that a connection silent for long stopped receiving, to be polled (io_uring).",
                self.idle_polls,
            ),
            (
                "worker_panics",
                "Events that panicked. Each is a defect, and in the log; it costs the connections that it concerns.",
                self.worker_panics,
            ),
        ]
    }
}

//! The workers' clock. Nothing else in the process turns real time into [`Timestamp`]s.

use std::time::Instant;

use events::{Span, Timestamp};

/// A monotonic clock; its copies share one origin.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock whose origin is now.
    pub fn start() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    /// The time since the origin, in whole microseconds.
    pub fn now(&self) -> Timestamp {
        Timestamp::ZERO + Span::from(self.origin.elapsed())
    }
}

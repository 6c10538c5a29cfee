//! What a worker has published of its need for slots, and when it asks the other workers (rule 2).

use events::{Span, Timestamp};
use pool::{Need, PATIENCE};

/// How often a worker that still waits asks again.
const ASK_AGAIN: Span = Span::from_ms(5);

/// What a worker has published of its need.
#[derive(Debug, Default)]
pub(crate) struct Lending {
    pub need: Option<Need>,
    /// When it last asked the others.
    pub asked: Option<Timestamp>,
    /// When it last looked at its waiters.
    pub seen: Timestamp,
}

impl Lending {
    /// Since when the oldest waiter has waited.
    pub(crate) fn waiting_since(&self) -> Option<Timestamp> {
        self.need.map(|need| need.oldest.since)
    }

    /// How long the oldest waiter has waited.
    pub(crate) fn oldest_wait(&self) -> Span {
        self.need
            .map_or(Span::ZERO, |need| self.seen.since(need.oldest.since))
    }

    /// Since when there have been waiters without a break.
    pub(crate) fn short_since(&self) -> Option<Timestamp> {
        self.need.map(|need| need.short_since)
    }

    /// When the others are to be asked for slots.
    pub(crate) fn ask_at(&self) -> Option<Timestamp> {
        let since = self.need?.oldest.since;
        Some(
            self.asked
                .map_or(since + PATIENCE, |asked| asked + ASK_AGAIN),
        )
    }
}

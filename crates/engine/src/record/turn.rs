//! The effects and the time of the event at hand.

use events::Timestamp;

/// The effects that may be asked for, and the time, for as long as one event is handled.
pub(crate) struct Turn<'a, I> {
    /// Connections, timers and mail.
    pub io: &'a mut I,
    /// When the event came.
    pub now: Timestamp,
}

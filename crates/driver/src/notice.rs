//! What the handler is told of its own effects: always in a later turn, never from within them.

use events::ConnectError;

/// Something that followed from an effect rather than from an event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    /// The outbox was found empty.
    Drained,
    /// No backend address could be connected to.
    ConnectFailed(ConnectError),
}

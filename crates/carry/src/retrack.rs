//! A session sets, or asks, what the server's session tracker tells (`session_track_…`). Its backend is given the
//! session's own values for the one statement, so that it answers as it should; then they are read back, and the backend
//! tracks for the front door again, that is all it can. What else such a SET has set the tracker may not tell, for its list
//! was another one by then: `told` asks for it.

use session::statement::{Kind, PinReason, Statement, Traits};

/// With a limit of its own, for a session may want to see no rows (`sql_select_limit`).
pub const READ_TRACKING: &[u8] = b"SELECT @@session_track_system_variables,@@session_track_schema,\
    @@session_track_state_change LIMIT 1";

/// A backend tracks what its session asked for.
#[derive(Clone, Copy, Debug)]
pub struct Retrack {
    /// Others could not have been served there before either.
    pub dirty: bool,
}

/// True of a statement that sets or asks what is tracked, and pins nothing for it.
pub fn retracks(statement: &Statement) -> bool {
    let pinned = statement.pins.contains(PinReason::SessionTracking);
    match statement.kind {
        Kind::Set | Kind::Multiple => {
            statement.traits.contains(Traits::SESSION_TRACKING) && !pinned
        }
        Kind::Select => {
            let besides = Traits::NEEDS_CONDITIONS | Traits::MULTIPLE | Traits::RELEASES;
            statement.traits & (Traits::READS_TRACKING | besides) == Traits::READS_TRACKING
                && statement.pins.is_empty()
        }
        _ => false,
    }
}

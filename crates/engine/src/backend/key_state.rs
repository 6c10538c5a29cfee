//! What an engine knows of a key besides the connections that the pool has of it. Owns no decision.

use events::Timestamp;

use crate::carried::stored_objects::StoredObjects;

/// What is known of connecting with one key.
#[derive(Default)]
pub(crate) struct KeyState {
    /// Connects that failed one after the other.
    pub(crate) failures: u32,
    /// Not before then.
    pub(crate) retry_at: Option<Timestamp>,
    /// Its account may end statements and connections of others, as the server says.
    pub(crate) kills_others: bool,
    /// The server does not let its account list the user variables of a session.
    pub(crate) hides_variables: bool,
    /// What statements may lead to that leaves something in the session unseen.
    pub(crate) stored: StoredObjects,
    /// The credential that its backends were opened with.
    pub(crate) credential_version: u32,
    /// The share of the backends of its account, relative to others'.
    pub(crate) weight: u32,
    /// Since when somebody has waited for its backends without a break.
    pub(crate) short_since: Option<Timestamp>,
    /// How many of its backends have been at work for long.
    pub(crate) long: usize,
    /// Sessions that have it.
    pub(crate) sessions: usize,
    /// Statements that wait for a permit.
    pub(crate) queued: usize,
    /// What the last failure was, for whoever waits in vain.
    pub(crate) last_error: String,
    /// The `sql_mode` that sessions begin with, if it is not the server's own (CLIENT_IGNORE_SPACE).
    pub(crate) sql_mode: Option<Box<[u8]>>,
    /// It is among the keys for which something may be due.
    pub(crate) awake: bool,
}

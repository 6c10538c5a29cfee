//! What a worker knows of a key of the pool besides its connections.

use carry::stored_objects::StoredObjects;
use events::Timestamp;

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
    /// Its account could do other things when they were opened: the next login brings backends in their place.
    pub(crate) outdated: bool,
    /// The place of its account among the shares.
    pub(crate) share: usize,
    /// How many of its backends have been at work for long.
    pub(crate) long: usize,
    /// Sessions that have it.
    pub(crate) sessions: usize,
    /// Statements that wait for a permit.
    pub(crate) queued: usize,
    /// The server was found to be one that nobody can be served on: whoever comes before it is tried again is told at once.
    pub(crate) unfit: bool,
    /// What the last failure was, for whoever waits in vain.
    pub(crate) last_error: String,
    /// It is among the keys for which something may be due.
    pub(crate) awake: bool,
}

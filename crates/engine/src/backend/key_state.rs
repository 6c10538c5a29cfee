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
    /// The credential that its backends were opened with. `None` if the account could do other things then: the next login
    /// brings backends in their place.
    pub(crate) credential_version: Option<u32>,
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
    /// The `sql_mode` that sessions begin with, if it is not the server's own (CLIENT_IGNORE_SPACE).
    pub(crate) sql_mode: Option<Box<[u8]>>,
    /// It is among the keys for which something may be due.
    pub(crate) awake: bool,
}

impl KeyState {
    /// Sessions with CLIENT_IGNORE_SPACE begin with this `sql_mode`, and what the flag adds to it.
    pub(crate) fn begin_with(&mut self, sql_mode: &[u8]) {
        self.sql_mode = Some(with_ignore_space(sql_mode).into());
    }
}

/// A `sql_mode` with IGNORE_SPACE, where the servers tell it.
pub(crate) fn with_ignore_space(sql_mode: &[u8]) -> Vec<u8> {
    const IGNORE_SPACE: &[u8] = b"IGNORE_SPACE";
    const BEFORE: [&[u8]; 3] = [b"REAL_AS_FLOAT", b"PIPES_AS_CONCAT", b"ANSI_QUOTES"];
    let modes = sql_mode.split(|&byte| byte == b',');
    let mut modes: Vec<_> = modes.filter(|mode| !mode.is_empty()).collect();
    if !modes.contains(&IGNORE_SPACE) {
        let place = modes
            .iter()
            .take_while(|mode| BEFORE.contains(mode))
            .count();
        modes.insert(place, IGNORE_SPACE);
    }
    modes.join(&b","[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_adds_to_a_mode_what_it_does_not_have() {
        for (mode, expected) in [
            ("", "IGNORE_SPACE"),
            ("STRICT_TRANS_TABLES", "IGNORE_SPACE,STRICT_TRANS_TABLES"),
            (
                "PIPES_AS_CONCAT,ANSI_QUOTES,ANSI",
                "PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI",
            ),
            ("ANSI_QUOTES,IGNORE_SPACE", "ANSI_QUOTES,IGNORE_SPACE"),
        ] {
            assert_eq!(with_ignore_space(mode.as_bytes()), expected.as_bytes());
        }
    }
}

//! KILL: of statements and of connections (rule 15).
//!
//! Clients have ids of their own, which say on which worker they are. An order travels there by
//! mail and its outcome comes back the same way. A running statement is ended with a KILL QUERY on
//! a connection that is kept for that, outside the budget: one per key in use. Until both the KILL
//! and its victim have answered, the victim's connection gets no further command.

use carry::victim::Victim;
use membership::Key;

use crate::record::shared::FIRST_CONNECTION_ID;

/// Somebody wants a client's statement, or the client, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillOrder {
    /// What is to be ended.
    pub victim: Victim,
    /// Whoever asks; `None` if it may end anybody's.
    pub account: Option<u32>,
    /// Who asked, and on which worker.
    pub(crate) asker: (usize, Key),
}

/// What became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillOutcome {
    /// It was carried out, or there was nothing to end.
    Done,
    /// There is no such client.
    NoSuchThread(u32),
    /// The client belongs to somebody else.
    NotOwner(u32),
    /// Nobody knows: carrying it out has panicked. Whoever asked is closed.
    Lost,
}

impl KillOrder {
    /// Who asked: the worker and its client.
    pub(crate) fn asker(&self) -> (usize, Key) {
        self.asker
    }
}

/// Ids below are the server's.
pub(crate) fn ours(id: u32, query: bool) -> Option<Victim> {
    (id >= FIRST_CONNECTION_ID).then_some(Victim { id, query })
}

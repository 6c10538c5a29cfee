//! Orders to KILL a statement or a client (rule 15), and their outcome. A client's connection id says on which worker it
//! is: orders travel there by mail, and outcomes come back the same way.

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

/// The client with this connection id; `None` for an id of the server's own, which is below Myriad's.
pub(crate) fn ours(id: u32, query: bool) -> Option<Victim> {
    (id >= FIRST_CONNECTION_ID).then_some(Victim { id, query })
}

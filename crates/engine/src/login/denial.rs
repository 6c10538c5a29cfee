//! Wrong accounts and passwords that a client is told of later, because its address has been wrong too often: which client, and
//! when. It holds no place of `max_logins` meanwhile, no buffer and no thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use carry::errors::ClientError;
use events::Timestamp;
use membership::Key;

/// The answers that are held back, the next one first.
#[derive(Default)]
pub(crate) struct Denials {
    pub held: BinaryHeap<Reverse<Denial>>,
    last: u64,
}

pub(crate) struct Denial {
    /// When it is told; of several at that time, those that came first.
    due: (Timestamp, u64),
    pub key: Key,
    pub error: ClientError,
}

impl Denials {
    /// When the next is to be told.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        let Reverse(next) = self.held.peek()?;
        Some(next.due.0)
    }

    pub(crate) fn hold(&mut self, until: Timestamp, key: Key, error: ClientError) {
        self.last += 1;
        let due = (until, self.last);
        self.held.push(Reverse(Denial { due, key, error }));
    }
}

impl PartialEq for Denial {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl Eq for Denial {}

impl PartialOrd for Denial {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Denial {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.due.cmp(&other.due)
    }
}

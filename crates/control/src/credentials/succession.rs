//! Who is to read the accounts next: the database with other settings, which takes the place of the one of before
//! once it has been read with them.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;
use zeroize::Zeroizing;

use super::tables::Database;

/// A place for one successor; the last one counts.
#[derive(Default)]
pub struct Succession {
    next: Mutex<Option<Successor>>,
    news: Notify,
}

/// A database that may be read instead of the one of before.
pub struct Successor {
    /// Reached with other settings.
    pub database: Database,
    /// The user and the password by which it is read.
    pub login: (String, Zeroizing<String>),
}

impl Succession {
    /// Has a successor tried. If it cannot be read, the one of before stays.
    pub fn offer(&self, successor: Successor) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next = Some(successor);
        self.news.notify_one();
    }

    /// Waits for a successor.
    pub(super) async fn offered(&self) {
        self.news.notified().await;
    }

    pub(super) fn take(&self) -> Option<Successor> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.take()
    }
}

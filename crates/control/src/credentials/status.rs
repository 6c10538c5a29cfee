//! Whether the accounts of the database could be read last, for `/health` and `/metrics`. Decides nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

/// What became of the attempts to read the accounts.
#[derive(Debug, Default)]
pub struct AccountsStatus(Mutex<Attempts>);

/// The attempts so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attempts {
    /// Whether one has succeeded: sessions are logged in by what it brought.
    pub(crate) ever_read: bool,
    /// The last one.
    pub(crate) last: Attempt,
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// None has ended yet.
    #[default]
    UnderWay,
    /// The accounts are known.
    Read,
    /// The database answered with an error.
    Refused,
    /// The database did not answer; when the attempt began.
    Unanswered(Instant),
}

/// Why the accounts cannot be read.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) error: String,
    /// Whether it is the database that says so.
    pub(crate) answered: bool,
}

impl AccountsStatus {
    pub(crate) fn attempts(&self) -> Attempts {
        self.open().clone()
    }

    pub(crate) fn note(&self, began: Instant, failure: Option<&Unread>) {
        let mut attempts = self.open();
        attempts.last = match failure {
            None => Attempt::Read,
            Some(Unread { answered: true, .. }) => Attempt::Refused,
            Some(_) => Attempt::Unanswered(began),
        };
        attempts.ever_read |= failure.is_none();
    }

    /// Also if a thread panicked while it held the lock: it is changed in one step.
    fn open(&self) -> MutexGuard<'_, Attempts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<mysql_async::Error> for Unread {
    fn from(error: mysql_async::Error) -> Self {
        use mysql_async::{DriverError, Error};
        let unanswered = matches!(
            error,
            Error::Io(_) | Error::Driver(DriverError::ConnectionClosed)
        );
        Self {
            error: error.to_string(),
            answered: !unanswered,
        }
    }
}

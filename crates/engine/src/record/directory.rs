//! Logins and statements of a worker that wait for the accounts to be read again. Who reads them, and how often, is decided
//! by the reader that is named to [`Shared::read_accounts_with`](crate::Shared::read_accounts_with).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use accounts::Directory;
use membership::Key;

/// So many who waited are dealt with at a time.
pub(crate) const BATCH: usize = 256;

/// The accounts are to be read, from now on; who asked is told by [`Mail::AccountsRead`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountsOrder {
    /// The worker that asked.
    pub worker: usize,
    /// Later orders of it have greater ones; an answer to one is one to all before.
    pub ticket: u64,
}

/// Who waits for the accounts to be read, in the order in which they asked.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    pub last: u64,
    pub waiting: VecDeque<(u64, Key)>,
    /// At that length those are taken out who have left meanwhile.
    sweep_at: usize,
}

impl Asking {
    /// One more waits; `is_there` tells who has not left. Those who have are no more than those who have not, but
    /// for a few.
    pub(crate) fn add(&mut self, key: Key, is_there: impl Fn(Key) -> bool) -> u64 {
        if self.waiting.len() >= self.sweep_at.max(BATCH) {
            self.waiting.retain(|(_, key)| is_there(*key));
            self.sweep_at = 2 * self.waiting.len();
        }
        self.last += 1;
        self.waiting.push_back((self.last, key));
        self.last
    }
}

/// The accounts that are known, for all workers.
#[derive(Default)]
pub(crate) struct Published {
    version: AtomicU64,
    latest: Mutex<Option<Arc<Directory>>>,
    reader: OnceLock<Reader>,
}

type Reader = Box<dyn Fn(AccountsOrder) + Send + Sync>;

impl Published {
    pub(crate) fn publish(&self, directory: Arc<Directory>) {
        let version = directory.version();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        *latest = Some(directory);
        self.version.store(version, Ordering::Release);
    }

    pub(crate) fn read_with(&self, read: impl Fn(AccountsOrder) + Send + Sync + 'static) {
        self.reader.get_or_init(|| Box::new(read));
    }

    /// What was published last, if it is later than `version`. Takes the lock only then.
    pub(crate) fn since(&self, version: u64) -> Option<Arc<Directory>> {
        if self.version.load(Ordering::Acquire) <= version {
            return None;
        }
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.clone()
    }

    /// False if nobody reads any.
    pub(crate) fn ask(&self, order: AccountsOrder) -> bool {
        let reader = self.reader.get();
        reader.inspect(|read| read(order)).is_some()
    }
}

impl std::fmt::Debug for Published {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Published")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use membership::Slab;

    use super::*;

    #[test]
    fn those_who_left_are_not_kept_until_the_next_answer() {
        let mut asking = Asking::default();
        let mut clients = Slab::default();
        let stays = clients.insert(());
        asking.add(stays, |_| true);
        for _ in 0..10_000 {
            let leaves = clients.insert(());
            asking.add(leaves, |key| clients.get(key).is_some());
            clients.remove(leaves);
        }
        assert!(asking.waiting.len() <= BATCH, "{}", asking.waiting.len());
        assert_eq!(asking.waiting[0], (1, stays));
    }
}

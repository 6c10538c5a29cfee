//! The figures of each account on this worker, over all its keys, that decide which account gets the next backend. The rules
//! are in `pool`; `matching::shares` applies them.

use events::Timestamp;
use pool::KeyId;

/// What one account has and needs here.
#[derive(Debug, Default)]
pub(crate) struct Share {
    /// Its number.
    pub(crate) account: u32,
    /// All keys of its sessions and backends.
    pub(crate) keys: Vec<KeyId>,
    /// Its share of the backends, relative to others'; 0 counts as 1.
    pub(crate) weight: u32,
    /// When one of its statements got a backend last.
    pub(crate) served: Option<Timestamp>,
    /// Since when it has had waiters that need a backend, without a break.
    pub short_since: Option<Timestamp>,
    /// Since when its oldest waiter has needed one; only meaningful while the worker's need is summed up.
    pub in_need: Option<Timestamp>,
    /// The sums that its weight was counted in.
    pub is_counted: Counted,
}

bitflags::bitflags! {
    /// Which sums of weights have that of an account in them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Counted: u8 {
        /// The accounts of which statements wait for any backend.
        const WAITS = 1;
        /// The accounts of which statements wait to go alone.
        const ALONE = 1 << 1;
    }
}

impl Share {
    /// That of an account without keys.
    pub(crate) fn of(account: u32) -> Self {
        Self {
            account,
            ..Self::default()
        }
    }

    /// True if statements of it wait for backends.
    pub(crate) fn has_waiters(&self) -> bool {
        self.is_counted.contains(Counted::WAITS)
    }

    /// Its weight counts in this sum: returns it the first time.
    pub(crate) fn count(&mut self, counts: bool, sum: Counted) -> u64 {
        if !counts || self.is_counted.contains(sum) {
            return 0;
        }
        self.is_counted.insert(sum);
        u64::from(self.weight.max(1))
    }
}

//! A table by address, over all workers, in bounded memory. Looking costs one load while the table is empty.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use events::Timestamp;

const SHARDS: usize = 64;

/// Addresses per shard. One more evicts the address that was changed longest ago.
const SHARD_MAX: usize = 64;

/// Entries by address.
#[derive(Debug)]
pub(super) struct Table<T> {
    shards: Vec<Mutex<Vec<Entry<T>>>>,
    /// How many entries there are in all shards.
    known: AtomicUsize,
    evicted: AtomicU64,
}

#[derive(Debug)]
struct Entry<T> {
    address: IpAddr,
    changed: Timestamp,
    kept: T,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            known: AtomicUsize::new(0),
            evicted: AtomicU64::new(0),
        }
    }
}

impl<T: Default> Table<T> {
    /// Changes the entry of an address, which has one from now on.
    pub(super) fn change<R>(
        &self,
        address: IpAddr,
        now: Timestamp,
        change: impl FnOnce(&mut T) -> R,
    ) -> R {
        let mut shard = lock(&self.shards[place(address)]);
        let known = shard.iter().position(|entry| entry.address == address);
        let at = known.unwrap_or_else(|| self.add(&mut shard, address, now));
        shard[at].changed = now;
        change(&mut shard[at].kept)
    }

    fn add(&self, shard: &mut Vec<Entry<T>>, address: IpAddr, now: Timestamp) -> usize {
        let entry = Entry {
            address,
            changed: now,
            kept: T::default(),
        };
        let oldest = shard
            .iter()
            .enumerate()
            .min_by_key(|(_, entry)| entry.changed);
        match oldest.map(|(at, _)| at) {
            Some(at) if shard.len() >= SHARD_MAX => {
                self.evicted.fetch_add(1, Ordering::Relaxed);
                shard[at] = entry;
                at
            }
            _ => {
                self.known.fetch_add(1, Ordering::Relaxed);
                shard.push(entry);
                shard.len() - 1
            }
        }
    }
}

impl<T> Table<T> {
    /// Looks at the entry of an address, if it has one.
    pub(super) fn look<R>(&self, address: IpAddr, look: impl FnOnce(&T) -> R) -> Option<R> {
        if self.len() == 0 {
            return None;
        }
        let shard = lock(&self.shards[place(address)]);
        let entry = shard.iter().find(|entry| entry.address == address)?;
        Some(look(&entry.kept))
    }

    /// Forgets the entries for which `forget` holds. Returns how many.
    pub(super) fn forget_if(&self, forget: impl Fn(IpAddr, &T) -> bool) -> usize {
        if self.len() == 0 {
            return 0;
        }
        let shards = self.shards.iter();
        shards.map(|shard| self.forget_in(shard, &forget)).sum()
    }

    /// Forgets the entry of one address if `forget` holds. True if so.
    pub(super) fn forget_one(&self, address: IpAddr, forget: impl Fn(&T) -> bool) -> bool {
        let is_it = |entry: IpAddr, kept: &T| entry == address && forget(kept);
        self.len() > 0 && self.forget_in(&self.shards[place(address)], &is_it) > 0
    }

    fn forget_in(
        &self,
        shard: &Mutex<Vec<Entry<T>>>,
        forget: &impl Fn(IpAddr, &T) -> bool,
    ) -> usize {
        let mut shard = lock(shard);
        let before = shard.len();
        shard.retain(|entry| !forget(entry.address, &entry.kept));
        let forgotten = before - shard.len();
        self.known.fetch_sub(forgotten, Ordering::Relaxed);
        forgotten
    }

    /// What `pick` makes of the entries, in no order.
    pub(super) fn pick<R>(&self, mut pick: impl FnMut(IpAddr, &T) -> Option<R>) -> Vec<R> {
        let mut picked = Vec::new();
        for shard in &self.shards {
            let shard = lock(shard);
            picked.extend(shard.iter().filter_map(|e| pick(e.address, &e.kept)));
        }
        picked
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.known.load(Ordering::Relaxed)
    }

    /// How many were forgotten to make room for others.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }
}

fn place(address: IpAddr) -> usize {
    let bits = match address {
        IpAddr::V4(ip) => u128::from(u32::from(ip)),
        IpAddr::V6(ip) => u128::from(ip),
    };
    let folded = (bits as u64) ^ (bits >> 64) as u64;
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SHARDS
}

/// Also if a thread panicked while it held the lock: each entry is changed in one step.
fn lock<T>(shard: &Mutex<Vec<Entry<T>>>) -> MutexGuard<'_, Vec<Entry<T>>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(number: u32) -> IpAddr {
        Ipv4Addr::from(0x0a00_0000 + number).into()
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(ms * 1_000)
    }

    #[test]
    fn the_table_is_bounded_and_counts_what_it_forgot() {
        let table = Table::<u32>::default();
        for number in 0..20_000 {
            table.change(address(number), at(u64::from(number)), |kept| *kept += 1);
            assert_eq!(table.look(address(number), |kept| *kept), Some(1));
        }
        let all = SHARDS * SHARD_MAX;
        assert!(table.len() <= all && table.len() > all / 2);
        assert_eq!(table.evicted(), 20_000 - table.len() as u64);
        assert_eq!(table.pick(|_, kept| Some(*kept)).len(), table.len());
        let before = table.len();
        let even =
            |address: IpAddr, _: &u32| matches!(address, IpAddr::V4(ip) if ip.octets()[3] % 2 == 0);
        assert_eq!(table.forget_if(even) + table.len(), before);
        assert!(table.len() < before);
    }

    #[test]
    fn the_entry_that_was_changed_longest_ago_is_evicted_first() {
        let table = Table::<u32>::default();
        table.change(address(0), at(0), |_| ());
        let mut others = (1..).filter(|&other| place(address(other)) == place(address(0)));
        for number in others.by_ref().take(SHARD_MAX - 1) {
            table.change(address(number), at(1), |_| ());
        }
        table.change(address(0), at(2), |kept| *kept = 7);
        table.change(address(others.next().unwrap()), at(3), |_| ());
        assert_eq!(table.evicted(), 1);
        assert_eq!(table.look(address(0), |kept| *kept), Some(7));
    }
}

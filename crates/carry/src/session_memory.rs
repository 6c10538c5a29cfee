//! Memory for what the sessions of a worker keep: their prepared statements and conditions. What each keeps is bounded where it is
//! kept; here it is counted over all, and given back when it is dropped. User variables and system variables, which sessions share,
//! are counted by the interner.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use session::Interner;

/// What all sessions of a worker keep.
#[derive(Clone, Debug, Default)]
pub struct SessionMemory(pub Arc<Counts>);

/// Bytes in use, and how often more was refused.
#[derive(Debug, Default)]
pub struct Counts {
    bytes: AtomicUsize,
    /// How often more was refused.
    pub refused: AtomicU64,
}

/// What one session keeps of a kind.
#[derive(Debug, Default)]
pub struct Kept {
    bytes: usize,
    of: Option<SessionMemory>,
}

impl SessionMemory {
    fn bytes(&self) -> usize {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Bytes that the sessions of a worker keep, with what they share.
    pub fn with_shared(&self, interner: &Interner) -> usize {
        self.bytes() + interner.bytes()
    }

    /// Whether a session may keep more, of `most` bytes over all. If not, that is counted: it does without, or keeps its
    /// backend.
    pub fn has_room(&self, most: usize, interner: &Interner) -> bool {
        let has = self.with_shared(interner) < most;
        if !has {
            self.0.refused.fetch_add(1, Ordering::Relaxed);
        }
        has
    }
}

impl Kept {
    /// It is so much by now.
    pub fn count(&mut self, bytes: usize, of: &SessionMemory) {
        let of = self.of.get_or_insert_with(|| of.clone());
        of.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        of.0.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
    }

    /// It is so much by now, if it was counted before.
    pub fn recount(&mut self, bytes: usize) {
        if let Some(of) = self.of.clone() {
            self.count(bytes, &of);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(of) = &self.of {
            of.0.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_counted_until_it_is_dropped() {
        let all = SessionMemory::default();
        let (mut first, mut second) = (Kept::default(), Kept::default());
        first.recount(5);
        first.count(100, &all);
        second.count(10, &all);
        assert_eq!(all.bytes(), 110);
        first.recount(30);
        assert_eq!(all.bytes(), 40);
        drop(first);
        assert_eq!(all.bytes(), 10);
    }
}

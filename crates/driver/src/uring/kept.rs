//! Input that came while nobody wanted it, by connection, and how much of it there is: about a buffer for each connection
//! that the handler does not want to hear.

use std::collections::HashMap;

use events::Handle;

/// The input of all connections of a worker that is kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    by_handle: HashMap<Handle, Vec<u8>>,
    bytes: usize,
}

impl Kept {
    /// Keeps more of a connection's.
    pub(super) fn add(&mut self, handle: Handle, bytes: &[u8]) {
        self.bytes += bytes.len();
        let kept = self.by_handle.entry(handle).or_default();
        kept.extend_from_slice(bytes);
    }

    /// Takes up to `most` bytes of what is kept of a connection, and says whether there is more.
    pub(super) fn take(&mut self, handle: Handle, most: usize) -> (Vec<u8>, bool) {
        let mut taken = self.by_handle.remove(&handle).unwrap_or_default();
        let rest = taken.split_off(taken.len().min(most));
        self.bytes -= taken.len();
        let has_more = !rest.is_empty();
        if has_more {
            self.by_handle.insert(handle, rest);
        }
        (taken, has_more)
    }

    /// Nobody wants what is kept of a connection any more.
    pub(super) fn forget(&mut self, handle: Handle) {
        let kept = self.by_handle.remove(&handle);
        self.bytes -= kept.map_or(0, |kept| kept.len());
    }

    /// How much is kept.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_counted() {
        let (one, other) = (Handle(1), Handle(2));
        let mut kept = Kept::default();
        kept.add(one, b"abc");
        kept.add(other, b"de");
        kept.add(one, b"fgh");
        assert_eq!(kept.bytes(), 8);
        assert_eq!(kept.take(one, 4), (b"abcf".to_vec(), true));
        assert_eq!(kept.bytes(), 4);
        kept.forget(other);
        assert_eq!(kept.take(one, 4), (b"gh".to_vec(), false));
        assert_eq!(kept.bytes(), 0);
        kept.forget(one);
    }
}

//! How much memory sessions take, and whether there is more.

use std::sync::atomic::Ordering;

use crate::record::records::Records;

impl Records {
    /// Whether a session of this worker may keep more.
    pub(crate) fn has_session_memory(&self) -> bool {
        self.session_memory
            .has_room(self.settings.session_memory, &self.known.interner)
    }

    /// Bytes that the sessions of this worker keep.
    pub(crate) fn session_memory_bytes(&self) -> usize {
        self.session_memory.with_shared(&self.known.interner)
    }

    /// How often a session was to keep more and could not.
    pub(crate) fn session_memory_refused(&self) -> u64 {
        self.session_memory.0.refused.load(Ordering::Relaxed)
    }
}

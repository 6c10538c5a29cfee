//! Marks keys for which something may be due.

use pool::KeyId;

use crate::record::records::Records;

impl Records {
    /// Something of `id` waits, or is under way that may take too long.
    pub(crate) fn wake(&mut self, id: KeyId) {
        let state = &mut self.keys[id.0 as usize];
        if !std::mem::replace(&mut state.awake, true) {
            self.awake.push(id);
        }
    }
}

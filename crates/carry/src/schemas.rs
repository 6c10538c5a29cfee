//! Schemas that an account was seen to have: logins that name one of them need no backend.

use std::collections::{HashMap, HashSet};

use pool::KeyId;

/// No more than this many are remembered per key; past it, logins ask the backend.
const MAX_PER_KEY: usize = 10_000;

/// What was seen to exist and to be open to whom. A schema that is dropped behind our back is
/// found out by the first statement that needs it.
#[derive(Debug, Default)]
pub struct KnownSchemas {
    by_key: HashMap<KeyId, HashSet<Box<[u8]>>>,
}

impl KnownSchemas {
    /// True if sessions of `key` can select `schema`.
    pub fn contains(&self, key: KeyId, schema: &[u8]) -> bool {
        self.by_key
            .get(&key)
            .is_some_and(|known| known.contains(schema))
    }

    /// A backend selected it.
    pub fn learn(&mut self, key: KeyId, schema: &[u8]) {
        let known = self.by_key.entry(key).or_default();
        if known.len() < MAX_PER_KEY && !known.contains(schema) {
            known.insert(schema.into());
        }
    }

    /// A backend refused it to `key`.
    pub fn forget(&mut self, key: KeyId, schema: &[u8]) {
        if let Some(known) = self.by_key.get_mut(&key) {
            known.remove(schema);
        }
    }

    /// A schema was dropped, or rights were taken away.
    pub fn forget_all(&mut self) {
        self.by_key.clear();
    }
}

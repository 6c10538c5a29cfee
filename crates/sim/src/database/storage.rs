//! What all sessions of the database share: tables, row locks, named locks. Owns no session.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::catalog::{self, FICKLE, SCHEMAS};

/// A row: its schema and its key.
pub(crate) type Row = (String, u32);

/// Tables and locks.
#[derive(Default)]
pub(crate) struct Storage {
    rows: BTreeMap<Row, i64>,
    last_auto: BTreeMap<String, u64>,
    /// Which connection holds a row.
    row_locks: BTreeMap<Row, usize>,
    /// Which connection holds a name.
    named_locks: BTreeMap<String, usize>,
    /// The fickle schema is dropped at the moment.
    pub(crate) dropped: bool,
}

impl Storage {
    /// True if there is such a schema now.
    pub(crate) fn has(&self, schema: &str) -> bool {
        SCHEMAS.contains(&schema) && !(self.dropped && schema == FICKLE)
    }

    pub(crate) fn read(&self, schema: &str, key: u32) -> i64 {
        let row = self.rows.get(&(schema.to_owned(), key)).copied();
        row.unwrap_or_else(|| catalog::initial(schema, key))
    }

    /// Returns what was there before.
    pub(crate) fn write(&mut self, row: Row, value: i64) -> i64 {
        let before = self.read(&row.0, row.1);
        self.rows.insert(row, value);
        before
    }

    /// The next AUTO_INCREMENT value.
    pub(crate) fn next_auto(&mut self, schema: &str) -> u64 {
        let last = self.last_auto.entry(schema.to_owned()).or_default();
        *last += 1;
        *last
    }

    /// Who else than `connection` holds the row; if nobody does, `connection` does from now on.
    pub(crate) fn lock(&mut self, row: &Row, connection: usize) -> Option<usize> {
        let holder = *self.row_locks.entry(row.clone()).or_insert(connection);
        (holder != connection).then_some(holder)
    }

    /// True if anybody holds one of these rows.
    pub(crate) fn holds_rows(&self, keys: &Range<u32>) -> bool {
        let mut held = self.row_locks.keys();
        held.any(|(_, key)| keys.contains(key))
    }

    pub(crate) fn unlock_rows(&mut self, connection: usize) {
        self.row_locks.retain(|_, holder| *holder != connection);
    }

    /// True if `connection` holds the name now.
    pub(crate) fn take_name(&mut self, name: &str, connection: usize) -> bool {
        let name = name.to_owned();
        *self.named_locks.entry(name).or_insert(connection) == connection
    }

    /// `None` if nobody held it.
    pub(crate) fn release_name(&mut self, name: &str, connection: usize) -> Option<bool> {
        let mine = *self.named_locks.get(name)? == connection;
        if mine {
            self.named_locks.remove(name);
        }
        Some(mine)
    }

    pub(crate) fn release_names(&mut self, connection: usize) {
        self.named_locks.retain(|_, holder| *holder != connection);
    }

    /// Names that `connection` holds.
    pub(crate) fn names_of(&self, connection: usize) -> Vec<String> {
        let held = self.named_locks.iter();
        held.filter(|&(_, &holder)| holder == connection)
            .map(|(name, _)| name.clone())
            .collect()
    }
}

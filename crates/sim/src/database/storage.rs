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
    /// Which connection holds a name, and how often it got it.
    named_locks: BTreeMap<String, (usize, u32)>,
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

    /// True if `connection` holds the name now, once more than before.
    pub(crate) fn take_name(&mut self, name: &str, connection: usize) -> bool {
        let name = name.to_owned();
        let (holder, times) = self.named_locks.entry(name).or_insert((connection, 0));
        let mine = *holder == connection;
        *times += u32::from(mine);
        mine
    }

    /// `None` if nobody held it.
    pub(crate) fn release_name(&mut self, name: &str, connection: usize) -> Option<bool> {
        let (holder, times) = self.named_locks.get_mut(name)?;
        let mine = *holder == connection;
        *times -= u32::from(mine);
        if *times == 0 {
            self.named_locks.remove(name);
        }
        Some(mine)
    }

    /// Returns how many locks that were.
    pub(crate) fn release_names(&mut self, connection: usize) -> u32 {
        let held = self.names_of(connection);
        self.named_locks.retain(|_, lock| lock.0 != connection);
        held.iter().map(|(_, times)| times).sum()
    }

    /// Names that `connection` holds, each with how often.
    pub(crate) fn names_of(&self, connection: usize) -> Vec<(String, u32)> {
        let held = self.named_locks.iter();
        held.filter(|(_, lock)| lock.0 == connection)
            .map(|(name, lock)| (name.clone(), lock.1))
            .collect()
    }

    /// True if `connection` holds the name.
    pub(crate) fn holds_name(&self, name: &str, connection: usize) -> bool {
        self.named_locks
            .get(name)
            .is_some_and(|lock| lock.0 == connection)
    }
}

//! The session system variables that differ from what a new session starts with.

use std::collections::BTreeMap;

use crate::modes::Modes;
use crate::statement::Variable;

/// Variables and their values as the server's session tracker reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Variables {
    values: BTreeMap<Box<[u8]>, Box<[u8]>>,
    /// What `values` says of `wait_timeout`, which is asked for with each statement.
    wait_timeout: Option<u32>,
    /// The same of `sql_mode`.
    modes: Option<Modes>,
}

impl Variables {
    fn new(values: BTreeMap<Box<[u8]>, Box<[u8]>>) -> Self {
        let seconds = values.get(&b"wait_timeout"[..]);
        let seconds = seconds.and_then(|seconds| std::str::from_utf8(seconds).ok());
        Self {
            wait_timeout: seconds.and_then(|seconds| seconds.parse().ok()),
            modes: values
                .get(&b"sql_mode"[..])
                .map(|sql_mode| Modes::of(sql_mode)),
            values,
        }
    }

    /// Bytes that names and values take.
    pub(crate) fn bytes(&self) -> usize {
        let values = self.values.iter();
        values.map(|(name, value)| name.len() + value.len()).sum()
    }

    /// The same with one value changed; `None` if that is what it was.
    pub fn with(&self, name: &[u8], value: &[u8]) -> Option<Self> {
        if self.get(name) == Some(value) {
            return None;
        }
        let mut values = self.values.clone();
        values.insert(name.into(), value.into());
        Some(Self::new(values))
    }

    /// The same with one value, or that it was not set, taken from another set.
    pub fn with_from(&self, name: &[u8], other: &Self) -> Self {
        let mut values = self.values.clone();
        match other.values.get(name) {
            Some(value) => values.insert(name.into(), value.clone()),
            None => values.remove(name),
        };
        Self::new(values)
    }

    /// How many seconds the session may be silent, if it has said so.
    pub fn wait_timeout(&self) -> Option<u32> {
        self.wait_timeout
    }

    /// How the session's texts are read, if its `sql_mode` is known.
    pub fn modes(&self) -> Option<Modes> {
        self.modes
    }

    /// A variable's value, if it was set.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.values.get(name).map(|value| &**value)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.values.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Those whose names are among the wanted.
    pub fn only(&self, wanted: impl Fn(&[u8]) -> bool) -> Self {
        let values = self.values.iter().filter(|(name, _)| wanted(name));
        let values = values.map(|(name, value)| (name.clone(), value.clone()));
        Self::new(values.collect())
    }

    /// These and others; of two values the other counts.
    pub fn and(mut self, others: &Self) -> Self {
        let values = others.values.iter();
        self.values
            .extend(values.map(|(name, value)| (name.clone(), value.clone())));
        Self::new(self.values)
    }

    /// True if nothing was set.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// True for the variables that [`Charset`](crate::Charset) stands for. The tracker does not name
/// all of those that a `SET NAMES … COLLATE …` changes, so they are read back instead.
pub fn is_charset_variable(name: &[u8]) -> bool {
    Variable::of(name) == Variable::Charset
}

/// True for a variable that is carried from backend to backend by setting it to the value that
/// the tracker reported.
pub fn is_carried(name: &[u8]) -> bool {
    Variable::of(name).is_carried()
}

/// True for a variable that pins whoever sets it: it is neither carried nor read back, and not one that the server sets by
/// itself.
pub fn pins_when_set(name: &[u8]) -> bool {
    Variable::of(name).pins_when_set()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_carried_nor_the_servers_own_pins() {
        for name in [
            "timestamp",
            "insert_id",
            "rand_seed1",
            "session_track_schema",
        ] {
            assert!(pins_when_set(name.as_bytes()), "{name}");
        }
        for name in [
            "sql_mode",
            "statement_id",
            "collation_connection",
            "collation_database",
            "collation_server",
            "last_insert_id",
        ] {
            assert!(!pins_when_set(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_change_makes_a_new_set_and_no_change_makes_none() {
        let set = Variables::default()
            .with(b"sql_mode", b"")
            .expect("changed");
        assert_eq!(set.get(b"sql_mode"), Some(&b""[..]));
        assert_eq!(set.with(b"sql_mode", b""), None);
        assert_eq!(
            set.with(b"sql_mode", b"ANSI")
                .expect("changed")
                .iter()
                .count(),
            1
        );
    }

    #[test]
    fn what_is_carried() {
        assert!(
            is_carried(b"autocommit") && is_carried(b"sql_mode") && is_carried(b"wait_timeout")
        );
        // Reading the character sets back does not tell it.
        assert!(is_carried(b"character_set_collations"));
        // The connection of whoever sets it tells of its commits.
        assert!(is_carried(b"session_track_gtids"));
        for name in [
            &b"timestamp"[..],
            b"debug",
            b"session_track_schema",
            b"collation_connection",
        ] {
            assert!(!is_carried(name));
        }
    }

    /// With a binary log MariaDB tells `last_gtid` after each write, and takes it from nobody.
    #[test]
    fn what_only_the_server_sets_is_not_carried() {
        for name in [
            &b"external_user"[..],
            b"in_transaction",
            b"last_gtid",
            b"proxy_user",
            b"tmp_table_count",
        ] {
            assert!(!is_carried(name), "{}", name.escape_ascii());
        }
    }
}

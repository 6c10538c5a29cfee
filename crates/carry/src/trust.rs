//! Whether the session tracker of a server tells what it should. The first connection of each server is probed while it is
//! clean: a few variables are set to the values that they have. MariaDB 11.4 and 11.8 tell `autocommit` for whichever flag
//! was set, and 10.5, older 10.11 and older 11.4 tell of variables of plugins only that something has changed.
//!
//! What a text names is asked for wherever it was not told (`told`). What no text names, because a trigger or a routine has
//! set it, is told on a sound server; on another one all variables are compared with what sessions begin with. Owns the
//! probe, and what sessions begin with.

use std::sync::Arc;

use session::{is_carried, is_charset_variable, is_told_as};
use wire::{OkPacket, StateChange, TextResultSet};

/// Flags, and variables of plugins. Each server has them, and any account may set them.
const PROBED: [&str; 5] = [
    "foreign_key_checks",
    "unique_checks",
    "sql_notes",
    "innodb_lock_wait_timeout",
    "myisam_sort_buffer_size",
];

/// What is known of a server's session tracker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tracker {
    /// It was not probed yet.
    #[default]
    Unknown,
    /// It tells what was set.
    Sound,
    /// It does not.
    Unsound(Option<Arc<Beginning>>),
}

/// A variable's name and its value.
type Variable = (Box<[u8]>, Box<[u8]>);

/// The variables of a session that are carried, and what they begin with.
#[derive(Debug, PartialEq, Eq)]
pub struct Beginning {
    values: Vec<Variable>,
}

impl Beginning {
    /// Takes the answer of the server in.
    pub fn told(rows: &TextResultSet) -> Self {
        let values = rows.rows().filter_map(|row| match row {
            [Some(name), value] if is_carried(name) && !is_charset_variable(name) => {
                let value = value.as_deref().unwrap_or_default();
                Some((name[..].into(), value.into()))
            }
            _ => None,
        });
        Self {
            values: values.collect(),
        }
    }

    /// The names of all of them.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.values.iter().map(|(name, _)| &**name)
    }

    /// What a session begins with.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let known = self.values.iter().find(|(known, _)| **known == *name);
        known.map(|(_, value)| &**value)
    }
}

/// The answer to the probe so far.
#[derive(Debug)]
pub struct Probe {
    /// Variables of whose change the server has not said anything.
    pub untold: Vec<&'static str>,
    /// Some variable was told, if only by a wrong name.
    pub tells_any: bool,
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            untold: PROBED.to_vec(),
            tells_any: false,
        }
    }
}

impl Probe {
    /// Takes note of what was told.
    pub fn told(&mut self, ok: &OkPacket<'_>) {
        for change in ok.changes() {
            if let StateChange::SystemVariable { name, .. } = change {
                self.tells_any = true;
                self.untold
                    .retain(|untold| !is_told_as(untold.as_bytes(), name));
            }
        }
    }
}

/// Sets a few variables to the values that they have.
#[must_use]
pub fn tracker_probe() -> String {
    let sets = PROBED.map(|name| format!("{name}=@@session.{name}"));
    format!("SET SESSION {}", sets.join(","))
}

/// The variables of the probe of which its answer does not tell.
#[must_use]
pub fn untold_by_probe(answer: &OkPacket<'_>) -> Vec<String> {
    let mut probe = Probe::default();
    probe.told(answer);
    probe.untold.iter().map(|&name| name.into()).collect()
}

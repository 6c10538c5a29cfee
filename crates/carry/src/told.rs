//! What a text sets must be told. The session tracker of some servers mixes up variables, or tells of some that something
//! has changed and not what: so the variables that a text names are held against what the answers to it have told, and those
//! that are missing are asked for before anything else happens on the backend.
//!
//! Owns the names, and the question. How far the tracker of a server can be trusted with what no text names is in `trust`.

use std::sync::Arc;

use session::is_told_as;
use session::statement::{Kind, SessionSets, Statement, Traits};
use wire::{OkPacket, StateChange, TextResultSet};

use crate::trust::Beginning;

/// The variables of the session that a command sets, as its text says, and no answer has told yet.
#[derive(Debug)]
pub struct Untold {
    /// What the text sets.
    pub found: SessionSets,
    /// So many statements of the text have been answered.
    pub answered: u32,
}

impl Untold {
    /// Takes note of an answer.
    pub fn answered(&mut self, ok: &OkPacket<'_>) {
        self.answered += 1;
        let Some(sets) = &mut self.found.sets else {
            return;
        };
        for change in ok.changes() {
            if let StateChange::SystemVariable { name, .. } = change {
                sets.retain(|set| !is_told_as(&set.name, name));
            }
        }
    }

    /// True if the command does something besides, of which answers may tell.
    pub fn has_others(&self) -> bool {
        self.found.has_others
    }

    /// The variables that were set and not told; `None` if that is not known. A SET that fails has set nothing, and what is behind
    /// it never ran.
    pub fn missing(&self) -> Option<impl Iterator<Item = &[u8]>> {
        let ran = self.found.sets.as_ref()?.iter();
        let ran = ran.filter(|set| set.statement < self.answered);
        Some(ran.map(|set| &*set.name))
    }
}

/// Variables of a session whose values nobody has told.
#[derive(Debug, Default)]
pub struct Unknown {
    /// Their names.
    pub names: Vec<Box<[u8]>>,
    /// All may have been set.
    pub all: bool,
}

impl Unknown {
    /// True if there is something to ask for.
    pub fn is_some(&self) -> bool {
        self.all || !self.names.is_empty()
    }
}

/// A question for what variables of the session are now, and its answer.
#[derive(Debug)]
pub struct ReadVariables {
    /// Names of variables, in the order of the columns.
    pub names: Vec<Box<[u8]>>,
    /// What sessions begin with, if those are all that there are: only what differs was set.
    pub beginning: Option<Arc<Beginning>>,
}

impl ReadVariables {
    /// With a limit of its own, for a session may want to see no rows (`sql_select_limit`).
    pub fn question(&self) -> Vec<u8> {
        let mut text = b"SELECT ".to_vec();
        for (place, name) in self.names.iter().enumerate() {
            text.extend_from_slice(if place == 0 {
                b"@@session."
            } else {
                b",@@session."
            });
            text.extend_from_slice(name);
        }
        text.extend_from_slice(b" LIMIT 1");
        text
    }

    /// The variables and their values, as the tracker would tell them. `None` if the server has not answered so.
    pub fn values<'a>(&'a self, rows: &'a TextResultSet) -> Option<Vec<(&'a [u8], &'a [u8])>> {
        let names = self.names.iter().enumerate();
        let told = names.map(|(place, name)| Some((&**name, value_told(rows, place)?)));
        told.collect()
    }
}

/// What the first row has of a variable in this column, as the tracker would tell it. `None` if there is no row.
fn value_told(rows: &TextResultSet, column: usize) -> Option<&[u8]> {
    let value = rows.rows().next()?.get(column)?.as_deref();
    Some(match value {
        Some(b"0") if rows.is_switch(column) => b"OFF",
        Some(b"1") if rows.is_switch(column) => b"ON",
        value => value.unwrap_or_default(),
    })
}

/// True of a command whose text may set variables of the session.
pub fn sets_variables(statement: &Statement) -> bool {
    matches!(statement.kind, Kind::Set | Kind::Multiple)
        && statement.traits.contains(Traits::SETS_VARIABLE)
}

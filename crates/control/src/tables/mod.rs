//! What administrators are shown, as tables: the same for statements and as JSON.
//!
//! Owns columns, values and what LIKE and LIMIT leave of the rows. How they are written for a client
//! is decided elsewhere. No table is ever held whole unless it is small: sessions and backends come a
//! slice at a time, as workers tell them.

mod accounts;
mod backends;
mod hosts;
mod listing;
mod pins;
mod queue;
mod schemas;
mod sessions;
mod status;
mod variables;
mod walk;

use serde::ser::{Serialize, SerializeMap, Serializer};

pub(crate) use listing::{Filter, Listing};
pub(crate) use variables::system_variable;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

/// What is in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Text,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    None,
    Number(u64),
    Text(String),
}

/// A row: as many values as there are columns.
pub(crate) type Row = Vec<Value>;

/// A column of numbers.
pub(crate) const fn number(name: &'static str) -> Column {
    let kind = Kind::Number;
    Column { name, kind }
}

/// A column of texts.
pub(crate) const fn text(name: &'static str) -> Column {
    let kind = Kind::Text;
    Column { name, kind }
}

/// The tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Accounts,
    Schemas,
    Sessions,
    Queue,
    Backends,
    Pins,
    Hosts,
    Variables,
    Status,
}

impl Subject {
    /// All of them, in the order in which they are listed.
    pub(crate) const ALL: [Self; 9] = [
        Self::Accounts,
        Self::Schemas,
        Self::Sessions,
        Self::Queue,
        Self::Backends,
        Self::Pins,
        Self::Hosts,
        Self::Variables,
        Self::Status,
    ];

    /// Its name in a path; in a statement it is written in capitals.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Accounts => "accounts",
            Self::Schemas => "schemas",
            Self::Sessions => "sessions",
            Self::Queue => "queue",
            Self::Backends => "backends",
            Self::Pins => "pins",
            Self::Hosts => "hosts",
            Self::Variables => "variables",
            Self::Status => "status",
        }
    }

    /// The table of that name, in any case.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|subject| subject.name().eq_ignore_ascii_case(name))
    }

    /// What it shows.
    pub(crate) const fn help(self) -> &'static str {
        match self {
            Self::Accounts => "what accounts run and wait for, what became of it, their limits",
            Self::Schemas => "what runs and waits in schemas with limits, and these",
            Self::Sessions => "client connections, what they do and run",
            Self::Queue => "statements that wait, the oldest first",
            Self::Backends => "connections to the database",
            Self::Pins => "why sessions are pinned, with the first statement that did it",
            Self::Hosts => "addresses where handshakes broke, and whether they are blocked",
            Self::Variables => "the configuration in force",
            Self::Status => "what there is and what has happened, as in /metrics",
        }
    }

    /// Its columns.
    pub(crate) const fn columns(self) -> &'static [Column] {
        match self {
            Self::Accounts => accounts::COLUMNS,
            Self::Schemas => schemas::COLUMNS,
            Self::Sessions => sessions::COLUMNS,
            Self::Queue => queue::COLUMNS,
            Self::Backends => backends::COLUMNS,
            Self::Pins => pins::COLUMNS,
            Self::Hosts => hosts::COLUMNS,
            Self::Variables | Self::Status => variables::COLUMNS,
        }
    }

    /// The column that LIKE is about.
    pub(crate) fn like_column(self) -> usize {
        let name = match self {
            Self::Accounts | Self::Queue => "account",
            Self::Schemas => "schema",
            Self::Sessions | Self::Backends => "user",
            Self::Pins => "reason",
            Self::Hosts => "host",
            Self::Variables | Self::Status => "Variable_name",
        };
        let mut columns = self.columns().iter();
        columns
            .position(|column| column.name == name)
            .unwrap_or_default()
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_none(),
            Self::Number(number) => serializer.serialize_u64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// A span in milliseconds.
fn ms(span: events::Span) -> u64 {
    span.as_us() / 1_000
}

/// A row as an object: its values by the names of their columns.
pub(crate) struct Named(pub(crate) &'static [Column], pub(crate) Row);

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.1.len()))?;
        for (column, value) in self.0.iter().zip(&self.1) {
            map.serialize_entry(column.name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_found_by_its_name_and_has_the_column_of_like() {
        for subject in Subject::ALL {
            assert_eq!(
                Subject::named(&subject.name().to_uppercase()),
                Some(subject)
            );
            let column = subject.columns()[subject.like_column()];
            assert!(
                [
                    "account",
                    "schema",
                    "user",
                    "reason",
                    "host",
                    "Variable_name"
                ]
                .contains(&column.name)
            );
        }
        assert_eq!(Subject::named("tables"), None);
    }
}

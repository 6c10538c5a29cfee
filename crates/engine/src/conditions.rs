//! The list of conditions: what SHOW WARNINGS, SHOW ERRORS, GET DIAGNOSTICS and `@@warning_count` tell of a
//! session's last statement (rule 10).
//!
//! It is the session's, and lives on the backend that ran the statement, where others come and go. So there is one
//! state, that of the session ([`Conditions`]): where its list is. What is on a backend without being the
//! attached session's according to that state is somebody else's, and nobody is told of it.
//!
//! | file | is about |
//! |---|---|
//! | `does` | what a command does to the list, by its class and the server's flavor |
//! | `place` | where the list is, and what becomes of that with each answer |
//! | `list` | a list that is known by value, and telling it |
//! | `binary_rows` | its rows as an execution tells them |
//! | `ask` | bringing the list to where it is asked for: reading it back, SHOW WARNINGS |
//! | `get` | GET DIAGNOSTICS |
//!
//! Row counts are in `capture`.

mod ask;
pub(crate) mod binary_rows;
mod does;
mod get;
mod list;
mod place;

pub(crate) use does::{Does, may_name_tables, uses_tables};
pub(crate) use list::{List, ReadWarnings, Source};
pub(crate) use place::{Answer, Conditions};

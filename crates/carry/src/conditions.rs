//! The list of conditions: what SHOW WARNINGS, SHOW ERRORS and `@@warning_count` tell of a session's last statement
//! (rule 10). GET DIAGNOSTICS tells more, which is on the backend only: it runs where the session holds that, and is
//! refused elsewhere.
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
//!
//! Row counts are in `diagnostics`.

pub mod binary_rows;
mod does;
mod list;
mod place;

pub use does::{Does, may_name_tables, uses_tables};
pub use list::{List, ReadWarnings};
pub use place::{Answer, Conditions};

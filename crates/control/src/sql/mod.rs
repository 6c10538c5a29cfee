//! The listener for administrators' statements: the protocol of MySQL, so that any client of it will
//! do, and a small language of its own.
//!
//! | file | is about |
//! |---|---|
//! | `listener` | connections and their limits |
//! | `stream` | packets of a connection, within bounds |
//! | `login` | the connection phase |
//! | `session` | the command phase: what a command is answered with |
//! | `statement` | the language: text in, statement out |
//! | `select` | what clients ask for by themselves |
//! | `quota` | limits in statements |
//! | `cursor` | going through the tokens of a statement |
//! | `result_set` | tables as packets |
//! | `error` | what goes wrong, as clients are told |

mod cursor;
mod error;
mod listener;
mod login;
mod quota;
mod result_set;
mod select;
mod session;
mod statement;
mod stream;

#[cfg(test)]
pub(crate) use listener::{Limits, serve_within};

pub use listener::serve_sql;

/// The version that clients are told: of a server whose clients ask for little.
pub(crate) const VERSION: &str = concat!("8.0.11-Myriad-", env!("CARGO_PKG_VERSION"));

//! What a statement is, told from its text: a lexer that reads as the backend does, and a small
//! classifier over its tokens. Never a full parse; in doubt the verdict is the careful one.
//!
//! [`classify`] is the way in. It owns no session state: what a verdict means for a session that
//! already holds a lock or a transaction is decided by the session.

mod admin;
mod builtins;
mod charset;
mod classify;
mod comment;
mod dialect;
mod explain;
mod expression;
mod findings;
mod identifier;
mod keyword;
mod kind;
mod lexer;
mod names;
mod pins;
mod program;
mod reader;
mod routine;
mod schema;
mod select;
mod set;
mod show;
mod target;
mod token;
mod transaction;
mod variables;
mod write;

pub use charset::Trail;
pub use classify::classify;
pub use dialect::{Dialect, Flavor};
pub use kind::{Kind, Statement, Traits};
pub use pins::{PinReason, PinReasons};
pub use target::{Kill, kill_target, use_schema};

#[cfg(test)]
mod tests;

//! What a statement is, told from its text: a lexer that reads as the backend does, and a small
//! classifier over its tokens. Never a full parse; in doubt the verdict is the careful one.
//!
//! [`classify`] is the way in. It owns no session state: what a verdict means for a session that
//! already holds a lock or a transaction is decided by the session.

mod admin;
mod assignments;
mod body;
mod builtins;
mod calls;
mod charset;
mod classify;
mod comment;
mod dialect;
mod digest;
mod explain;
mod expression;
mod findings;
mod fingerprint;
mod holding;
mod identifier;
mod keyword;
mod kind;
mod known;
mod lexer;
mod locks;
mod names;
mod pieces;
mod pins;
mod program;
mod question;
mod quotas;
mod reader;
mod routine;
mod schema;
mod scope;
mod select;
mod sequences;
mod set;
mod show;
mod substitute;
mod target;
mod text_prepared;
mod time_limit;
mod token;
mod transaction;
mod unseen;
mod user_variables;
mod variables;
mod write;

pub use assignments::{SessionSet, SessionSets, sets_session, sets_tracked};
pub use body::{Body, routine_body};
pub use calls::{Called, CalledList, called};
pub use charset::Trail;
pub use classify::classify;
pub use dialect::{Dialect, Flavor};
pub use digest::digest_text;
pub use holding::{Holding, TableName, holding};
pub use identifier::quoted_name;
pub use kind::{Kind, Statement, Traits};
pub use known::Known;
pub use locks::{Argument, LockAct, LockCall, LockTells, lock_call};
pub use pieces::{Piece, pieces};
pub use pins::{PinReason, PinReasons};
pub use question::{Diagnostics, lone, show_diagnostics};
pub use quotas::{
    AccountRef, AccountStatement, Limit, Limits, SyntaxError, account_statement, names_limits,
};
pub use scope::scoped;
pub use sequences::{SequenceName, SequenceUse, sequences};
pub use substitute::substitute;
pub use target::{Kill, Named, kill_target, names, use_schema};
pub use text_prepared::{Source, TextPrepared, text_prepared};
pub use time_limit::{milliseconds, seconds, time_limit};
pub use unseen::{UNSEEN_MAX, unseen_question};
pub use user_variables::{Mention, carried_name, user_variables};

pub(crate) use token::is_among;
pub(crate) use variables::Variable;

#[cfg(test)]
mod tests;

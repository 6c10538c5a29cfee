//! What a client session is: its state, how a backend is brought to that state, and what a
//! statement does to it.
//!
//! Pure: no packet is written or read here, and nothing decides when a statement runs.

mod binding;
mod charset;
mod collations;
mod coupled;
mod modes;
mod restore;
mod seldom;
mod state;
pub mod statement;
mod user_variables;
mod variables;

pub use binding::Binding;
pub use charset::{Charset, ResultsCollation, is_unreadable};
pub use collations::{ASK_FOR_COLLATIONS, Collations};
pub use coupled::is_told_as;
pub use modes::{Modes, with_ignore_space};
pub use restore::{
    NARROW, Restore, Role, can_be_refused, is_restorable, misreads, plan, set_client_charset,
};
pub use seldom::Seldom;
pub use state::{Interner, SessionState};
pub use user_variables::{
    ColumnType, Told, UserValue, UserVariables, ask_for_user_variables, put_user_variables,
    same_user_variables,
};
pub use variables::{Variables, is_carried, is_charset_variable, pins_when_set};

//! What a backend holds besides the state of its session. Owns nothing but the list: each kind is owned by a file of its own.

use crate::carried::sequences::DrawnHere;
use crate::carried::user_variables::VariablesHere;
use crate::prepared::by_name::Prepared;

/// What a backend holds besides the state of its session.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    /// User variables.
    pub variables: VariablesHere,
    /// What is prepared by name.
    pub prepared: Prepared,
    /// What was drawn of sequences.
    pub drawn: DrawnHere,
}

impl Leftovers {
    /// What the attached session has left is read back, or lost with it.
    pub(crate) fn is_unread(&self) -> bool {
        self.variables.is_unread() || self.drawn.is_unread()
    }

    /// The session is gone.
    pub(crate) fn forget_unread(&mut self) {
        self.variables.forget_unread();
        self.drawn.forget_unread();
    }
}

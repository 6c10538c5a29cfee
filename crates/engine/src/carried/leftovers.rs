//! What a backend holds besides the state of its session. Owns nothing but the list: each kind is owned by a file of its own.

use crate::carried::sequences::SequencesHere;
use crate::carried::user_variables::VariablesHere;
use crate::prepared::by_name::Prepared;

/// What a backend holds besides the state of its session.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    /// User variables.
    pub variables: VariablesHere,
    /// What is prepared by name.
    pub prepared: Prepared,
    /// Which sequences were drawn of.
    pub sequences: SequencesHere,
}

impl Leftovers {
    /// What the attached session has left is read back, or lost with it.
    pub(crate) fn is_unread(&self) -> bool {
        self.variables.is_unread()
    }

    /// The session is gone.
    pub(crate) fn forget_unread(&mut self) {
        self.variables.forget_unread();
    }
}

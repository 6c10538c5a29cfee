//! What a backend holds besides the state of its session. Owns nothing but the list: each kind is owned by a file of its own.

use crate::sequences::SequencesHere;
use crate::told::Unknown;
use crate::user_variables::VariablesHere;

/// What a backend holds besides the state of its session.
#[derive(Debug, Default)]
pub struct Leftovers {
    /// User variables.
    pub variables: VariablesHere,
    /// Which sequences were drawn of.
    pub sequences: SequencesHere,
    /// Variables whose values nobody has told.
    pub unknown: Unknown,
}

//! Whom a KILL ends.

/// A client of ours that somebody wants ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// The client's connection id.
    pub id: u32,
    /// Only its statement.
    pub query: bool,
}

//! State is membership: every item of a [`Roster`] stands on exactly one of its lists, and the
//! list it stands on is its state.
//!
//! A roster is a slab in pages (so that a million entries never move in memory) whose entries are
//! chained into doubly linked lists. All operations take constant time; the length of a list is
//! the number of items in that state, so a count that is shown anywhere cannot disagree with what
//! decides. Keys carry a generation: a key that outlived its item finds nothing.

mod roster;

pub use roster::{Key, ListId, Roster};

#[cfg(test)]
mod tests;

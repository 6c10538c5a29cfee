//! State is membership: every item of a [`Roster`] stands on exactly one of its lists, and the
//! list it stands on is its state.
//!
//! A roster is a [`Slab`] whose entries are chained into doubly linked lists. All operations take
//! constant time; the length of a list is the number of items in that state, so a count that is
//! shown anywhere cannot disagree with what decides.
//!
//! The slab grows and shrinks by pages, so that a million entries never move in memory and what a
//! peak took is given back. Keys carry a generation: a key that outlived its item finds nothing.

mod roster;
mod slab;

pub use roster::{ListId, Roster};
pub use slab::{Key, Slab};

#[cfg(test)]
mod tests;

//! Whose connection an event is about: the tag that the driver is given, and back.

use events::Tag;
use membership::Key;

/// Whose connection a tag names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Client(Key),
    Backend(Key),
}

/// Generations wrap within 31 bits here, so that the topmost bit is free.
const BACKEND_BIT: u64 = 1 << 63;

impl Owner {
    /// The tag of a connection that was closed as it came: no event follows.
    pub(crate) const NOBODY: Tag = Tag(!BACKEND_BIT);

    /// What the driver is told.
    pub(crate) fn tag(&self) -> Tag {
        match self {
            Owner::Client(key) => Tag(key.to_bits()),
            Owner::Backend(key) => Tag(key.to_bits() | BACKEND_BIT),
        }
    }

    /// Whose connection an event is about.
    pub(crate) fn of(tag: Tag) -> Self {
        match tag.0 & BACKEND_BIT {
            0 => Owner::Client(Key::from_bits(tag.0)),
            _ => Owner::Backend(Key::from_bits(tag.0 & !BACKEND_BIT)),
        }
    }
}

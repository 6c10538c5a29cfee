//! Where a connection's socket is: in the table of a ring or, while it is being connected, with a
//! descriptor of its own.

use std::os::fd::OwnedFd;

use bitflags::bitflags;

/// The place of a socket and what the kernel is doing for it.
#[derive(Debug)]
pub(super) struct Seat {
    /// Present only while connecting.
    pub(super) fd: Option<OwnedFd>,
    slot: u32,
    /// The send in flight, while there is one.
    pub(super) flight: u32,
    /// The ring's number.
    pub(super) ring: u16,
    pub(super) armed: Armed,
}

bitflags! {
    /// Operations of a connection that have not come to their end.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Armed: u8 {
        /// Receives.
        const RECEIVE = 1;
        /// Polls for the peer's end, or for being connected.
        const POLL = 1 << 1;
        /// Sends.
        const SEND = 1 << 2;
        /// Receiving was asked to end.
        const CANCELLING = 1 << 3;
        /// Polls for input, too.
        const INPUT = 1 << 4;
    }
}

/// What says that there is no slot.
const NOWHERE: u32 = u32::MAX;

impl Seat {
    /// A slot of a ring's table.
    pub(super) fn taken(ring: u16, slot: u32) -> Self {
        Self {
            fd: None,
            slot,
            flight: 0,
            ring,
            armed: Armed::empty(),
        }
    }

    /// No socket yet.
    pub(super) fn none() -> Self {
        Self::taken(0, NOWHERE)
    }

    /// The slot, if there is one.
    pub(super) fn slot(&self) -> Option<u32> {
        Some(self.slot).filter(|&slot| slot != NOWHERE)
    }

    /// Whether the kernel still works for the connection.
    pub(super) fn is_busy(&self) -> bool {
        self.armed
            .intersects(Armed::RECEIVE | Armed::POLL | Armed::SEND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Connection;

    #[test]
    fn a_place_is_small() {
        // What the slab adds is its key's generation; the ring's list of slots has one more number.
        type Place = (u32, Option<Connection<Seat>>);
        let size = size_of::<Place>() + size_of::<u32>();
        assert!(size <= 60, "{size}");
    }
}

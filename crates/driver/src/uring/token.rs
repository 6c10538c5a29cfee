//! The names of operations in flight: what is done and for whom, in the 64 bits that the kernel
//! gives back.

use events::Handle;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Receives until told otherwise.
    Receive = 0,
    /// Waits for readiness, once.
    Poll = 1,
    /// Sends; its subject is a flight of the ring.
    Send = 2,
    /// Cancels what a connection receives.
    CancelReceive = 3,
    /// Cancels what a connection polls for.
    CancelPoll = 4,
    /// Cancels what a connection sends.
    CancelSend = 5,
    /// Gives a connection's socket a descriptor.
    Install = 6,
    /// Closes a slot of the ring; that is its subject.
    Close = 7,
    /// Waits for mail.
    Wake = 8,
    /// Waits for a client; its subject is the number of the listener.
    Listener = 9,
    /// Waits for another ring to have something to tell.
    Ring = 10,
    /// Gives a connection's socket a descriptor for a moment.
    Lend = 11,
}

const OPS: [Op; 12] = [
    Op::Receive,
    Op::Poll,
    Op::Send,
    Op::CancelReceive,
    Op::CancelPoll,
    Op::CancelSend,
    Op::Install,
    Op::Close,
    Op::Wake,
    Op::Listener,
    Op::Ring,
    Op::Lend,
];

/// An operation and its subject. Of a connection's handle the place must be below [`PLACES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token(pub(super) u64);

/// How many places of connections a token can tell apart.
pub(super) const PLACES: u32 = 1 << OP_SHIFT;

const OP_SHIFT: u32 = 24;
const OP_MASK: u64 = 0xff << OP_SHIFT;

impl Token {
    /// Names what is done for a connection.
    pub(super) fn of(op: Op, handle: Handle) -> Self {
        Self(handle.0 & !OP_MASK | (op as u64) << OP_SHIFT)
    }

    /// Names what is done for something with a number.
    pub(super) fn numbered(op: Op, number: u32) -> Self {
        Self::of(op, Handle(u64::from(number)))
    }

    /// What is done; `None` if the kernel gave back what it was never given.
    pub(super) fn op(self) -> Option<Op> {
        OPS.get(((self.0 & OP_MASK) >> OP_SHIFT) as usize).copied()
    }

    /// The connection.
    pub(super) fn handle(self) -> Handle {
        Handle(self.0 & !OP_MASK)
    }

    /// The number.
    pub(super) fn number(self) -> u32 {
        (self.0 & !OP_MASK) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_keep_what_they_name() {
        let handle = Handle(u64::from(u32::MAX) << 32 | u64::from(PLACES - 1));
        for (number, op) in OPS.into_iter().enumerate() {
            assert_eq!(op as usize, number);
            let token = Token::of(op, handle);
            assert_eq!((token.op(), token.handle()), (Some(op), handle));
            assert_eq!(Token::numbered(op, 77).number(), 77);
        }
        assert_eq!(Token(OP_MASK).op(), None);
    }
}

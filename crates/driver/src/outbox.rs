//! The bytes that wait to leave for one connection, and the worker's stock of unused outboxes.
//!
//! A connection owns an outbox only while it has something to say. Writing to sockets is not done
//! here.

/// An outbox larger than this is written at once instead of at the end of the turn, and one that
/// grew beyond it is not kept for reuse.
pub(crate) const LARGE: usize = 64 * 1024;

/// How many unused outboxes a worker keeps.
const SPARE_MAX: usize = 256;

/// Bytes on their way out; those before `sent` have left already.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// What the handler appends to.
    pub(crate) bytes: Vec<u8>,
    sent: usize,
    /// How many unsent bytes the worker's total contains for this outbox.
    pub(crate) counted: usize,
}

impl Outbox {
    /// How many bytes the kernel has not taken.
    pub(crate) fn unsent(&self) -> usize {
        self.bytes.len().saturating_sub(self.sent)
    }

    /// The bytes that the kernel has not taken.
    pub(crate) fn unsent_bytes(&self) -> &[u8] {
        self.bytes.get(self.sent..).unwrap_or_default()
    }

    /// The kernel took `count` more bytes.
    pub(crate) fn taken(&mut self, count: usize) {
        self.sent += count;
        self.counted = self.counted.saturating_sub(count);
        if self.sent >= self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
        } else if self.sent >= LARGE && self.sent >= self.bytes.len() / 2 {
            // Moving at most as many bytes as have left keeps the cost per byte constant, and the
            // memory in proportion to what is unsent.
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }
}

/// Unused outboxes with their memory.
#[derive(Debug, Default)]
pub(crate) struct SpareOutboxes {
    #[expect(
        clippy::vec_box,
        reason = "the boxes themselves move to connections and back"
    )]
    spare: Vec<Box<Outbox>>,
}

impl SpareOutboxes {
    /// An empty outbox.
    pub(crate) fn take(&mut self) -> Box<Outbox> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes an outbox back; whatever it holds is dropped.
    pub(crate) fn give(&mut self, mut outbox: Box<Outbox>) {
        if self.spare.len() < SPARE_MAX && outbox.bytes.capacity() <= LARGE {
            outbox.bytes.clear();
            outbox.sent = 0;
            outbox.counted = 0;
            self.spare.push(outbox);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_is_not_sent_again() {
        let mut outbox = Outbox {
            bytes: b"abcdef".to_vec(),
            ..Outbox::default()
        };
        outbox.taken(2);
        outbox.bytes.extend_from_slice(b"gh");
        assert_eq!(
            (outbox.unsent_bytes(), outbox.unsent()),
            (&b"cdefgh"[..], 6)
        );
        outbox.taken(6);
        assert_eq!((outbox.unsent(), outbox.bytes.len()), (0, 0));
    }

    #[test]
    fn a_stream_that_never_runs_dry_keeps_its_size() {
        let mut outbox = Outbox::default();
        outbox.bytes.resize(2 * LARGE, 0);
        for _ in 0..1_000 {
            outbox.taken(LARGE / 4);
            outbox.bytes.resize(outbox.bytes.len() + LARGE / 4, 0);
            assert_eq!(outbox.unsent(), 2 * LARGE);
            assert!(outbox.bytes.len() <= 5 * LARGE);
        }
    }

    #[test]
    fn spare_outboxes_are_empty_small_and_few() {
        let mut spare = SpareOutboxes::default();
        spare.give(Box::new(Outbox {
            bytes: vec![1; 2 * LARGE],
            sent: 1,
            counted: 9,
        }));
        assert_eq!(spare.spare.len(), 0);
        for _ in 0..2 * SPARE_MAX {
            spare.give(Box::new(Outbox {
                bytes: vec![1; 10],
                sent: 1,
                counted: 9,
            }));
        }
        assert_eq!(spare.spare.len(), SPARE_MAX);
        let outbox = spare.take();
        assert_eq!((outbox.unsent(), outbox.counted), (0, 0));
        assert!(outbox.bytes.capacity() >= 10);
    }
}

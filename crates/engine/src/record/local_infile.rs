//! LOAD DATA LOCAL: how far the client's file has come. Myriad passes its packets on, and never reads a file of this host.

use wire::{HEADER_LEN, Header};

/// How far a file has come that a client sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Upload {
    /// Bytes that are still to come of the packet at hand.
    pub left: usize,
    /// The sequence id that the backend expects next. The client's own may be others: one that compresses does
    /// not count its packets as the backend would.
    pub next: u8,
}

/// What came of some bytes of a file.
pub(crate) struct Passed {
    /// How many were used.
    pub used: usize,
    /// The sequence id of the empty packet that ends the file.
    pub last: Option<u8>,
}

impl Upload {
    /// Appends what `bytes` hold of the file, with the backend's sequence ids.
    pub(crate) fn pass(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Passed {
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            let take = rest.len().min(self.left);
            out.extend_from_slice(&rest[..take]);
            self.left -= take;
            used += take;
            let header = Header::parse(&bytes[used..]).filter(|_| self.left == 0);
            let Some(header) = header else {
                return Passed { used, last: None };
            };
            let sequence_id = self.next;
            self.next = sequence_id.wrapping_add(1);
            out.extend_from_slice(&bytes[used..used + HEADER_LEN - 1]);
            out.push(sequence_id);
            used += HEADER_LEN;
            self.left = header.len;
            if header.len == 0 {
                let last = Some(sequence_id);
                return Passed { used, last };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::write_packet;

    #[test]
    fn a_file_passes_however_it_is_cut() {
        let mut file = Vec::new();
        let next = write_packet(&mut file, 3, b"1,2\n");
        let next = write_packet(&mut file, next, b"3,4\n");
        write_packet(&mut file, next, b"");
        for step in 1..=file.len() {
            let mut upload = Upload { left: 0, next: 2 };
            let (mut pending, mut out, mut last) = (Vec::new(), Vec::new(), None);
            for part in file.chunks(step) {
                pending.extend_from_slice(part);
                let passed = upload.pass(&pending, &mut out);
                pending.drain(..passed.used);
                last = last.or(passed.last);
            }
            let mut expected = Vec::new();
            write_packet(&mut expected, 2, b"1,2\n");
            write_packet(&mut expected, 3, b"3,4\n");
            write_packet(&mut expected, 4, b"");
            assert_eq!((last, out), (Some(4), expected), "step {step}");
        }
    }
}

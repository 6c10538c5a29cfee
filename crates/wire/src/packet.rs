//! Framing: a packet is a header of four bytes and a payload of at most 16 MiB − 1; a longer
//! payload is continued in further packets.
//!
//! Source: MySQL manual, "MySQL Packets".

use std::ops::Range;

/// Bytes of a packet's header: three of length, one sequence id.
pub const HEADER_LEN: usize = 4;

/// The longest payload of one packet. A packet that is exactly this long is continued by the next.
pub const MAX_PAYLOAD: usize = 0xff_ffff;

/// A packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of payload that follow in this packet.
    pub len: usize,
    /// Counts the packets of one exchange, modulo 256.
    pub sequence_id: u8,
}

impl Header {
    /// The header at the beginning of `bytes`, if all four bytes are there.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, sequence_id] = bytes.first_chunk::<HEADER_LEN>()?;
        let len = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        Some(Self { len, sequence_id })
    }

    /// Its four bytes.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [a, b, c, ..] = self.len.to_le_bytes();
        [a, b, c, self.sequence_id]
    }
}

/// A payload and where it stood, all its continuation packets included.
#[derive(Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// It came in one packet: a slice of the input.
    Whole(&'a [u8]),
    /// It came in several packets; joined here.
    Joined(Vec<u8>),
}

impl Payload<'_> {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Payload::Whole(bytes) => bytes,
            Payload::Joined(bytes) => bytes,
        }
    }
}

/// One complete payload at the beginning of a buffer.
#[derive(Debug, PartialEq, Eq)]
pub struct Complete<'a> {
    /// The payload.
    pub payload: Payload<'a>,
    /// Sequence id of its last packet.
    pub sequence_id: u8,
    /// Bytes of the buffer that it took, headers included.
    pub consumed: usize,
}

/// Cuts the first complete payload off `bytes`.
///
/// `Err` holds the number of bytes the buffer must have at least before asking again is of use.
pub fn whole_packet(bytes: &[u8]) -> Result<Complete<'_>, usize> {
    let mut at = 0;
    let mut parts: Vec<Range<usize>> = Vec::new();
    loop {
        let header = Header::parse(&bytes[at..]).ok_or(at + HEADER_LEN)?;
        let body = at + HEADER_LEN..at + HEADER_LEN + header.len;
        if body.end > bytes.len() {
            return Err(body.end);
        }
        at = body.end;
        let last = header.len < MAX_PAYLOAD;
        if last && parts.is_empty() {
            let payload = Payload::Whole(&bytes[body]);
            return Ok(Complete {
                payload,
                sequence_id: header.sequence_id,
                consumed: at,
            });
        }
        parts.push(body);
        if last {
            let joined = parts
                .into_iter()
                .flat_map(|part| &bytes[part])
                .copied()
                .collect();
            let payload = Payload::Joined(joined);
            return Ok(Complete {
                payload,
                sequence_id: header.sequence_id,
                consumed: at,
            });
        }
    }
}

/// Appends `payload` to `out` as one packet, or as several where it is too long for one.
/// Returns the sequence id that the next packet would have.
pub fn write_packet(out: &mut Vec<u8>, mut sequence_id: u8, mut payload: &[u8]) -> u8 {
    loop {
        let len = payload.len().min(MAX_PAYLOAD);
        let (part, rest) = payload.split_at(len);
        out.extend_from_slice(&Header { len, sequence_id }.to_bytes());
        out.extend_from_slice(part);
        sequence_id = sequence_id.wrapping_add(1);
        if len < MAX_PAYLOAD {
            return sequence_id;
        }
        payload = rest;
    }
}

/// Writes one packet in place: the header is filled in when the payload is complete.
///
/// For payloads that are known to be shorter than [`MAX_PAYLOAD`]; longer ones go through
/// [`write_packet`].
#[derive(Debug)]
pub struct PacketWriter<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    sequence_id: u8,
}

impl<'a> PacketWriter<'a> {
    /// Begins a packet at the end of `out`.
    pub fn begin(out: &'a mut Vec<u8>, sequence_id: u8) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_LEN]);
        Self {
            out,
            start,
            sequence_id,
        }
    }

    /// The payload so far is appended to here.
    pub fn payload(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Fills in the header. Returns the sequence id that the next packet would have.
    pub fn finish(self) -> u8 {
        let len = self.out.len() - self.start - HEADER_LEN;
        debug_assert!(len < MAX_PAYLOAD, "long payloads go through write_packet");
        let header = Header {
            len,
            sequence_id: self.sequence_id,
        }
        .to_bytes();
        self.out[self.start..self.start + HEADER_LEN].copy_from_slice(&header);
        self.sequence_id.wrapping_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_survives_writing_and_cutting_at_each_length_that_matters() {
        for len in [
            0,
            1,
            250,
            MAX_PAYLOAD - 1,
            MAX_PAYLOAD,
            MAX_PAYLOAD + 1,
            2 * MAX_PAYLOAD,
        ] {
            let payload: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let mut out = Vec::new();
            let next = write_packet(&mut out, 255, &payload);
            let complete = whole_packet(&out).expect("complete");
            assert_eq!(complete.payload.bytes(), payload);
            assert_eq!(complete.consumed, out.len());
            assert_eq!(complete.sequence_id.wrapping_add(1), next);
            assert_eq!(usize::from(next.wrapping_sub(255)), len / MAX_PAYLOAD + 1);
        }
    }

    #[test]
    fn an_incomplete_packet_says_how_much_it_needs() {
        let mut out = Vec::new();
        write_packet(&mut out, 0, b"hello");
        for cut in 0..out.len() {
            let needed = whole_packet(&out[..cut]).expect_err("incomplete");
            assert!(
                needed > cut && needed <= out.len(),
                "cut {cut} asks for {needed}"
            );
        }
    }

    #[test]
    fn the_writer_fills_in_the_header() {
        let mut out = vec![9];
        let mut packet = PacketWriter::begin(&mut out, 7);
        packet.payload().extend_from_slice(b"abc");
        assert_eq!(packet.finish(), 8);
        assert_eq!(out, [9, 3, 0, 0, 7, b'a', b'b', b'c']);
    }
}

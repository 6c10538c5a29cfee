//! Framing: a packet is a header of four bytes and a payload of at most 16 MiB − 1; a longer
//! payload is continued in further packets.
//!
//! Source: MySQL manual, "MySQL Packets".

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

/// Bytes that the first complete payload of `bytes` takes, the headers of all its packets included.
///
/// `Err` holds the number of bytes the buffer must have at least before asking again is of use.
pub fn whole_len(bytes: &[u8]) -> Result<usize, usize> {
    let mut at = 0;
    loop {
        let header = Header::parse(&bytes[at..]).ok_or(at + HEADER_LEN)?;
        at += HEADER_LEN + header.len;
        if at > bytes.len() {
            return Err(at);
        }
        if header.len < MAX_PAYLOAD {
            return Ok(at);
        }
    }
}

/// Cuts the first complete payload off `bytes`. `Err` as of [`whole_len`].
pub fn whole_packet(bytes: &[u8]) -> Result<Complete<'_>, usize> {
    let consumed = whole_len(bytes)?;
    let mut packets = Packets(&bytes[..consumed]);
    let (first, mut sequence_id) = packets.next().ok_or(HEADER_LEN)?;
    if HEADER_LEN + first.len() == consumed {
        return Ok(Complete {
            payload: Payload::Whole(first),
            sequence_id,
            consumed,
        });
    }
    let mut joined = Vec::with_capacity(consumed);
    joined.extend_from_slice(first);
    for (part, id) in packets {
        joined.extend_from_slice(part);
        sequence_id = id;
    }
    Ok(Complete {
        payload: Payload::Joined(joined),
        sequence_id,
        consumed,
    })
}

/// The packets of which a buffer consists: what is in each, and its sequence id.
struct Packets<'a>(&'a [u8]);

impl<'a> Iterator for Packets<'a> {
    type Item = (&'a [u8], u8);

    fn next(&mut self) -> Option<Self::Item> {
        let header = Header::parse(self.0)?;
        let (packet, rest) = self.0.split_at_checked(HEADER_LEN + header.len)?;
        self.0 = rest;
        Some((&packet[HEADER_LEN..], header.sequence_id))
    }
}

/// Joins the packets of one command in place: behind the header of the first stands the whole payload. Returns the length
/// of both, behind which nothing is of use any more, and the number of the last packet.
pub fn join_packets(command: &mut [u8]) -> (usize, u8) {
    let (mut at, mut end, mut last) = (0, 0, 0);
    while let Some(header) = command.get(at..).and_then(Header::parse) {
        let from = if at == 0 { 0 } else { at + HEADER_LEN };
        let to = command.len().min(at + HEADER_LEN + header.len);
        command.copy_within(from..to, end);
        end += to - from;
        at = to;
        last = header.sequence_id;
    }
    (end, last)
}

/// Numbers the packets of one command from 0 on, as a server expects that counts them. Returns the last number.
pub fn number_packets(command: &mut [u8]) -> u8 {
    let (mut rest, mut next) = (command, 0_u8);
    while let Some(header) = Header::parse(rest) {
        rest[HEADER_LEN - 1] = next;
        next = next.wrapping_add(1);
        let Some((_, behind)) = rest.split_at_mut_checked(HEADER_LEN + header.len) else {
            break;
        };
        rest = behind;
    }
    next.wrapping_sub(1)
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
    fn packets_are_numbered_whatever_their_numbers_were() {
        let mut out = Vec::new();
        write_packet(&mut out, 77, &vec![1; 2 * MAX_PAYLOAD + 5]);
        assert_eq!(whole_len(&out), Ok(out.len()));
        assert_eq!(number_packets(&mut out), 2);
        let ids: Vec<u8> = Packets(&out).map(|(_, id)| id).collect();
        assert_eq!(ids, [0, 1, 2]);
    }

    #[test]
    fn joined_packets_are_the_payload() {
        for len in [0, 5, MAX_PAYLOAD, 2 * MAX_PAYLOAD + 5] {
            let payload: Vec<u8> = (0..len).map(|i| (i / 3) as u8).collect();
            let mut out = Vec::new();
            write_packet(&mut out, 0, &payload);
            let (joined, last) = join_packets(&mut out);
            assert_eq!(joined, HEADER_LEN + len);
            assert_eq!(usize::from(last), len / MAX_PAYLOAD);
            assert!(out[HEADER_LEN..joined] == payload);
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

//! The header of a compressed packet.
//!
//! Source: MySQL manual, "Compressed Packet Header".

/// Bytes of the header: three of the length that follows, one sequence id, three of the length it has unpacked.
pub const HEADER_LEN: usize = 7;

/// The longest that a packet can be, packed or not.
#[cfg(test)]
pub(crate) const LEN_MAX: usize = 0xff_ffff;

/// The header of a compressed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes that follow.
    pub len: usize,
    /// Counts the compressed packets of one exchange, modulo 256. That of the packets within is another.
    pub sequence_id: u8,
    /// Bytes that they are when they are unpacked; 0 if they are not packed.
    pub plain_len: usize,
}

impl Header {
    /// The header at the beginning of `bytes`, if all of it is there.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, sequence_id, x, y, z] = bytes.first_chunk::<HEADER_LEN>()?;
        let number = |a, b, c| usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        Some(Self {
            len: number(a, b, c),
            sequence_id,
            plain_len: number(x, y, z),
        })
    }

    /// Its bytes.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [a, b, c, ..] = self.len.to_le_bytes();
        let [x, y, z, ..] = self.plain_len.to_le_bytes();
        [a, b, c, self.sequence_id, x, y, z]
    }
}

//! OK and EOF packets.
//!
//! Source: MySQL manual, "OK_Packet" and "EOF_Packet". The manual calls `info` a string up to the
//! end of the packet where CLIENT_SESSION_TRACK was not negotiated; both servers write it with a
//! length-encoded length in either case (`net_send_ok` in MariaDB, `send_ok` in MySQL).

use crate::packet::PacketWriter;
use crate::reader::{put_lenenc_bytes, put_lenenc_int};
use crate::status::ServerStatus;
use crate::track::StateChanges;
use crate::{Malformed, Reader};

/// An OK packet's fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OkPacket<'a> {
    /// Rows that the statement changed (or found, under CLIENT_FOUND_ROWS).
    pub affected_rows: u64,
    /// The AUTO_INCREMENT value, or 0.
    pub last_insert_id: u64,
    /// Status after the statement.
    pub status: ServerStatus,
    /// Number of warnings.
    pub warnings: u16,
    /// Text such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: &'a [u8],
    /// The session-track block, as it came; empty if there is none.
    pub state_changes: &'a [u8],
}

impl<'a> OkPacket<'a> {
    /// The OK packet in `payload` (header 0x00, or 0xFE where it ends a result set), from a peer
    /// with CLIENT_PROTOCOL_41.
    ///
    /// Also the EOF packet by which MySQL ends a result set that an error has cut off and a handler of a
    /// routine has caught: clients with CLIENT_DEPRECATE_EOF are sent it, too.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        if let &[0xfe, w0, w1, s0, s1] = payload {
            return Ok(Self {
                warnings: u16::from_le_bytes([w0, w1]),
                status: ServerStatus::from_bits_retain(u16::from_le_bytes([s0, s1])),
                ..Self::default()
            });
        }
        let mut reader = Reader::new(payload);
        if !matches!(reader.u8("OK header")?, 0x00 | 0xfe) {
            return Err(Malformed::Invalid("OK header"));
        }
        let affected_rows = reader.lenenc_int("affected rows")?;
        let last_insert_id = reader.lenenc_int("last insert id")?;
        let status = ServerStatus::from_bits_retain(reader.u16("status flags")?);
        let warnings = reader.u16("warnings")?;
        let (mut info, mut state_changes) = (&b""[..], &b""[..]);
        if !reader.is_empty() {
            info = reader.lenenc_bytes("info")?;
        }
        if status.contains(ServerStatus::SESSION_STATE_CHANGED) && !reader.is_empty() {
            state_changes = track_block(&mut reader)?;
        }
        Ok(Self {
            affected_rows,
            last_insert_id,
            status,
            warnings,
            info,
            state_changes,
        })
    }

    /// What the session-track block tells.
    pub fn changes(&self) -> StateChanges<'a> {
        StateChanges::new(self.state_changes)
    }

    /// Appends the packet with the given header byte (0x00 or 0xFE). The session-track block is
    /// written, and its status flag set, only if it is not empty. Returns the next sequence id.
    pub fn encode(&self, out: &mut Vec<u8>, sequence_id: u8, header: u8) -> u8 {
        let mut status = self.status;
        status.set(
            ServerStatus::SESSION_STATE_CHANGED,
            !self.state_changes.is_empty(),
        );
        let mut packet = PacketWriter::begin(out, sequence_id);
        let payload = packet.payload();
        payload.push(header);
        put_lenenc_int(payload, self.affected_rows);
        put_lenenc_int(payload, self.last_insert_id);
        payload.extend_from_slice(&status.bits().to_le_bytes());
        payload.extend_from_slice(&self.warnings.to_le_bytes());
        if !self.info.is_empty() || !self.state_changes.is_empty() {
            put_lenenc_bytes(payload, self.info);
        }
        if !self.state_changes.is_empty() {
            put_lenenc_bytes(payload, self.state_changes);
        }
        packet.finish()
    }
}

/// The session-track block. MariaDB keeps room for its length by a character of the schema's character set: where that is
/// UTF-16, UTF-32 or UCS-2, zero bytes stand before the length.
fn track_block<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    loop {
        let block = reader.lenenc_bytes("session state changes")?;
        if !block.is_empty() || reader.is_empty() {
            return Ok(block);
        }
    }
}

/// Appends an EOF packet. Returns the next sequence id.
pub fn encode_eof(out: &mut Vec<u8>, sequence_id: u8, warnings: u16, status: ServerStatus) -> u8 {
    let mut packet = PacketWriter::begin(out, sequence_id);
    let payload = packet.payload();
    payload.push(0xfe);
    payload.extend_from_slice(&warnings.to_le_bytes());
    payload.extend_from_slice(&status.bits().to_le_bytes());
    packet.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> OkPacket<'static> {
        OkPacket {
            affected_rows: 3,
            last_insert_id: 70_000,
            status: ServerStatus::AUTOCOMMIT | ServerStatus::SESSION_STATE_CHANGED,
            warnings: 2,
            info: b"Records: 3",
            state_changes: b"\x01\x05\x04shop",
        }
    }

    #[test]
    fn a_full_packet_survives_a_round_trip_and_each_cut_is_refused_or_shorter() {
        let mut out = Vec::new();
        full().encode(&mut out, 1, 0x00);
        let payload = &out[4..];
        assert_eq!(OkPacket::parse(payload), Ok(full()));
        for cut in 0..payload.len() {
            assert_ne!(OkPacket::parse(&payload[..cut]), Ok(full()));
        }
    }

    #[test]
    fn zero_bytes_may_stand_before_the_length_of_a_block() {
        let before = b"\0\0\0\x02\x40\0\0\0";
        for zeros in [&b""[..], b"\0", b"\0\0\0"] {
            let payload = [before, zeros, b"\x07\x01\x05\x04shop"].concat();
            let ok = OkPacket::parse(&payload).unwrap();
            assert_eq!(ok.state_changes, full().state_changes, "{zeros:?}");
        }
        let nothing = [&before[..], b"\0"].concat();
        assert_eq!(OkPacket::parse(&nothing).unwrap().state_changes, b"");
    }

    #[test]
    fn an_eof_packet_is_told_by_its_length() {
        let mut out = Vec::new();
        let status = ServerStatus::AUTOCOMMIT | ServerStatus::MORE_RESULTS_EXISTS;
        encode_eof(&mut out, 1, 3, status);
        let expected = OkPacket {
            warnings: 3,
            status,
            ..OkPacket::default()
        };
        assert_eq!(OkPacket::parse(&out[4..]), Ok(expected));
    }

    #[test]
    fn without_a_block_the_flag_is_not_set() {
        let mut out = Vec::new();
        OkPacket {
            state_changes: b"",
            info: b"",
            ..full()
        }
        .encode(&mut out, 1, 0xfe);
        assert_eq!(out, b"\x0a\0\0\x01\xfe\x03\xfd\x70\x11\x01\x02\0\x02\0");
    }
}

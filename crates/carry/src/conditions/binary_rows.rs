//! Rows of conditions as an execution of a prepared statement tells them. Owns the form of the row; which rows
//! there are, and when they are told, is not decided here.

use wire::{Reader, put_lenenc_bytes, write_packet};

/// How rows are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As the answer to a text.
    Text,
    /// As the answer to an execution.
    Binary,
}

/// A packet with a row of SHOW WARNINGS (level, number, message) in the form of an execution; `None` if it is
/// malformed. Source: "Binary Protocol Resultset Row" in the MySQL manual; the number is an INT UNSIGNED.
pub(crate) fn binary_condition(packet: &[u8]) -> Option<Vec<u8>> {
    let mut values = Reader::new(packet.get(wire::HEADER_LEN..)?);
    let level = values.lenenc_bytes("level").ok()?;
    let code = values.lenenc_bytes("code").ok()?;
    let message = values.lenenc_bytes("message").ok()?;
    let code: u32 = str::from_utf8(code).ok()?.parse().ok()?;
    // No value is NULL.
    let mut row = vec![0, 0];
    put_lenenc_bytes(&mut row, level);
    row.extend_from_slice(&code.to_le_bytes());
    put_lenenc_bytes(&mut row, message);
    let mut out = Vec::with_capacity(row.len() + wire::HEADER_LEN);
    write_packet(&mut out, 0, &row);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_in_binary() {
        let row = b"\x0d\0\0\x05\x04Note\x041051\x02no";
        let binary = b"\x0e\0\0\0\0\0\x04Note\x1b\x04\0\0\x02no";
        assert_eq!(binary_condition(row).as_deref(), Some(&binary[..]));
    }

    #[test]
    fn what_is_no_condition_stays() {
        for row in [&b""[..], b"\x01\0\0\0\xfb", b"\x05\0\0\0\x01a\x01b\0"] {
            assert_eq!(binary_condition(row), None);
        }
    }
}

//! What of the changes to its session a client is told later than the backend has said it. The server keeps what there
//! is to tell until a packet has a place for it, and the end of rows has none for clients without
//! `CLIENT_DEPRECATE_EOF`: MySQL tells it with the next OK packet, MariaDB with the next change. So it does with what
//! SET STATEMENT puts back: that is had from the backend at once, and kept for the session.

use wire::{OkPacket, Reader, StateChange, put_lenenc_bytes};

use crate::track_filter::{SCHEMA, VARIABLES, put_entry, put_variable};

/// A session-track block that a client has yet to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Untold {
    /// The entries, as they are written.
    pub block: Vec<u8>,
    /// Something of it came with rows.
    pub of_rows: bool,
}

impl Untold {
    /// Appends what another block does not tell already. `schema` is the one that the session has by now.
    pub fn put(&self, schema: &[u8], block: &mut Vec<u8>) {
        let mut entries = Reader::new(&self.block);
        while let (Ok(kind), Ok(data)) = (entries.u8("type"), entries.lenenc_bytes("data")) {
            match kind {
                VARIABLES => put_variables(data, |_| false, block),
                _ if tells_kind(block, kind) => {}
                SCHEMA => {
                    let mut entry = Vec::new();
                    put_lenenc_bytes(&mut entry, schema);
                    put_entry(SCHEMA, &entry, block);
                }
                _ => put_entry(kind, data, block),
            }
        }
    }
}

/// Appends the variables of an entry that are not told already, but for some.
pub fn put_variables(data: &[u8], but_for: fn(&[u8]) -> bool, block: &mut Vec<u8>) {
    let mut data = Reader::new(data);
    while let (Ok(name), Ok(value)) = (data.lenenc_bytes("name"), data.lenenc_bytes("value")) {
        if !tells_variable(block, name) && !but_for(name) {
            put_variable(name, value, block);
        }
    }
}

fn tells_kind(block: &[u8], wanted: u8) -> bool {
    let mut entries = Reader::new(block);
    while let (Ok(kind), Ok(_)) = (entries.u8("type"), entries.lenenc_bytes("data")) {
        if kind == wanted {
            return true;
        }
    }
    false
}

fn tells_variable(block: &[u8], wanted: &[u8]) -> bool {
    let ok = OkPacket {
        state_changes: block,
        ..OkPacket::default()
    };
    let is_wanted = |change: StateChange<'_>| matches!(change, StateChange::SystemVariable { name, .. } if name == wanted);
    ok.changes().any(is_wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &[u8] = b"\x00\x0f\x0aautocommit\x03OFF\x01\x05\x04shop";

    #[test]
    fn what_was_put_back_is_told_behind_the_rest_unless_that_tells_it() {
        let mut untold = Untold::default();
        for variable in [("time_zone", "SYSTEM"), ("autocommit", "ON")] {
            let (name, value) = variable;
            put_variable(name.as_bytes(), value.as_bytes(), &mut untold.block);
        }
        let mut block = TOLD.to_vec();
        untold.put(b"shop", &mut block);
        assert_eq!(block, [TOLD, b"\x00\x11\x09time_zone\x06SYSTEM"].concat());
    }

    #[test]
    fn the_schema_that_is_told_late_is_the_one_of_by_then() {
        let untold = Untold {
            block: [TOLD, b"\x02\x02\x011"].concat(),
            of_rows: true,
        };
        for (schema, before, expected) in [
            (
                &b"bar"[..],
                &b""[..],
                &b"\x00\x0f\x0aautocommit\x03OFF\x01\x04\x03bar\x02\x02\x011"[..],
            ),
            (
                b"",
                b"",
                b"\x00\x0f\x0aautocommit\x03OFF\x01\x01\x00\x02\x02\x011",
            ),
            (
                b"shop",
                TOLD,
                b"\x00\x0f\x0aautocommit\x03OFF\x01\x05\x04shop\x02\x02\x011",
            ),
        ] {
            let mut block = before.to_vec();
            untold.put(schema, &mut block);
            assert_eq!(block, expected);
        }
    }
}

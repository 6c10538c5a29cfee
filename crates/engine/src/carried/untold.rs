//! What of the changes to its session a client is told later than the backend has said it. The server keeps what there
//! is to tell until a packet has a place for it, and the end of rows has none for clients without
//! `CLIENT_DEPRECATE_EOF`: MySQL tells it with the next OK packet, MariaDB with the next change. So it does with what
//! SET STATEMENT puts back: that is had from the backend at once, and kept for the session.

use session::is_charset_variable;
use session::statement::{Flavor, Kind};
use wire::{OkPacket, Piece, Reader, StateChange, put_lenenc_bytes};

use crate::carried::track_filter::{PREFIX, SCHEMA, VARIABLES, put_entry, put_variable};
use crate::carried::track_lists::TrackLists;
use crate::client::Client;

/// A session-track block that a client has yet to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Untold {
    block: Vec<u8>,
    /// Something of it came with rows.
    of_rows: bool,
}

impl Untold {
    /// Appends what another block does not tell already. `schema` is the one that the session has by now.
    fn put(&self, schema: &[u8], block: &mut Vec<u8>) {
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

impl Client {
    /// True if something came with rows that it has not been told.
    fn owes_rows(&self) -> bool {
        self.untold.as_ref().is_some_and(|untold| untold.of_rows)
    }

    /// Appends what it has not been told yet, as there is an OK packet for it.
    pub(crate) fn put_untold(&mut self, block: &mut Vec<u8>) {
        if let Some(untold) = self.untold.take() {
            let schema = self.session.schema.as_deref();
            untold.put(schema.unwrap_or_default(), block);
        }
    }

    /// Appends it to an OK packet of the front door's own.
    pub(crate) fn put_untold_alone(&mut self, flavor: Flavor, block: &mut Vec<u8>) {
        if flavor == Flavor::MySql && self.owes_rows() {
            self.put_untold(block);
        }
    }

    /// What a client is to be told stays in `block` if `piece` has a place for it. With an OK packet that has nothing of its
    /// own to tell, the client is told what came with rows before; on MariaDB that is the last one of a CALL.
    pub(crate) fn tell_in_its_place(
        &mut self,
        flavor: Flavor,
        (kind, piece): (Kind, &Piece<'_>),
        block: &mut Vec<u8>,
    ) {
        let dialect = self.dialect();
        if !dialect.session_track || dialect.deprecate_eof {
            return;
        }
        let is_call = kind == Kind::Call;
        if matches!(piece, Piece::RowsEnd(_)) {
            if block.is_empty() {
                return;
            }
            let mut block = std::mem::take(block);
            if is_call {
                block = without_charsets(&block);
            }
            self.untold = Some(Box::new(Untold {
                block,
                of_rows: true,
            }));
        } else if self.owes_rows() && (is_call || flavor == Flavor::MySql) {
            self.put_untold(block);
        }
    }

    /// Its backend told what SET STATEMENT has put back, to be told to it with what it is told next.
    pub(crate) fn put_back_told(&mut self, ok: &OkPacket<'_>, lists: &TrackLists) {
        if !self.dialect().session_track {
            return;
        }
        let mut block = Vec::new();
        for change in ok.changes() {
            match change {
                // What the front door has said for that.
                StateChange::SystemVariable { name, .. } if name.starts_with(PREFIX) => {}
                StateChange::SystemVariable { name, value } if self.tracks.names(name, lists) => {
                    put_variable((name, value), &mut block);
                }
                _ => {}
            }
        }
        if block.is_empty() {
            return;
        }
        let of_rows = self.owes_rows();
        self.put_untold(&mut block);
        self.untold = Some(Box::new(Untold { block, of_rows }));
    }
}

/// The same block without the character sets: at its end, a routine puts back those that it was made with.
fn without_charsets(block: &[u8]) -> Vec<u8> {
    let (mut entries, mut rest) = (Reader::new(block), Vec::new());
    while let (Ok(kind), Ok(data)) = (entries.u8("type"), entries.lenenc_bytes("data")) {
        match kind {
            VARIABLES => put_variables(data, is_charset_variable, &mut rest),
            _ => put_entry(kind, data, &mut rest),
        }
    }
    rest
}

/// Appends the variables of an entry that are not told already, but for some.
fn put_variables(data: &[u8], but_for: fn(&[u8]) -> bool, block: &mut Vec<u8>) {
    let mut data = Reader::new(data);
    while let (Ok(name), Ok(value)) = (data.lenenc_bytes("name"), data.lenenc_bytes("value")) {
        if !tells_variable(block, name) && !but_for(name) {
            put_variable((name, value), block);
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
            put_variable((name.as_bytes(), value.as_bytes()), &mut untold.block);
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

//! What of the changes to its session a client is told that asked for session tracking. Backends track all
//! that they can; a client is told what its session would track on the server: what it asked for itself, else
//! the server's defaults.
//!
//! Knows nothing of what the changes mean to the front door: that is `tracking`.

use wire::{OkPacket, Reader, StateChange, put_lenenc_bytes};

/// The variables that are told unless a session names others. Source: `session_track_system_variables` in the
/// MySQL manual.
const DEFAULT: [&[u8]; 5] = [
    b"autocommit",
    b"character_set_client",
    b"character_set_connection",
    b"character_set_results",
    b"time_zone",
];

/// In front of the names of all variables that say what is tracked.
const PREFIX: &[u8] = b"session_track_";

// The types of entries in a block.
const VARIABLES: u8 = 0;
const SCHEMA: u8 = 1;

bitflags::bitflags! {
    /// What of it a session has a say in; nothing at first.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct TrackFilter: u8 {
        /// Its backend tracks what the session says, but for the list of variables.
        const OWN = 1;
        /// The list of variables is the session's, too.
        const OWN_VARIABLES = 1 << 1;
    }
}

impl TrackFilter {
    /// Takes note of a statement that sets what is tracked; `alone`: it does nothing else. A backend tells of all
    /// these variables, unless it was just given a list of those that it is to tell of.
    pub(crate) fn follow(&mut self, ok: &OkPacket<'_>, alone: bool) {
        let is_tracking = |change: StateChange<'_>| match change {
            StateChange::SystemVariable { name, .. } => name.starts_with(PREFIX),
            _ => false,
        };
        if alone && !ok.changes().any(is_tracking) {
            *self |= Self::OWN_VARIABLES;
        }
    }

    /// Appends what the client is told of a block.
    pub(crate) fn pass(self, mut entries: Reader<'_>, block: &mut Vec<u8>) {
        while let (Ok(kind), Ok(data)) = (entries.u8("type"), entries.lenenc_bytes("data")) {
            match kind {
                VARIABLES if !self.contains(Self::OWN_VARIABLES) => {
                    put_default_variables(data, block);
                }
                VARIABLES | SCHEMA => put_entry(kind, data, block),
                _ if self.contains(Self::OWN) => put_entry(kind, data, block),
                _ => {}
            }
        }
    }
}

fn put_default_variables(data: &[u8], block: &mut Vec<u8>) {
    let mut data = Reader::new(data);
    while let (Ok(name), Ok(value)) = (data.lenenc_bytes("name"), data.lenenc_bytes("value")) {
        if DEFAULT.contains(&name) {
            let mut entry = Vec::new();
            put_lenenc_bytes(&mut entry, name);
            put_lenenc_bytes(&mut entry, value);
            put_entry(VARIABLES, &entry, block);
        }
    }
}

fn put_entry(kind: u8, data: &[u8], block: &mut Vec<u8>) {
    block.push(kind);
    put_lenenc_bytes(block, data);
}

/// Tells that this schema was selected.
pub(crate) fn put_schema(name: &[u8], block: &mut Vec<u8>) {
    let mut entry = Vec::new();
    put_lenenc_bytes(&mut entry, name);
    put_entry(SCHEMA, &entry, block);
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &[u8] =
        b"\x00\x0f\x0aautocommit\x03OFF\x00\x0d\x08sql_mode\x03a\\b\x01\x05\x04shop\
        \x02\x02\x011\x05\x09\x08T_______";

    fn told(filter: TrackFilter) -> Vec<u8> {
        let mut block = Vec::new();
        filter.pass(Reader::new(BLOCK), &mut block);
        block
    }

    #[test]
    fn clients_are_told_what_the_server_tells_by_default() {
        let block = told(TrackFilter::default());
        assert_eq!(block, b"\x00\x0f\x0aautocommit\x03OFF\x01\x05\x04shop");
    }

    #[test]
    fn clients_are_told_what_they_asked_for() {
        let mut filter = TrackFilter::OWN;
        let ok = |state_changes| OkPacket {
            state_changes,
            ..OkPacket::default()
        };
        let state = ok(b"\x00\x1e\x1asession_track_state_change\x02ON\x02\x02\x011");
        filter.follow(&state, true);
        filter.follow(&ok(b""), false);
        assert_eq!(filter, TrackFilter::OWN);
        assert_eq!(
            told(filter),
            b"\x00\x0f\x0aautocommit\x03OFF\x01\x05\x04shop\x02\x02\x011\x05\x09\x08T_______"
        );
        // Who names variables is told what they are, and of no others.
        filter.follow(&ok(b""), true);
        assert_eq!(told(filter), BLOCK);
    }
}

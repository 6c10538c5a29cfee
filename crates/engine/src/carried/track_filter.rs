//! What of the changes to its session a client is told that asked for session tracking. Backends track all
//! that they can; a client is told what its session would track on the server: what it asked for itself, else
//! the server's defaults. What SET STATEMENT puts back is told late by the server, with whatever it tells next: that
//! is had from the backend at once, and kept for the session.
//!
//! Knows nothing of what the changes mean to the front door: that is `tracking`.

use membership::Key;
use session::statement::Flavor;
use wire::{OkPacket, Reader, StateChange, put_lenenc_bytes};

use crate::Engine;
use crate::backend::ClientCommand;
use crate::commands::dispatch::leaves_schema;

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

/// The list of variables that are told.
const LIST: &[u8] = b"session_track_system_variables";

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
    /// these variables, unless it was just given a list of those that it is to tell of: then only of that, if the list
    /// has itself in it.
    pub(crate) fn follow(&mut self, ok: &OkPacket<'_>, alone: bool) {
        let is_other = |change: StateChange<'_>| match change {
            StateChange::SystemVariable { name, .. } => name.starts_with(PREFIX) && name != LIST,
            _ => false,
        };
        if alone && !ok.changes().any(is_other) {
            *self |= Self::OWN_VARIABLES;
        }
    }

    /// True if a variable is told.
    fn names(self, name: &[u8]) -> bool {
        self.contains(Self::OWN_VARIABLES) || DEFAULT.contains(&name)
    }

    /// True if an answer tells of a variable that is told.
    pub(crate) fn tells(self, ok: &OkPacket<'_>) -> bool {
        ok.changes().any(|change| match change {
            StateChange::SystemVariable { name, .. } => self.names(name),
            _ => false,
        })
    }

    /// Appends what the client is told of a block.
    fn pass(self, mut entries: Reader<'_>, block: &mut Vec<u8>) {
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

impl Engine {
    /// Appends what a client is told of changes to its session. What there is to tell besides waits for it: the server,
    /// too, keeps that until it has something to say.
    pub(crate) fn put_changes(
        &mut self,
        key: Key,
        (command, ok): (&ClientCommand, &OkPacket<'_>),
        block: &mut Vec<u8>,
    ) {
        let client = self.clients.get(key);
        let Some(client) = client.filter(|client| client.dialect().session_track) else {
            return;
        };
        client.tracks.pass(Reader::new(ok.state_changes), block);
        let backend = client.backend.and_then(|key| self.pool.get(key));
        let own = client.session.schema.as_ref();
        // What was prepared in another schema ran there: the server selects that, then the session's own, and says so.
        let ran = backend.is_some_and(|backend| backend.session.schema.as_ref() != own);
        let ran =
            ran && self.flavor() == Flavor::MySql && !leaves_schema(command.kind, command.traits);
        if let Some(own) = own.filter(|_| ran) {
            put_schema(own, block);
        }
        if !block.is_empty()
            && let Some(untold) = self.clients.untold.remove(&key)
        {
            put_untold(&untold, block);
        }
    }

    /// A backend told what SET STATEMENT has put back, to be told to the session with what it is told next.
    pub(crate) fn put_back_told(&mut self, backend: Key, ok: &OkPacket<'_>) {
        let Some(key) = self.pool.get(backend).and_then(|backend| backend.client) else {
            return;
        };
        let client = self.clients.get(key);
        let Some(client) = client.filter(|client| client.dialect().session_track) else {
            return;
        };
        let mut untold = Vec::new();
        for change in ok.changes() {
            match change {
                // What the front door has said for that.
                StateChange::SystemVariable { name, .. } if name.starts_with(PREFIX) => {}
                StateChange::SystemVariable { name, value } if client.tracks.names(name) => {
                    put_variable((name, value), &mut untold);
                }
                _ => {}
            }
        }
        if let Some(before) = self.clients.untold.remove(&key) {
            put_untold(&before, &mut untold);
        }
        if !untold.is_empty() {
            self.clients.untold.insert(key, untold.into());
        }
    }
}

/// Appends the variables of another block that are not told already.
fn put_untold(untold: &[u8], block: &mut Vec<u8>) {
    let untold = OkPacket {
        state_changes: untold,
        ..OkPacket::default()
    };
    for change in untold.changes() {
        if let StateChange::SystemVariable { name, value } = change
            && !tells_variable(block, name)
        {
            put_variable((name, value), block);
        }
    }
}

fn tells_variable(block: &[u8], wanted: &[u8]) -> bool {
    let ok = OkPacket {
        state_changes: block,
        ..OkPacket::default()
    };
    let is_wanted = |change: StateChange<'_>| matches!(change, StateChange::SystemVariable { name, .. } if name == wanted);
    ok.changes().any(is_wanted)
}

fn put_default_variables(data: &[u8], block: &mut Vec<u8>) {
    let mut data = Reader::new(data);
    while let (Ok(name), Ok(value)) = (data.lenenc_bytes("name"), data.lenenc_bytes("value")) {
        if DEFAULT.contains(&name) {
            put_variable((name, value), block);
        }
    }
}

fn put_variable((name, value): (&[u8], &[u8]), block: &mut Vec<u8>) {
    let mut entry = Vec::new();
    put_lenenc_bytes(&mut entry, name);
    put_lenenc_bytes(&mut entry, value);
    put_entry(VARIABLES, &entry, block);
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
        let mut all = filter;
        all.follow(
            &ok(b"\x00\x21\x1esession_track_system_variables\x01*"),
            true,
        );
        assert_eq!(told(all), BLOCK);
        filter.follow(&ok(b""), true);
        assert_eq!(told(filter), BLOCK);
    }

    #[test]
    fn what_was_put_back_is_told_behind_the_rest_unless_that_tells_it() {
        let mut untold = Vec::new();
        for variable in [("time_zone", "SYSTEM"), ("autocommit", "ON")] {
            let (name, value) = variable;
            put_variable((name.as_bytes(), value.as_bytes()), &mut untold);
        }
        let mut block = told(TrackFilter::default());
        put_untold(&untold, &mut block);
        assert_eq!(
            block,
            b"\x00\x0f\x0aautocommit\x03OFF\x01\x05\x04shop\x00\x11\x09time_zone\x06SYSTEM"
        );
    }
}

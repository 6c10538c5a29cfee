//! What of the changes to its session a client is told that asked for session tracking. Backends track all
//! that they can; a client is told what its session would track on the server: what it asked for itself, else
//! the server's defaults. What is told late is in `untold`.
//!
//! What a session asked for is known from reading it back (`retrack`), or its backend goes by it, to which the session
//! is pinned then.
//!
//! Knows nothing of what the changes mean to the front door: that is `tracking`.

use wire::{OkPacket, Reader, StateChange, put_lenenc_bytes};

use crate::track_lists::{Asked, DEFAULT, LIST, TrackLists};

/// In front of the names of all variables that say what is tracked.
pub const PREFIX: &[u8] = b"session_track_";

/// The kind of entries about variables.
pub const VARIABLES: u8 = 0;

/// The kind of entries about the schema.
pub const SCHEMA: u8 = 1;

const STATE: u8 = 2;

const GTIDS: u8 = 3;

/// What of session tracking a session has a say in; nothing at first. One byte, for each session has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackFilter(u8);

impl TrackFilter {
    /// Its backend tracks what the session says, but for the list of variables.
    const OWN: Self = Self(1);
    /// The list of variables is the session's, too.
    pub const OWN_VARIABLES: Self = Self(2);
    /// Of a SET that says anew what is told: its backend goes by the session's words meanwhile, but for the state of
    /// transactions.
    pub const AS_TOLD: Self = Self(3);
    /// The first of those that are carried.
    const FIRST: u8 = 4;

    /// The one that is carried at this place of the list of all. `None` if there are too many.
    pub fn carried(place: usize) -> Option<Self> {
        let place = u8::try_from(place).ok()?;
        Self::FIRST.checked_add(place).map(Self)
    }

    fn asked(self, lists: &TrackLists) -> Option<&Asked> {
        let place = self.0.checked_sub(Self::FIRST)?;
        lists.at(usize::from(place))
    }

    /// True while the backend goes by what the session says.
    pub fn is_own(self) -> bool {
        matches!(self, Self::OWN | Self::OWN_VARIABLES)
    }

    /// From now on the session's backend goes by what that says. As long as the list of variables is the front door's,
    /// all of them are followed.
    pub fn become_own(&mut self) {
        *self = match self.0 {
            0 => Self::OWN,
            _ => Self::OWN_VARIABLES,
        };
    }

    /// The session is not pinned any more. What it had asked for is not known, nor needed: it ends, or begins anew.
    pub fn unpin(&mut self) {
        if self.is_own() {
            *self = Self::default();
        }
    }

    /// What has a backend go by the session's own words from now on, but for a list that it has not set.
    pub fn setting_of_own(self, lists: &TrackLists) -> String {
        let before = self.asked(lists).map_or_else(
            || "SET session_track_schema=DEFAULT,session_track_state_change=DEFAULT".into(),
            Asked::setting,
        );
        before + ",session_track_transaction_info=DEFAULT"
    }

    /// What has a backend track what the session asked for.
    pub fn setting(self, lists: &TrackLists) -> String {
        let default = "SET session_track_schema=DEFAULT,session_track_state_change=DEFAULT,\
                       session_track_system_variables=DEFAULT";
        self.asked(lists)
            .map_or_else(|| default.into(), Asked::setting)
    }

    /// Takes note of a statement that sets what is tracked; `alone`: it does nothing else. A backend tells of all
    /// these variables, unless it was just given a list of those that it is to tell of: then only of that, if the list
    /// has itself in it.
    pub fn follow(&mut self, ok: &OkPacket<'_>, alone: bool) {
        let is_other = |change: StateChange<'_>| match change {
            StateChange::SystemVariable { name, .. } => name.starts_with(PREFIX) && name != LIST,
            _ => false,
        };
        if self.is_own() && alone && !ok.changes().any(is_other) {
            *self = Self::OWN_VARIABLES;
        }
    }

    /// True if a variable is told.
    pub fn names(self, name: &[u8], lists: &TrackLists) -> bool {
        let asked = self.asked(lists);
        self == Self::OWN_VARIABLES
            || asked.map_or_else(|| DEFAULT.contains(&name), |asked| asked.names(name))
    }

    /// True if the client is told of another schema.
    pub fn tells_schema(self, lists: &TrackLists) -> bool {
        self.asked(lists).is_none_or(|asked| asked.schema)
    }

    fn tells_state(self, lists: &TrackLists) -> bool {
        self.asked(lists).is_some_and(|asked| asked.state)
    }

    /// Appends what a client is told of its login into a schema.
    pub fn put_login(self, schema: &[u8], lists: &TrackLists, block: &mut Vec<u8>) {
        if self.tells_schema(lists) {
            put_schema(schema, block);
        }
        if self.tells_state(lists) {
            put_entry(STATE, b"\x011", block);
        }
    }

    /// True if an answer tells of a variable that is told.
    pub fn tells(self, ok: &OkPacket<'_>, lists: &TrackLists) -> bool {
        ok.changes().any(|change| match change {
            StateChange::SystemVariable { name, .. } => self.names(name, lists),
            _ => false,
        })
    }

    /// Appends what the client is told of a block.
    pub fn pass(self, mut entries: Reader<'_>, lists: &TrackLists, block: &mut Vec<u8>) {
        let all = matches!(self, Self::OWN_VARIABLES | Self::AS_TOLD);
        let told = |kind| match kind {
            VARIABLES => all,
            SCHEMA => self.tells_schema(lists),
            STATE => self.is_own() || all || self.tells_state(lists),
            // The connection tells of its commits as long as the session has it do so.
            GTIDS => true,
            _ => self.is_own(),
        };
        while let (Ok(kind), Ok(data)) = (entries.u8("type"), entries.lenenc_bytes("data")) {
            if told(kind) {
                put_entry(kind, data, block);
            } else if kind == VARIABLES {
                self.put_told_variables(data, lists, block);
            }
        }
    }

    fn put_told_variables(self, data: &[u8], lists: &TrackLists, block: &mut Vec<u8>) {
        let mut data = Reader::new(data);
        while let (Ok(name), Ok(value)) = (data.lenenc_bytes("name"), data.lenenc_bytes("value")) {
            if self.names(name, lists) {
                put_variable(name, value, block);
            }
        }
    }
}

/// Writes the entry of a variable.
pub fn put_variable(name: &[u8], value: &[u8], block: &mut Vec<u8>) {
    let mut entry = Vec::new();
    put_lenenc_bytes(&mut entry, name);
    put_lenenc_bytes(&mut entry, value);
    put_entry(VARIABLES, &entry, block);
}

/// Writes an entry of one kind.
pub fn put_entry(kind: u8, data: &[u8], block: &mut Vec<u8>) {
    block.push(kind);
    put_lenenc_bytes(block, data);
}

/// Tells that this schema was selected.
pub fn put_schema(name: &[u8], block: &mut Vec<u8>) {
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

    fn told(filter: TrackFilter, lists: &TrackLists) -> Vec<u8> {
        let mut block = Vec::new();
        filter.pass(Reader::new(BLOCK), lists, &mut block);
        block
    }

    #[test]
    fn clients_are_told_what_the_server_tells_by_default() {
        let block = told(TrackFilter::default(), &TrackLists::default());
        assert_eq!(block, b"\x00\x0f\x0aautocommit\x03OFF\x01\x05\x04shop");
    }

    #[test]
    fn clients_are_told_what_they_asked_for() {
        let mut filter = TrackFilter::default();
        filter.become_own();
        let ok = |state_changes| OkPacket {
            state_changes,
            ..OkPacket::default()
        };
        let state = ok(b"\x00\x1e\x1asession_track_state_change\x02ON\x02\x02\x011");
        filter.follow(&state, true);
        filter.follow(&ok(b""), false);
        assert_eq!(filter, TrackFilter::OWN);
        assert_eq!(
            told(filter, &TrackLists::default()),
            b"\x00\x0f\x0aautocommit\x03OFF\x01\x05\x04shop\x02\x02\x011\x05\x09\x08T_______"
        );
        // Who names variables is told what they are, and of no others.
        let mut all = filter;
        all.follow(
            &ok(b"\x00\x21\x1esession_track_system_variables\x01*"),
            true,
        );
        assert_eq!(told(all, &TrackLists::default()), BLOCK);
        filter.follow(&ok(b""), true);
        assert_eq!(told(filter, &TrackLists::default()), BLOCK);
    }

    fn asked(list: Option<&str>, schema: bool, state: bool) -> Asked {
        Asked {
            variables: list.map(|list| list.as_bytes().into()),
            schema,
            state,
        }
    }

    #[test]
    fn sessions_that_move_are_told_what_they_asked_for() {
        let mut lists = TrackLists::default();
        let first = "SET session_track_schema";
        for (list, flags, expected, setting) in [
            (
                Some("*"),
                (true, true),
                &BLOCK[..BLOCK.len() - 11],
                "=1,session_track_state_change=1,session_track_system_variables='*'",
            ),
            (
                Some("tx_isolation, SQL_MODE"),
                (false, false),
                &b"\x00\x0d\x08sql_mode\x03a\\b"[..],
                "=0,session_track_state_change=0,session_track_system_variables='tx_isolation, SQL_MODE'",
            ),
            (
                None,
                (true, false),
                b"\x01\x05\x04shop",
                "=1,session_track_state_change=0,session_track_system_variables='',session_track_system_variables=NULL",
            ),
        ] {
            let (schema, state) = flags;
            let filter = lists.filter(asked(list, schema, state)).expect("names");
            assert_eq!(told(filter, &lists), expected);
            assert_eq!(filter.setting(&lists), format!("{first}{setting}"));
            let mut own = filter;
            own.unpin();
            assert_eq!(own, filter);
            own.become_own();
            assert_eq!(told(own, &lists), BLOCK);
            own.unpin();
            assert_eq!(own, TrackFilter::default());
        }
    }

    #[test]
    fn only_so_many_lists_are_kept() {
        let mut lists = TrackLists::default();
        assert_eq!(lists.filter(asked(Some("a'b"), true, false)), None);
        for number in TrackFilter::FIRST..=u8::MAX {
            let list = format!("v{number}");
            for _ in 0..2 {
                let filter = lists.filter(asked(Some(&list), true, false));
                assert_eq!(filter, Some(TrackFilter(number)));
                assert!(TrackFilter(number).names(list.as_bytes(), &lists));
            }
        }
        assert_eq!(lists.filter(asked(Some("one_more"), true, false)), None);
    }
}

//! What the server says of changes to the session: taken over into the state that is carried. What of it
//! clients are told is in `track_filter`.

use session::{
    Interner, SessionState, is_carried, is_charset_variable, is_restorable, pins_when_set,
};
use wire::StateChange;

use crate::last_gtid::Gtid;

/// What changes of one answer ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tracked {
    /// The character sets must be read back.
    pub charset: bool,
    /// Something changed that cannot be carried.
    pub unrestorable: bool,
    /// A variable was set that pins whoever sets it.
    pub pinning: bool,
    /// A schema was selected, or given up.
    pub schema: bool,
    /// A variable was set, or a schema selected, and told.
    pub told: bool,
    /// Something changed, whatever it was.
    pub state: bool,
    /// What the session has written to the binary log last.
    pub gtid: Option<Gtid>,
    /// The session is not what it was, but for what the next transaction is to be.
    pub changed: bool,
}

/// Takes the changes over into the states of the backend and of the session attached to it.
pub fn take_over<'a>(
    changes: impl Iterator<Item = StateChange<'a>>,
    states: &mut [&mut SessionState],
    interner: &mut Interner,
) -> Tracked {
    let mut tracked = Tracked::default();
    for change in changes {
        let changes = changes_session(&change);
        tracked.changed |= changes;
        tracked.told |= changes && change != StateChange::State;
        tracked.pinning |= sets_what_pins(&change);
        match change {
            StateChange::Schema(name) => {
                tracked.schema = true;
                states
                    .iter_mut()
                    .for_each(|state| state.set_schema(name, interner));
            }
            StateChange::SystemVariable { name, .. } if is_charset_variable(name) => {
                tracked.charset = true;
            }
            StateChange::SystemVariable { name, value } if is_carried(name) => {
                tracked.unrestorable |= !is_restorable(value);
                states
                    .iter_mut()
                    .for_each(|state| state.set_variable(name, value, interner));
            }
            StateChange::SystemVariable { name, value } if name == Gtid::VARIABLE => {
                tracked.gtid = Gtid::read(value);
            }
            StateChange::State => tracked.state = true,
            StateChange::TransactionCharacteristics(text) => states
                .iter_mut()
                .for_each(|state| state.set_next_transaction(text)),
            StateChange::SystemVariable { .. }
            | StateChange::Other
            | StateChange::TransactionState(_) => {}
        }
    }
    tracked
}

/// False of what the server tells although nothing was changed: MySQL has a variable that is another one with
/// every statement (`statement_id`).
fn changes_session(change: &StateChange<'_>) -> bool {
    match change {
        StateChange::SystemVariable { name, .. } => is_charset_variable(name) || is_carried(name),
        StateChange::TransactionState(_) | StateChange::TransactionCharacteristics(_) => false,
        StateChange::Schema(_) | StateChange::State | StateChange::Other => true,
    }
}

/// True if a variable was set that pins whoever sets it.
fn sets_what_pins(change: &StateChange<'_>) -> bool {
    matches!(change, StateChange::SystemVariable { name, .. } if pins_when_set(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{OkPacket, StateChanges};

    const BLOCK: &[u8] =
        b"\x00\x0f\x0aautocommit\x03OFF\x00\x0d\x08sql_mode\x03a\\b\x01\x05\x04shop\x02\x02\x011";

    fn changes() -> StateChanges<'static> {
        OkPacket {
            state_changes: BLOCK,
            ..OkPacket::default()
        }
        .changes()
    }

    #[test]
    fn both_states_follow() {
        let mut interner = Interner::default();
        let (mut a, mut b) = (
            SessionState::new(1, &interner),
            SessionState::new(1, &interner),
        );
        let tracked = take_over(changes(), &mut [&mut a, &mut b], &mut interner);
        assert_eq!(
            tracked,
            Tracked {
                told: true,
                charset: false,
                unrestorable: true,
                pinning: false,
                gtid: None,
                schema: true,
                state: true,
                changed: true
            }
        );
        assert_eq!(a.schema.as_deref(), Some(&b"shop"[..]));
        assert_eq!(b.variables.get(b"autocommit"), Some(&b"OFF"[..]));
        assert!(a.matches(&b));
    }

    #[test]
    fn what_is_another_one_with_each_statement_changes_nothing() {
        let mut interner = Interner::default();
        let mut state = SessionState::new(1, &interner);
        let ok = OkPacket {
            state_changes: b"\x00\x11\x0cstatement_id\x03138",
            ..OkPacket::default()
        };
        let tracked = take_over(ok.changes(), &mut [&mut state], &mut interner);
        assert_eq!(tracked, Tracked::default());
    }
}

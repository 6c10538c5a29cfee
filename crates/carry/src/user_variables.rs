//! User variables (`@x`): carried from backend to backend. What a statement may have assigned is read
//! back before the session is detached, and set again on the next backend before a statement that
//! could see it: one that mentions a user variable, and one that may run a routine or a trigger.
//!
//! Bounded per session (`UserVariables::BYTES_MAX`); what is more, or cannot be read back, pins.

pub mod values;

use session::statement::Kind;
pub use values::ReadUserVariables;

/// What a backend holds of user variables besides those of the state of its session.
#[derive(Debug, Default)]
pub struct VariablesHere {
    /// Variables that the attached session may have assigned and that were not read back.
    pub unread: Vec<Box<[u8]>>,
    /// Variables that are NULL because they were another session's. Whoever never set one is told
    /// NULL, but as a column of another type than if nobody had.
    pub cleared: Vec<Box<[u8]>>,
}

impl VariablesHere {
    /// What the attached session has assigned is read back, or lost with it.
    pub fn is_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Nothing is unread any more.
    pub fn forget_unread(&mut self) {
        self.unread.clear();
    }

    /// True if the attached session may have assigned the variable, and it was not read back.
    pub fn may_have(&self, name: &[u8]) -> bool {
        self.unread.iter().any(|unread| **unread == *name)
    }

    /// The session may assign these from now on.
    pub fn assigns(&mut self, names: impl Iterator<Item = Box<[u8]>>) {
        for name in names {
            self.cleared.retain(|cleared| *cleared != name);
            if !self.unread.contains(&name) {
                self.unread.push(name);
            }
        }
    }

    /// Notes that a variable is about to be cleared.
    pub fn clears(&mut self, name: &[u8]) {
        if !self.cleared.iter().any(|cleared| **cleared == *name) {
            self.cleared.push(name.into());
        }
    }
}

/// True of statements that are in the binary log, and can mention user variables.
pub fn changes_data(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete | Kind::Ddl
    )
}

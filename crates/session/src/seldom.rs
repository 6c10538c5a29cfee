//! What few sessions have: a role of their own, and characteristics of their next transaction only. Owns how
//! both are kept; how a backend gets them is in `restore`.

use std::sync::Arc;

use crate::state::SessionState;

/// What few sessions have. Never without anything in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seldom {
    role: Option<Box<[u8]>>,
    next: Option<Box<[u8]>>,
}

impl SessionState {
    /// What stands behind SET ROLE to have this session's role; `None` for that of its login.
    pub fn role(&self) -> Option<&[u8]> {
        self.seldom.as_ref()?.role.as_deref()
    }

    /// The statements, each ended with a semicolon, that give the next transaction what only that one is to
    /// have.
    pub fn next_transaction(&self) -> Option<&[u8]> {
        self.seldom.as_ref()?.next.as_deref()
    }

    /// Changes the role.
    pub fn set_role(&mut self, role: Option<&[u8]>) {
        if self.role() == role {
            return;
        }
        self.change_seldom(|seldom| seldom.role = role.map(Into::into));
    }

    /// Takes over the role that another session has, and the schema.
    pub fn take_role_and_schema(&mut self, other: &Self) {
        self.schema.clone_from(&other.schema);
        self.set_role(other.role());
    }

    /// Takes over what the server says would begin the transaction again. What has begun already is no more
    /// the next one's.
    pub fn set_next_transaction(&mut self, told: &[u8]) {
        let has = |words: &[u8]| told.windows(words.len()).any(|part| part == words);
        let begun = has(b"START TRANSACTION") || has(b"XA START");
        let next = Some(told).filter(|told| !told.is_empty() && !begun);
        if self.next_transaction() != next {
            self.change_seldom(|seldom| seldom.next = next.map(Into::into));
        }
    }

    /// The next transaction may write: where it may only read, what writes cannot be prepared. Where it is told that it may
    /// write that stays, for the session may only read.
    pub fn let_next_write(&mut self) {
        const READS: &[u8] = b"READ ONLY";
        const WRITES: &[u8] = b"READ WRITE";
        let next = self.next_transaction();
        let at = next.and_then(|next| next.windows(READS.len()).position(|part| part == READS));
        if let (Some(next), Some(at)) = (next, at) {
            let writes = [&next[..at], WRITES, &next[at + READS.len()..]].concat();
            self.set_next_transaction(&writes);
        }
    }

    fn change_seldom(&mut self, change: impl FnOnce(&mut Seldom)) {
        let mut seldom = self.seldom.as_deref().cloned().unwrap_or_default();
        change(&mut seldom);
        let has_some = seldom != Seldom::default();
        self.seldom = has_some.then(|| Arc::new(seldom));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Interner;

    #[test]
    fn the_next_transaction_may_write_for_what_is_prepared() {
        let mut state = SessionState::new(45, &Interner::default());
        let writes = b"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET TRANSACTION READ WRITE;";
        state.set_next_transaction(writes);
        state.let_next_write();
        assert_eq!(state.next_transaction(), Some(&writes[..]));
        state.set_next_transaction(&[&writes[..writes.len() - 6], b"ONLY;"].concat());
        state.let_next_write();
        assert_eq!(state.next_transaction(), Some(&writes[..]));
    }

    #[test]
    fn each_is_kept_beside_the_other() {
        let mut state = SessionState::new(45, &Interner::default());
        state.set_next_transaction(b"SET TRANSACTION READ ONLY;");
        state.set_role(Some(b"`r`"));
        assert_eq!(state.role(), Some(&b"`r`"[..]));
        let next = Some(&b"SET TRANSACTION READ ONLY;"[..]);
        assert_eq!(state.next_transaction(), next);
        state.set_role(None);
        assert_eq!(state.next_transaction(), next);
        state.set_next_transaction(b"");
        assert!(state.seldom.is_none());
    }

    #[test]
    fn what_has_begun_is_not_the_next() {
        let mut state = SessionState::new(45, &Interner::default());
        for told in [
            "SET TRANSACTION READ ONLY; START TRANSACTION;",
            "START TRANSACTION READ WRITE;",
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; XA START 'x';",
        ] {
            state.set_next_transaction(b"SET TRANSACTION READ ONLY;");
            state.set_next_transaction(told.as_bytes());
            assert_eq!(state.next_transaction(), None, "{told}");
        }
    }
}

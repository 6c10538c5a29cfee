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
        if self.role() != role {
            let next = self.next_transaction().map(Into::into);
            let role = role.map(Into::into);
            self.set_seldom(Seldom { role, next });
        }
    }

    /// Takes over what the server says would begin the transaction again. What has begun already is no more
    /// the next one's.
    pub fn set_next_transaction(&mut self, told: &[u8]) {
        let has = |words: &[u8]| told.windows(words.len()).any(|part| part == words);
        let begun = has(b"START TRANSACTION") || has(b"XA START");
        let next = Some(told).filter(|told| !told.is_empty() && !begun);
        if self.next_transaction() != next {
            let role = self.role().map(Into::into);
            let next = next.map(Into::into);
            self.set_seldom(Seldom { role, next });
        }
    }

    fn set_seldom(&mut self, seldom: Seldom) {
        let has_some = seldom != Seldom::default();
        self.seldom = has_some.then(|| Arc::new(seldom));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Interner;

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

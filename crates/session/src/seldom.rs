//! What few sessions have: a role of their own, and characteristics of their next transaction only. Owns how
//! both are kept; how a backend gets them is in `restore`.

use std::sync::Arc;

use crate::restore::Role;
use crate::state::SessionState;

/// What few sessions have. Never without anything in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seldom {
    role: Option<Box<[u8]>>,
    selected_under: Option<FormerRole>,
    next: Option<Box<[u8]>>,
}

/// The role that a session had when it selected its schema, and has no more.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FormerRole {
    role: Role,
    /// The session's own role was found not to open the schema.
    is_needed: bool,
}

impl SessionState {
    /// What stands behind SET ROLE to have this session's role; `None` for that of its login.
    pub fn role(&self) -> Option<&[u8]> {
        self.seldom.as_ref()?.role.as_deref()
    }

    /// The role under which the schema has to be selected, if the session's own does not open it.
    pub(crate) fn role_for_schema(&self) -> Option<&Role> {
        let former = self.seldom.as_ref()?.selected_under.as_ref()?;
        former.is_needed.then_some(&former.role)
    }

    /// The statements, each ended with a semicolon, that give the next transaction what only that one is to
    /// have.
    pub fn next_transaction(&self) -> Option<&[u8]> {
        self.seldom.as_ref()?.next.as_deref()
    }

    /// Changes the role. The schema stays selected, whether or not that role opens it.
    pub fn set_role(&mut self, role: Option<&[u8]>) {
        if self.role() == role {
            return;
        }
        let before = Role::of(self.role());
        let schema = self.schema.is_some();
        let now = Role::of(role);
        self.change_seldom(|seldom| {
            seldom.role = role.map(Into::into);
            let former = seldom.selected_under.take();
            let former = former.or_else(|| {
                schema.then_some(FormerRole {
                    role: before,
                    is_needed: false,
                })
            });
            seldom.selected_under = former.filter(|former| former.role != now);
        });
    }

    /// The session's own role does not open its schema. True if it had another one that may, and that was not known
    /// to be needed.
    pub fn needs_former_role(&mut self) -> bool {
        let former = self
            .seldom
            .as_ref()
            .and_then(|seldom| seldom.selected_under.as_ref());
        let is_new = former.is_some_and(|former| !former.is_needed);
        if is_new {
            self.change_seldom(|seldom| {
                if let Some(former) = &mut seldom.selected_under {
                    former.is_needed = true;
                }
            });
        }
        is_new
    }

    /// Takes over the role that another session has, and the schema, with the role under which it was selected.
    pub fn take_role_and_schema(&mut self, other: &Self) {
        self.schema.clone_from(&other.schema);
        if self.seldom.is_some() || other.seldom.is_some() {
            let other = other.seldom.as_deref().cloned().unwrap_or_default();
            self.change_seldom(|seldom| {
                (seldom.role, seldom.selected_under) = (other.role, other.selected_under);
            });
        }
    }

    /// The schema was selected under the role that the session has.
    pub(crate) fn forget_former_role(&mut self) {
        if self
            .seldom
            .as_ref()
            .is_some_and(|seldom| seldom.selected_under.is_some())
        {
            self.change_seldom(|seldom| seldom.selected_under = None);
        }
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
    fn the_role_under_which_a_schema_was_selected_is_known_until_another_is_selected() {
        let mut interner = Interner::default();
        let mut state = SessionState::new(45, &interner);
        state.set_role(Some(b"`a`"));
        assert!(!state.needs_former_role());
        state.set_schema(b"shop", &mut interner);
        state.set_role(Some(b"`b`"));
        state.set_role(None);
        assert_eq!(state.role_for_schema(), None);
        assert!(state.needs_former_role() && !state.needs_former_role());
        let named = Role::Named((*b"`a`").into());
        assert_eq!(state.role_for_schema(), Some(&named));
        let mut anew = SessionState::new(45, &interner);
        anew.take_role_and_schema(&state);
        assert!(anew.matches(&state));
        anew.set_role(Some(b"`a`"));
        assert!(!anew.needs_former_role());
        state.set_schema(b"other", &mut interner);
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

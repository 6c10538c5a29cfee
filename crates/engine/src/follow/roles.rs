//! The role of a session: asked after SET ROLE, taken on again on another backend.

use carry::ending::Ending;
use carry::roles::{READ_ROLE, role};
use session::Role;
use session::statement::{Kind, PinReason, Traits};
use wire::TextResultSet;

use crate::record::backend::{Backend, RestorePart, Step};
use crate::record::carried::{Carried, Kept};
use crate::record::pair::Pair;

/// The role.
pub(crate) static ROLE: Carried = Carried {
    answered: |pair, command, ending| {
        // Where a SET ROLE has failed the session has the role of before, which the backend need not have.
        let kept = *ending != Ending::Ok && command.kind == Kind::Set;
        if command.traits.contains(Traits::SETS_ROLE) && !kept {
            pair.asks(&ROLE);
        }
    },
    ask: |pair, outbox, _| {
        pair.backend
            .ask_about(outbox, &ROLE, Kept::Nothing, READ_ROLE);
        true
    },
    told: |pair, _, reply| {
        if let Ok(rows) = reply.rows {
            pair.learn_role(rows);
        }
    },
    ..Carried::NOTHING
};

/// Appends the SET ROLE of a restore.
pub(crate) fn put_role(outbox: &mut Vec<u8>, backend: &mut Backend, role: &Role) {
    let name = match role {
        Role::Named(name) => name,
        Role::OfLogin => backend.login_role.as_deref().unwrap_or(b"NONE"),
    };
    backend.put_query(outbox, &[b"SET ROLE ", name].concat());
    let previous = backend.session.role().map(Into::into);
    backend.expect(Step::Restore(RestorePart::Role(previous)));
}

impl Pair<'_> {
    /// The backend told the role of its session.
    fn learn_role(&mut self, rows: &TextResultSet) {
        let way_back = self.backend.login_role.as_deref();
        let role = match way_back.is_some_and(|role| !role.is_empty()) {
            true => role(rows.first(0), self.known.flavor()),
            false => None,
        };
        self.backend.session.set_role(role.as_deref());
        match role {
            Some(role) => self.client.session.set_role(Some(&role)),
            None => self.pin_late(PinReason::Role),
        }
    }
}

//! Writes what a backend lacks of the state of the session that it gets.

use carry::outbound::{leaves_schema, sets_role};
use carry::prepared::templates::Template;
use membership::Key;
use session::statement::Statement;
use session::{NARROW, Restore, SessionState, plan};

use crate::follow::roles::put_role;
use crate::record::backend::{Backend, RestorePart, Step};
use crate::record::records::Records;

impl Records {
    /// What brings the client's backend to the state of its session, or another one, but for user variables.
    pub(crate) fn restore(&self, client: Key, bound: Option<&SessionState>) -> Restore {
        let Some(client) = self.clients.get(client) else {
            return Restore::default();
        };
        let wanted = bound.unwrap_or(&client.session);
        match client.backend.and_then(|key| self.pool.get(key)) {
            Some(backend) if !backend.session.matches(wanted) => plan(&backend.session, wanted),
            _ => Restore::default(),
        }
    }
}

/// What a statement replaces. It is not restored before: it would be replaced at once, and if it is gone, this is
/// the way out.
#[derive(Clone, Copy, Default)]
pub(crate) struct Replaced {
    schema: bool,
    role: bool,
}

impl Replaced {
    pub(crate) fn by(statement: &Statement, missing: Option<&Template>) -> Self {
        if missing.is_some() {
            return Self::default();
        }
        Self {
            schema: leaves_schema(statement.kind, statement.traits),
            role: sets_role(statement.kind, statement.traits),
        }
    }

    pub(crate) fn leave_out_of(self, restore: &mut Restore) {
        if self.schema {
            restore.schema = None;
        }
        if self.role {
            restore.role = None;
        }
    }

    /// A backend is in the state `wanted`, but for what is replaced.
    pub(crate) fn bring(self, backend: &mut SessionState, wanted: &SessionState) {
        let role = backend.role().filter(|_| self.role).map(Box::<[u8]>::from);
        if !self.schema {
            backend.take_schema(wanted);
        }
        backend.take_all_but_schema(wanted);
        if self.role {
            backend.set_role(role.as_deref());
        }
    }
}

/// Appends the commands of a restore and notes that their answers will come.
pub(crate) fn put_restore(outbox: &mut Vec<u8>, backend: &mut Backend, restore: &Restore) {
    if restore.narrows {
        backend.put_query(outbox, NARROW);
        backend.expect(Step::Restore(RestorePart::Set));
    }
    if !restore.set.is_empty() {
        backend.put_query(outbox, &restore.set);
        let gives_up = restore.gives_up;
        backend.expect(Step::Restore(RestorePart::Variables { gives_up }));
    }
    if let Some(role) = &restore.role {
        put_role(outbox, backend, role);
    }
    if let Some(schema) = &restore.schema {
        let previous = backend.session.schema.clone();
        let part = Step::Restore(RestorePart::Schema(previous));
        backend.put_schema(outbox, (schema, restore.misread_in.as_deref()), part);
    }
    for statement in &restore.next {
        backend.put_query(outbox, statement);
        backend.expect(Step::Restore(RestorePart::Set));
    }
}

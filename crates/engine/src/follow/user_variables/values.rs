//! The values of user variables are asked of the backend that has them.

use carry::user_variables::values::ReadUserVariables;
use session::statement::PinReason;
use session::{ask_for_user_variables, same_user_variables};
use wire::TextResultSet;

use crate::record::carried::{Carried, Kept};
use crate::record::pair::Pair;

/// The values of user variables.
pub(crate) static USER_VARIABLES: Carried = Carried {
    must_be_answered: false,
    ask: |pair, outbox, _| {
        let names = std::mem::take(&mut pair.backend.leftovers.variables.unread);
        if names.is_empty() {
            return false;
        }
        let question = ask_for_user_variables(names.iter().map(|name| &**name));
        let kept = Kept::UserVariables(Box::new(ReadUserVariables {
            names,
            definition: Vec::new(),
            columns: Vec::new(),
            rows: TextResultSet::default(),
        }));
        pair.backend
            .ask_about(outbox, &USER_VARIABLES, kept, &question);
        true
    },
    leave: |pair| pair.backend.leftovers.variables.is_unread(),
    told: |pair, _, reply| {
        if let Kept::UserVariables(read) = reply.kept {
            pair.learn_user_variables(&read, reply.rows.is_ok());
        }
    },
    ..Carried::NOTHING
};

impl Pair<'_> {
    /// The backend told the values.
    fn learn_user_variables(&mut self, read: &ReadUserVariables, is_told: bool) {
        let has_memory = self.has_memory();
        let (own, here) = (&mut self.client.session, &mut self.backend.session);
        let before = own.user.as_deref().cloned().unwrap_or_default();
        let carries = is_told && has_memory;
        let values = carries.then(|| read.values(before));
        let Some(values) = values.flatten() else {
            return self.pin_late(PinReason::UserVariable);
        };
        let values = self.known.interner.user_variables(values);
        let agreed = same_user_variables(here.user.as_ref(), own.user.as_ref());
        own.user = Some(values.clone());
        here.user = match agreed {
            true => Some(values),
            // It lacks what was set without it.
            false => {
                let before = here.user.as_deref().cloned().unwrap_or_default();
                let values = read.values(before).unwrap_or_default();
                Some(self.known.interner.user_variables(values))
            }
        };
    }
}

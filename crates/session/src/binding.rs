//! What of a session the server fixes when it prepares a statement: whoever executes the statement later
//! runs it as it was understood then, whatever the session has become (rule 11).

use std::sync::Arc;

use crate::charset::Charset;
use crate::state::{Interner, SessionState, same};
use crate::variables::Variables;

/// The part of a session's state in which a statement was prepared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// The default schema; `None` if there was none.
    schema: Option<Arc<[u8]>>,
    charset: Option<Arc<Charset>>,
    variables: Arc<Variables>,
}

impl Binding {
    /// What a statement is bound to that is prepared in this state.
    pub fn of(state: &SessionState, interner: &mut Interner) -> Self {
        Self {
            schema: state.schema.clone(),
            charset: state.charset.clone(),
            variables: interner.variables(state.variables.only(is_bound)),
        }
    }

    /// True if [`Binding::of`] this state would be equal.
    pub fn is_of(&self, state: &SessionState) -> bool {
        let bound = state.variables.iter().filter(|(name, _)| is_bound(name));
        same(self.schema.as_ref(), state.schema.as_ref())
            && same(self.charset.as_ref(), state.charset.as_ref())
            // The interner shares them if all are bound.
            && (Arc::ptr_eq(&self.variables, &state.variables) || bound.eq(self.variables.iter()))
    }

    /// The state in which a backend prepares the statement again for a session in `state`: what was not
    /// bound is the session's. A schema cannot be given up, so a statement that was prepared without one
    /// is prepared in whichever there is; it names no table without a schema.
    pub fn over(&self, state: &SessionState, interner: &mut Interner) -> SessionState {
        SessionState {
            schema: self.schema.clone().or_else(|| state.schema.clone()),
            charset: self.charset.clone().or_else(|| state.charset.clone()),
            variables: interner.variables(as_bound(&state.variables, &self.variables)),
            ..state.clone()
        }
    }

    /// The state of a session in `state` while it runs what was prepared so: the server selects the schema of
    /// then for as long. `None` if that is the session's anyway.
    pub fn while_running(&self, state: &SessionState) -> Option<SessionState> {
        let schema = self.schema.clone();
        let other = schema.is_some() && schema != state.schema;
        other.then(|| SessionState {
            schema,
            ..state.clone()
        })
    }

    /// The default schema; `None` if there was none.
    pub fn schema(&self) -> Option<&[u8]> {
        self.schema.as_deref()
    }
}

/// The variables of a session, but that those which are bound are those of `then`.
fn as_bound(now: &Variables, then: &Variables) -> Variables {
    let others = now.only(|name| !is_bound(name));
    others.and(&then.only(is_bound))
}

/// True unless the variable is known to matter only when a statement runs. What is taken for bound and is
/// not costs a restore; the opposite would be a wrong answer.
fn is_bound(name: &[u8]) -> bool {
    const WHEN_IT_RUNS: [&[u8]; 8] = [
        b"autocommit",
        b"interactive_timeout",
        b"lock_wait_timeout",
        b"long_query_time",
        b"max_execution_time",
        b"max_statement_time",
        b"unique_checks",
        b"wait_timeout",
    ];
    const FAMILIES: [&[u8]; 9] = [
        b"binlog_",
        b"gtid_",
        b"idle_",
        b"innodb_",
        b"log_",
        b"net_",
        b"transaction_",
        b"tx_",
        b"wsrep_",
    ];
    WHEN_IT_RUNS.binary_search(&name).is_err()
        && !FAMILIES.iter().any(|family| name.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;

    fn state(interner: &mut Interner, schema: &str, variables: &[(&str, &str)]) -> SessionState {
        let mut state = SessionState::new(45, interner);
        state.set_schema(schema.as_bytes(), interner);
        for (name, value) in variables {
            state.set_variable(name.as_bytes(), value.as_bytes(), interner);
        }
        state
    }

    #[test]
    fn sessions_share_what_differs_only_when_it_runs() {
        let mut interner = Interner::default();
        let a = state(&mut interner, "a", &[("sql_mode", "ANSI")]);
        let b = state(
            &mut interner,
            "a",
            &[("sql_mode", "ANSI"), ("autocommit", "OFF")],
        );
        let c = state(&mut interner, "b", &[("sql_mode", "ANSI")]);
        let d = state(&mut interner, "a", &[("sql_mode", "")]);
        let bindings = [&a, &b, &c, &d].map(|state| Binding::of(state, &mut interner));
        let first = &bindings[0];
        for (state, binding, shares) in [
            (&a, &bindings[0], true),
            (&b, &bindings[1], true),
            (&c, &bindings[2], false),
            (&d, &bindings[3], false),
        ] {
            assert_eq!((first == binding, first.is_of(state)), (shares, shares));
        }
    }

    #[test]
    fn a_statement_is_prepared_again_as_it_was_the_first_time() {
        let mut interner = Interner::default();
        let then = state(&mut interner, "a", &[("sql_mode", "ANSI")]);
        let now = state(
            &mut interner,
            "b",
            &[("sql_mode", ""), ("autocommit", "OFF")],
        );
        let binding = Binding::of(&then, &mut interner);
        let again = binding.over(&now, &mut interner);
        assert_eq!(again.schema.as_deref(), Some(&b"a"[..]));
        assert_eq!(again.variables.get(b"sql_mode"), Some(&b"ANSI"[..]));
        // It would commit.
        assert_eq!(again.variables.get(b"autocommit"), Some(&b"OFF"[..]));
        let back = plan(&again, &now);
        assert_eq!(back.schema.as_deref(), Some(&b"b"[..]));
        assert!(binding.over(&again, &mut interner).matches(&again));
        let running = binding.while_running(&now).unwrap();
        assert_eq!(running.schema.as_deref(), Some(&b"a"[..]));
        assert_eq!(running.variables, now.variables);
        assert!(binding.while_running(&then).is_none());
    }

    #[test]
    fn a_variable_that_was_not_set_then_is_not_set_again() {
        let mut interner = Interner::default();
        let then = state(&mut interner, "", &[]);
        let now = state(&mut interner, "b", &[("sql_mode", "")]);
        let binding = Binding::of(&then, &mut interner);
        let again = binding.over(&now, &mut interner);
        assert!(binding.schema().is_none() && again.schema.as_deref() == Some(&b"b"[..]));
        assert_eq!(again.variables.get(b"sql_mode"), None);
    }
}

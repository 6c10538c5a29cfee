//! The part of a session that follows the client from backend to backend.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use crate::charset::Charset;
use crate::coupled::Coupled;
use crate::seldom::Seldom;
use crate::user_variables::UserVariables;
use crate::variables::Variables;

/// No schema has this name.
const NO_NAME: &[u8] = b"\0";

/// The state of a client's session, or the state that a backend is in. Cheap to copy and to
/// compare: equal parts are shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionState {
    /// The default schema.
    pub schema: Option<Arc<[u8]>>,
    /// The collation of the handshake response: what the character sets begin with.
    pub collation: u8,
    /// The character sets, once a backend has said what they are.
    pub charset: Option<Arc<Charset>>,
    /// System variables that were set.
    pub variables: Arc<Variables>,
    /// What few sessions have.
    pub seldom: Option<Arc<Seldom>>,
    /// User variables that were set. Not every statement needs them, so that
    /// [`matches`](Self::matches) does not look at them.
    pub user: Option<Arc<UserVariables>>,
}

impl SessionState {
    /// What a session begins with.
    pub fn new(collation: u8, interner: &Interner) -> Self {
        Self {
            schema: None,
            collation,
            charset: None,
            variables: interner.no_variables.clone(),
            seldom: None,
            user: None,
        }
    }

    /// Another schema may have the name of the one that is selected: before anybody uses it, one is selected anew.
    pub fn reselects(&mut self, interner: &mut Interner) {
        if self.schema.is_some() {
            self.schema = Some(interner.schema(NO_NAME));
        }
    }

    /// True if one is to be selected anew.
    pub fn is_to_reselect(&self) -> bool {
        self.schema.as_deref() == Some(NO_NAME)
    }

    /// The schema that is selected, unless one is to be selected anew.
    pub fn selected(&self) -> Option<&Arc<[u8]>> {
        self.schema.as_ref().filter(|_| !self.is_to_reselect())
    }

    /// Takes over a schema that the server reported; an empty name is none.
    pub fn set_schema(&mut self, name: &[u8], interner: &mut Interner) {
        self.schema = (!name.is_empty()).then(|| interner.schema(name));
    }

    /// Takes over a variable's new value.
    pub fn set_variable(&mut self, name: &[u8], value: &[u8], interner: &mut Interner) {
        let coupled = Coupled::of(name).into_iter();
        for other in coupled.flat_map(|coupled| coupled.replaced_by(name)) {
            if self.variables.get(other).is_some() {
                self.forget_variable(other, interner);
            }
        }
        if let Some(variables) = self.variables.with(name, value) {
            self.variables = interner.variables(variables);
        }
    }

    /// Takes over what several variables are now, in whatever order they were set.
    pub fn set_variables(&mut self, values: &[(&[u8], &[u8])], interner: &mut Interner) {
        for late in [false, true] {
            for (name, value) in values {
                if Coupled::is_late(name) == late {
                    self.set_variable(name, value, interner);
                }
            }
        }
    }

    /// True if the variable was set, or the one that says the same.
    pub fn has_set(&self, name: &[u8]) -> bool {
        let is_set = |name: &[u8]| self.variables.get(name).is_some();
        is_set(name) || Coupled::of_one(name).any(is_set)
    }

    /// Gives up a variable, as if it had not been set.
    pub fn forget_variable(&mut self, name: &[u8], interner: &mut Interner) {
        let variables = self.variables.with_from(name, &Variables::default());
        self.variables = interner.variables(variables);
    }

    /// Becomes what another is, but for the schema and user variables.
    pub fn take_all_but_schema(&mut self, other: &Self) {
        self.variables.clone_from(&other.variables);
        self.charset.clone_from(&other.charset);
        self.seldom.clone_from(&other.seldom);
    }

    /// True if the two are the same, or nearly always can be told to be at a glance.
    pub fn matches(&self, other: &Self) -> bool {
        same(self.schema.as_ref(), other.schema.as_ref())
            && same(self.charset.as_ref(), other.charset.as_ref())
            && same(Some(&self.variables), Some(&other.variables))
            && same(self.seldom.as_ref(), other.seldom.as_ref())
            && (self.charset.is_some() || self.collation == other.collation)
    }

    /// Selects the schema that `wanted` has, if it has one: a schema cannot be given up.
    pub fn take_schema(&mut self, wanted: &Self) {
        if wanted.schema.is_some() {
            self.schema.clone_from(&wanted.schema);
        }
    }

    /// True if a backend in this state can be brought to `wanted`. A schema, once selected, can be
    /// changed but not be given up, and the character sets that a collation number stands for are
    /// known only after a connection was opened with it.
    pub fn can_become(&self, wanted: &Self) -> bool {
        let schema = self.schema.is_none() || wanted.schema.is_some();
        schema && (wanted.charset.is_some() || self.collation == wanted.collation)
    }
}

/// True if two parts are equal. Sharing them makes that quick.
pub(crate) fn same<T: ?Sized + PartialEq>(a: Option<&Arc<T>>, b: Option<&Arc<T>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Keeps one copy of equal parts, for as long as somebody uses it.
#[derive(Debug)]
pub struct Interner {
    schemas: Shared<[u8]>,
    charsets: Shared<Charset>,
    variables: Shared<Variables>,
    user: Shared<UserVariables>,
    no_variables: Arc<Variables>,
}

impl Interner {
    /// The shared copy of a schema name.
    pub fn schema(&mut self, name: &[u8]) -> Arc<[u8]> {
        self.schemas.get(Arc::from(name))
    }

    /// The shared copy of character sets.
    pub fn charset(&mut self, charset: Charset) -> Arc<Charset> {
        self.charsets.get(Arc::new(charset))
    }

    /// The shared copy of a set of variables.
    pub fn variables(&mut self, variables: Variables) -> Arc<Variables> {
        self.variables.get(Arc::new(variables))
    }

    /// The shared copy of a set of user variables.
    pub fn user_variables(&mut self, user: UserVariables) -> Arc<UserVariables> {
        self.user.get(Arc::new(user))
    }

    /// Bytes of all that is shared; what nobody holds any more is among it until the sets are swept, which is when they
    /// have doubled.
    pub fn bytes(&self) -> usize {
        self.schemas.bytes + self.charsets.bytes + self.variables.bytes + self.user.bytes
    }

    /// How many different sets of variables are known.
    pub fn variables_len(&self) -> usize {
        self.variables.set.len()
    }
}

impl Default for Interner {
    fn default() -> Self {
        let mut variables = Shared::new(Variables::bytes);
        let no_variables = variables.get(Arc::new(Variables::default()));
        Self {
            schemas: Shared::new(<[u8]>::len),
            charsets: Shared::new(size_of_val),
            variables,
            user: Shared::new(UserVariables::bytes),
            no_variables,
        }
    }
}

/// A set that forgets what nobody else holds whenever it has doubled.
#[derive(Debug)]
struct Shared<T: ?Sized> {
    set: HashSet<Arc<T>>,
    sweep_at: usize,
    /// Of all that are in it.
    bytes: usize,
    /// The memory that one of them takes, roughly.
    bytes_of: fn(&T) -> usize,
}

impl<T: ?Sized + Eq + Hash> Shared<T> {
    const SWEEP_MIN: usize = 64;

    fn new(bytes_of: fn(&T) -> usize) -> Self {
        Self {
            set: HashSet::new(),
            sweep_at: Self::SWEEP_MIN,
            bytes: 0,
            bytes_of,
        }
    }

    fn get(&mut self, value: Arc<T>) -> Arc<T> {
        if let Some(known) = self.set.get(&value) {
            return known.clone();
        }
        if self.set.len() >= self.sweep_at {
            self.set.retain(|known| Arc::strong_count(known) > 1);
            self.sweep_at = (self.set.len() * 2).max(Self::SWEEP_MIN);
            self.bytes = self.set.iter().map(|known| (self.bytes_of)(known)).sum();
        }
        self.bytes += (self.bytes_of)(&value);
        self.set.insert(value.clone());
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_states_share_and_match() {
        let mut interner = Interner::default();
        let mut a = SessionState::new(45, &interner);
        let mut b = a.clone();
        assert!(a.matches(&b));
        a.set_variable(b"autocommit", b"OFF", &mut interner);
        assert!(!a.matches(&b));
        b.set_variable(b"autocommit", b"OFF", &mut interner);
        assert!(a.matches(&b) && Arc::ptr_eq(&a.variables, &b.variables));
        a.set_schema(b"shop", &mut interner);
        assert!(b.can_become(&a) && !a.can_become(&b));
    }

    #[test]
    fn what_is_part_of_another_variable_is_taken_over_behind_it() {
        let mut interner = Interner::default();
        let mut state = SessionState::new(45, &interner);
        let values: [(&[u8], &[u8]); 2] = [(b"sql_big_selects", b"ON"), (b"max_join_size", b"7")];
        state.set_variables(&values, &mut interner);
        let both = state.variables.iter().count();
        assert_eq!(
            (both, state.variables.get(b"sql_big_selects")),
            (2, Some(&b"ON"[..]))
        );
    }

    #[test]
    fn what_nobody_holds_is_forgotten() {
        let mut interner = Interner::default();
        let mut state = SessionState::new(45, &interner);
        for n in 0..10_000 {
            state.set_variable(b"x", format!("{n}").as_bytes(), &mut interner);
        }
        assert!(interner.variables_len() <= 2 * Shared::<Variables>::SWEEP_MIN);
    }

    #[test]
    fn an_unknown_charset_needs_a_backend_of_the_same_collation() {
        let interner = Interner::default();
        let (a, b) = (
            SessionState::new(8, &interner),
            SessionState::new(45, &interner),
        );
        assert!(!a.can_become(&b) && !a.matches(&b) && a.can_become(&a.clone()));
    }
}

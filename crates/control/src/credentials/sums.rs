//! Sums over what each account may do, so that a change is noticed without knowing what it means.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use mysql_async::{Row, Value};

use super::rows::text;

/// User and host.
pub(super) type Name = (String, String);

/// Sums by account. The order of rows does not matter.
#[derive(Default)]
pub(super) struct Sums {
    of: HashMap<Name, u64>,
    roles: HashSet<Name>,
    /// Who has which role.
    memberships: u64,
}

impl Sums {
    /// A row of a table of privileges.
    pub(super) fn add(&mut self, table: &str, row: &Row) {
        let sum = sum_of(table, row.columns_ref().len(), |place| row.as_ref(place));
        let column = |name| text(row, name).unwrap_or_default();
        match table {
            "roles_mapping" => {
                self.roles.insert((column("Role"), String::new()));
                self.memberships ^= sum;
            }
            "role_edges" => {
                self.roles
                    .insert((column("FROM_USER"), column("FROM_HOST")));
                self.memberships ^= sum;
            }
            _ => self.note((column("User"), column("Host")), sum),
        }
    }

    /// Something else that says what an account may do.
    pub(super) fn note(&mut self, name: Name, sum: u64) {
        *self.of.entry(name).or_default() ^= sum;
    }

    /// It is a role.
    pub(super) fn is_role(&mut self, name: Name) {
        self.roles.insert(name);
    }

    /// That of an account.
    pub(super) fn of(&self, name: &Name) -> u64 {
        self.of.get(name).copied().unwrap_or_default()
    }

    /// That of all roles, and of who has them.
    pub(super) fn of_roles(&self) -> u64 {
        let each = self.roles.iter().map(|name| self.of(name));
        each.fold(self.memberships, |sum, one| sum ^ one)
    }
}

/// Of anything.
pub(super) fn sum(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

fn sum_of<'a>(table: &str, columns: usize, value: impl Fn(usize) -> Option<&'a Value>) -> u64 {
    let mut hasher = DefaultHasher::new();
    table.hash(&mut hasher);
    for place in 0..columns {
        match value(place) {
            Some(Value::Bytes(bytes)) => bytes.hash(&mut hasher),
            other => format!("{other:?}").hash(&mut hasher),
        }
    }
    hasher.finish()
}

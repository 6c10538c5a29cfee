//! Prepared statements of the binary protocol: what a session has of them, and what its commands do
//! with them. Owns no packets.

use std::collections::{BTreeMap, VecDeque};

use wire::code;

use super::answer::{Outcome, Row};
use super::execute::{NO_SUCH_TABLE, Work, uses_table};
use super::session::Condition;
use super::sql::{Executed, Sql};
use crate::catalog::Variables;

/// Stands for the statement that was prepared last.
pub(crate) const LAST: u32 = u32::MAX;

/// A fetch from a statement that has no cursor.
pub(crate) const NO_CURSOR: u16 = 1421;

/// The prepared statements of one session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statements {
    open: BTreeMap<u32, Prepared>,
    last: Option<u32>,
    /// Ids count up, over resets, too.
    highest: u32,
}

/// One prepared statement.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) sql: Sql,
    /// In which state of the session it was prepared.
    pub(crate) binding: Binding,
    /// What COM_STMT_SEND_LONG_DATA brought.
    long: Option<String>,
    cursor: Option<VecDeque<Row>>,
}

/// What of a session is fixed when a statement is prepared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) schema: Option<String>,
    /// Variables that texts are read by.
    variables: Variables,
}

impl Binding {
    pub(super) fn of(schema: Option<String>, variables: &Variables) -> Self {
        const BOUND: [&str; 4] = [
            "sql_mode",
            "group_concat_max_len",
            "character_set_client",
            "collation_connection",
        ];
        let bound = BOUND.iter().filter_map(|&name| {
            let value = variables.get(name)?;
            Some((name.to_owned(), value.clone()))
        });
        Self {
            schema,
            variables: bound.collect(),
        }
    }

    /// True if a statement means the same in both; one that names no table needs no schema.
    pub(crate) fn means_the_same(&self, other: &Self, sql: &Sql) -> bool {
        let schema = self.schema == other.schema || !sql.is_bound();
        schema && self.variables == other.variables
    }
}

impl Prepared {
    /// True if only the backend that prepared it can run it.
    fn stays(&self) -> bool {
        self.sql == Sql::Schema && self.binding.schema.is_none()
    }
}

impl Statements {
    /// True if some of them stay where they were prepared.
    pub(crate) fn stay(&self) -> bool {
        self.open.values().any(Prepared::stays)
    }

    /// True if a cursor is open.
    pub(crate) fn has_cursor(&self) -> bool {
        self.open
            .values()
            .any(|statement| statement.cursor.is_some())
    }

    pub(crate) fn ids(&self) -> Vec<u32> {
        self.open.keys().copied().collect()
    }

    pub(crate) fn next_id(&self) -> u32 {
        self.highest + 1
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Prepared> {
        self.open.get(&self.resolve(id)?)
    }

    /// Preparing another one failed.
    pub(crate) fn forget_last(&mut self) {
        self.last = None;
    }

    /// COM_RESET_CONNECTION.
    pub(crate) fn close_all(&mut self) {
        self.open.clear();
        self.last = None;
    }

    /// COM_STMT_CLOSE. False if there is no such statement.
    pub(crate) fn close(&mut self, id: u32) -> bool {
        let Some(id) = self.resolve(id) else {
            return false;
        };
        self.last = self.last.filter(|&last| last != id);
        self.open.remove(&id).is_some()
    }

    /// COM_STMT_SEND_LONG_DATA. False if there is no such statement.
    pub(crate) fn append(&mut self, id: u32, data: &str) -> bool {
        let found = self.get_mut(id);
        let known = found.is_some();
        if let Some(statement) = found {
            statement.long.get_or_insert_default().push_str(data);
        }
        known
    }

    /// COM_STMT_RESET, or the end of a COM_STMT_EXECUTE that came to nothing. False if there is no
    /// such statement.
    pub(crate) fn clear(&mut self, id: u32) -> bool {
        let found = self.get_mut(id);
        let known = found.is_some();
        if let Some(statement) = found {
            (statement.long, statement.cursor) = (None, None);
        }
        known
    }

    /// What a COM_STMT_EXECUTE runs; the statement's long data is used up and its cursor closed.
    pub(crate) fn begin(&mut self, id: u32, value: Option<&str>, cursor: bool) -> Option<Executed> {
        let id = self.resolve(id)?;
        let statement = self.open.get_mut(&id)?;
        statement.cursor = None;
        let long = statement.long.take();
        let sql = match &statement.sql {
            Sql::Echo => Sql::Literal(long.unwrap_or_else(|| value.unwrap_or_default().to_owned())),
            sql => sql.clone(),
        };
        Some(Executed {
            sql,
            prepared: statement.sql.clone(),
            binding: statement.binding.clone(),
            cursor: cursor.then_some(id),
            binary: true,
        })
    }

    /// COM_STMT_FETCH.
    pub(crate) fn fetch(&mut self, id: u32, rows: usize) -> Outcome {
        let Some(statement) = self.get_mut(id) else {
            return Outcome::Err(code::UNKNOWN_STMT_HANDLER);
        };
        let Some(cursor) = &mut statement.cursor else {
            return Outcome::Err(NO_CURSOR);
        };
        let last = cursor.len() < rows;
        let rows = cursor.drain(..rows.min(cursor.len())).collect();
        if last {
            statement.cursor = None;
        }
        Outcome::Fetched(rows, last)
    }

    fn resolve(&self, id: u32) -> Option<u32> {
        if id == LAST { self.last } else { Some(id) }
    }

    fn get_mut(&mut self, id: u32) -> Option<&mut Prepared> {
        self.open.get_mut(&self.resolve(id)?)
    }
}

impl Work<'_> {
    /// COM_STMT_PREPARE, of a statement that gets this id.
    pub(crate) fn prepare(&mut self, id: u32, sql: &Sql) -> Outcome {
        let schema = self.session.schema.clone();
        self.prepare_in(schema, (id, sql))
    }

    /// The same in another schema than the one that is selected.
    pub(crate) fn prepare_in(&mut self, schema: Option<String>, (id, sql): (u32, &Sql)) -> Outcome {
        let session = &mut *self.session;
        session.statements.last = None;
        if let Some(error) = refusal(schema.as_deref(), |s| self.storage.has(s), sql) {
            session.diagnostics = Some(Condition::Error(error));
            return Outcome::Err(error);
        }
        // Its tables are opened.
        if uses_table(sql) {
            session.diagnostics = None;
        }
        let prepared = Prepared {
            sql: sql.clone(),
            binding: Binding::of(schema, &session.variables),
            long: None,
            cursor: None,
        };
        let statements = &mut session.statements;
        statements.open.insert(id, prepared);
        statements.last = Some(id);
        statements.highest = statements.highest.max(id);
        Outcome::Prepared {
            id,
            columns: columns(sql),
        }
    }

    /// COM_STMT_EXECUTE and EXECUTE: the tables are those of the schema in which it was prepared.
    pub(super) fn execute(&mut self, executed: &Executed) -> Outcome {
        let bound = executed.sql.is_bound();
        let selected = self.session.schema.clone();
        if bound {
            self.session.schema.clone_from(&executed.binding.schema);
        }
        let outcome = self.outcome(&executed.sql);
        if bound {
            self.session.schema = selected;
        }
        let rows = match outcome {
            Outcome::Rows(rows) if executed.binary => rows,
            outcome => return outcome,
        };
        let opens = executed
            .cursor
            .and_then(|id| self.session.statements.get_mut(id));
        match opens {
            None => Outcome::Binary(rows),
            Some(statement) => {
                let columns = rows.first().map_or(1, Vec::len);
                statement.cursor = Some(rows.into());
                Outcome::Cursor(columns)
            }
        }
    }
}

/// Why a statement cannot be prepared.
pub(super) fn refusal(schema: Option<&str>, has: impl Fn(&str) -> bool, sql: &Sql) -> Option<u16> {
    match (sql, schema) {
        (Sql::Nonsense, _) => Some(code::PARSE_ERROR),
        (sql, None) if sql.needs_schema() => Some(code::NO_SCHEMA_SELECTED),
        (sql, Some(schema)) if sql.needs_schema() && !has(schema) => Some(NO_SUCH_TABLE),
        (Sql::NoTable, _) => Some(NO_SUCH_TABLE),
        _ => None,
    }
}

/// How many columns the statement will have.
fn columns(sql: &Sql) -> usize {
    match sql {
        Sql::ReadRange(..) => 2,
        Sql::WriteKey(..) | Sql::Bump(_) | Sql::Insert => 0,
        Sql::Begin | Sql::Commit | Sql::Rollback => 0,
        _ => 1,
    }
}

//! What each statement does to a session and to the tables. Owns no time: locks have been got
//! before, and the answer is told later.

use wire::code;

use super::answer::Outcome;
use super::session::{Condition, Session};
use super::sql::{Assignment, Sql, VIEW};
use super::storage::{Row, Storage};
use crate::catalog;

pub(crate) const NO_SUCH_TABLE: u16 = 1146;
const TABLE_EXISTS: u16 = 1050;
const UNKNOWN_TABLE: u16 = 1051;
const UNKNOWN_VARIABLE: u16 = 1193;
const BROKEN_ROW: u16 = 1030;
pub(crate) const TRUNCATED_VALUE: u16 = 1292;
pub(crate) const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// One statement at work.
pub(crate) struct Work<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) storage: &'a mut Storage,
    /// Whose session it is.
    pub(crate) connection: usize,
    /// Place of its account in the catalog.
    pub(crate) account: usize,
    /// CLIENT_FOUND_ROWS.
    pub(crate) found_rows: bool,
    /// What the global variable is.
    pub(crate) global: String,
}

/// The row that a statement must hold before it runs.
pub(crate) fn row_to_lock(session: &Session, sql: &Sql) -> Option<Row> {
    let schema = match sql {
        Sql::Executed(executed) => &executed.binding.schema,
        _ => &session.schema,
    };
    match sql.inner() {
        Sql::WriteKey(key, _) | Sql::Bump(key) => Some((schema.clone()?, *key)),
        _ => None,
    }
}

/// Statements without a table leave the warnings of the one before. To prepare one opens its tables, too.
pub(crate) fn uses_table(sql: &Sql) -> bool {
    if let Sql::PrepareText(_, text) = sql {
        return uses_table(text);
    }
    matches!(
        sql.inner(),
        Sql::ReadKey(_)
            | Sql::ReadRange(..)
            | Sql::Count(..)
            | Sql::LockTables
            | Sql::LoadLocal(_)
            | Sql::WriteKey(..)
            | Sql::Bump(_)
            | Sql::Insert
            | Sql::CreateTemporary
            | Sql::Leave
            | Sql::ListStored
            | Sql::DropTemporary
            | Sql::InsertTemporary(_)
            | Sql::ReadTemporary
            | Sql::Clear
            | Sql::CountPrivileges
            | Sql::CountViews(_)
    )
}

fn list_collations() -> Outcome {
    let row = |fields: [String; 4]| fields.into_iter().map(Some).collect();
    Outcome::Rows(catalog::collations().map(row).collect())
}

/// The trigger of `leaves`, which there is in every schema and which creates a temporary table.
fn list_stored() -> Outcome {
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02X}")).collect();
    let row = |schema| ["U".to_owned(), "W".to_owned(), hex(schema), hex("leaves")];
    let rows = catalog::SCHEMAS.into_iter().map(row);
    Outcome::Rows(rows.map(|row| row.map(Some).into()).collect())
}

impl Work<'_> {
    /// Runs a statement and notes its error.
    pub(crate) fn run(&mut self, sql: &Sql) -> Outcome {
        let outcome = self.outcome(sql);
        self.note(sql, &outcome);
        outcome
    }

    /// What the session can ask about a statement.
    pub(super) fn note(&mut self, sql: &Sql, outcome: &Outcome) {
        let warns = *sql.inner() == Sql::Warn;
        self.session.warned = u16::from(warns);
        if let Outcome::Err(code) | Outcome::Broken(_, code) = outcome {
            self.session.diagnostics = Some(Condition::Error(*code));
        } else if warns {
            self.session.diagnostics = Some(Condition::Warning(TRUNCATED_VALUE));
        } else if uses_table(sql) {
            self.session.diagnostics = None;
        }
        self.session.count(sql, outcome);
    }

    pub(super) fn outcome(&mut self, sql: &Sql) -> Outcome {
        match sql {
            Sql::Literal(text) => Outcome::value(text),
            Sql::Repeat(n) => Outcome::value("x".repeat(*n)),
            Sql::Sleep(_) => Outcome::value("0"),
            Sql::Schema => self
                .session
                .schema
                .clone()
                .map_or_else(Outcome::null, Outcome::value),
            Sql::CountPrivileges => {
                let user = format!("{}@%", catalog::ACCOUNTS[self.account].0);
                Outcome::Rows(vec![vec![Some("0".to_owned()), Some(user)]])
            }
            Sql::ListCollations => list_collations(),
            Sql::ListStored => list_stored(),
            Sql::CountViews(names) => {
                let views = names.iter().filter(|name| *name == VIEW);
                Outcome::value(views.count().to_string())
            }
            Sql::LastInsertId => Outcome::value(self.session.last_insert_id.to_string()),
            Sql::NoTable => self.on_table(|_, _| Outcome::Err(NO_SUCH_TABLE)),
            Sql::Nonsense => Outcome::Err(code::PARSE_ERROR),
            Sql::Signal(code) => Outcome::Err(*code),
            Sql::Use(schema) => self.select_schema(schema),
            Sql::ReadVariables(names) => self.read_variables(names),
            Sql::AskVariables(names) => self.read_variables(names),
            Sql::ListVariables => {
                let known = catalog::defaults(self.session.collation).into_iter();
                let known = known.filter(|(name, _)| {
                    name.bytes()
                        .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
                });
                Outcome::Rows(
                    known
                        .map(|(name, value)| vec![Some(name), Some(value)])
                        .collect(),
                )
            }
            Sql::Set(assignments) => self.set(assignments),
            Sql::SetNames(charset, collation) => self.set_names(charset, collation.as_deref()),
            Sql::AssignUser(name, value) => {
                let value = value.to_string();
                self.session.user.insert(name.clone(), Some(value.clone()));
                Outcome::value(value)
            }
            Sql::ReadUser(names) => {
                let value = |name| self.session.user.get(name).cloned().flatten();
                Outcome::Rows(vec![names.iter().map(value).collect()])
            }
            Sql::ReadUserBack(names) => self.read_user_back(names),
            Sql::GetLock(_) | Sql::ReleaseLock(_) | Sql::ReleaseAllLocks => self.named_lock(sql),
            sql if sql.asks_for_conditions() => self.tell_conditions(sql),
            Sql::ToldUnsigned => Outcome::value(self.session.last_insert_id.to_string()),
            Sql::Executed(executed) => self.execute(executed),
            Sql::Clear | Sql::Warn | Sql::Harmless => Outcome::value("1"),
            Sql::Found(rows) => {
                let row = |_| vec![Some("1".to_owned())];
                Outcome::Rows((0..*rows).map(row).collect())
            }
            Sql::RowCount => Outcome::value(self.session.row_count.to_string()),
            Sql::FoundRows => Outcome::value(self.session.found_rows.to_string()),
            Sql::ToldCount => Outcome::value((self.session.last_insert_id as i64).to_string()),
            Sql::SetGlobal(_) | Sql::Do => Outcome::DONE,
            Sql::PrepareText(name, text) => self.prepare_text(name, text),
            Sql::DeallocateText(name) => self.deallocate_text(name),
            // One that there is has become a prepared statement.
            Sql::ExecuteText(_) => Outcome::Err(code::UNKNOWN_STMT_HANDLER),
            // Those are dealt with before.
            Sql::KillQuery(_) | Sql::Multiple(_) | Sql::LoadLocal(_) | Sql::Echo => {
                Outcome::Err(code::PARSE_ERROR)
            }
            Sql::LockTables => self.lock_tables(),
            Sql::UnlockTables => {
                if std::mem::take(&mut self.session.tables_locked) {
                    self.commit();
                }
                Outcome::DONE
            }
            Sql::Begin | Sql::Commit | Sql::Rollback => self.transaction(sql),
            _ => self.table(sql),
        }
    }

    fn named_lock(&mut self, sql: &Sql) -> Outcome {
        match sql {
            Sql::GetLock(name) => {
                let taken = self.storage.take_name(name, self.connection);
                if !taken {
                    // As for an error, which MariaDB hides.
                    self.session.diagnostics = None;
                }
                Outcome::value(u8::from(taken).to_string())
            }
            Sql::ReleaseLock(name) => {
                let mine = self.storage.release_name(name, self.connection);
                mine.map_or_else(Outcome::null, |mine| {
                    Outcome::value(u8::from(mine).to_string())
                })
            }
            _ => {
                let released = self.storage.release_names(self.connection);
                Outcome::value(released.to_string())
            }
        }
    }

    fn tell_conditions(&self, sql: &Sql) -> Outcome {
        match sql {
            Sql::ShowErrors => self.show_conditions(true, usize::MAX),
            Sql::ShowLimited(rows) => self.show_conditions(false, *rows),
            Sql::CountConditions(asked) => {
                let counted = self.conditions(asked.errors(), usize::MAX);
                Outcome::value(counted.count().to_string())
            }
            _ => self.show_conditions(false, usize::MAX),
        }
    }

    fn table(&mut self, sql: &Sql) -> Outcome {
        match *sql {
            Sql::ReadKey(key) | Sql::Count(key, _) => self.on_table(|work, schema| {
                Outcome::value(work.storage.read(schema, key).to_string())
            }),
            Sql::ReadRange(from, to) => self.on_table(|work, schema| {
                let row = |key: u32| {
                    let value = work.storage.read(schema, key);
                    vec![Some(key.to_string()), Some(value.to_string())]
                };
                Outcome::Rows((from..=to).map(row).collect())
            }),
            Sql::BrokenRows => self
                .on_table(|_, _| Outcome::Broken(vec![vec![Some("1".to_owned())]; 3], BROKEN_ROW)),
            Sql::WriteKey(key, value) => self.on_table(|work, schema| {
                let changed = work.write(schema, key, value);
                let affected_rows = u64::from(changed || work.found_rows);
                Outcome::Ok {
                    affected_rows,
                    insert_id: 0,
                }
            }),
            Sql::Bump(key) => self.on_table(|work, schema| {
                let value = work.storage.read(schema, key) + 1;
                work.write(schema, key, value);
                Outcome::Ok {
                    affected_rows: 1,
                    insert_id: 0,
                }
            }),
            Sql::Insert => self.on_table(|work, schema| {
                let insert_id = work.storage.next_auto(schema);
                work.session.last_insert_id = insert_id;
                Outcome::Ok {
                    affected_rows: 1,
                    insert_id,
                }
            }),
            _ => self.on_temporary(sql),
        }
    }

    /// Runs `body` on the tables of the selected schema.
    pub(super) fn on_table(&mut self, body: impl FnOnce(&mut Self, &str) -> Outcome) -> Outcome {
        let Some(schema) = self.session.schema.clone() else {
            return Outcome::Err(code::NO_SCHEMA_SELECTED);
        };
        if !self.storage.has(&schema) {
            return Outcome::Err(NO_SUCH_TABLE);
        }
        let outcome = body(self, &schema);
        if !matches!(outcome, Outcome::Err(_)) {
            self.session.touch_table();
        }
        outcome
    }

    fn on_temporary(&mut self, sql: &Sql) -> Outcome {
        let sql = sql.clone();
        self.on_table(|work, schema| {
            let temporaries = &mut work.session.temporaries;
            match (&sql, temporaries.get_mut(schema)) {
                (Sql::CreateTemporary, None) => {
                    temporaries.insert(schema.to_owned(), Vec::new());
                    work.session.state_changed();
                    Outcome::DONE
                }
                (Sql::CreateTemporary, Some(_)) => Outcome::Err(TABLE_EXISTS),
                (Sql::Leave, _) => {
                    // Nobody is told.
                    temporaries.entry(schema.to_owned()).or_default();
                    Outcome::Ok {
                        affected_rows: 1,
                        insert_id: 0,
                    }
                }
                (Sql::DropTemporary, None) => Outcome::Err(UNKNOWN_TABLE),
                (Sql::DropTemporary, Some(_)) => {
                    temporaries.remove(schema);
                    work.session.state_changed();
                    Outcome::DONE
                }
                (Sql::InsertTemporary(value), Some(rows)) => {
                    rows.push(*value);
                    Outcome::Ok {
                        affected_rows: 1,
                        insert_id: 0,
                    }
                }
                (_, Some(rows)) => {
                    Outcome::Rows(rows.iter().map(|row| vec![Some(row.to_string())]).collect())
                }
                (_, None) => Outcome::Err(NO_SUCH_TABLE),
            }
        })
    }

    /// Returns whether that changed anything.
    pub(crate) fn write(&mut self, schema: &str, key: u32, value: i64) -> bool {
        let row = (schema.to_owned(), key);
        let before = self.storage.write(row.clone(), value);
        self.session.undo.push((row, before));
        before != value
    }

    /// The transaction ends, as with whatever commits by itself.
    fn lock_tables(&mut self) -> Outcome {
        let Some(schema) = &self.session.schema else {
            return Outcome::Err(code::NO_SCHEMA_SELECTED);
        };
        if !self.storage.has(schema) {
            return Outcome::Err(NO_SUCH_TABLE);
        }
        self.commit();
        self.session.tables_locked = true;
        Outcome::DONE
    }

    fn conditions(&self, errors: bool, limit: usize) -> impl Iterator<Item = Condition> {
        let condition = self.session.diagnostics.into_iter();
        condition
            .filter(move |found| !errors || matches!(found, Condition::Error(_)))
            .take(limit)
    }

    fn show_conditions(&self, errors: bool, limit: usize) -> Outcome {
        let row = |condition| {
            let (level, code) = match condition {
                Condition::Warning(code) => ("Warning", code),
                Condition::Error(code) => ("Error", code),
            };
            vec![Some(level.to_owned()), Some(u16::to_string(&code)), None]
        };
        Outcome::Rows(self.conditions(errors, limit).map(row).collect())
    }

    fn select_schema(&mut self, schema: &str) -> Outcome {
        if !self.storage.has(schema) {
            return Outcome::Err(code::UNKNOWN_SCHEMA);
        }
        self.session.select(schema);
        Outcome::DONE
    }

    fn read_variables(&mut self, names: &[String]) -> Outcome {
        let mut row = Vec::new();
        for name in names {
            if name.strip_prefix("global.") == Some(catalog::GLOBAL) {
                row.push(Some(self.global.clone()));
                continue;
            }
            let Some(value) = self.session.variables.get(name) else {
                return Outcome::Err(UNKNOWN_VARIABLE);
            };
            row.push((value != catalog::NULL).then(|| catalog::selected(name, value)));
        }
        Outcome::Rows(vec![row])
    }

    /// Value, bytes, character set and collation of each. All values are bytes.
    fn read_user_back(&self, names: &[String]) -> Outcome {
        let binary = || Some("binary".to_owned());
        let told = |name: &String| {
            let value = self.session.user.get(name).cloned().flatten();
            let hex = |value: &String| value.bytes().map(|byte| format!("{byte:02X}")).collect();
            let hex = value.as_ref().map(hex);
            [value, hex, binary(), binary()]
        };
        Outcome::Rows(vec![names.iter().flat_map(told).collect()])
    }

    /// Nothing is set if one of the names is not known.
    fn set(&mut self, assignments: &[Assignment]) -> Outcome {
        const INSERT_ID: &str = "last_insert_id";
        let mut variables = self.session.variables.clone();
        for Assignment { name, value } in assignments.iter().filter(|a| !a.is_of_user()) {
            if name == INSERT_ID {
                let id = value.as_deref().and_then(|value| value.parse().ok());
                self.session.last_insert_id = id.unwrap_or_default();
                continue;
            }
            let login = self.session.collation;
            let own = value
                .as_deref()
                .and_then(|value| value.strip_prefix("@@session."));
            let own = own.and_then(|own| self.session.variables.get(own));
            let value = own.or(value.as_ref());
            let value = value.or((name == catalog::GLOBAL).then_some(&self.global));
            let value = value.map(String::as_str);
            if !catalog::set(&mut variables, name, value, login) {
                return Outcome::Err(UNKNOWN_VARIABLE);
            }
        }
        self.session.variables = variables;
        for Assignment { name, value } in assignments.iter().filter(|a| a.is_of_user()) {
            let value = value.clone().filter(|value| value != catalog::NULL);
            self.session.user.insert(name.clone(), value);
            self.session.state_changed();
        }
        if self.session.has_autocommit() && assignments.iter().any(|a| a.name == "autocommit") {
            self.commit();
        }
        let told = |a: &&Assignment| a.name != INSERT_ID && !a.is_of_user();
        for assignment in assignments.iter().filter(told) {
            self.session.tell_variable(&assignment.name);
        }
        Outcome::DONE
    }

    /// The tracker does not name the collation, as on the real server.
    fn set_names(&mut self, charset: &str, collation: Option<&str>) -> Outcome {
        if !catalog::set_names(&mut self.session.variables, charset, collation) {
            return Outcome::Err(1115);
        }
        for part in ["client", "connection", "results"] {
            self.session.tell_variable(&format!("character_set_{part}"));
        }
        Outcome::DONE
    }

    fn transaction(&mut self, sql: &Sql) -> Outcome {
        match sql {
            Sql::Rollback => self.rollback(),
            _ => self.commit(),
        }
        self.session.in_transaction = *sql == Sql::Begin;
        self.session.tables_locked &= *sql != Sql::Begin;
        Outcome::DONE
    }

    fn commit(&mut self) {
        self.session.undo.clear();
        self.session.in_transaction = false;
        self.storage.unlock_rows(self.connection);
    }

    /// Takes back what the open transaction wrote.
    pub(crate) fn rollback(&mut self) {
        for (row, before) in self.session.undo.drain(..).rev() {
            self.storage.write(row, before);
        }
        self.session.in_transaction = false;
        self.storage.unlock_rows(self.connection);
    }
}

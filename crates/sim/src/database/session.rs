//! One session of the database: everything that another session must never see.

use std::collections::BTreeMap;

use wire::{ServerStatus, put_lenenc_bytes};

use super::answer::Outcome;
use super::prepared::Statements;
use super::sql::Sql;
use super::storage::Row;
use super::texts::Texts;
use crate::catalog::{self, Variables};

/// The state of a session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) schema: Option<String>,
    pub(crate) variables: Variables,
    /// User variables that were set, `None` for NULL.
    pub(crate) user: UserVariables,
    /// Temporary tables, by schema.
    pub(crate) temporaries: BTreeMap<String, Vec<i64>>,
    /// LOCK TABLES.
    pub(crate) tables_locked: bool,
    pub(crate) statements: Statements,
    /// What is prepared by name.
    pub(crate) texts: Texts,
    /// The schema that was selected before the present one.
    pub(crate) left_schema: Option<String>,
    pub(crate) last_insert_id: u64,
    pub(crate) in_transaction: bool,
    /// What the rows were that the transaction wrote, the latest last.
    pub(crate) undo: Vec<(Row, i64)>,
    /// The warning or error of the last statement that had one, until a table is used.
    pub(crate) diagnostics: Option<Condition>,
    /// Warnings that the last statement gave.
    pub(crate) warned: u16,
    /// `ROW_COUNT()`
    pub(crate) row_count: i64,
    /// `FOUND_ROWS()`
    pub(crate) found_rows: u64,
    /// The collation that the client named at login.
    pub(crate) collation: u8,
    /// The tracker mixes up variables, and leaves some out.
    pub(crate) is_unsound: bool,
    /// What is to be told of changes, as a session-track block.
    changes: Vec<u8>,
    told_transaction: String,
}

/// User variables and their values, `None` for NULL.
pub(crate) type UserVariables = BTreeMap<String, Option<String>>;

/// What SHOW WARNINGS tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Warning(u16),
    Error(u16),
}

const NO_TRANSACTION: &str = "________";

impl Session {
    /// True in a transaction, or with something that only this session has.
    pub(crate) fn is_bound(&self) -> bool {
        self.in_transaction
            || self.tables_locked
            || !self.temporaries.is_empty()
            || self.statements.stay()
            || self.statements.has_cursor()
    }

    pub(crate) fn new(collation: u8) -> Self {
        Self {
            schema: None,
            variables: catalog::defaults(collation),
            user: UserVariables::new(),
            temporaries: BTreeMap::new(),
            tables_locked: false,
            statements: Statements::default(),
            texts: Texts::default(),
            left_schema: None,
            last_insert_id: 0,
            in_transaction: false,
            undo: Vec::new(),
            diagnostics: None,
            warned: 0,
            row_count: 0,
            found_rows: 1,
            collation,
            is_unsound: false,
            changes: Vec::new(),
            told_transaction: NO_TRANSACTION.to_owned(),
        }
    }

    /// The same, by a tracker that mixes up variables or not.
    pub(crate) fn tracked(self, is_unsound: bool) -> Self {
        Self { is_unsound, ..self }
    }

    /// The number of the collation in the definitions of columns. What is not converted is UTF-8.
    pub(crate) fn results_collation(&self) -> u16 {
        const NOT_CONVERTED: u16 = 33;
        let number = self.variables.get(catalog::RESULTS_COLLATION);
        let number = number.and_then(|number| number.parse().ok());
        number.unwrap_or(NOT_CONVERTED)
    }

    /// What ROW_COUNT() and FOUND_ROWS() are after a statement.
    pub(crate) fn count(&mut self, sql: &Sql, outcome: &Outcome) {
        self.row_count = match outcome {
            Outcome::Ok { affected_rows, .. } => *affected_rows as i64,
            _ => -1,
        };
        if let (Outcome::Rows(rows) | Outcome::Binary(rows), false) =
            (outcome, sql.keeps_found_rows())
        {
            self.found_rows = match sql.inner() {
                Sql::Count(from, to) => u64::from(to - from + 1),
                _ => rows.len() as u64,
            };
        }
    }

    /// COM_RESET_CONNECTION; the schema stays.
    pub(crate) fn reset(&mut self) {
        let schema = self.schema.take();
        let mut statements = std::mem::take(&mut self.statements);
        statements.close_all();
        *self = Self {
            schema,
            statements,
            // Neither server forgets that number.
            found_rows: self.found_rows,
            is_unsound: self.is_unsound,
            ..Self::new(self.collation)
        };
    }

    pub(crate) fn has_autocommit(&self) -> bool {
        self.variable("autocommit") == "ON"
    }

    pub(crate) fn variable(&self, name: &str) -> &str {
        self.variables.get(name).map_or("", String::as_str)
    }

    pub(crate) fn status(&self) -> ServerStatus {
        let sql_mode = self.variable("sql_mode");
        let mut status = ServerStatus::empty();
        status.set(ServerStatus::AUTOCOMMIT, self.has_autocommit());
        status.set(ServerStatus::IN_TRANS, self.in_transaction);
        status.set(
            ServerStatus::NO_BACKSLASH_ESCAPES,
            sql_mode.contains("NO_BACKSLASH_ESCAPES"),
        );
        status.set(ServerStatus::ANSI_QUOTES, sql_mode.contains("ANSI_QUOTES"));
        status
    }

    /// A table was used: without autocommit that begins a transaction.
    pub(crate) fn touch_table(&mut self) {
        self.in_transaction |= !self.has_autocommit();
    }

    /// Selects a schema.
    pub(crate) fn select(&mut self, schema: &str) {
        self.left_schema = self.schema.replace(schema.to_owned());
        if self.variable("session_track_schema") == "ON" {
            let mut entry = Vec::new();
            put_lenenc_bytes(&mut entry, schema.as_bytes());
            self.tell(1, &entry);
        }
        self.state_changed();
    }

    /// Tells the present value of a variable, if it is tracked.
    pub(crate) fn tell_variable(&mut self, name: &str) {
        let tracked = self.variable("session_track_system_variables");
        let told = match self.is_unsound {
            true => catalog::mixed_up(name),
            false => Some(name),
        };
        let Some(name) = told else {
            return self.state_changed();
        };
        if tracked == "*" || tracked.split(',').any(|tracked| tracked == name) {
            let value = self.variable(name).replace(catalog::NULL, "");
            let mut entry = Vec::new();
            put_lenenc_bytes(&mut entry, name.as_bytes());
            put_lenenc_bytes(&mut entry, value.as_bytes());
            self.tell(0, &entry);
        }
        self.state_changed();
    }

    /// The user variables that are not NULL: to a trigger they are all there are.
    pub(crate) fn user_values(&self) -> BTreeMap<String, String> {
        let values = self.user.iter();
        values
            .filter_map(|(name, value)| Some((name.clone(), value.clone()?)))
            .collect()
    }

    /// Something of the session changed.
    pub(crate) fn state_changed(&mut self) {
        if self.variable("session_track_state_change") == "ON" {
            self.tell(2, b"\x011");
        }
    }

    /// What changed since the last call, as an OK packet has it.
    pub(crate) fn take_changes(&mut self) -> Vec<u8> {
        let state = match (self.in_transaction, self.has_autocommit()) {
            (false, _) => NO_TRANSACTION,
            (true, true) => "T_______",
            (true, false) => "I___W___",
        };
        let tracked = self.variable("session_track_transaction_info") != "OFF";
        if tracked && self.told_transaction != state {
            let mut entry = Vec::new();
            put_lenenc_bytes(&mut entry, state.as_bytes());
            self.tell(5, &entry);
        }
        self.told_transaction = state.to_owned();
        std::mem::take(&mut self.changes)
    }

    fn tell(&mut self, kind: u8, entry: &[u8]) {
        self.changes.push(kind);
        put_lenenc_bytes(&mut self.changes, entry);
    }
}

//! What a client's own session is, and what it therefore must be told: a session and tables of its
//! own, on which each of its statements is run once more.

mod caused;
mod statements;
mod texts;
mod told;

use events::Span;
use session::statement::PinReason;

use super::answer::Answer;
use super::{Profile, Request, Sent};
use crate::catalog;
use crate::database::sql::Sql;
use crate::database::{
    Condition, Execution, NO_SUCH_TABLE, Outcome, Session, Storage, TRUNCATED_VALUE, Work,
    uses_table,
};
use crate::failure::{Broken, Rule, ensure};
use caused::Caused;
use texts::Doubts;
use told::{says, wrong};

const ALONE: usize = 0;

/// The session of one client as it should be.
pub(crate) struct Model {
    session: Session,
    storage: Storage,
    account: usize,
    /// The collation that a reset goes back to.
    asked_collation: u8,
    found_rows: bool,
    tracks: bool,
    /// CLIENT_MULTI_STATEMENTS.
    several: bool,
    /// CLIENT_LOCAL_FILES.
    files: bool,
    /// What SHOW WARNINGS would say is not known: the front door told an error of its own.
    diagnostics_unknown: bool,
    /// The same of ROW_COUNT().
    row_count_unknown: bool,
    /// The same of FOUND_ROWS().
    found_rows_unknown: bool,
    /// What SHOW WARNINGS may tell of at all.
    pub(crate) caused: Caused,
    /// Which of its texts may be gone.
    texts: Doubts,
    /// Where its transaction, or what pins it, lives.
    home: Option<usize>,
    was_pinned: bool,
    /// Where it was pinned before, until it is seen elsewhere.
    left: Option<usize>,
    /// How often it was seen elsewhere after a pin had ended.
    pub(crate) moved: u64,
}

impl Model {
    pub(crate) fn new(profile: &Profile) -> Self {
        let has = |flag| profile.capabilities.contains(flag);
        Self {
            session: Session::new(profile.collation),
            storage: Storage::default(),
            account: profile.account,
            asked_collation: profile.collation,
            found_rows: has(wire::Capabilities::FOUND_ROWS),
            tracks: has(wire::Capabilities::SESSION_TRACK),
            several: has(wire::Capabilities::MULTI_STATEMENTS),
            files: has(wire::Capabilities::LOCAL_FILES),
            diagnostics_unknown: false,
            row_count_unknown: false,
            found_rows_unknown: false,
            caused: Caused::default(),
            texts: Doubts::default(),
            home: None,
            was_pinned: false,
            left: None,
            moved: 0,
        }
    }

    /// A login, the first or another one, begins the session anew; what its tables hold stays.
    pub(crate) fn begin(&mut self, profile: &Profile) {
        self.work().rollback();
        self.storage.release_names(ALONE);
        let storage = std::mem::take(&mut self.storage);
        let (moved, found_rows) = (self.moved, self.session.found_rows);
        let unknown = self.found_rows_unknown;
        *self = Self::new(profile);
        (self.storage, self.moved) = (storage, moved);
        // Neither server forgets that number.
        (self.session.found_rows, self.found_rows_unknown) = (found_rows, unknown);
        if let Some(schema) = &profile.schema {
            self.session.select(schema);
        }
    }

    /// How long its statements may take, as it has set it.
    pub(crate) fn time_limit(&self) -> Span {
        let value = self.session.variables.get("max_statement_time");
        let seconds: Option<f64> = value.and_then(|value| value.parse().ok());
        let seconds = seconds.filter(|seconds| *seconds > 0.0);
        seconds.map_or(Span::from_secs(86_400), |seconds| {
            Span::from_ms((seconds * 1_000.0) as u64)
        })
    }

    pub(crate) fn in_transaction(&self) -> bool {
        self.session.in_transaction
    }

    /// How long the session may be silent, if it has set that to something of its own.
    pub(crate) fn wait_timeout(&self) -> Option<Span> {
        let seconds = self.session.variables.get("wait_timeout")?;
        let is_set = seconds != catalog::WAIT_TIMEOUT;
        seconds.parse().ok().filter(|_| is_set).map(Span::from_secs)
    }

    /// True if it has something that only its backend has.
    pub(crate) fn is_pinned(&self) -> bool {
        !self.session.temporaries.is_empty()
            || self.session.statements.stay()
            || self.session.statements.has_cursor()
            || self.session.tables_locked
            || self.has_texts()
            || !self.storage.names_of(ALONE).is_empty()
    }

    /// True if it has something of the kind.
    pub(crate) fn may_hold(&self, reason: PinReason) -> bool {
        match reason {
            PinReason::Prepared => self.session.statements.stay(),
            PinReason::Cursor => self.session.statements.has_cursor(),
            PinReason::TemporaryTable => !self.session.temporaries.is_empty(),
            PinReason::UserLock => !self.storage.names_of(ALONE).is_empty(),
            PinReason::LockTables => self.session.tables_locked,
            _ => self.is_pinned(),
        }
    }

    pub(crate) fn schema(&self) -> Option<&str> {
        self.session.schema.as_deref()
    }

    /// Whether the answers are right, after which the session is what the command made of it.
    /// `fickle` if a schema may be gone.
    pub(crate) fn check(
        &mut self,
        request: &Request,
        answers: &[Answer],
        fickle: bool,
    ) -> Result<(), Broken> {
        let [answer] = answers else {
            return self.check_multiple(request, answers, fickle);
        };
        let sql = match request {
            Request::Query(Sql::Multiple(_)) => {
                return self.check_multiple(request, answers, fickle);
            }
            Request::Query(sql) => {
                self.settle_doubt(sql, answer);
                self.session.texts.resolved(sql.clone())
            }
            Request::InitDb(schema) => Sql::Use(schema.clone()),
            Request::Ping => {
                self.row_count_unknown = true;
                self.session.warned = 0;
                return self.compare(&Outcome::DONE, answer, false);
            }
            Request::Reset => {
                self.reset();
                return self.compare(&Outcome::DONE, answer, false);
            }
            Request::Unsupported => {
                self.not_run();
                let expected = Outcome::Err(wire::code::UNKNOWN_COMMAND);
                return self.compare(&expected, answer, false);
            }
            Request::Kill(_) => {
                if let Answer::Err { code, .. } = answer {
                    self.failed(*code);
                }
                self.row_count_unknown = true;
                return Ok(());
            }
            _ => return self.check_statement_command(request, answer),
        };
        self.check_statement(&sql, answer, false)
    }

    /// Several statements in one text: each has its answer, up to the first error.
    fn check_multiple(
        &mut self,
        request: &Request,
        answers: &[Answer],
        fickle: bool,
    ) -> Result<(), Broken> {
        let Request::Query(Sql::Multiple(parts)) = request else {
            let text = format!("{request:?} had {} answers", answers.len());
            return Err(Broken::new(Rule::Answer, text));
        };
        if !self.several {
            let refused = Outcome::Err(wire::code::PARSE_ERROR);
            self.failed(wire::code::PARSE_ERROR);
            let first = answers.first().filter(|_| answers.len() == 1);
            return first.map_or(Ok(()), |answer| self.compare(&refused, answer, false));
        }
        for (at, answer) in answers.iter().enumerate() {
            let Some(sql) = parts.get(at) else {
                return Err(wrong(&"nothing more", answer));
            };
            match answer {
                Answer::Err { code, .. } if fickle && is_of_schema(*code) => self.failed(*code),
                _ => self.check_statement(sql, answer, at + 1 < parts.len())?,
            }
            self.diagnostics_unknown |= !matches!(answer, Answer::Err { .. }) && !uses_table(sql);
        }
        let failed = matches!(answers.last(), Some(Answer::Err { .. }));
        let complete = failed || answers.len() == parts.len();
        ensure(Rule::Answer, complete, || {
            format!("{} answers to {} statements", answers.len(), parts.len())
        })
    }

    fn check_statement(&mut self, sql: &Sql, answer: &Answer, more: bool) -> Result<(), Broken> {
        let more = more && !matches!(answer, Answer::Err { .. });
        let right = self.run_and_compare(sql, answer, more);
        self.count(sql, answer);
        right
    }

    fn run_and_compare(&mut self, sql: &Sql, answer: &Answer, more: bool) -> Result<(), Broken> {
        let unknown = match sql {
            sql if sql.asks_for_conditions() => self.diagnostics_unknown,
            Sql::RowCount => self.row_count_unknown,
            Sql::FoundRows => self.found_rows_unknown,
            _ => false,
        };
        if sql.asks_for_conditions() {
            self.caused.check(answer)?;
        }
        match (sql.inner(), answer) {
            (_, Answer::Rows { .. }) if unknown => Ok(()),
            (Sql::Insert, Answer::Ok { insert_id, .. }) if *insert_id > 0 => {
                let outcome = self.run(sql);
                self.session.last_insert_id = *insert_id;
                let Outcome::Ok { affected_rows, .. } = outcome else {
                    return Err(wrong(&outcome, answer));
                };
                let insert_id = *insert_id;
                let outcome = Outcome::Ok {
                    affected_rows,
                    insert_id,
                };
                self.compare(&outcome, answer, more)
            }
            // Somebody else may hold the name.
            (Sql::GetLock(name), Answer::Rows { rows, .. }) if says(rows, "0") => {
                (self.session.diagnostics, self.diagnostics_unknown) = (None, false);
                ensure(Rule::Answer, !self.storage.holds_name(name, ALONE), || {
                    format!("{name} is held and was not given once more")
                })
            }
            (Sql::ReleaseLock(name), Answer::Rows { rows, .. }) if says(rows, "0") => {
                ensure(Rule::Answer, !self.storage.holds_name(name, ALONE), || {
                    format!("{name} is held and was not released")
                })
            }
            _ => {
                let outcome = self.run(sql);
                self.compare(&outcome, answer, more)
            }
        }
    }

    /// What the session's counts are after an answer.
    fn count(&mut self, sql: &Sql, answer: &Answer) {
        let outcome = match answer {
            Answer::Ok { affected_rows, .. } => Outcome::Ok {
                affected_rows: *affected_rows,
                insert_id: 0,
            },
            Answer::Rows { rows, .. } => {
                self.found_rows_unknown &= sql.keeps_found_rows();
                Outcome::Rows(rows.clone())
            }
            Answer::Err { code, .. } => {
                // Servers disagree on what a SELECT that failed leaves.
                self.found_rows_unknown = true;
                Outcome::Err(*code)
            }
            Answer::Prepared { .. } => return,
        };
        self.row_count_unknown = false;
        self.session.count(sql, &outcome);
    }

    /// COM_RESET_CONNECTION: the session begins anew in its schema.
    fn reset(&mut self) {
        self.work().rollback();
        self.session.collation = self.asked_collation;
        self.session.reset();
        self.storage.release_names(ALONE);
        self.diagnostics_unknown = true;
        self.row_count_unknown = false;
    }

    /// The statement failed in the database: a deadlock takes the transaction with it.
    pub(crate) fn failed(&mut self, code: u16) {
        self.session.diagnostics = Some(Condition::Error(code));
        self.diagnostics_unknown = false;
        (self.row_count_unknown, self.found_rows_unknown) = (true, true);
        if code == wire::code::DEADLOCK {
            self.work().rollback();
        }
    }

    /// A KILL may have replaced what SHOW WARNINGS would say.
    pub(crate) fn loses_diagnostics(&mut self) {
        self.diagnostics_unknown = true;
        self.caused.note(wire::code::QUERY_INTERRUPTED);
    }

    /// The front door told an error of its own.
    pub(crate) fn not_run(&mut self) {
        self.diagnostics_unknown = true;
        (self.row_count_unknown, self.found_rows_unknown) = (true, true);
    }

    /// A KILL ended the command, perhaps after it had begun.
    pub(crate) fn interrupted(&mut self, request: &Request, ran: Option<&Execution>) {
        if let (Request::Query(sql), Some(_)) = (request, ran)
            && uses_table(sql)
        {
            // A read: it may have begun a transaction, unless it could not be run at all.
            self.work().run(sql);
        }
        self.not_run();
        self.gave_up(request);
    }

    /// Whether a statement ran on a backend that was in this session's state, which is that before
    /// the statement.
    pub(crate) fn check_place(&self, sent: &Sent, ran: &Execution) -> Result<(), Broken> {
        let tag = &sent.tag;
        let state = |holds: bool, what: &str| {
            ensure(Rule::State, holds, || {
                format!("{tag} ran with {what} of another session: {ran:?}")
            })
        };
        let session = &self.session;
        state(ran.account == self.account, "the account")?;
        state(ran.found_rows == self.found_rows, "CLIENT_FOUND_ROWS")?;
        // What is selected is replaced at once, and may have been dropped: it need not be restored.
        let selects = matches!(sent.request, Request::Query(Sql::Use(_)));
        state(selects || ran.schema == session.schema, "the schema")?;
        let variables = catalog::without_tracking(&session.variables);
        let differs = |(name, value): &(&String, &String)| {
            variables.get(*name) != Some(value) && *name != catalog::GLOBAL
        };
        let other = ran.variables.iter().find(differs);
        state(other.is_none(), &format!("the variable {other:?}"))?;
        if let Some(home) = self.home {
            ensure(Rule::Moved, ran.connection == home, || {
                format!(
                    "{tag} ran on #{}, its session is on #{home}",
                    ran.connection
                )
            })?;
        }
        let open = ran.in_transaction == session.in_transaction;
        ensure(Rule::State, open, || {
            format!("{tag} found in_transaction={}", ran.in_transaction)
        })?;
        let runs = self.runs(&sent.request);
        let sees = runs.is_some_and(Sql::sees_user_variables);
        state(!sees || ran.user == session.user_values(), "user variables")?;
        state(ran.temporaries == session.temporaries, "temporary tables")?;
        state(ran.tables_locked == session.tables_locked, "LOCK TABLES")?;
        state(ran.several == self.several, "CLIENT_MULTI_STATEMENTS")?;
        state(self.executes(&sent.request, ran), "a prepared statement")?;
        state(ran.locks == self.storage.names_of(ALONE), "named locks")
    }

    /// Where the session must stay after a statement ran there.
    pub(crate) fn settle(&mut self, ran: Option<&Execution>) {
        if let (Some(left), Some(ran)) = (self.left, ran) {
            self.moved += u64::from(ran.connection != left);
            self.left = None;
        }
        let pinned = self.is_pinned();
        if self.was_pinned && !pinned {
            self.left = self.home;
        }
        self.was_pinned = pinned;
        self.home = match self.session.in_transaction || self.is_pinned() {
            true => self.home.or(ran.map(|ran| ran.connection)),
            false => None,
        };
    }

    fn run(&mut self, sql: &Sql) -> Outcome {
        let outcome = self.work().run(sql);
        if *sql.inner() == Sql::Warn {
            self.caused.note(TRUNCATED_VALUE);
        }
        // Behind a text that may prepare others none is known by name, and so not whether it leaves the list.
        self.diagnostics_unknown |= matches!(sql, Sql::Executed(executed) if !executed.binary);
        self.diagnostics_unknown &= !settles_diagnostics(sql, &outcome);
        if !self.session.in_transaction {
            self.session.undo.clear();
        }
        outcome
    }

    fn work(&mut self) -> Work<'_> {
        Work {
            account: 0,
            session: &mut self.session,
            storage: &mut self.storage,
            connection: ALONE,
            found_rows: self.found_rows,
            // Of that clients are asked by what ran.
            global: String::new(),
        }
    }
}

/// True if what SHOW WARNINGS says afterwards does not depend on what was before.
fn settles_diagnostics(sql: &Sql, outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Err(_) | Outcome::Broken(..))
        || uses_table(sql)
        || *sql.inner() == Sql::Warn
}

/// True if the error may be that of a schema that is gone.
fn is_of_schema(code: u16) -> bool {
    matches!(code, wire::code::UNKNOWN_SCHEMA | NO_SUCH_TABLE)
}

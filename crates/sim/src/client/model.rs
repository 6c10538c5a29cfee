//! What a client's own session is, and what it therefore must be told: a session and tables of its
//! own, on which each of its statements is run once more.

use wire::{ServerStatus, StateChange, StateChanges};

use super::answer::Answer;
use super::{Profile, Request, Sent};
use crate::catalog;
use crate::database::sql::Sql;
use crate::database::{Execution, Outcome, Session, Storage, Work, uses_table};
use crate::failure::{Broken, Rule, ensure};

const ALONE: usize = 0;

/// The session of one client as it should be.
pub(crate) struct Model {
    session: Session,
    storage: Storage,
    account: usize,
    found_rows: bool,
    tracks: bool,
    /// What SHOW WARNINGS would say is not known: the front door told an error of its own.
    diagnostics_unknown: bool,
    /// Where its transaction, or what pins it, lives.
    home: Option<usize>,
}

impl Model {
    pub(crate) fn new(profile: &Profile) -> Self {
        let has = |flag| profile.capabilities.contains(flag);
        Self {
            session: Session::new(profile.collation),
            storage: Storage::default(),
            account: profile.account,
            found_rows: has(wire::Capabilities::FOUND_ROWS),
            tracks: has(wire::Capabilities::SESSION_TRACK),
            diagnostics_unknown: false,
            home: None,
        }
    }

    /// The login selected a schema.
    pub(crate) fn begin_in(&mut self, schema: &str) {
        self.session.select(schema);
    }

    pub(crate) fn in_transaction(&self) -> bool {
        self.session.in_transaction
    }

    /// True if it has something that only its backend has.
    pub(crate) fn is_pinned(&self) -> bool {
        self.session.user_variable.is_some()
            || !self.session.temporaries.is_empty()
            || !self.storage.names_of(ALONE).is_empty()
    }

    pub(crate) fn schema(&self) -> Option<&str> {
        self.session.schema.as_deref()
    }

    /// Whether the answer is right, after which the session is what the statement made of it.
    pub(crate) fn check(&mut self, request: &Request, answer: &Answer) -> Result<(), Broken> {
        let sql = match request {
            Request::Query(sql) => sql.clone(),
            Request::InitDb(schema) => Sql::Use(schema.clone()),
            Request::Ping => return self.compare(&Outcome::DONE, answer),
            Request::Reset => {
                self.work().rollback();
                self.session.reset();
                self.storage.release_names(ALONE);
                self.not_run();
                return self.compare(&Outcome::DONE, answer);
            }
            Request::Unsupported => {
                self.not_run();
                return self.compare(&Outcome::Err(wire::code::UNKNOWN_COMMAND), answer);
            }
            Request::Quit | Request::Garbage(_) => {
                return Err(wrong(&"silence", answer));
            }
        };
        match (&sql, answer) {
            (Sql::ShowWarnings, Answer::Rows { .. }) if self.diagnostics_unknown => Ok(()),
            (Sql::Insert, Answer::Ok { insert_id, .. }) if *insert_id > 0 => {
                let outcome = self.run(&sql);
                self.session.last_insert_id = *insert_id;
                let Outcome::Ok { affected_rows, .. } = outcome else {
                    return Err(wrong(&outcome, answer));
                };
                let insert_id = *insert_id;
                let outcome = Outcome::Ok {
                    affected_rows,
                    insert_id,
                };
                self.compare(&outcome, answer)
            }
            // Somebody else may hold the name.
            (Sql::GetLock(name), Answer::Rows { rows, .. }) if says(rows, "0") => ensure(
                Rule::Answer,
                !self.storage.names_of(ALONE).contains(name),
                || format!("{name} is held and was not given once more"),
            ),
            (Sql::ReleaseLock(name), Answer::Rows { rows, .. }) if says(rows, "0") => ensure(
                Rule::Answer,
                !self.storage.names_of(ALONE).contains(name),
                || format!("{name} is held and was not released"),
            ),
            _ => {
                let outcome = self.run(&sql);
                self.compare(&outcome, answer)
            }
        }
    }

    /// The statement failed in the database: a deadlock takes the transaction with it.
    pub(crate) fn failed(&mut self, code: u16) {
        self.session.diagnostics = Some(code);
        self.diagnostics_unknown = false;
        if code == wire::code::DEADLOCK {
            self.work().rollback();
        }
    }

    /// The front door told an error of its own.
    pub(crate) fn not_run(&mut self) {
        self.diagnostics_unknown = true;
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
        let differs = |(name, value): &(&String, &String)| variables.get(*name) != Some(value);
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
        state(ran.user_variable == session.user_variable, "@x")?;
        state(ran.temporaries == session.temporaries, "temporary tables")?;
        state(ran.locks == self.storage.names_of(ALONE), "named locks")
    }

    /// Where the session must stay after a statement ran there.
    pub(crate) fn settle(&mut self, ran: Option<&Execution>) {
        self.home = match self.session.in_transaction || self.is_pinned() {
            true => self.home.or(ran.map(|ran| ran.connection)),
            false => None,
        };
    }

    fn run(&mut self, sql: &Sql) -> Outcome {
        let outcome = self.work().run(sql);
        self.diagnostics_unknown &= !settles_diagnostics(sql, &outcome);
        if !self.session.in_transaction {
            self.session.undo.clear();
        }
        outcome
    }

    fn work(&mut self) -> Work<'_> {
        Work {
            session: &mut self.session,
            storage: &mut self.storage,
            connection: ALONE,
            found_rows: self.found_rows,
        }
    }

    fn compare(&self, expected: &Outcome, answer: &Answer) -> Result<(), Broken> {
        let same = match (expected, answer) {
            (
                Outcome::Ok {
                    affected_rows,
                    insert_id,
                },
                Answer::Ok {
                    affected_rows: rows,
                    insert_id: id,
                    status,
                    changes,
                },
            ) => {
                self.check_status(*status)?;
                self.check_changes(changes)?;
                (affected_rows, insert_id) == (rows, id)
            }
            (Outcome::Rows(rows), Answer::Rows { rows: told, status }) => {
                self.check_status(*status)?;
                rows == told
            }
            (
                Outcome::Err(code),
                Answer::Err {
                    code: told,
                    after_rows,
                },
            ) => code == told && !after_rows,
            (
                Outcome::Broken(_, code),
                Answer::Err {
                    code: told,
                    after_rows,
                },
            ) => code == told && *after_rows,
            _ => false,
        };
        if same {
            Ok(())
        } else {
            Err(wrong(expected, answer))
        }
    }

    fn check_status(&self, told: ServerStatus) -> Result<(), Broken> {
        let expected = self.session.status();
        let told = told - ServerStatus::SESSION_STATE_CHANGED;
        ensure(Rule::Answer, told == expected, || {
            format!("the status flags say {told:?} and not {expected:?}")
        })
    }

    /// What the client is told of changes must be what its session has come to.
    fn check_changes(&self, changes: &[u8]) -> Result<(), Broken> {
        ensure(Rule::Answer, self.tracks || changes.is_empty(), || {
            "a client that tracks nothing was told of changes".to_owned()
        })?;
        let ok = wire::OkPacket {
            state_changes: changes,
            ..wire::OkPacket::default()
        };
        let changes: StateChanges<'_> = ok.changes();
        for change in changes {
            let right = match change {
                StateChange::Schema(name) => self.schema().map(str::as_bytes) == Some(name),
                StateChange::SystemVariable { name, value } => {
                    let name = String::from_utf8_lossy(name);
                    let own = self.session.variable(&name).replace(catalog::NULL, "");
                    own.as_bytes() == value
                }
                _ => false,
            };
            ensure(Rule::Answer, right, || {
                format!("was told of a change that is not its own: {change:?}")
            })?;
        }
        Ok(())
    }
}

/// True if what SHOW WARNINGS says afterwards does not depend on what was before.
fn settles_diagnostics(sql: &Sql, outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Err(_) | Outcome::Broken(..)) || uses_table(sql)
}

fn says(rows: &[Vec<Option<String>>], value: &str) -> bool {
    matches!(rows, [row] if matches!(&row[..], [Some(told)] if told == value))
}

fn wrong(expected: &dyn std::fmt::Debug, answer: &Answer) -> Broken {
    let shorten = |text: String| text.chars().take(300).collect::<String>();
    let expected = shorten(format!("{expected:?}"));
    let told = shorten(format!("{answer:?}"));
    Broken::new(
        Rule::Answer,
        format!("expected {expected}, was told {told}"),
    )
}

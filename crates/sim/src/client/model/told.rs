//! Whether an answer is what a session must be told. Owns no session.

use wire::{ServerStatus, StateChange, StateChanges};

use super::{Answer, Model};
use crate::catalog;
use crate::database::{Outcome, PARAMETERS};
use crate::failure::{Broken, Rule, ensure};

impl Model {
    /// Whether an answer says what it must; `more` if another one follows.
    pub(super) fn compare(
        &self,
        expected: &Outcome,
        answer: &Answer,
        more: bool,
    ) -> Result<(), Broken> {
        if !same(expected, answer) {
            return Err(wrong(expected, answer));
        }
        let (Answer::Ok {
            status, warnings, ..
        }
        | Answer::Rows {
            status, warnings, ..
        }) = answer
        else {
            return Ok(());
        };
        let flags = expected.flags();
        self.check_status(*status - flags, more)?;
        self.check_flags(*status, flags)?;
        self.check_warnings(*warnings)?;
        match answer {
            Answer::Ok { changes, .. } => self.check_changes(changes),
            _ => Ok(()),
        }
    }

    fn check_warnings(&self, told: u16) -> Result<(), Broken> {
        let expected = self.session.warned;
        ensure(Rule::Answer, told == expected, || {
            format!("was told of {told} warnings and not of {expected}")
        })
    }

    fn check_status(&self, told: ServerStatus, more: bool) -> Result<(), Broken> {
        let mut expected = self.session.status();
        expected.set(ServerStatus::MORE_RESULTS_EXISTS, more);
        let told = told - ServerStatus::SESSION_STATE_CHANGED;
        ensure(Rule::Answer, told == expected, || {
            format!("the status flags say {told:?} and not {expected:?}")
        })
    }

    /// What is said of the statement alone.
    fn check_flags(&self, told: ServerStatus, expected: ServerStatus) -> Result<(), Broken> {
        ensure(Rule::Answer, told.contains(expected), || {
            format!("the status flags say {told:?} and lack {expected:?}")
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

/// True if an answer is of the right kind and has the right content.
fn same(expected: &Outcome, answer: &Answer) -> bool {
    match (expected, answer) {
        (
            Outcome::Ok {
                affected_rows,
                insert_id,
            },
            Answer::Ok {
                affected_rows: rows,
                insert_id: id,
                ..
            },
        ) => (affected_rows, insert_id) == (rows, id),
        (
            Outcome::Rows(rows) | Outcome::Binary(rows) | Outcome::Fetched(rows, _),
            Answer::Rows { rows: told, .. },
        ) => rows == told,
        (Outcome::Cursor(_) | Outcome::End, Answer::Rows { rows, .. }) => rows.is_empty(),
        (
            Outcome::Err(code) | Outcome::Broken(_, code),
            Answer::Err {
                code: told,
                after_rows,
            },
        ) => code == told && *after_rows == matches!(expected, Outcome::Broken(..)),
        (
            Outcome::Prepared { id, columns },
            Answer::Prepared {
                id: told,
                columns: of,
                parameters,
            },
        ) => (id, columns, PARAMETERS) == (told, of, *parameters),
        _ => false,
    }
}

/// True if the rows are this one value.
pub(super) fn says(rows: &[Vec<Option<String>>], value: &str) -> bool {
    matches!(rows, [row] if matches!(&row[..], [Some(told)] if told == value))
}

/// The answer is not what it must be.
pub(super) fn wrong(expected: &dyn std::fmt::Debug, answer: &Answer) -> Broken {
    let shorten = |text: String| text.chars().take(300).collect::<String>();
    let expected = shorten(format!("{expected:?}"));
    let told = shorten(format!("{answer:?}"));
    Broken::new(
        Rule::Answer,
        format!("expected {expected}, was told {told}"),
    )
}

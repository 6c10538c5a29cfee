//! The commands of prepared statements as packets, and COM_SET_OPTION. Owns no statement.

use wire::{Capabilities, Command, Reader, code};

use super::answer::Outcome;
use super::sql::{self, Sql};
use super::{Condition, Database, LAST, Outside};
use crate::failure::{Broken, Rule, ensure};
use crate::sabotage::Sabotage;

/// What a COM_STMT_EXECUTE says.
struct Execute {
    id: u32,
    cursor: bool,
    /// Whose it is.
    tag: String,
    /// Absent where it was sent ahead.
    value: Option<String>,
}

/// True for commands that have no response.
pub(super) fn is_silent(command: Command) -> bool {
    matches!(command, Command::StmtClose | Command::StmtSendLongData)
}

impl Database {
    /// A command that has no response.
    pub(super) fn silent(
        &mut self,
        id: usize,
        command: Command,
        argument: &[u8],
    ) -> Result<(), Broken> {
        let statement = statement_id(argument)?;
        let statements = &mut self.connections[id].session.statements;
        let known = match command {
            Command::StmtClose => statements.close(statement),
            _ => {
                let data = argument.get(6..).unwrap_or_default();
                statements.append(statement, &String::from_utf8_lossy(data))
            }
        };
        ensure(Rule::State, known, || {
            format!("{command:?} of statement {statement}, which #{id} does not have")
        })
    }

    /// A command that was ended before it began.
    pub(super) fn give_up_statement(
        &mut self,
        id: usize,
        command: Option<Command>,
        argument: &[u8],
    ) {
        let statements = &mut self.connections[id].session.statements;
        match (command, statement_id(argument)) {
            (Some(Command::StmtPrepare), _) => statements.forget_last(),
            (Some(Command::StmtExecute), Ok(statement)) => {
                statements.clear(statement);
            }
            _ => {}
        }
    }

    pub(super) fn statement_command(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        (command, argument): (Command, &[u8]),
    ) -> Result<(), Broken> {
        match command {
            Command::StmtPrepare => self.prepare(outside, id, argument),
            Command::StmtExecute => self.execute(outside, id, argument),
            Command::StmtFetch => {
                let rows = argument
                    .get(4..8)
                    .and_then(|rows| rows.first_chunk().copied());
                let rows = rows.map_or(0, u32::from_le_bytes) as usize;
                let session = &mut self.connections[id].session;
                session.warned = 0;
                let outcome = session.statements.fetch(statement_id(argument)?, rows);
                self.tell_known(outside, id, &outcome)
            }
            Command::StmtReset => {
                let session = &mut self.connections[id].session;
                session.warned = 0;
                let outcome = match session.statements.clear(statement_id(argument)?) {
                    true => Outcome::DONE,
                    false => Outcome::Err(code::UNKNOWN_STMT_HANDLER),
                };
                self.tell_known(outside, id, &outcome)
            }
            Command::SetOption => {
                let connection = &mut self.connections[id];
                connection.session.warned = 0;
                let on = argument == [0, 0];
                connection
                    .capabilities
                    .set(Capabilities::MULTI_STATEMENTS, on);
                self.tell(outside, id, &Outcome::End)
            }
            _ => Err(Broken::new(Rule::Protocol, format!("unknown {command:?}"))),
        }
    }

    fn prepare(&mut self, outside: &mut Outside<'_>, id: usize, text: &[u8]) -> Result<(), Broken> {
        let text = String::from_utf8_lossy(text);
        let unknown = || Broken::new(Rule::Protocol, format!("unknown statement {text}"));
        let (sql, tag) = sql::parse(&text).ok_or_else(unknown)?;
        // Whoever executes it elsewhere has it prepared there.
        if let Some(tag) = tag.filter(|tag| !self.executions.contains_key(*tag)) {
            self.write_down(id, &Sql::Nonsense, tag)?;
        }
        let session = &self.connections[id].session;
        let next = session.statements.next_id();
        let outcome = match &session.left_schema {
            Some(left) if self.sabotage == Some(Sabotage::LoseBinding) => {
                let schema = Some(left.clone());
                self.work(id).prepare_in(schema, (next, &sql))
            }
            _ => self.work(id).prepare(next, &sql),
        };
        self.tell(outside, id, &outcome)
    }

    fn execute(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        argument: &[u8],
    ) -> Result<(), Broken> {
        let execute = Execute::parse(argument)
            .map_err(|error| Broken::new(Rule::Protocol, format!("COM_STMT_EXECUTE: {error}")))?;
        // Now and then the server knows better than to open the cursor that was asked for.
        let cursor = execute.cursor && self.rng.u8(..) > 32;
        let statements = &mut self.connections[id].session.statements;
        let mut execute = execute;
        if self.sabotage == Some(Sabotage::SwapStatements) && execute.id > 1 {
            let other = execute.id - 1;
            execute.id = statements.get(other).map_or(execute.id, |_| other);
        }
        let executed = statements.begin(execute.id, execute.value.as_deref(), cursor);
        match executed {
            Some(executed) => {
                let sql = Sql::Executed(Box::new(executed));
                self.start(outside, id, sql, Some(execute.tag))
            }
            None => {
                let outcome = Outcome::Err(code::UNKNOWN_STMT_HANDLER);
                self.tell_known(outside, id, &outcome)
            }
        }
    }

    /// The front door knows which statements there are: it does not ask for others.
    fn tell_known(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        outcome: &Outcome,
    ) -> Result<(), Broken> {
        let known = *outcome != Outcome::Err(code::UNKNOWN_STMT_HANDLER);
        ensure(Rule::State, known, || {
            format!("a statement was named that #{id} does not have")
        })?;
        if let Outcome::Err(error) = outcome {
            self.connections[id].session.diagnostics = Some(Condition::Error(*error));
        }
        self.tell(outside, id, outcome)
    }
}

impl Execute {
    /// Source: "COM_STMT_EXECUTE" in the MySQL manual.
    fn parse(argument: &[u8]) -> Result<Self, wire::Malformed> {
        let mut reader = Reader::new(argument);
        let id = reader.bytes(4, "statement id")?;
        let id = id.first_chunk().copied().map_or(LAST, u32::from_le_bytes);
        let cursor = reader.bytes(1, "flags")? == [1];
        reader.bytes(4, "iterations")?;
        reader.bytes(1, "NULL bitmap")?;
        reader.bytes(1 + 2 * super::PARAMETERS, "types")?;
        let tag = reader.text_column("tag")?.unwrap_or_default();
        let tag = String::from_utf8_lossy(tag);
        let value = match reader.rest() {
            [] => None,
            rest => Reader::new(rest).text_column("value")?,
        };
        Ok(Self {
            id,
            cursor,
            tag: tag.trim_matches(['/', '*', ' ']).to_owned(),
            value: value.map(|value| String::from_utf8_lossy(value).into_owned()),
        })
    }
}

fn statement_id(argument: &[u8]) -> Result<u32, Broken> {
    let id = argument.first_chunk().copied().map(u32::from_le_bytes);
    id.ok_or_else(|| Broken::new(Rule::Protocol, "a command without a statement id"))
}

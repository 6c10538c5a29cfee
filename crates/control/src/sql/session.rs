//! The command phase: what a command is answered with.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::{KillOutcome, Victim};
use wire::{Command, OkPacket, code, encode_eof};

use super::error::SqlError;
use super::login::{Visitor, refuse};
use super::result_set::{self, STATUS};
use super::select::{Expression, Item};
use super::statement::{self, OTHERS, Statement};
use super::stream::{Ended, PAYLOAD_MAX, Stream};
use crate::desk::Desk;
use crate::office::{Changing, Office};
use crate::tables::{Kind, Listing, Subject, Value};

/// What was written for a client is sent when it is this much, in bytes.
const FLUSH_AT: usize = 32 << 10;

/// A logged-in administrator.
pub(super) struct Session {
    pub(super) desk: Arc<Desk>,
    pub(super) stream: Stream,
    pub(super) visitor: Visitor,
    pub(super) id: u32,
    /// What is to be said about the last statement.
    pub(super) warnings: Vec<String>,
}

impl Session {
    /// Answers commands until the connection ends. `time`: how long it may be silent.
    pub(super) async fn serve(mut self, time: Duration) -> Ended {
        loop {
            let payload = match self.stream.read(time).await {
                Ok(payload) => payload,
                Err(Ended::TooLong) => {
                    let text = format!("Got a packet bigger than {PAYLOAD_MAX} bytes");
                    let error = SqlError::new(code::PACKET_TOO_LARGE, b"08S01", text);
                    let told: Result<(), Ended> = refuse(&mut self.stream, &error).await;
                    return told.err().unwrap_or(Ended::TooLong);
                }
                Err(ended) => return ended,
            };
            if let Err(ended) = self.command(&payload).await {
                return ended;
            }
        }
    }

    async fn command(&mut self, payload: &[u8]) -> Result<(), Ended> {
        let (&command, argument) = payload.split_first().unwrap_or((&0, &[]));
        match Command::from_byte(command) {
            Some(Command::Quit) => return Err(Ended::Closed),
            Some(Command::Query) => {
                let answered = self.statement(argument).await?;
                answered.unwrap_or_else(|error| self.error(&error));
            }
            Some(Command::Ping | Command::ResetConnection) => self.ok(),
            Some(Command::SetOption) => {
                let sequence_id = self.stream.sequence_id;
                encode_eof(&mut self.stream.out, sequence_id, 0, STATUS);
            }
            Some(Command::InitDb) => {
                let text = format!("Unknown database '{}'", String::from_utf8_lossy(argument));
                self.error(&SqlError::new(code::UNKNOWN_SCHEMA, b"42000", text));
            }
            // These have no answer.
            Some(Command::StmtClose | Command::StmtSendLongData) => {}
            Some(Command::StmtPrepare) => {
                let text = "This command is not supported in the prepared statement protocol yet";
                self.error(&SqlError::new(code::UNSUPPORTED_PREPARED, b"HY000", text));
            }
            _ => self.error(&SqlError::new(
                code::UNKNOWN_COMMAND,
                b"08S01",
                "Unknown command",
            )),
        }
        self.stream.flush().await
    }

    async fn statement(&mut self, text: &[u8]) -> Result<Result<(), SqlError>, Ended> {
        let statement = match statement::parse(text) {
            Ok(statement) => statement,
            Err(error) => return Ok(Err(error)),
        };
        let tally = &self.desk.tallies.sql_statements;
        tally.fetch_add(1, Ordering::Relaxed);
        if self.visitor.read_only && statement.changes() {
            let text = "Access denied; this account is read_only";
            return Ok(Err(SqlError::new(code::PRIVILEGE_DENIED, b"42000", text)));
        }
        let warnings = std::mem::take(&mut self.warnings);
        match statement {
            Statement::Show(subject, filter) => {
                let listing = Listing::new(&self.desk, subject, filter).await;
                self.list(listing).await?;
            }
            Statement::ShowWarnings => self.show_warnings(warnings),
            Statement::ShowNothing(column) => self.table(&[(column, Kind::Text)], &[]),
            Statement::Help => self.help(),
            Statement::Select(items) => self.select(items),
            Statement::Kill(victim) => return Ok(self.kill(victim).await),
            Statement::Limit(whose, limits, lasts) => {
                let change = |office: &dyn Office| office.set_limits(&whose, &limits, lasts);
                return Ok(self.change(change).await);
            }
            Statement::Reload => return Ok(self.change(|office| office.reload()).await),
            Statement::FlushHosts(address) => self.flush_hosts(address),
            Statement::Nothing => self.ok(),
        }
        Ok(Ok(()))
    }

    async fn list(&mut self, mut listing: Listing) -> Result<(), Ended> {
        let client = self.visitor.capabilities;
        let columns = listing.columns().iter();
        let columns = columns.map(|column| (column.name, column.kind));
        result_set::begin(&mut self.stream, client, columns);
        while let Some(rows) = listing.next().await {
            for row in &rows {
                result_set::row(&mut self.stream, row);
            }
            if self.stream.out.len() >= FLUSH_AT {
                self.stream.flush().await?;
            }
        }
        self.warnings = listing.warnings();
        let warnings = u16::try_from(self.warnings.len()).unwrap_or(u16::MAX);
        result_set::end(&mut self.stream, client, warnings);
        Ok(())
    }

    fn table(&mut self, columns: &[(&str, Kind)], rows: &[Vec<Value>]) {
        let client = self.visitor.capabilities;
        result_set::begin(&mut self.stream, client, columns.iter().copied());
        for row in rows {
            result_set::row(&mut self.stream, row);
        }
        result_set::end(&mut self.stream, client, 0);
    }

    fn show_warnings(&mut self, warnings: Vec<String>) {
        let columns = [
            ("Level", Kind::Text),
            ("Code", Kind::Number),
            ("Message", Kind::Text),
        ];
        let code = u64::from(code::UNKNOWN_ERROR);
        let row = |text| vec!["Warning".into(), code.into(), Value::Text(text)];
        let rows: Vec<_> = warnings.into_iter().map(row).collect();
        self.table(&columns, &rows);
    }

    fn help(&mut self) {
        let tables = Subject::ALL.into_iter().map(|subject| {
            let name = subject.name().to_ascii_uppercase();
            let statement = format!("SHOW {name} [LIKE 'pattern'] [LIMIT [offset,] count]");
            vec![statement.into(), subject.help().into()]
        });
        let others = OTHERS.iter();
        let others = others.map(|(statement, help)| vec![(*statement).into(), (*help).into()]);
        let rows: Vec<_> = tables.chain(others).collect();
        self.table(&[("statement", Kind::Text), ("does", Kind::Text)], &rows);
    }

    fn select(&mut self, items: Vec<Item>) {
        let values: Vec<(String, Value)> = items
            .into_iter()
            .map(|item| {
                let value = match item.value {
                    Expression::Constant(value) => value,
                    Expression::User => format!("{}@%", self.visitor.user).into(),
                    Expression::ConnectionId => u64::from(self.id).into(),
                };
                (item.name, value)
            })
            .collect();
        let kind = |value: &Value| match value {
            Value::Number(_) => Kind::Number,
            Value::None | Value::Text(_) => Kind::Text,
        };
        let columns = values.iter();
        let columns: Vec<_> = columns
            .map(|(name, value)| (name.as_str(), kind(value)))
            .collect();
        let row = values.iter().map(|(_, value)| value.clone()).collect();
        self.table(&columns, &[row]);
    }

    async fn kill(&mut self, victim: Victim) -> Result<(), SqlError> {
        let id = victim.id;
        let no_such = |text| SqlError::new(code::NO_SUCH_THREAD, b"HY000", text);
        match self.desk.kill(victim).await {
            Some(KillOutcome::Done) => self.ok(),
            Some(KillOutcome::NoSuchThread(_)) => {
                return Err(no_such(format!("Unknown thread id: {id}")));
            }
            Some(KillOutcome::NotOwner(_)) => {
                return Err(no_such(format!("thread {id} is still logging in")));
            }
            None | Some(KillOutcome::Lost) => {
                return Err(SqlError::failed(
                    "the worker of this session does not answer",
                ));
            }
        }
        tracing::info!(id, query = victim.query, administrator = %self.visitor.user, "killed");
        Ok(())
    }

    fn flush_hosts(&mut self, address: Option<IpAddr>) {
        let shared = &self.desk.facts.shared;
        let forgotten = match address {
            Some(address) => usize::from(shared.flush_host(address)),
            None => shared.flush_hosts(),
        };
        if let (Some(address), 0) = (address, forgotten) {
            self.warnings.push(format!(
                "{address} had not failed to log in; SHOW HOSTS lists the addresses that did"
            ));
        }
        let host = address.map_or("all".to_owned(), |address| address.to_string());
        tracing::info!(host, forgotten, administrator = %self.visitor.user, "hosts flushed");
        let ok = OkPacket {
            affected_rows: forgotten as u64,
            status: STATUS,
            warnings: self.warnings.len() as u16,
            ..OkPacket::default()
        };
        ok.encode(&mut self.stream.out, self.stream.sequence_id, 0x00);
    }

    async fn change(
        &mut self,
        change: impl FnOnce(&dyn Office) -> Changing,
    ) -> Result<(), SqlError> {
        let office = self.desk.facts.office.clone();
        let office = office.ok_or_else(|| SqlError::failed("limits cannot be changed here"))?;
        let changing = change(office.as_ref());
        changing.await.map_err(SqlError::failed)?;
        tracing::info!(administrator = %self.visitor.user, "limits changed by a statement");
        self.ok();
        Ok(())
    }

    fn ok(&mut self) {
        let ok = OkPacket {
            status: STATUS,
            ..OkPacket::default()
        };
        ok.encode(&mut self.stream.out, self.stream.sequence_id, 0x00);
    }

    fn error(&mut self, error: &SqlError) {
        let (packet, sequence_id) = (error.packet(), self.stream.sequence_id);
        let client = self.visitor.capabilities;
        packet.encode(&mut self.stream.out, sequence_id, client);
    }
}

//! Statements at work: running them, writing down what ran, planning their answers, and ending
//! what they leave.

use events::Handle;
use wire::{Capabilities, ServerStatus, code};

use super::answer::Outcome;
use super::connection::{Connection, Execution, Phase, Running};
use super::kill::is_interruptible;
use super::session::Condition;
use super::sql::Sql;
use super::{Database, Outside};
use crate::catalog;
use crate::failure::{Broken, Rule, ensure};
use crate::sabotage::Sabotage;
use crate::schedule::Event;

impl Database {
    /// Runs a statement that has all its locks, and plans the answer.
    pub(super) fn run(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        sql: &Sql,
        tag: Option<&str>,
    ) -> Result<(), Broken> {
        let again = tag.is_some_and(|tag| self.executions.contains_key(tag));
        if let Some(tag) = tag {
            self.write_down(id, sql, tag)?;
        }
        match sql {
            Sql::Executed(executed) if executed.binary => self.executed += 1,
            Sql::Executed(_) => self.texts += 1,
            _ => {}
        }
        let outcome = self.run_here(id, sql, again);
        let writes = matches!(sql.inner(), Sql::Bump(_) | Sql::WriteKey(..));
        if let (Some(Sabotage::RepeatWrites), Some(tag), true) = (self.sabotage, tag, writes)
            && self.rng.u8(..) < 32
        {
            self.write_down(id, sql, tag)?;
            self.work(id).run(sql);
        }
        let extra = match sql.inner() {
            Sql::Sleep(ms) => ms * 1_000,
            _ => 0,
        };
        self.tell_later(outside, id, &outcome, extra);
        // What the front door sets may be set and answered with an error all the same.
        let restores = tag.is_none() && matches!(sql, Sql::Set(_));
        self.connections[id].interruptible = restores || is_interruptible(sql);
        Ok(())
    }

    /// Runs the statements of one text up to the first error, and plans their answers as one.
    pub(super) fn run_multiple(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        parts: &[Sql],
        tag: Option<&str>,
    ) -> Result<(), Broken> {
        if let Some(tag) = tag {
            self.write_down(id, &Sql::Multiple(parts.to_vec()), tag)?;
        }
        let capabilities = self.connections[id].capabilities;
        if !capabilities.contains(Capabilities::MULTI_STATEMENTS) {
            let error = Condition::Error(code::PARSE_ERROR);
            self.connections[id].session.diagnostics = Some(error);
            return self.tell(outside, id, &Outcome::Err(code::PARSE_ERROR));
        }
        let (mut answer, mut next) = (Vec::new(), 1);
        for (at, sql) in parts.iter().enumerate() {
            let outcome = self.run_here(id, sql, false);
            let mut more = ServerStatus::empty();
            more.set(ServerStatus::MORE_RESULTS_EXISTS, at + 1 < parts.len());
            let session = &mut self.connections[id].session;
            next = outcome.put(&mut answer, (next, more), session);
            self.end_statement(id);
            if matches!(outcome, Outcome::Err(_) | Outcome::Broken(..)) {
                break;
            }
        }
        self.plan_answer(outside, id, answer, 0);
        Ok(())
    }

    fn run_here(&mut self, id: usize, sql: &Sql, again: bool) -> Outcome {
        let session = &mut self.connections[id].session;
        match (sql, self.sabotage) {
            (Sql::Clear, Some(Sabotage::KeepWarnings)) => return Outcome::value("1"),
            (Sql::ToldCount, Some(Sabotage::StrangersCounts)) => {
                return Outcome::value(session.row_count.to_string());
            }
            (Sql::SetGlobal(value), _) => self.globals.set(*value),
            (Sql::CountViews(_), Some(Sabotage::HideViews)) => return Outcome::value("0"),
            (Sql::FoundRows, Some(Sabotage::LoseFoundRows)) => {
                session.found_rows = session.found_rows.min(1);
            }
            (Sql::ReadUserBack(_), Some(Sabotage::LoseUserVariables)) => session.user.clear(),
            (Sql::AskVariables(names), Some(Sabotage::LoseUntold)) => {
                let begun = catalog::defaults(session.collation);
                let lost = begun.into_iter().filter(|(name, _)| names.contains(name));
                session.variables.extend(lost);
            }
            (Sql::Warn, Some(Sabotage::LoseRepeated)) if again => return Outcome::value("1"),
            _ => {}
        }
        self.work(id).run(sql)
    }

    pub(super) fn write_down(&mut self, id: usize, sql: &Sql, tag: &str) -> Result<(), Broken> {
        ensure(Rule::Abandoned, !self.forbidden.contains(tag), || {
            format!("{tag} ran although its client had hung up before it was sent")
        })?;
        let connection = &self.connections[id];
        let session = &connection.session;
        let before = self.executions.get(tag);
        let times = before.map_or(1, |before| before.times + 1);
        // What ran once more in vain may do so again.
        let lost = before.is_some_and(|before| !self.connections[before.connection].is_alive());
        let may_again = sql.is_repeatable() && (times == 2 || lost);
        ensure(Rule::Once, times == 1 || may_again, || {
            format!("{tag} ran {times} times: {sql:?}")
        })?;
        let execution = Execution {
            connection: id,
            account: connection.account,
            found_rows: self.finds_rows(id),
            schema: session.schema.clone(),
            variables: crate::catalog::without_tracking(&session.variables),
            user: session.user_values(),
            temporaries: session.temporaries.clone(),
            locks: self.storage.names_of(id),
            tables_locked: session.tables_locked,
            prepared: match sql {
                Sql::Executed(executed) => {
                    Some((executed.prepared.clone(), executed.binding.clone()))
                }
                _ => None,
            },
            several: connection
                .capabilities
                .contains(Capabilities::MULTI_STATEMENTS),
            in_transaction: session.in_transaction,
            times,
        };
        self.executions.insert(tag.to_owned(), execution);
        Ok(())
    }

    /// A statement of a client is at work from now on.
    pub(super) fn note_running(&mut self, id: usize, sql: &Sql, tag: Option<&str>) {
        let named = !self.storage.names_of(id).is_empty();
        let connection = &mut self.connections[id];
        let bound = named || connection.session.is_bound();
        if !connection.session.in_transaction {
            connection.opener = tag.map(|tag| (tag.to_owned(), bound));
        }
        let writes = matches!(
            sql.inner(),
            Sql::Bump(_) | Sql::WriteKey(..) | Sql::Insert | Sql::Begin
        );
        connection.running = tag.map(|tag| Running {
            tag: tag.to_owned(),
            bound,
            writes,
        });
    }

    /// The statements of clients that are at work, with the place of their account and the handle of
    /// their connection.
    pub(crate) fn running(&self) -> impl Iterator<Item = (usize, Handle, &Running)> {
        let busy = |connection: &&Connection| {
            matches!(
                connection.phase,
                Phase::Working | Phase::Blocked | Phase::Upload
            )
        };
        let connections = self.connections.iter().filter(busy);
        connections.filter_map(|connection| {
            let running = connection.running.as_ref()?;
            Some((connection.account, connection.handle, running))
        })
    }

    /// The statements that began the open transactions, unless their session was pinned, and those at
    /// work that are transactions by themselves; with the handle of their connection.
    pub(crate) fn transactions(&self, account: usize) -> impl Iterator<Item = (&str, Handle)> {
        let open = move |connection: &Connection| {
            let running = connection.running.as_ref();
            let writes = running.is_some_and(|running| running.writes);
            connection.account == account
                && connection.is_alive()
                && (connection.session.in_transaction || writes)
        };
        let connections = self.connections.iter();
        connections
            .filter(move |connection| open(connection))
            .filter_map(|connection| {
                let (tag, bound) = connection.opener.as_ref()?;
                (!bound).then_some((&tag[..], connection.handle))
            })
    }

    /// Plans the answer of a command that nothing can block.
    pub(super) fn tell(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        outcome: &Outcome,
    ) -> Result<(), Broken> {
        self.tell_later(outside, id, outcome, 0);
        Ok(())
    }

    pub(super) fn tell_later(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        outcome: &Outcome,
        us: u64,
    ) {
        let connection = &mut self.connections[id];
        let hidden = self.sabotage == Some(Sabotage::HideTransactions);
        let open = connection.session.in_transaction;
        connection.session.in_transaction &= !hidden;
        let answer = outcome.encode(&mut connection.session);
        connection.session.in_transaction = open;
        self.plan_answer(outside, id, answer, us);
    }

    pub(super) fn plan_answer(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        answer: Vec<u8>,
        us: u64,
    ) {
        let connection = &mut self.connections[id];
        connection.answer = answer;
        connection.interruptible = false;
        connection.phase = Phase::Working;
        connection.number += 1;
        let number = connection.number;
        let us = us
            + self
                .health
                .service_us(&mut self.rng, outside.schedule.now());
        let connection = id;
        let event = Event::Done { connection, number };
        outside.schedule.after_us(us, event);
    }

    /// An autocommit statement is over: what it wrote stays, its locks go.
    pub(super) fn end_statement(&mut self, id: usize) {
        let session = &mut self.connections[id].session;
        if !session.in_transaction {
            session.undo.clear();
            self.storage.unlock_rows(id);
        }
    }

    /// Takes a connection and everything of its session away.
    pub(super) fn forget(&mut self, id: usize) {
        self.work(id).rollback();
        self.storage.release_names(id);
        let connection = &mut self.connections[id];
        connection.phase = Phase::Closed;
        connection.running = None;
        connection.blocked = None;
        connection.upload = None;
        connection.inbox = Vec::new();
    }
}

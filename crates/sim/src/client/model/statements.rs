//! Prepared statements and files, as the client's own session has them.

use super::told::wrong;
use super::{Answer, Model, Request};
use crate::database::sql::Sql;
use crate::database::{Execution, FILES_NOT_ALLOWED, Outcome};
use crate::failure::{Broken, Rule, ensure};

impl Model {
    /// The ids of its prepared statements.
    pub(crate) fn statements(&self) -> Vec<u32> {
        self.session.statements.ids()
    }

    /// The statement that a request runs, if it is one.
    pub(crate) fn runs<'a>(&'a self, request: &'a Request) -> Option<&'a Sql> {
        match request {
            Request::Query(Sql::ExecuteText(name)) => {
                self.session.texts.get(name).map(|text| &text.sql)
            }
            Request::Query(sql) => Some(sql),
            Request::Execute(execute) => {
                let statement = self.session.statements.get(execute.id);
                statement.map(|statement| &statement.sql)
            }
            _ => None,
        }
    }

    /// The schema that the tables of a prepared statement are in.
    pub(crate) fn bound_schema(&self, request: &Request) -> Option<&str> {
        if let Request::Query(Sql::ExecuteText(name)) = request {
            return self.session.texts.get(name)?.binding.schema.as_deref();
        }
        let Request::Execute(execute) = request else {
            return None;
        };
        let statement = self.session.statements.get(execute.id)?;
        statement.binding.schema.as_deref()
    }

    /// True if what ran is the prepared statement that the request names, as it was prepared.
    pub(super) fn executes(&self, request: &Request, ran: &Execution) -> bool {
        if let Request::Query(Sql::ExecuteText(name)) = request {
            return self.texts.executes(&self.session, name, ran);
        }
        let (Request::Execute(execute), Some((sql, binding))) = (request, &ran.prepared) else {
            return ran.prepared.is_none();
        };
        let own = self.session.statements.get(execute.id);
        own.is_some_and(|own| own.sql == *sql && own.binding.means_the_same(binding, sql))
    }

    /// True if the request may pin the session.
    pub(crate) fn pins(&self, request: &Request) -> bool {
        match request {
            Request::Execute(execute) => {
                let runs = self.runs(request).cloned().map(Request::Query);
                execute.cursor || runs.is_some_and(|runs| runs.pins())
            }
            Request::Prepare(Sql::Schema) => self.session.schema.is_none(),
            request => request.pins(),
        }
    }

    /// True if running it may change a table.
    pub(crate) fn writes(&self, request: &Request) -> bool {
        matches!(request, Request::Load(_)) || self.runs(request).is_some_and(Sql::writes)
    }

    /// The command came to nothing in the database.
    pub(crate) fn gave_up(&mut self, request: &Request) {
        match request {
            Request::Prepare(_) => self.session.statements.forget_last(),
            Request::Execute(execute) => {
                self.session.statements.clear(execute.id);
            }
            Request::Query(Sql::PrepareText(name, _)) => self.texts.doubt(name),
            _ => {}
        }
    }

    /// A command without a response is over. What is about no statement of this session does nothing.
    pub(crate) fn passed(&mut self, request: &Request) {
        match request {
            Request::LongData(id, data) => self.session.statements.append(*id, data),
            Request::CloseStatement(id) => self.session.statements.close(*id),
            _ => false,
        };
    }

    pub(super) fn check_statement_command(
        &mut self,
        request: &Request,
        answer: &Answer,
    ) -> Result<(), Broken> {
        let expected = match request {
            Request::Prepare(sql) => self.prepared(sql, answer)?,
            Request::Execute(execute) => {
                let opened = matches!(answer, Answer::Rows { status, .. }
                    if status.contains(wire::ServerStatus::CURSOR_EXISTS));
                let value = execute.value.as_deref();
                let statements = &mut self.session.statements;
                match statements.begin(execute.id, value, execute.cursor && opened) {
                    Some(executed) => {
                        let sql = Sql::Executed(Box::new(executed));
                        let right = self.check_statement(&sql, answer, false);
                        self.row_count_unknown |= opened;
                        self.found_rows_unknown |= opened;
                        return right;
                    }
                    None => Outcome::Err(wire::code::UNKNOWN_STMT_HANDLER),
                }
            }
            Request::Fetch(id, rows) => self.session.statements.fetch(*id, *rows as usize),
            Request::ResetStatement(id) => match self.session.statements.clear(*id) {
                true => Outcome::DONE,
                false => Outcome::Err(wire::code::UNKNOWN_STMT_HANDLER),
            },
            Request::SetOption(on) => {
                self.several = *on;
                Outcome::End
            }
            Request::Load(rows) => self.loaded(rows),
            _ => return Err(wrong(&"silence", answer)),
        };
        match &expected {
            Outcome::Err(wire::code::UNKNOWN_STMT_HANDLER | wire::code::NO_OPEN_CURSOR) => {
                self.not_run();
            }
            Outcome::Err(code) => self.failed(*code),
            Outcome::Ok { .. } if matches!(request, Request::Load(_)) => {}
            _ => {
                self.session.warned = 0;
                (self.row_count_unknown, self.found_rows_unknown) = (true, true);
            }
        }
        self.compare(&expected, answer, false)
    }

    /// The id is the front door's to choose.
    fn prepared(&mut self, sql: &Sql, answer: &Answer) -> Result<Outcome, Broken> {
        let id = match answer {
            Answer::Prepared { id, .. } => *id,
            _ => 0,
        };
        ensure(Rule::Answer, !self.statements().contains(&id), || {
            format!("a second statement has the id {id}")
        })?;
        Ok(self.work().prepare(id, sql))
    }

    fn loaded(&mut self, rows: &[(u32, i64)]) -> Outcome {
        if !self.files {
            return Outcome::Err(FILES_NOT_ALLOWED);
        }
        let outcome = self.work().load(rows);
        if !self.session.in_transaction {
            self.session.undo.clear();
        }
        self.diagnostics_unknown = false;
        (self.row_count_unknown, self.found_rows_unknown) = (false, self.found_rows_unknown);
        outcome
    }
}

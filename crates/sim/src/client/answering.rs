//! What a client makes of the answers to what it sent: each must be what its own session would have
//! been told, or there must be a reason.

use super::answer::{Answer, AnswerReader};
use super::reasons::Excuse;
use super::{Client, Phase, Request, Sent, Surroundings};
use crate::catalog::GLOBAL;
use crate::database::Execution;
use crate::database::sql::Sql;
use crate::failure::{Broken, Rule, ensure};

impl Client {
    /// Deals with the answer to the oldest command. False if more bytes are needed.
    pub(super) fn read_answer(&mut self, around: &mut Surroundings<'_>) -> Result<bool, Broken> {
        let deprecate_eof = self.deprecates_eof();
        let request = self.waiting.front().map(|sent| &sent.request);
        let reader = self
            .reader
            .get_or_insert_with(|| AnswerReader::new(deprecate_eof, request));
        let answers = reader.read(&mut self.inbox).map_err(|error| {
            let text = format!("client {}: {error}", self.profile.client);
            Broken::new(Rule::Protocol, text)
        })?;
        let Some(answers) = answers else {
            if reader.asks_for_file() {
                self.begin_upload(around)?;
            }
            return Ok(false);
        };
        (self.reader, self.upload) = (None, None);
        self.answered(around, &answers).map_err(|broken| {
            let client = self.profile.client;
            Broken::new(broken.rule, format!("client {client}: {}", broken.text))
        })?;
        Ok(true)
    }

    fn answered(
        &mut self,
        around: &mut Surroundings<'_>,
        answers: &[Answer],
    ) -> Result<(), Broken> {
        let Some(answer) = answers.last() else {
            return Ok(());
        };
        ensure(Rule::Protocol, !self.told_end, || {
            format!("was told {answer:?} after the end")
        })?;
        let Some(sent) = self.waiting.pop_front() else {
            return self.told_unasked(around, answer);
        };
        self.answers += 1;
        let excuse = match (answer, &sent.request) {
            (Answer::Err { .. }, Request::Garbage(_)) => Excuse::Over,
            (Answer::Err { code, .. }, _) => self.excuse(&sent, *code, around)?,
            _ => Excuse::None,
        };
        if excuse == Excuse::Over {
            self.told_end = true;
            // Whatever else was sent is not answered any more.
            self.waiting.push_front(sent);
            return Ok(());
        }
        let ran = around.database.executions.get(&sent.tag).cloned();
        // What is on its way in a lane may run yet; what has run there may not run again.
        let runs_yet = ran.is_none()
            && self.may_have_moved(&sent, answer)
            && around.database.will_run(around.outside.network, &sent.tag);
        if excuse == Excuse::NotRun && !runs_yet {
            around.database.forbidden.insert(sent.tag.clone());
        }
        self.take_in(&sent, answers, (excuse, ran.as_ref()))?;
        self.note(around, &sent, answer, ran.as_ref())?;
        self.answered_at = sent.at;
        self.model.settle(ran.as_ref());
        self.pass_silent();
        if self.waiting.is_empty() {
            self.think(around);
        }
        Ok(())
    }

    /// What became of a command, for the session that this client should have.
    fn take_in(
        &mut self,
        sent: &Sent,
        answers: &[Answer],
        (excuse, ran): (Excuse, Option<&Execution>),
    ) -> Result<(), Broken> {
        let Some(answer) = answers.last() else {
            return Ok(());
        };
        self.model.caused.told(answers);
        match (excuse, ran) {
            (Excuse::Failed, Some(_)) => return Err(ran_and_was_told(sent, answer)),
            (Excuse::NotRun, ran) => {
                if ran.is_some() && !self.may_have_moved(sent, answer) {
                    return Err(ran_and_was_told(sent, answer));
                }
                self.refused += 1;
                self.model.not_run();
                self.model.gave_up(&sent.request);
            }
            (Excuse::Interrupted, _) => {
                self.interrupted += 1;
                let undone = ran.is_none() || !self.model.writes(&sent.request);
                ensure(Rule::Abandoned, undone, || {
                    format!("{} wrote and was told that it was interrupted", sent.tag)
                })?;
                self.model.interrupted(&sent.request, ran);
            }
            (Excuse::Failed, None) => {
                if let Answer::Err { code, .. } = answer {
                    self.model.failed(*code);
                }
                self.model.gave_up(&sent.request);
            }
            (Excuse::SchemaGone, Some(ran)) if sent.request.is_multiple() => {
                self.model.check_place(sent, ran)?;
                self.model.check(&sent.request, answers, true)?;
            }
            (Excuse::SchemaGone, _) => {
                self.model.not_run();
                self.schema_gone(sent, answer, ran)?;
                self.model.gave_up(&sent.request);
            }
            (Excuse::None | Excuse::Over, _) => {
                if let Some(ran) = ran {
                    self.model.check_place(sent, ran)?;
                }
                self.model.check(&sent.request, answers, false)?;
            }
        }
        Ok(())
    }

    /// True for a read that may have been sent to another backend for what was before it in its lane,
    /// and has waited too long for that: what becomes of it in the lane is not told.
    fn may_have_moved(&self, sent: &Sent, answer: &Answer) -> bool {
        const TIMEOUT: u16 = wire::code::TOO_MANY_USER_CONNECTIONS;
        let alone = !self.model.in_transaction() && !self.model.is_pinned();
        let waited = matches!(answer, Answer::Err { code: TIMEOUT, .. });
        waited && alone && matches!(&sent.request, Request::Query(sql) if sql.is_repeatable())
    }

    /// What an answer says of others than this client.
    fn note(
        &mut self,
        around: &mut Surroundings<'_>,
        sent: &Sent,
        answer: &Answer,
        ran: Option<&Execution>,
    ) -> Result<(), Broken> {
        let now = around.outside.schedule.now();
        around.kills.check_there(self.profile.client, sent.at)?;
        if around.kills.aims_at(self.profile.client, sent.at) {
            self.model.loses_diagnostics();
        }
        if let Some(ran) = ran {
            let value = ran.variables.get(GLOBAL).map_or("", String::as_str);
            let fits = around.database.globals.may_have(value, self.began);
            ensure(Rule::State, fits, || {
                format!("{} ran with an old {GLOBAL}={value}", sent.tag)
            })?;
        }
        match (&sent.request, answer) {
            (Request::Kill(_), _) => {
                let error = match answer {
                    Answer::Err { code, .. } => Some(*code),
                    _ => None,
                };
                around.kills.answered(self.profile.client, error, now)?;
            }
            (Request::Query(Sql::SetGlobal(value)), Answer::Ok { .. }) => {
                around.database.globals.known(*value, now);
            }
            (Request::Reset, Answer::Ok { .. }) => self.began = sent.at,
            (Request::SetOption(on), Answer::Rows { .. }) => {
                let flag = wire::Capabilities::MULTI_STATEMENTS;
                self.profile.capabilities.set(flag, *on);
            }
            _ => {}
        }
        Ok(())
    }

    /// A schema that is gone is told of by a restore, and then no write has run, or by the
    /// statement itself.
    fn schema_gone(
        &mut self,
        sent: &Sent,
        answer: &Answer,
        ran: Option<&Execution>,
    ) -> Result<(), Broken> {
        let Some(ran) = ran else { return Ok(()) };
        let by_restore =
            matches!(answer, Answer::Err { code, .. } if *code == wire::code::UNKNOWN_SCHEMA);
        let is_use = matches!(&sent.request, Request::Query(Sql::Use(_)));
        if !by_restore || is_use {
            return self.model.check_place(sent, ran);
        }
        ensure(Rule::State, !self.model.writes(&sent.request), || {
            format!("{} ran although its schema could not be selected", sent.tag)
        })
    }

    fn told_unasked(&mut self, around: &Surroundings<'_>, answer: &Answer) -> Result<(), Broken> {
        match answer {
            Answer::Err { .. } if self.phase == Phase::Leaving => Ok(()),
            Answer::Err { code, .. } if *code == wire::code::SERVER_SHUTDOWN => {
                self.told_end = true;
                self.excuse_end(around, "1053 unasked")
            }
            _ => Err(Broken::new(
                Rule::Answer,
                format!("was told {answer:?} without having asked"),
            )),
        }
    }
}

/// What did not run by its answer ran all the same.
fn ran_and_was_told(sent: &Sent, answer: &Answer) -> Broken {
    let text = format!("{} ran and was answered {answer:?}", sent.tag);
    Broken::new(Rule::Abandoned, text)
}

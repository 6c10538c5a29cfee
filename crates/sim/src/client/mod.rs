//! A simulated client: it logs in, sends its script, checks each answer against its own session,
//! and leaves in one of many ways.

mod answer;
mod kills;
mod login;
mod model;
mod profile;
mod reasons;
mod request;
mod script;
mod sending;

use std::collections::VecDeque;

use engine::Settings;
use events::{Handle, HangUp, Timestamp};
use fastrand::Rng;

use crate::catalog::GLOBAL;
use crate::database::sql::Sql;
use crate::database::{Database, Execution, Outside};
use crate::failure::{Broken, Rule, ensure};
use answer::{Answer, AnswerReader};
use model::Model;
use profile::Exit;
use reasons::Excuse;

pub(crate) use kills::Kills;
pub(crate) use profile::Profile;
pub(crate) use request::Request;

/// What a client acts on and knows of the world.
pub(crate) struct Surroundings<'a> {
    pub(crate) outside: Outside<'a>,
    pub(crate) database: &'a mut Database,
    pub(crate) kills: &'a mut Kills,
    pub(crate) settings: &'a Settings,
    /// The workers were told to drain.
    pub(crate) drained: bool,
}

/// How far a client has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Coming,
    Handshake,
    Login,
    Commands,
    /// It said goodbye and waits to be closed.
    Leaving,
    Ended,
}

/// A command that was sent and is not answered.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) tag: String,
    request: Request,
    at: Timestamp,
}

pub(crate) struct Client {
    pub(crate) profile: Profile,
    pub(crate) phase: Phase,
    pub(crate) handle: Option<Handle>,
    pub(crate) waiting: VecDeque<Sent>,
    model: Model,
    inbox: Vec<u8>,
    reader: Option<AnswerReader>,
    rng: Rng,
    /// Commands sent so far.
    sent: u32,
    /// Counts what was planned, so that only the last plan is followed.
    number: u64,
    hangs_up_next: bool,
    login_sequence: u8,
    /// When its session began, or began anew.
    began: Timestamp,
    nonce: [u8; 20],
    /// When it sent the last command that was answered.
    answered_at: Timestamp,
    /// It was told that the connection ends.
    told_end: bool,
    /// Answers that were checked.
    pub(crate) answers: u64,
    /// Statements that a KILL ended.
    pub(crate) interrupted: u64,
}

impl Client {
    pub(crate) fn new(mut rng: Rng, number: usize) -> Self {
        let profile = Profile::new(&mut rng, number);
        Self {
            model: Model::new(&profile),
            profile,
            phase: Phase::Coming,
            handle: None,
            waiting: VecDeque::new(),
            inbox: Vec::new(),
            reader: None,
            rng,
            sent: 0,
            number: 0,
            hangs_up_next: false,
            login_sequence: 0,
            began: Timestamp::ZERO,
            nonce: [0; 20],
            answered_at: Timestamp::ZERO,
            told_end: false,
            answers: 0,
            interrupted: 0,
        }
    }

    /// Its connection was made.
    pub(crate) fn connected(&mut self, handle: Handle, now: Timestamp) {
        self.handle = Some(handle);
        self.phase = Phase::Handshake;
        self.answered_at = now;
    }

    /// The time for the next thing has come.
    pub(crate) fn act(&mut self, around: &mut Surroundings<'_>, number: u64) -> Result<(), Broken> {
        let over = self.told_end || matches!(self.phase, Phase::Leaving | Phase::Ended);
        if number != self.number || over {
            return Ok(());
        }
        if self.hangs_up_next {
            return self.hang_up(around);
        }
        if self.sent < self.profile.commands {
            self.send_next(around);
        } else if self.waiting.is_empty() {
            if self.profile.exit == Exit::Close {
                return self.hang_up(around);
            }
            self.send(around, Request::Quit);
            self.phase = Phase::Leaving;
        }
        Ok(())
    }

    /// Bytes of the front door came.
    pub(crate) fn received(
        &mut self,
        around: &mut Surroundings<'_>,
        bytes: &[u8],
    ) -> Result<(), Broken> {
        self.inbox.extend_from_slice(bytes);
        loop {
            let more = match self.phase {
                Phase::Coming | Phase::Ended => false,
                Phase::Handshake | Phase::Login => self.log_in(around)?,
                Phase::Commands | Phase::Leaving => self.read_answer(around)?,
            };
            if !more || self.inbox.is_empty() {
                return Ok(());
            }
        }
    }

    /// The front door ended the connection.
    pub(crate) fn ended(&mut self, around: &mut Surroundings<'_>) -> Result<(), Broken> {
        if self.phase == Phase::Ended {
            return Ok(());
        }
        if !self.told_end && self.phase != Phase::Leaving {
            self.excuse_end(around, "nothing and closed")?;
        }
        // What it sent and what did not go on by now never will.
        let database = &mut around.database;
        for sent in &self.waiting {
            if !database.will_run(around.outside.network, &sent.tag) {
                database.forbidden.insert(sent.tag.clone());
            }
        }
        self.leave(around)
    }

    /// It never got a connection.
    pub(crate) fn turned_away(&mut self) {
        self.phase = Phase::Ended;
    }

    fn hang_up(&mut self, around: &mut Surroundings<'_>) -> Result<(), Broken> {
        let how = match self.rng.bool() {
            true => HangUp::Closed,
            false => HangUp::Failed(104),
        };
        let outside = &mut around.outside;
        if let Some(handle) = self.handle {
            outside.network.end_by_peer(outside.schedule, handle, how);
        }
        self.leave(around)
    }

    /// The connection is over: what was sent last may have run, and then in the right place.
    fn leave(&mut self, around: &mut Surroundings<'_>) -> Result<(), Broken> {
        self.phase = Phase::Ended;
        let now = around.outside.schedule.now();
        around.kills.asker_gone(self.profile.client, now);
        let Some(sent) = self.waiting.front() else {
            return Ok(());
        };
        if reasons::fickle_since(around, sent.at) {
            return Ok(());
        }
        match around.database.executions.get(&sent.tag) {
            Some(ran) => self.model.check_place(sent, ran),
            None => Ok(()),
        }
    }

    /// Deals with the answer to the oldest command. False if more bytes are needed.
    fn read_answer(&mut self, around: &mut Surroundings<'_>) -> Result<bool, Broken> {
        let deprecate_eof = self.deprecates_eof();
        let reader = self
            .reader
            .get_or_insert_with(|| AnswerReader::new(deprecate_eof));
        let answers = reader.read(&mut self.inbox).map_err(|error| {
            let text = format!("client {}: {error}", self.profile.client);
            Broken::new(Rule::Protocol, text)
        })?;
        let Some(answers) = answers else {
            return Ok(false);
        };
        self.reader = None;
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
        let ran = around.database.executions.get(&sent.tag).cloned();
        match (excuse, &ran) {
            (Excuse::Over, _) => {
                self.told_end = true;
                // Whatever else was sent is not answered any more.
                self.waiting.push_front(sent);
                return Ok(());
            }
            (Excuse::NotRun | Excuse::Failed, Some(_)) => {
                let text = format!("{} ran and was answered {answer:?}", sent.tag);
                return Err(Broken::new(Rule::Abandoned, text));
            }
            (Excuse::Interrupted, ran) => {
                self.interrupted += 1;
                self.model.interrupted(&sent.request, ran.as_ref());
            }
            (Excuse::NotRun, None) => {
                self.model.not_run();
                around.database.forbidden.insert(sent.tag.clone());
            }
            (Excuse::Failed, None) => {
                if let Answer::Err { code, .. } = answer {
                    self.model.failed(*code);
                }
            }
            (Excuse::SchemaGone, Some(ran)) if sent.request.is_multiple() => {
                self.model.check_place(&sent, ran)?;
                self.model.check(&sent.request, answers, true)?;
            }
            (Excuse::SchemaGone, ran) => {
                self.model.not_run();
                self.schema_gone(&sent, answer, ran.as_ref())?;
            }
            (Excuse::None, ran) => {
                if let Some(ran) = ran {
                    self.model.check_place(&sent, ran)?;
                }
                self.model.check(&sent.request, answers, false)?;
            }
        }
        self.note(around, &sent, answer, ran.as_ref())?;
        self.answered_at = sent.at;
        self.model.settle(ran.as_ref());
        if self.waiting.is_empty() {
            self.think(around);
        }
        Ok(())
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
        ensure(Rule::State, !sent.request.writes(), || {
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

    fn deprecates_eof(&self) -> bool {
        let flag = wire::Capabilities::DEPRECATE_EOF;
        self.profile.capabilities.contains(flag)
    }
}

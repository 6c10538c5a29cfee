//! A simulated client: it logs in, sends its script, checks each answer against its own session,
//! and leaves in one of many ways.

mod answer;
mod answering;
mod kills;
mod login;
mod model;
mod profile;
mod reasons;
mod request;
mod script;
mod sending;
mod statements;
mod upload;
mod vanishing;

use std::collections::VecDeque;

use engine::Settings;
use events::{Handle, HangUp, Timestamp};
use fastrand::Rng;
use session::statement::PinReason;

use crate::database::{Database, Outside};
use crate::failure::Broken;
use crate::quotas::Quotas;
use answer::AnswerReader;
use model::Model;
use profile::Exit;

pub(crate) use kills::Kills;
pub(crate) use profile::{Profile, SLOW_READERS};
pub(crate) use request::Request;

/// What a client acts on and knows of the world.
pub(crate) struct Surroundings<'a> {
    pub(crate) outside: Outside<'a>,
    pub(crate) database: &'a mut Database,
    pub(crate) kills: &'a mut Kills,
    pub(crate) settings: &'a Settings,
    pub(crate) quotas: &'a Quotas,
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
    /// Nothing is heard of it any more.
    Vanished,
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
    /// The file that it is sending.
    upload: Option<upload::Upload>,
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
    /// Statements that were not run, for want of a backend or of the right to be pinned.
    pub(crate) refused: u64,
}

impl Client {
    pub(crate) fn new(mut rng: Rng, number: usize) -> Self {
        let profile = Profile::new(&mut rng, number);
        Self::with_profile(rng, profile)
    }

    pub(crate) fn with_profile(rng: Rng, profile: Profile) -> Self {
        Self {
            model: Model::new(&profile),
            profile,
            phase: Phase::Coming,
            handle: None,
            waiting: VecDeque::new(),
            inbox: Vec::new(),
            reader: None,
            upload: None,
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
            refused: 0,
        }
    }

    /// When it sent the statement, if that is not answered yet.
    pub(crate) fn sent_at(&self, tag: &str) -> Option<Timestamp> {
        let sent = self.waiting.iter().find(|sent| sent.tag == tag)?;
        Some(sent.at)
    }

    /// Its connection was made.
    pub(crate) fn connected(&mut self, handle: Handle, now: Timestamp) {
        self.handle = Some(handle);
        self.phase = Phase::Handshake;
        self.answered_at = now;
    }

    /// The time for the next thing has come.
    pub(crate) fn act(&mut self, around: &mut Surroundings<'_>, number: u64) -> Result<(), Broken> {
        if number == self.number && self.phase == Phase::Vanished {
            return self.is_gone(around);
        }
        let over = self.told_end || matches!(self.phase, Phase::Leaving | Phase::Ended);
        if number != self.number || over {
            return Ok(());
        }
        if self.hangs_up_next {
            return self.hang_up(around);
        }
        if self.upload.is_some() {
            return self.go_on_uploading(around);
        }
        if self.sent < self.profile.commands {
            self.send_next(around);
        } else if self.waiting.is_empty() && self.profile.exit != Exit::Stay {
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
        if self.profile.exit == Exit::Amid(self.sent.wrapping_sub(1))
            && self.phase == Phase::Commands
            && !self.waiting.is_empty()
        {
            return self.hang_up(around);
        }
        loop {
            let more = match self.phase {
                Phase::Coming | Phase::Vanished | Phase::Ended => false,
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

    /// How often its session went on elsewhere after a pin had ended.
    pub(crate) fn moved(&self) -> u64 {
        self.model.moved
    }

    /// True unless its session is known to hold nothing for which it could be pinned so.
    pub(crate) fn may_hold(&self, reason: PinReason) -> bool {
        match self.phase {
            Phase::Ended => false,
            // COM_CHANGE_USER may wait for what its session runs; until then that is as it was.
            Phase::Login | Phase::Vanished => true,
            _ => !self.waiting.is_empty() || self.model.may_hold(reason),
        }
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

    fn deprecates_eof(&self) -> bool {
        let flag = wire::Capabilities::DEPRECATE_EOF;
        self.profile.capabilities.contains(flag)
    }
}

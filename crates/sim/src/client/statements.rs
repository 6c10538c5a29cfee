//! What a client does with prepared statements, by chance.

use super::request::Execute;
use super::{Client, Request, script};
use crate::database::LAST;

impl Client {
    /// The next command that is about prepared statements.
    pub(super) fn next_of_statements(&mut self) -> Request {
        let ids = self.model.statements();
        if ids.is_empty() || self.rng.u8(0..4) == 0 {
            return Request::Prepare(script::preparable(&mut self.rng, self.profile.client));
        }
        let id = match self.rng.u8(0..40) {
            // Perhaps somebody else's.
            0 => self.rng.u32(0..6),
            1..6 => LAST,
            _ => self.rng.choice(ids).unwrap_or(LAST),
        };
        match self.rng.u8(0..20) {
            0..10 => Request::Execute(self.execute(id)),
            10..13 => Request::Fetch(id, self.rng.u32(1..4)),
            13 | 14 => Request::LongData(id, format!("long {} ", self.rng.u8(..))),
            15 => Request::ResetStatement(id),
            _ => Request::CloseStatement(id),
        }
    }

    /// True if something is to be sent behind this without waiting for the answer: MariaDB's clients
    /// execute a statement before they know its id.
    pub(super) fn follows(&mut self, request: &Request) -> bool {
        let pipelined = matches!(request, Request::Prepare(_)) && self.rng.u8(0..3) == 0;
        if pipelined {
            let execute = self.execute(LAST);
            self.profile.script.push(Request::Execute(execute));
        }
        pipelined
    }

    /// Commands without a response are over once those before them are.
    pub(super) fn pass_silent(&mut self) {
        while let Some(sent) = self.waiting.front()
            && sent.request.is_silent()
        {
            self.model.passed(&sent.request);
            self.waiting.pop_front();
            self.model.settle(None);
        }
    }

    fn execute(&mut self, id: u32) -> Execute {
        Execute {
            id,
            cursor: self.rng.u8(0..3) == 0,
            value: (self.rng.u8(0..8) > 0).then(|| format!("value {}", self.rng.u32(..))),
        }
    }
}

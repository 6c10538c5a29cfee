//! One connection to a database of its own, which answers at once: for benches and tests that need an engine that is
//! logged in and set up, without a network, a clock or faults.

use events::Handle;
use wire::{Command, whole_packet};

use super::answer::Outcome;
use super::connection::{Connection, Phase};
use super::execute::Work;
use super::storage::Storage;
use super::{globals::Globals, login, sql};
use crate::failure::{Broken, Rule};

const NONCE: [u8; 20] = [b'n'; 20];

/// A backend as the engine sees it.
pub struct Backend {
    connection: Connection,
    storage: Storage,
}

impl Backend {
    /// A connection that was just accepted, and the packet that the server sends first.
    #[must_use]
    pub fn greeting() -> (Self, Vec<u8>) {
        let backend = Self {
            connection: Connection::new(Handle::NONE, NONCE, false),
            storage: Storage::default(),
        };
        (backend, login::initial_handshake(1, NONCE))
    }

    /// The answers to all complete commands that the engine has sent so far.
    pub fn answers(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Broken> {
        let mut answers = Vec::new();
        self.connection.inbox.extend_from_slice(bytes);
        while let Ok(packet) = whole_packet(&self.connection.inbox) {
            let (consumed, payload) = (packet.consumed, packet.payload.bytes().to_vec());
            self.connection.inbox.drain(..consumed);
            let answer = match self.connection.phase {
                Phase::Login => login::answer(&mut self.connection, &payload, false)?,
                _ => self.answer(&payload)?,
            };
            answers.extend(answer);
        }
        Ok(answers)
    }

    fn answer(&mut self, payload: &[u8]) -> Result<Vec<u8>, Broken> {
        let (command, argument) = payload.split_first().unwrap_or((&0, b""));
        let text = String::from_utf8_lossy(argument);
        let parsed = || {
            let unknown = || Broken::new(Rule::Protocol, format!("unknown statement {text}"));
            sql::parse(&text).map(|(sql, _)| sql).ok_or_else(unknown)
        };
        let mut work = Work {
            session: &mut self.connection.session,
            storage: &mut self.storage,
            connection: 0,
            account: self.connection.account,
            found_rows: false,
            global: Globals::new().current().to_string(),
        };
        let outcome = match Command::from_byte(*command) {
            Some(Command::Query) => match parsed()? {
                // Like most databases it has no triggers.
                sql::Sql::ListStored => Outcome::Rows(Vec::new()),
                sql => work.run(&sql),
            },
            Some(Command::InitDb) => work.run(&sql::Sql::Use(text.into_owned())),
            Some(Command::StmtPrepare) => {
                let next = work.session.statements.next_id();
                work.prepare(next, &parsed()?)
            }
            Some(Command::StmtClose | Command::Quit) => return Ok(Vec::new()),
            Some(Command::ResetConnection) => {
                work.session.reset();
                Outcome::DONE
            }
            Some(Command::Ping) => Outcome::DONE,
            _ => {
                let text = format!("command {command:#x} is not answered here");
                return Err(Broken::new(Rule::Protocol, text));
            }
        };
        Ok(outcome.encode(&mut self.connection.session))
    }
}

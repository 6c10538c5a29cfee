//! KILL QUERY as the servers do it: it hits the statement that runs or, when it comes late, the one that follows;
//! or nothing, while no command has been read. Owns no decision of whom to kill.

use fastrand::Rng;
use wire::{Command, code, whole_packet};

use super::answer::{Outcome, put_err};
use super::connection::Phase;
use super::session::Condition;
use super::sql::Sql;
use super::{Database, Outside};
use crate::failure::Broken;
use crate::sabotage::Sabotage;
use crate::schedule::Event;

/// How a KILL finds a statement that is at work.
enum Found {
    /// It ends now.
    Ends,
    /// It had just passed its last look at the flag, and takes the flag with it.
    Finishes,
    /// It is over already but for its answer: the flag stays for the next one.
    Over,
}

impl Database {
    /// Ends what `victim` runs, or what it will run next.
    pub(super) fn kill_query(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        victim: usize,
    ) -> Result<(), Broken> {
        let there = |phase| !matches!(phase, Phase::Login | Phase::Closing | Phase::Closed);
        let phase = self.connections.get(victim).map(|c| c.phase);
        match phase.filter(|&phase| there(phase)) {
            None => return self.tell(outside, id, &Outcome::Err(code::NO_SUCH_THREAD)),
            Some(Phase::Blocked) => self.interrupt_blocked(outside, victim)?,
            Some(Phase::Working) => match self.found(victim) {
                Found::Ends => self.interrupt_working(outside, victim),
                Found::Finishes => {}
                Found::Over => self.connections[victim].killed = true,
            },
            Some(Phase::Ready) if self.rng.bool() => {}
            Some(_) => self.connections[victim].killed = true,
        }
        self.tell(outside, id, &Outcome::DONE)
    }

    /// True if a KILL that came late ends this command before it begins.
    pub(super) fn is_killed(&mut self, id: usize, command: Option<Command>) -> bool {
        let misses = self.sabotage == Some(Sabotage::PingMissesKill);
        if misses && command == Some(Command::Ping) {
            return false;
        }
        let killed = std::mem::take(&mut self.connections[id].killed);
        let noticed = match command {
            Some(Command::Ping) => self.rng.bool(),
            Some(
                Command::Query | Command::InitDb | Command::StmtPrepare | Command::StmtExecute,
            ) => true,
            _ => false,
        };
        if killed && noticed {
            self.note_interruption(id);
        }
        killed && noticed
    }

    fn found(&mut self, victim: usize) -> Found {
        let interruptible = self.connections[victim].interruptible;
        match self.rng.u8(0..4) {
            0 | 1 if interruptible => Found::Ends,
            2 => Found::Finishes,
            _ => Found::Over,
        }
    }

    fn interrupt_blocked(&mut self, outside: &mut Outside<'_>, id: usize) -> Result<(), Broken> {
        self.connections[id].blocked = None;
        self.note_interruption(id);
        self.tell(outside, id, &Outcome::Err(code::QUERY_INTERRUPTED))
    }

    fn interrupt_working(&mut self, outside: &mut Outside<'_>, id: usize) {
        self.note_interruption(id);
        let begun = self.rng.bool();
        let connection = &mut self.connections[id];
        let error = Outcome::Err(code::QUERY_INTERRUPTED);
        match without_last(&connection.answer).filter(|_| begun) {
            // Its rows were sent, but for what ends them.
            Some((rows, sequence_id)) => {
                connection.answer.truncate(rows);
                put_err(&mut connection.answer, sequence_id, code::QUERY_INTERRUPTED);
            }
            None => connection.answer = error.encode(&mut connection.session),
        }
        connection.number += 1;
        let event = Event::Done {
            connection: id,
            number: connection.number,
        };
        let us = soon(&mut self.rng);
        outside.schedule.after_us(us, event);
    }

    pub(super) fn note_interruption(&mut self, id: usize) {
        let session = &mut self.connections[id].session;
        session.diagnostics = Some(Condition::Error(code::QUERY_INTERRUPTED));
        session.warned = 0;
    }
}

/// True for statements that can end at any time without a trace.
pub(super) fn is_interruptible(sql: &Sql) -> bool {
    matches!(
        sql,
        Sql::Literal(_)
            | Sql::Repeat(_)
            | Sql::Sleep(_)
            | Sql::ReadKey(_)
            | Sql::ReadRange(..)
            | Sql::ReadVariables(_)
            | Sql::LastInsertId
            | Sql::Harmless
            | Sql::ShowWarnings
    )
}

/// How long an answer is without its last packet, and the sequence id of that.
fn without_last(answer: &[u8]) -> Option<(usize, u8)> {
    let mut at = 0;
    loop {
        let packet = whole_packet(&answer[at..]).ok()?;
        if at + packet.consumed == answer.len() {
            return Some((at, packet.sequence_id));
        }
        at += packet.consumed;
    }
}

fn soon(rng: &mut Rng) -> u64 {
    rng.u64(5..60)
}

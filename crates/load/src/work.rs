//! Transactions: begun, carried on with each right answer, and counted at their end. How their
//! statements are sent is in [`crate::sending`].

use events::{Close, HangUp, Io, Timestamp};
use membership::Key;

use crate::answer::{Answer, Form, Verdict};
use crate::connection::{Connection, State, Underway};
use crate::generator::{Generator, Mail, Phase};
use crate::tally::ErrorNumber;
use crate::workload::{put_quit, put_rollback};

/// What became of an answer, as far as the connection goes on.
#[derive(Clone, Copy)]
enum Outcome {
    Right,
    Wrong,
    Prepared { variant: u32, id: u32 },
    Failed,
    Broken,
}

impl Generator {
    /// What a logged-in connection without a transaction does: begin one, think, or wait.
    pub(crate) fn next_transaction<I: Io<Mail>>(&mut self, io: &mut I, key: Key, now: Timestamp) {
        let Some(team) = self.team_of(key) else {
            return;
        };
        if team.script.is_none() {
            return self.connections.enter(key, State::Held);
        }
        let intended = match &mut team.arrivals {
            None => Some(now),
            Some(arrivals) => arrivals.take(now),
        };
        match intended {
            Some(intended) => self.begin(io, key, intended, now),
            None => self.connections.enter(key, State::Held),
        }
    }

    /// Begins with a transaction that was to begin at `intended`.
    pub(crate) fn begin<I: Io<Mail>>(
        &mut self,
        io: &mut I,
        key: Key,
        intended: Timestamp,
        now: Timestamp,
    ) {
        let mut rng = self.rng.fork();
        let Some(team) = self.team_of(key) else {
            return;
        };
        let transaction = team
            .script
            .as_ref()
            .map_or(0, |script| script.choose(&mut rng));
        let reconnects = team.group.workload.is_reconnect();
        let underway = Underway {
            transaction: transaction as u16,
            step: 0,
            failed: false,
            seed: rng.u64(..),
            intended,
        };
        if let Some(connection) = self.connections.get_mut(key) {
            connection.transaction = Some(underway);
        }
        if reconnects {
            self.leave(io, key);
        } else {
            self.send_step(io, key, None, now);
        }
    }

    /// A packet of an answer.
    pub(crate) fn answer_packet<I: Io<Mail>>(
        &mut self,
        io: &mut I,
        key: Key,
        packet: &[u8],
        now: Timestamp,
    ) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let Some(team) = self.teams.get_mut(usize::from(connection.group())) else {
            return;
        };
        let number = connection.number();
        let State::Busy(pending) = &mut connection.state else {
            return;
        };
        let outcome = match pending.answer.packet(packet) {
            Ok(None) => return,
            Ok(Some(Verdict::Right)) => Outcome::Right,
            Ok(Some(Verdict::Prepared(id))) => Outcome::Prepared {
                variant: pending.variant,
                id,
            },
            Ok(Some(Verdict::Wrong(what))) => {
                team.tally.wrong(|| format!("connection {number}: {what}"));
                Outcome::Wrong
            }
            Ok(Some(Verdict::Err(error))) => {
                team.tally.err_packet(&error);
                Outcome::Failed
            }
            Err(error) => {
                team.tally.wrong(|| format!("connection {number}: {error}"));
                team.tally.reconnects += 1;
                Outcome::Broken
            }
        };
        self.go_on(io, key, outcome, now);
    }

    fn go_on<I: Io<Mail>>(&mut self, io: &mut I, key: Key, outcome: Outcome, now: Timestamp) {
        let stopping = matches!(self.phase, Phase::Stop(_));
        match outcome {
            Outcome::Broken => {
                self.forget_transaction(key);
                self.give_up_socket(io, key);
            }
            Outcome::Right | Outcome::Wrong => {
                self.step_done(key, matches!(outcome, Outcome::Wrong), now);
                if stopping {
                    return self.quit(io, key);
                }
                self.after_step(io, key, now);
            }
            Outcome::Failed | Outcome::Prepared { .. } if stopping => self.quit(io, key),
            Outcome::Prepared { variant, id } => {
                if let Some(connection) = self.connections.get_mut(key) {
                    remember(connection, variant, id);
                }
                self.send_step(io, key, Some(variant), now);
            }
            Outcome::Failed => self.after_error(io, key, now),
        }
    }

    /// Counts a statement that was answered, and the transaction if it was its last.
    fn step_done(&mut self, key: Key, wrong: bool, now: Timestamp) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let Some(team) = self.teams.get_mut(usize::from(connection.group())) else {
            return;
        };
        let (Some(script), Some(underway)) = (&team.script, &mut connection.transaction) else {
            return;
        };
        let (transaction, step) = (
            usize::from(underway.transaction),
            usize::from(underway.step),
        );
        if let Some(template) = script.statement(transaction, step).filter(|_| !wrong) {
            team.tally.answered(template.kind);
        }
        underway.failed |= wrong;
        underway.step += 1;
        if script.statement(transaction, step + 1).is_none() {
            if !underway.failed {
                let latency = now.since(underway.intended);
                let patience = team.patience();
                team.tally.completed(latency, patience);
            }
            connection.transaction = None;
        }
    }

    fn after_step<I: Io<Mail>>(&mut self, io: &mut I, key: Key, now: Timestamp) {
        let goes_on = |connection: &Connection| connection.transaction.is_some();
        if self.connections.get(key).is_some_and(goes_on) {
            return self.send_step(io, key, None, now);
        }
        let think_time = self.team_of(key).map(|team| team.think_time());
        match think_time {
            Some(span) if span > events::Span::ZERO => {
                self.connections.enter(key, State::Thinking(now + span));
            }
            _ => self.next_transaction(io, key, now),
        }
    }

    /// An ERR ends the transaction; one that may be open in the server is rolled back.
    fn after_error<I: Io<Mail>>(&mut self, io: &mut I, key: Key, now: Timestamp) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let step = connection
            .transaction
            .take()
            .map_or(0, |underway| underway.step);
        if step == 0 {
            return self.after_step(io, key, now);
        }
        let expectation = put_rollback(io.outbox(connection.handle));
        let answer = Answer::new(expectation, Form::Text, connection.deprecate_eof);
        self.await_answer(key, answer, 0, now);
    }

    /// The other side has ended the connection.
    pub(crate) fn lost<I: Io<Mail>>(&mut self, io: &mut I, key: Key, how: HangUp, now: Timestamp) {
        let Some(connection) = self.connections.get(key) else {
            return;
        };
        let in_login = matches!(connection.state, State::Login(..));
        let Some(team) = self.team_of(key) else {
            return;
        };
        if in_login {
            team.tally.hung_up_at_login(how);
            self.pause_connecting(key, now);
        } else {
            team.tally.reconnects += 1;
            self.forget_transaction(key);
        }
        self.give_up_socket(io, key);
    }

    /// Says goodbye and gets another connection for its transaction.
    fn leave<I: Io<Mail>>(&mut self, io: &mut I, key: Key) {
        if let Some(connection) = self.connections.get_mut(key) {
            put_quit(io.outbox(connection.handle));
            io.close(connection.handle, Close::Flush);
        }
        self.socket_is_gone(key);
    }

    fn forget_transaction(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.transaction = None;
        }
    }

    /// An ERR packet at login.
    pub(crate) fn refused(&mut self, key: Key, number: u16, message: String) {
        if let Some(tally) = self.tally_of(key) {
            tally.error(ErrorNumber::Err(number), || message);
        }
    }
}

fn remember(connection: &mut Connection, variant: u32, id: u32) {
    if let Some(known) = connection.prepared.get_mut(variant as usize) {
        *known = id;
    }
}

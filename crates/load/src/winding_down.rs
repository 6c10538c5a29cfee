//! The end of a run: statements under way are awaited for a while, connections say goodbye.

use events::{Close, Io, Span, Timestamp};
use membership::Key;

use crate::answer::{Answer, Form};
use crate::connection::List;
use crate::generator::{Generator, Mail, Phase};
use crate::workload::{Workload, put_ping, put_quit};

impl Generator {
    /// Sends no more statements, ends what is idle and awaits the rest.
    pub(crate) fn stop<I: Io<Mail>>(&mut self, io: &mut I, now: Timestamp) {
        self.phase = Phase::Stop(now + Span::from(self.plan.answer_timeout));
        for key in self.connections.all(List::Due) {
            self.connections.remove(key);
        }
        for key in self.connections.all(List::Login) {
            self.give_up_socket(io, key);
        }
        for key in self.connections.all(List::Thinking) {
            self.quit(io, key);
        }
        for key in self.connections.all(List::Held) {
            let team = self.team_of(key);
            if team.is_some_and(|team| team.group.workload == Workload::Idle) {
                self.ping(io, key, now);
            } else {
                self.quit(io, key);
            }
        }
    }

    /// Ends a logged-in connection gently.
    pub(crate) fn quit<I: Io<Mail>>(&mut self, io: &mut I, key: Key) {
        if let Some(connection) = self.connections.get_mut(key) {
            put_quit(io.outbox(connection.handle));
            io.close(connection.handle, Close::Flush);
        }
        self.connections.remove(key);
    }

    /// Gives up on answers that have not come in time.
    pub(crate) fn give_up_late<I: Io<Mail>>(&mut self, io: &mut I, now: Timestamp) {
        if !matches!(self.phase, Phase::Stop(deadline) if deadline <= now) {
            return;
        }
        for key in self.connections.all(List::Busy) {
            if let Some(tally) = self.tally_of(key) {
                tally.unanswered += 1;
            }
            self.give_up_socket(io, key);
        }
    }

    /// Asks whether the connection is still there.
    fn ping<I: Io<Mail>>(&mut self, io: &mut I, key: Key, now: Timestamp) {
        if let Some(connection) = self.connections.get_mut(key) {
            let expectation = put_ping(io.outbox(connection.handle));
            let answer = Answer::new(expectation, Form::Text, connection.deprecate_eof);
            self.await_answer(key, answer, 0, now);
        }
    }
}

//! What time brings about: arrivals, thoughts that come to an end, clients that lose patience.

use events::{Io, Span, Timestamp};

use crate::connection::{List, State};
use crate::generator::{Generator, Mail, Phase};

impl Generator {
    /// Transactions begin to arrive.
    pub(crate) fn begin_arrivals(&mut self, now: Timestamp) {
        for team in &mut self.teams {
            if let Some(arrivals) = &mut team.arrivals {
                arrivals.begin(now);
            }
        }
    }

    /// Does whatever is due.
    pub(crate) fn keep_pace<I: Io<Mail>>(&mut self, io: &mut I, now: Timestamp) {
        for group in 0..self.teams.len() {
            self.wake_thinking(io, group, now);
            self.serve_arrivals(io, group, now);
            if self.phase == Phase::Work || !self.plan.ramp.is_zero() {
                self.lose_patience(io, group, now);
            }
        }
    }

    /// When something is due next, as far as it is known.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let groups = 0..self.teams.len();
        let due = groups.filter_map(|group| self.next_due_of(group)).min();
        due.into_iter().chain(self.next_connect()).min()
    }

    fn next_due_of(&self, group: usize) -> Option<Timestamp> {
        let thought = self
            .connections
            .first(group, List::Thinking)
            .map(|(_, connection)| match connection.state {
                State::Thinking(until) => until,
                _ => Timestamp::ZERO,
            });
        let team = &self.teams[group];
        let waits = self.connections.count(group, List::Held) > 0;
        let arrival = team.arrivals.as_ref().filter(|_| waits);
        let arrival = arrival.and_then(|arrivals| arrivals.next());
        [thought, arrival, self.next_given_up_of(group)]
            .into_iter()
            .flatten()
            .min()
    }

    fn wake_thinking<I: Io<Mail>>(&mut self, io: &mut I, group: usize, now: Timestamp) {
        while let Some((key, connection)) = self.connections.first(group, List::Thinking)
            && matches!(connection.state, State::Thinking(until) if until <= now)
        {
            self.next_transaction(io, key, now);
        }
    }

    fn serve_arrivals<I: Io<Mail>>(&mut self, io: &mut I, group: usize, now: Timestamp) {
        while let Some((key, _)) = self.connections.first(group, List::Held) {
            let arrivals = self.teams[group].arrivals.as_mut();
            let Some(intended) = arrivals.and_then(|arrivals| arrivals.take(now)) else {
                return;
            };
            self.begin(io, key, intended, now);
        }
    }

    /// In the end, too, clients wait no longer than they do.
    pub(crate) fn all_lose_patience<I: Io<Mail>>(&mut self, io: &mut I, now: Timestamp) {
        for group in 0..self.teams.len() {
            self.lose_patience(io, group, now);
        }
    }

    /// When the first client has waited for too long.
    pub(crate) fn next_given_up(&self) -> Option<Timestamp> {
        let groups = 0..self.teams.len();
        groups
            .filter_map(|group| self.next_given_up_of(group))
            .min()
    }

    fn next_given_up_of(&self, group: usize) -> Option<Timestamp> {
        let patience = self.teams[group].group.reconnect_after()?;
        self.first_deadline(group, patience)
    }

    /// Those who have waited for too long connect again, and repeat their transaction.
    fn lose_patience<I: Io<Mail>>(&mut self, io: &mut I, group: usize, now: Timestamp) {
        let Some(patience) = self.teams[group].group.reconnect_after() else {
            return;
        };
        for list in [List::Busy, List::Login] {
            while let Some((key, connection)) = self.connections.first(group, list)
                && deadline(&connection.state, patience).is_some_and(|at| at <= now)
            {
                if let Some(connection) = self.connections.get_mut(key)
                    && let Some(underway) = &mut connection.transaction
                {
                    (underway.step, underway.failed) = (0, false);
                }
                self.teams[group].tally.timeouts += 1;
                self.give_up_socket(io, key);
            }
        }
    }

    fn first_deadline(&self, group: usize, patience: Span) -> Option<Timestamp> {
        let first = [List::Busy, List::Login].map(|list| {
            let (_, connection) = self.connections.first(group, list)?;
            deadline(&connection.state, patience)
        });
        first.into_iter().flatten().min()
    }
}

fn deadline(state: &State, patience: Span) -> Option<Timestamp> {
    match state {
        State::Busy(pending) => Some(pending.sent_at + patience),
        State::Login(_, since) => Some(*since + patience),
        _ => None,
    }
}

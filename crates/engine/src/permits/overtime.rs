//! Statements that run for longer than their account's `max_statement_time`: they are ended by a KILL
//! QUERY, as the server ends those that exceed its own limit, and answered with its error.
//!
//! Each backend has its limit beside the command that runs there, so what is looked at when one is due
//! does not grow with the number of statements. A COMMIT or ROLLBACK is never ended.

use admission::Permit;
use events::{Io, Span, Timestamp};
use membership::Key;
use pool::State as BackendState;
use session::statement::{Flavor, Kind, milliseconds, seconds, time_limit};
use wire::{Capabilities, ErrPacket, Piece, code};

use crate::backend::{Backend, ClientCommand, Purpose};
use crate::client::Client;
use crate::commands::Packet;
use crate::errors::ClientError;
use crate::{Engine, Mail, Turn};

/// Where statements of clients run.
const RUNNING: [BackendState; 3] = [
    BackendState::Active,
    BackendState::Lane,
    BackendState::Draining,
];

/// A statement that has not come to its turn when its time is over is looked at again after this.
const LOOK_AGAIN: Span = Span::from_ms(1);

/// What a command that is sent now is counted as, and until when it may run.
pub(crate) struct Allowance {
    /// What is counted.
    pub permit: Permit,
    /// `None` if it may run for as long as it likes.
    pub until: Option<Timestamp>,
}

impl Allowance {
    /// Of a command that nothing limits.
    pub(crate) const NONE: Self = Self {
        permit: Permit::NONE,
        until: None,
    };
}

impl Client {
    /// How long a statement may take by its own words, or by those of its session.
    pub(crate) fn time_limit(&self, packet: Packet<'_>) -> Span {
        let variables = &self.session.variables;
        let value = |name: &[u8]| variables.get(name);
        let limits = [
            time_limit(packet.text()),
            value(b"max_statement_time").and_then(seconds),
            value(b"max_execution_time").and_then(milliseconds),
        ];
        let least = limits.into_iter().flatten().min();
        least.map_or(Span::ZERO, Span::from_ms)
    }
}

impl Engine {
    /// Until when a statement that came at `arrived` may run.
    pub(crate) fn may_run_until(
        &self,
        client: Key,
        kind: Kind,
        arrived: Timestamp,
    ) -> Option<Timestamp> {
        let seat = self.clients.get(client)?.seat.as_ref()?;
        let limit = self.scheduler.max_statement_time(seat);
        let ends = matches!(kind, Kind::Commit | Kind::Rollback);
        (limit != Span::ZERO && !ends).then(|| arrived + limit)
    }

    /// Somebody is to be looked at by then.
    pub(crate) fn watch_overtime(&mut self, until: Option<Timestamp>) {
        self.overtime_due = [self.overtime_due, until].into_iter().flatten().min();
    }

    /// Ends the statements that have run for too long.
    pub(crate) fn overtime_is_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if self.overtime_due.is_none_or(|at| turn.now < at) {
            return;
        }
        let (mut late, mut next) = (Vec::new(), None);
        for id in self.pool.key_ids() {
            for (key, backend) in RUNNING.into_iter().flat_map(|s| self.pool.iter(id, s)) {
                let at = match backend.runs_until() {
                    Some((until, true)) if turn.now >= until => {
                        late.push(key);
                        continue;
                    }
                    // It has not come to its turn.
                    Some((until, false)) => Some(until.max(turn.now + LOOK_AGAIN)),
                    limit => limit.map(|(until, _)| until),
                };
                next = [next, at].into_iter().flatten().min();
            }
        }
        self.overtime_due = next;
        for backend in late {
            self.end_late(turn, backend);
        }
    }

    fn end_late<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let is_lane = self.is_lane(key);
        let front = self.pool.get_mut(key).and_then(Backend::running);
        let Some(command) = front else { return };
        (command.until, command.timed_out) = (None, true);
        self.counters.statement_timeouts += 1;
        if is_lane {
            // The KILL may come late and hit those behind.
            self.empty_lane(turn, key);
        }
        self.interrupt(turn, key);
    }
}

impl Backend {
    /// The client's command that the server works on.
    fn running(&mut self) -> Option<&mut ClientCommand> {
        match &mut self.exchanges.front_mut()?.purpose {
            Purpose::Command(command) => Some(command),
            _ => None,
        }
    }

    /// Until when the oldest of its commands that has a limit may run, and whether the server works on
    /// it.
    fn runs_until(&self) -> Option<(Timestamp, bool)> {
        let mut exchanges = self.exchanges.iter().enumerate();
        exchanges.find_map(|(place, exchange)| match &exchange.purpose {
            Purpose::Command(command) => Some((command.until?, place == 0)),
            _ => None,
        })
    }
}

impl ClientCommand {
    /// The ERR that the client is told in place of that which the KILL brought about.
    pub(crate) fn overtime_error(&self, piece: &Piece<'_>, flavor: Flavor) -> Option<Vec<u8>> {
        if !self.timed_out || !matches!(piece, Piece::Err(_)) {
            return None;
        }
        let error = ErrPacket::parse(piece.payload()).ok()?;
        if error.code != code::QUERY_INTERRUPTED {
            return None;
        }
        let sequence_id = piece.bytes().get(3).copied()?;
        let mut packet = Vec::new();
        let error = ClientError::statement_timeout(flavor);
        error
            .packet()
            .encode(&mut packet, sequence_id, Capabilities::PROTOCOL_41);
        Some(packet)
    }
}

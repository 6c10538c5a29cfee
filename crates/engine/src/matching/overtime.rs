//! Statements with a time limit.

use carry::packet::Packet;
use events::{Span, Timestamp};
use membership::Key;
use session::statement::{Kind, milliseconds, seconds, time_limit};

use crate::matching::Matching;
use crate::record::backend::{Backend, ClientCommand, Purpose};
use crate::record::client::Client;
use crate::record::records::Records;

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

impl Matching {
    /// Until when a statement that came at `arrived` may run.
    pub(crate) fn may_run_until(
        &self,
        records: &Records,
        client: Key,
        kind: Kind,
        arrived: Timestamp,
    ) -> Option<Timestamp> {
        let seat = records.clients.get(client)?.seat.as_ref()?;
        let limit = self.scheduler.max_statement_time(seat);
        let ends = matches!(kind, Kind::Commit | Kind::Rollback);
        (limit != Span::ZERO && !ends).then(|| arrived + limit)
    }

    /// Somebody is to be looked at by then.
    pub(crate) fn watch_overtime(&mut self, until: Option<Timestamp>) {
        self.overtime_due = [self.overtime_due, until].into_iter().flatten().min();
    }
}

impl Backend {
    /// The client's command that the server works on.
    pub(crate) fn running(&mut self) -> Option<&mut ClientCommand> {
        match &mut self.exchanges.front_mut()?.purpose {
            Purpose::Command(command) => Some(command),
            _ => None,
        }
    }

    /// Until when the oldest of its commands that has a limit may run, and whether the server works on
    /// it.
    pub(crate) fn runs_until(&self) -> Option<(Timestamp, bool)> {
        let mut exchanges = self.exchanges.iter().enumerate();
        exchanges.find_map(|(place, exchange)| match &exchange.purpose {
            Purpose::Command(command) => Some((command.until?, place == 0)),
            _ => None,
        })
    }
}

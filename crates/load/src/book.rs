//! The books of one group.

use std::time::Duration;

use crate::figures::{Figures, ms};
use crate::generator::Part;
use crate::plan::Group;
use crate::progress::GroupProgress;
use crate::summary::GroupSummary;
use crate::tally::Tally;

/// All that is known of a group so far.
pub(crate) struct Book {
    name: String,
    workload: String,
    pub(crate) connections: u32,
    /// Whether connecting is part of the workload.
    pub(crate) reconnects: bool,
    /// Up to the last interval that was closed.
    pub(crate) total: Tally,
    /// Since then.
    interval: Tally,
    open: usize,
    backlog: u64,
}

impl Book {
    /// Nothing is known yet.
    pub(crate) fn new(group: &Group, empty: &Tally) -> Self {
        Self {
            name: group.name.clone(),
            workload: group.workload.to_string(),
            connections: group.connections,
            reconnects: group.workload.is_reconnect(),
            total: empty.clone(),
            interval: empty.clone(),
            open: 0,
            backlog: 0,
        }
    }

    /// Takes in what the workers reported.
    pub(crate) fn take(&mut self, part: Part) {
        (self.open, self.backlog) = (part.open, part.backlog);
        self.interval.add(part.tally);
    }

    /// Connections logged in.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// Arrivals that wait for a connection.
    pub(crate) fn backlog(&self) -> u64 {
        self.backlog
    }

    /// Logins done so far.
    pub(crate) fn logins(&self) -> u64 {
        self.total.logins + self.interval.logins
    }

    /// What happened since the last interval was closed; adds it to `sum`.
    pub(crate) fn progress(&self, seconds: Duration, sum: &mut Tally) -> GroupProgress {
        sum.add(self.interval.clone());
        GroupProgress {
            name: self.name.clone(),
            connections: self.open,
            transactions_per_s: self.interval.transactions as f64 / seconds.as_secs_f64(),
            latency_ms_p95: ms(self.interval.latencies_us.quantile_us(0.95)),
            errors: self.total.error_total() + self.interval.error_total(),
            reconnects: self.total.reconnects + self.interval.reconnects,
            backlog: self.backlog,
        }
    }

    /// The result.
    pub(crate) fn summary(&self, figures: Figures) -> GroupSummary {
        GroupSummary {
            name: self.name.clone(),
            workload: self.workload.clone(),
            connections: self.connections,
            figures,
        }
    }

    /// Moves the interval into the total.
    pub(crate) fn settle(&mut self) {
        self.total.add(self.interval.take());
    }
}

//! The books of a run: what the workers reported, summed up for progress and summary.

use std::time::{Duration, Instant};

use events::Span;

use crate::error::LoadError;
use crate::generator::Report;
use crate::plan::Plan;
use crate::progress::{Progress, Stage};
use crate::summary::{LatencyMs, Summary, ms};
use crate::tally::{DESCRIBED_MAX, ErrorNumber, Tally};
use crate::watch::Watches;

/// All that is known of a run so far.
pub(crate) struct Ledger {
    connections: u32,
    /// Up to the last interval that was closed.
    total: Tally,
    /// Since then.
    interval: Tally,
    interval_begin: Instant,
    begin: Instant,
    /// How long the ramp took.
    ramp: Span,
    measure_begin: Instant,
    measured: Duration,
    /// Connections logged in.
    open: usize,
    watches: Watches,
}

impl Ledger {
    /// The ledger of a run that begins now. Fails if a process to be watched is not there.
    pub(crate) fn begin(plan: &Plan, empty: &Tally) -> Result<Self, LoadError> {
        let now = Instant::now();
        Ok(Self {
            connections: plan.connections,
            total: empty.clone(),
            interval: empty.clone(),
            interval_begin: now,
            begin: now,
            ramp: Span::ZERO,
            measure_begin: now,
            measured: Duration::ZERO,
            open: 0,
            watches: Watches::begin(&plan.watched)?,
        })
    }

    /// Takes in what the workers reported.
    pub(crate) fn take(&mut self, report: Report) {
        self.open = report.open;
        self.log_described(&report.tally);
        self.interval.add(report.tally);
    }

    /// Connections logged in.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// Logins done so far.
    pub(crate) fn logins(&self) -> u64 {
        self.total.logins + self.interval.logins
    }

    /// Why the ramp is given up.
    pub(crate) fn stalled(&mut self) -> LoadError {
        self.settle();
        LoadError::Stalled {
            open: self.open,
            wanted: self.connections,
            last: self.total.errors_text(),
        }
    }

    /// All connections are logged in.
    pub(crate) fn end_ramp(&mut self) {
        self.settle();
        // The workers' clock began with the run.
        self.ramp = Span::from_us(self.total.last_login.as_us());
    }

    /// What happened since the last interval was closed.
    pub(crate) fn close_interval(&mut self, stage: Stage) -> Progress {
        self.watches.look();
        let seconds = self.interval_begin.elapsed().as_secs_f64();
        let (statements, p95) = (
            self.interval.statements,
            self.interval.latencies_us.quantile_us(0.95),
        );
        self.settle();
        Progress {
            elapsed: self.begin.elapsed(),
            stage,
            connections: self.open,
            statements_per_s: statements as f64 / seconds,
            latency_ms_p95: ms(p95),
            errors: self.total.error_total(),
            wrong_answers: self.total.wrong_answers,
            reconnects: self.total.reconnects,
        }
    }

    /// Statements count from here.
    pub(crate) fn begin_measuring(&mut self) {
        self.settle();
        self.total.forget_measures();
        self.watches.begin_measuring();
        self.measure_begin = Instant::now();
    }

    /// Statements count up to here.
    pub(crate) fn end_measuring(&mut self) {
        self.measured = self.measure_begin.elapsed();
        self.watches.end_measuring();
        self.settle();
    }

    /// The result; `rest` is what the workers counted after the measuring.
    pub(crate) fn summary(mut self, mut rest: Tally) -> Summary {
        self.log_described(&rest);
        rest.forget_measures();
        self.total.add(rest);
        let (total, watches) = (self.total, self.watches);
        let statements = total.statements;
        let seconds = self.measured.as_secs_f64();
        let ramp_s = Duration::from(self.ramp).as_secs_f64();
        let count = |number: &ErrorNumber| number.to_string();
        Summary {
            connections: self.connections,
            duration_s: seconds,
            statements,
            statements_per_s: statements as f64 / seconds,
            latency_ms: LatencyMs::of(&total.latencies_us),
            errors: total
                .errors
                .iter()
                .map(|(n, e)| (count(n), e.count))
                .collect(),
            wrong_answers: total.wrong_answers,
            reconnects: total.reconnects,
            unanswered: total.unanswered,
            connects_per_s: f64::from(self.connections) / ramp_s,
            generator_cpu_us_per_statement: watches.own_cpu_us_per(statements),
            watched: watches.results(statements, self.connections),
            errors_text: total.errors_text(),
        }
    }

    /// Moves the interval into the total.
    fn settle(&mut self) {
        self.total.add(self.interval.take());
        self.interval_begin = Instant::now();
    }

    /// Logs the first wrong answers of the run.
    fn log_described(&self, tally: &Tally) {
        let logged = self.total.described.len() + self.interval.described.len();
        let room = DESCRIBED_MAX.saturating_sub(logged);
        for description in tally.described.iter().take(room) {
            tracing::warn!("wrong answer: {description}");
        }
    }
}

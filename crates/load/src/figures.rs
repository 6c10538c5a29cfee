//! What was measured of a group of connections, or of all: for people and, with stable keys, for
//! programs.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::explain::{LOST, explain, full};
use crate::latencies::Latencies;
use crate::tally::{ErrorNumber, Tally};

/// The figures. As JSON its keys are the names of these fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Statements answered rightly while measuring.
    pub statements: u64,
    /// The same per second.
    pub statements_per_s: f64,
    /// Those of them that read.
    pub reads: u64,
    /// Those that write.
    pub writes: u64,
    /// Transactions completed while measuring; a statement outside a script's transaction is one.
    pub transactions: u64,
    /// The same per second.
    pub transactions_per_s: f64,
    /// Transactions per second that took no longer than the client timeout; all of them without one.
    pub goodput_per_s: f64,
    /// How long transactions took, from when they were to begin.
    pub latency_ms: LatencyMs,
    /// How often each error came, from the first connection to the last: by the number of the
    /// ERR packet, `errno N` for the operating system's, or `closed at login`.
    pub errors: BTreeMap<String, u64>,
    /// Answers that were not what was asked for, from the first connection to the last.
    pub wrong_answers: u64,
    /// Connections lost after their login, from the first connection to the last.
    pub reconnects: u64,
    /// Statements and logins given up because of the client timeout, over the whole run.
    pub timeouts: u64,
    /// Commands that had no answer seconds after the run's end.
    pub unanswered: u64,
    /// Arrivals that waited for a connection when measuring ended (open loop).
    pub backlog: u64,
    /// How often a unix socket's queue was full.
    pub listen_queue_full: u64,
    /// Logins per second: while measuring if the workload is `reconnect`, else of the ramp.
    pub connects_per_s: f64,
    /// How long it took to connect and log in, over the whole run.
    pub connect_latency_ms: LatencyMs,
    /// The errors with the text of the first of each number.
    #[serde(skip)]
    pub errors_text: String,
    /// What the errors mean and what to do, one sentence each.
    #[serde(skip)]
    pub explanations: Vec<String>,
    /// For the report: parts of a whole, each with the latency it did not exceed, in milliseconds.
    #[serde(skip)]
    pub(crate) distribution: Vec<(f64, f64)>,
    /// Errors that are not part of what the workload does to itself.
    #[serde(skip)]
    serious: u64,
}

/// Latencies in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencyMs {
    /// Half of them took no longer.
    pub p50: f64,
    /// 95 % took no longer.
    pub p95: f64,
    /// 99 % took no longer.
    pub p99: f64,
    /// 99.9 % took no longer.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

/// Errors with which servers end one of two transactions that wait for each other: changed since
/// read, lock wait timeout, deadlock. Whoever writes must expect them.
const EXPECTED: [ErrorNumber; 3] = [
    ErrorNumber::Err(1020),
    ErrorNumber::Err(1205),
    ErrorNumber::Err(1213),
];

impl Figures {
    /// The figures of a tally that was measured for so long. `connects_per_s`: of the ramp;
    /// `reconnects`: whether connecting is part of the workload.
    pub(crate) fn of(tally: &Tally, measured: Duration, ramp_per_s: f64, reconnects: bool) -> Self {
        let per_s = |count: u64| count as f64 / measured.as_secs_f64().max(1e-6);
        let statements = tally.statements();
        let counts = tally.errors.iter();
        let serious = counts
            .clone()
            .filter(|(number, _)| !EXPECTED.contains(number));
        Self {
            statements,
            statements_per_s: per_s(statements),
            reads: tally.reads,
            writes: tally.writes,
            transactions: tally.transactions,
            transactions_per_s: per_s(tally.transactions),
            goodput_per_s: per_s(tally.good),
            latency_ms: LatencyMs::of(&tally.latencies_us),
            serious: serious.map(|(_, error)| error.count).sum(),
            errors: counts
                .map(|(number, error)| (number.to_string(), error.count))
                .collect(),
            wrong_answers: tally.wrong_answers,
            reconnects: tally.reconnects,
            timeouts: tally.timeouts,
            unanswered: tally.unanswered,
            backlog: 0,
            listen_queue_full: tally.full,
            connects_per_s: if reconnects {
                per_s(tally.connects)
            } else {
                ramp_per_s
            },
            connect_latency_ms: LatencyMs::of(&tally.connect_us),
            errors_text: tally.errors_text(),
            explanations: explanations(tally),
            distribution: tally.latencies_us.distribution_ms(),
        }
    }

    /// Whether every statement was answered, rightly, and no connection was lost. Deadlocks are
    /// part of a workload that writes.
    pub fn is_clean(&self) -> bool {
        self.serious + self.wrong_answers + self.reconnects + self.unanswered == 0
    }
}

/// The errors of a tally, each that is known with what to do about it.
pub(crate) fn explanations(tally: &Tally) -> Vec<String> {
    let known = tally.errors.keys().filter_map(|number| {
        let fix = explain(*number)?;
        Some(format!("{number}: {fix}"))
    });
    let lost = (tally.reconnects > 0).then(|| format!("reconnects: {LOST}"));
    let full = (tally.full > 0).then(full).flatten();
    known.chain(lost).chain(full).collect()
}

impl LatencyMs {
    pub(crate) fn of(latencies_us: &Latencies) -> Self {
        let quantile = |quantile| ms(latencies_us.quantile_us(quantile));
        Self {
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: ms(latencies_us.max_us()),
        }
    }
}

/// Microseconds in milliseconds.
pub(crate) fn ms(us: u64) -> f64 {
    us as f64 / 1_000.0
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (statements, rate) = (self.statements, self.statements_per_s);
        let (reads, writes) = (self.reads, self.writes);
        writeln!(f, "statements:       {statements}, {rate:.1} per second")?;
        writeln!(f, "  reads, writes:  {reads}, {writes}")?;
        let (transactions, rate) = (self.transactions, self.transactions_per_s);
        writeln!(f, "transactions:     {transactions}, {rate:.1} per second")?;
        writeln!(f, "goodput:          {:.1} per second", self.goodput_per_s)?;
        writeln!(f, "latency:          {}", self.latency_ms)?;
        writeln!(f, "connects:         {:.0} per second", self.connects_per_s)?;
        writeln!(f, "connect latency:  {}", self.connect_latency_ms)?;
        writeln!(f, "errors:           {}", self.errors_text)?;
        writeln!(f, "wrong answers:    {}", self.wrong_answers)?;
        writeln!(f, "reconnects:       {}", self.reconnects)?;
        let (timeouts, backlog) = (self.timeouts, self.backlog);
        writeln!(f, "timeouts:         {timeouts}")?;
        if backlog > 0 {
            writeln!(
                f,
                "backlog:          {backlog} arrivals still waited at the end"
            )?;
        }
        write!(f, "unanswered:       {}", self.unanswered)?;
        self.explanations
            .iter()
            .try_for_each(|explanation| write!(f, "\n  → {explanation}"))
    }
}

impl fmt::Display for LatencyMs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} ms (50%), {:.2} ms (95%), {:.2} ms (99%), {:.2} ms (99.9%), {:.2} ms (max)",
            self.p50, self.p95, self.p99, self.p999, self.max
        )
    }
}

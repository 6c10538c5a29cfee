//! What is told while a run is under way.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::figures::ms;
use crate::tally::Tally;

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Logging in.
    Ramp,
    /// Running statements that are not measured yet.
    Warmup,
    /// Running statements that are measured.
    Measure,
}

/// One interval of a run; shown as one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// Since the first connection was opened; in seconds as JSON.
    #[serde(rename = "elapsed_s", serialize_with = "seconds")]
    pub elapsed: Duration,
    /// What the run was doing in the interval.
    pub stage: Stage,
    /// Connections logged in at its end.
    pub connections: usize,
    /// Transactions completed, per second of the interval.
    pub transactions_per_s: f64,
    /// Those of them that took no longer than the client timeout.
    pub goodput_per_s: f64,
    /// Reading statements answered rightly, per second of the interval.
    pub reads_per_s: f64,
    /// Writing statements answered rightly, per second of the interval.
    pub writes_per_s: f64,
    /// All statements answered rightly, per second of the interval.
    pub statements_per_s: f64,
    /// Logins done, per second of the interval.
    pub connects_per_s: f64,
    /// The latency that half of the transactions did not exceed, in milliseconds.
    pub latency_ms_p50: f64,
    /// The same for 95 %.
    pub latency_ms_p95: f64,
    /// The same for 99 %.
    pub latency_ms_p99: f64,
    /// Errors since the run began.
    pub errors: u64,
    /// Wrong answers since the run began.
    pub wrong_answers: u64,
    /// Connections lost since the run began.
    pub reconnects: u64,
    /// Statements and logins given up since the run began.
    pub timeouts: u64,
    /// Arrivals that wait for a connection (open loop).
    pub backlog: u64,
    /// The same by group, where there are several.
    pub groups: Vec<GroupProgress>,
}

/// One interval of a group; shown as one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupProgress {
    /// The group.
    pub name: String,
    /// Connections logged in at its end.
    pub connections: usize,
    /// Transactions completed, per second of the interval.
    pub transactions_per_s: f64,
    /// The latency that 95 % of them did not exceed, in milliseconds.
    pub latency_ms_p95: f64,
    /// Errors since the run began.
    pub errors: u64,
    /// Connections lost since the run began.
    pub reconnects: u64,
    /// Arrivals that wait for a connection (open loop).
    pub backlog: u64,
}

impl Progress {
    /// What happened in an interval, and what was counted so far.
    pub(crate) fn of(
        (elapsed, stage): (Duration, Stage),
        (interval, length): (&Tally, Duration),
        (total, connections): (&Tally, usize),
        groups: Vec<GroupProgress>,
    ) -> Self {
        let per_s = |count: u64| count as f64 / length.as_secs_f64();
        let quantile = |quantile| ms(interval.latencies_us.quantile_us(quantile));
        Self {
            elapsed,
            stage,
            connections,
            transactions_per_s: per_s(interval.transactions),
            goodput_per_s: per_s(interval.good),
            reads_per_s: per_s(interval.reads),
            writes_per_s: per_s(interval.writes),
            statements_per_s: per_s(interval.statements()),
            connects_per_s: per_s(interval.connects),
            latency_ms_p50: quantile(0.5),
            latency_ms_p95: quantile(0.95),
            latency_ms_p99: quantile(0.99),
            errors: total.error_total(),
            wrong_answers: total.wrong_answers,
            reconnects: total.reconnects,
            timeouts: total.timeouts,
            backlog: groups.iter().map(|group| group.backlog).sum(),
            groups: if groups.len() > 1 { groups } else { Vec::new() },
        }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[{:3.0}s] connections: {}, tps: {:.0}, reads: {:.0}, writes: {:.0}, response time: \
             {:.2}ms (95%), errors: {}, reconnects: {}",
            self.elapsed.as_secs_f64(),
            self.connections,
            self.transactions_per_s,
            self.reads_per_s,
            self.writes_per_s,
            self.latency_ms_p95,
            self.errors,
            self.reconnects
        )?;
        let rest = [
            ("wrong answers", self.wrong_answers),
            ("timeouts", self.timeouts),
            ("backlog", self.backlog),
        ];
        for (name, count) in rest.iter().filter(|(_, count)| *count > 0) {
            write!(f, ", {name}: {count}")?;
        }
        match self.stage {
            Stage::Ramp => f.write_str(" (ramp)"),
            Stage::Warmup => f.write_str(" (warm-up)"),
            Stage::Measure => Ok(()),
        }?;
        self.groups
            .iter()
            .try_for_each(|group| write!(f, "\n{group}"))
    }
}

impl fmt::Display for GroupProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "       {}: connections: {}, tps: {:.0}, response time: {:.2}ms (95%), errors: {}, \
             reconnects: {}",
            self.name,
            self.connections,
            self.transactions_per_s,
            self.latency_ms_p95,
            self.errors,
            self.reconnects
        )?;
        if self.backlog > 0 {
            write!(f, ", backlog: {}", self.backlog)?;
        }
        Ok(())
    }
}

fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latencies::Latencies;
    use crate::script::Kind;
    use events::Span;

    #[test]
    fn a_line_says_what_happened() {
        let mut interval = Tally::new(Latencies::new().unwrap());
        for _ in 0..20 {
            interval.answered(Kind::Read);
            interval.completed(Span::from_us(3_456), None);
        }
        interval.answered(Kind::Write);
        let mut total = interval.clone();
        (total.reconnects, total.wrong_answers) = (2, 3);
        let group = |name: &str| GroupProgress {
            name: name.into(),
            connections: 1,
            transactions_per_s: 5.0,
            latency_ms_p95: 1.5,
            errors: 0,
            reconnects: 0,
            backlog: 4,
        };
        let at = (Duration::from_millis(26_004), Stage::Measure);
        let length = (&interval, Duration::from_secs(2));
        let progress = Progress::of(at, length, (&total, 10_000), vec![group("a")]);
        assert_eq!(
            progress.to_string(),
            "[ 26s] connections: 10000, tps: 10, reads: 10, writes: 0, response time: \
             3.46ms (95%), errors: 0, reconnects: 2, wrong answers: 3, backlog: 4"
        );
        let at = (Duration::ZERO, Stage::Warmup);
        let groups = vec![group("a"), group("b")];
        let progress = Progress::of(at, length, (&total, 2), groups);
        assert!(progress.to_string().ends_with(
            "backlog: 8 (warm-up)\n       a: connections: 1, tps: 5, response time: 1.50ms (95%), \
             errors: 0, reconnects: 0, backlog: 4\n       b: connections: 1, tps: 5, response \
             time: 1.50ms (95%), errors: 0, reconnects: 0, backlog: 4"
        ));
    }
}

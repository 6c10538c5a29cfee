//! What is told while a run is under way.

use std::fmt;
use std::time::Duration;

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Logging in.
    Ramp,
    /// Running statements that are not measured yet.
    Warmup,
    /// Running statements that are measured.
    Measure,
}

/// One interval of a run; shown as one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Since the first connection was opened.
    pub elapsed: Duration,
    /// What the run was doing in the interval.
    pub stage: Stage,
    /// Connections logged in at its end.
    pub connections: usize,
    /// Statements answered rightly, per second of the interval.
    pub statements_per_s: f64,
    /// The latency that 95 % of them did not exceed, in milliseconds.
    pub latency_ms_p95: f64,
    /// Errors since the run began.
    pub errors: u64,
    /// Wrong answers since the run began.
    pub wrong_answers: u64,
    /// Connections lost since the run began.
    pub reconnects: u64,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[{:3.0}s] connections: {}, statements/s: {:.0}, response time: {:.2}ms (95%), \
             errors: {}, reconnects: {}",
            self.elapsed.as_secs_f64(),
            self.connections,
            self.statements_per_s,
            self.latency_ms_p95,
            self.errors,
            self.reconnects
        )?;
        if self.wrong_answers > 0 {
            write!(f, ", wrong answers: {}", self.wrong_answers)?;
        }
        match self.stage {
            Stage::Ramp => f.write_str(" (ramp)"),
            Stage::Warmup => f.write_str(" (warm-up)"),
            Stage::Measure => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_happened() {
        let progress = Progress {
            elapsed: Duration::from_millis(26_004),
            stage: Stage::Measure,
            connections: 10_000,
            statements_per_s: 20_123.4,
            latency_ms_p95: 3.456,
            errors: 1,
            wrong_answers: 0,
            reconnects: 2,
        };
        assert_eq!(
            progress.to_string(),
            "[ 26s] connections: 10000, statements/s: 20123, response time: 3.46ms (95%), \
             errors: 1, reconnects: 2"
        );
        let warmup = Progress {
            stage: Stage::Warmup,
            wrong_answers: 3,
            ..progress
        };
        assert!(warmup.to_string().ends_with("wrong answers: 3 (warm-up)"));
    }
}

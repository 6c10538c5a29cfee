//! The result of a run: for people and, with stable keys, for programs.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::latencies::Latencies;
use crate::watch::Watched;

/// What a run has measured. As JSON its keys are the names of these fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many connections there were.
    pub connections: u32,
    /// How long statements were measured.
    pub duration_s: f64,
    /// Statements answered rightly in that time.
    pub statements: u64,
    /// The same per second.
    pub statements_per_s: f64,
    /// How long they took.
    pub latency_ms: LatencyMs,
    /// How often each error came, from the first connection to the last: by the number of the
    /// ERR packet, `errno N` for the operating system's, or `closed at login`.
    pub errors: BTreeMap<String, u64>,
    /// Answers that were not what was asked for, from the first connection to the last.
    pub wrong_answers: u64,
    /// Connections lost after their login, from the first connection to the last.
    pub reconnects: u64,
    /// Commands that had no answer seconds after the run's end.
    pub unanswered: u64,
    /// Logins per second of the ramp.
    pub connects_per_s: f64,
    /// This process' CPU time per statement, in microseconds; `None` if there were no statements.
    pub generator_cpu_us_per_statement: Option<f64>,
    /// What the watched processes used.
    pub watched: Vec<Watched>,
    /// The errors with the text of the first of each number.
    #[serde(skip)]
    pub errors_text: String,
}

/// Latencies in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencyMs {
    /// Half of the statements took no longer.
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

impl Summary {
    /// Whether every statement was answered, rightly, and no connection was lost.
    pub fn is_clean(&self) -> bool {
        let lost = self.wrong_answers + self.reconnects + self.unanswered;
        self.errors.is_empty() && lost == 0
    }

    /// The summary as a JSON object.
    ///
    /// # Errors
    /// Never in practice: all values can be written as JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
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

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (statements, rate) = (self.statements, self.statements_per_s);
        writeln!(
            f,
            "statements:       {statements} in {:.1} s",
            self.duration_s
        )?;
        writeln!(f, "statements/s:     {rate:.1}")?;
        writeln!(f, "latency:          {}", self.latency_ms)?;
        let (connections, rate) = (self.connections, self.connects_per_s);
        writeln!(
            f,
            "connections:      {connections}, made at {rate:.0} per second"
        )?;
        writeln!(f, "errors:           {}", self.errors_text)?;
        writeln!(f, "wrong answers:    {}", self.wrong_answers)?;
        writeln!(f, "reconnects:       {}", self.reconnects)?;
        writeln!(f, "unanswered:       {}", self.unanswered)?;
        let cpu = Cpu(self.generator_cpu_us_per_statement);
        write!(f, "generator:        {cpu}")?;
        for watched in &self.watched {
            write!(f, "\nprocess {:<9} {watched}", watched.pid)?;
        }
        Ok(())
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

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        write!(
            f,
            "{}; RSS {:.1} MiB now, {:.1} MiB at most, grown by {} bytes per connection",
            Cpu(self.cpu_us_per_statement),
            mib(self.rss_bytes),
            mib(self.rss_bytes_max),
            self.rss_bytes_per_connection
        )
    }
}

struct Cpu(Option<f64>);

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(us) => write!(f, "{us:.2} µs CPU per statement"),
            None => f.write_str("no statements to share the CPU time"),
        }
    }
}

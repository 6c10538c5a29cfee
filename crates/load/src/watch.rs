//! Processes that are watched while a run is under way, and this one.

use std::time::Duration;

use serde::Serialize;

use crate::error::LoadError;
use crate::process::{Usage, usage};

/// What a watched process used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Watched {
    /// Its process id.
    pub pid: u32,
    /// Its memory before the first connection.
    pub rss_bytes_start: u64,
    /// Its memory at the end, with all connections open.
    pub rss_bytes: u64,
    /// The most seen.
    pub rss_bytes_max: u64,
    /// How much its memory grew, divided by the number of connections.
    pub rss_bytes_per_connection: u64,
    /// Its CPU time while statements were measured, divided by their number, in microseconds.
    /// `None` if there were no statements.
    pub cpu_us_per_statement: Option<f64>,
}

/// The watched processes.
pub(crate) struct Watches {
    watches: Vec<Watch>,
    own: Span,
}

/// CPU time from when to when.
#[derive(Clone, Copy, Default)]
struct Span {
    begin_us: u64,
    end_us: u64,
}

struct Watch {
    pid: u32,
    start: Usage,
    now: Usage,
    rss_bytes_max: u64,
    cpu: Span,
}

impl Watches {
    /// Looks at the processes for the first time. Fails if one of them is not there.
    pub(crate) fn begin(pids: &[u32]) -> Result<Self, LoadError> {
        let watch = |&pid: &u32| {
            let start = usage(Some(pid)).map_err(|cause| LoadError::Watch { pid, cause })?;
            Ok(Watch {
                pid,
                start,
                now: start,
                rss_bytes_max: start.rss_bytes,
                cpu: Span::default(),
            })
        };
        let watches: Result<_, LoadError> = pids.iter().map(watch).collect();
        Ok(Self {
            watches: watches?,
            own: Span::default(),
        })
    }

    /// Looks again.
    pub(crate) fn look(&mut self) {
        for watch in &mut self.watches {
            // One that has ended keeps its last figures.
            if let Ok(now) = usage(Some(watch.pid)) {
                watch.now = now;
                watch.rss_bytes_max = watch.rss_bytes_max.max(now.rss_bytes);
            }
        }
    }

    /// CPU time counts from here.
    pub(crate) fn begin_measuring(&mut self) {
        self.look();
        self.own.begin_us = own_cpu_us();
        for watch in &mut self.watches {
            watch.cpu.begin_us = watch.now.cpu_us;
        }
    }

    /// CPU time counts up to here.
    pub(crate) fn end_measuring(&mut self) {
        self.own.end_us = own_cpu_us();
        self.look();
        for watch in &mut self.watches {
            watch.cpu.end_us = watch.now.cpu_us;
        }
    }

    /// This process' CPU time per statement, in microseconds.
    pub(crate) fn own_cpu_us_per(&self, statements: u64) -> Option<f64> {
        self.own.per(statements)
    }

    /// The part of `measured` for which this process' `threads` were busy.
    pub(crate) fn own_share(&self, measured: Duration, threads: u32) -> f64 {
        let us = self.own.end_us.saturating_sub(self.own.begin_us) as f64;
        us / (measured.as_micros() as f64 * f64::from(threads)).max(1.0)
    }

    /// What the watched processes used for so many statements over so many connections.
    pub(crate) fn results(&self, statements: u64, connections: u32) -> Vec<Watched> {
        let result = |watch: &Watch| {
            let grown = watch.now.rss_bytes.saturating_sub(watch.start.rss_bytes);
            Watched {
                pid: watch.pid,
                rss_bytes_start: watch.start.rss_bytes,
                rss_bytes: watch.now.rss_bytes,
                rss_bytes_max: watch.rss_bytes_max,
                rss_bytes_per_connection: grown / u64::from(connections.max(1)),
                cpu_us_per_statement: watch.cpu.per(statements),
            }
        };
        self.watches.iter().map(result).collect()
    }
}

impl Span {
    fn per(self, statements: u64) -> Option<f64> {
        let us = self.end_us.saturating_sub(self.begin_us);
        (statements > 0).then(|| us as f64 / statements as f64)
    }
}

fn own_cpu_us() -> u64 {
    usage(None).map_or(0, |usage| usage.cpu_us)
}

//! Processes that are watched while a run is under way, and this one.

use std::io;
use std::time::Duration;

use serde::Serialize;

use crate::error::LoadError;
use crate::process::{Usage, slab_bytes, usage};

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

/// The watched processes, this one, and the kernel beneath them.
pub(crate) struct Watches {
    watches: Vec<Watch>,
    own: Watch,
    slab: Option<Growth>,
}

/// The kernel's memory before the first connection and when last looked at.
#[derive(Clone, Copy)]
struct Growth {
    start: u64,
    now: u64,
}

/// CPU time from when to when.
#[derive(Clone, Copy, Default)]
struct Span {
    begin_us: u64,
    end_us: u64,
}

struct Watch {
    /// `None` is this process.
    pid: Option<u32>,
    start: Usage,
    now: Usage,
    rss_bytes_max: u64,
    cpu: Span,
}

impl Watches {
    /// Looks at the processes for the first time. Fails if one of them is not there.
    pub(crate) fn begin(pids: &[u32]) -> Result<Self, LoadError> {
        let watch =
            |&pid: &u32| Watch::begin(Some(pid)).map_err(|cause| LoadError::Watch { pid, cause });
        let watches: Result<_, LoadError> = pids.iter().map(watch).collect();
        Ok(Self {
            watches: watches?,
            own: Watch::begin(None).map_err(|cause| LoadError::Watch {
                pid: std::process::id(),
                cause,
            })?,
            slab: slab_bytes().ok().map(|start| Growth { start, now: start }),
        })
    }

    /// Looks again.
    pub(crate) fn look(&mut self) {
        self.each(Watch::look);
        if let (Some(slab), Ok(now)) = (&mut self.slab, slab_bytes()) {
            slab.now = now;
        }
    }

    /// CPU time counts from here.
    pub(crate) fn begin_measuring(&mut self) {
        self.look();
        self.each(|watch| watch.cpu.begin_us = watch.now.cpu_us);
    }

    /// CPU time counts up to here.
    pub(crate) fn end_measuring(&mut self) {
        self.look();
        self.each(|watch| watch.cpu.end_us = watch.now.cpu_us);
    }

    fn each(&mut self, what: impl Fn(&mut Watch)) {
        what(&mut self.own);
        self.watches.iter_mut().for_each(what);
    }

    /// This process' CPU time per statement, in microseconds.
    pub(crate) fn own_cpu_us_per(&self, statements: u64) -> Option<f64> {
        self.own.cpu.per(statements)
    }

    /// The most memory that this process was seen to hold.
    pub(crate) fn own_rss_bytes_max(&self) -> u64 {
        self.own.rss_bytes_max
    }

    /// The part of `measured` for which this process' `threads` were busy.
    pub(crate) fn own_share(&self, measured: Duration, threads: u32) -> f64 {
        let us = self.own.cpu.us() as f64;
        us / (measured.as_micros() as f64 * f64::from(threads)).max(1.0)
    }

    /// How much the slabs of the kernel grew, divided by the number of connections; `None` where
    /// the kernel does not say.
    pub(crate) fn slab_bytes_per(&self, connections: u32) -> Option<u64> {
        let grown = self.slab.map(|slab| slab.now.saturating_sub(slab.start));
        grown.map(|bytes| bytes / u64::from(connections.max(1)))
    }

    /// What the watched processes used for so many statements over so many connections.
    pub(crate) fn results(&self, statements: u64, connections: u32) -> Vec<Watched> {
        let result = |watch: &Watch| {
            let grown = watch.now.rss_bytes.saturating_sub(watch.start.rss_bytes);
            Some(Watched {
                pid: watch.pid?,
                rss_bytes_start: watch.start.rss_bytes,
                rss_bytes: watch.now.rss_bytes,
                rss_bytes_max: watch.rss_bytes_max,
                rss_bytes_per_connection: grown / u64::from(connections.max(1)),
                cpu_us_per_statement: watch.cpu.per(statements),
            })
        };
        self.watches.iter().filter_map(result).collect()
    }
}

impl Watch {
    fn begin(pid: Option<u32>) -> io::Result<Self> {
        let start = usage(pid)?;
        Ok(Self {
            pid,
            start,
            now: start,
            rss_bytes_max: start.rss_bytes,
            cpu: Span::default(),
        })
    }

    fn look(&mut self) {
        // One that has ended keeps its last figures.
        if let Ok(now) = usage(self.pid) {
            self.now = now;
            self.rss_bytes_max = self.rss_bytes_max.max(now.rss_bytes);
        }
    }
}

impl Span {
    fn us(self) -> u64 {
        self.end_us.saturating_sub(self.begin_us)
    }

    fn per(self, statements: u64) -> Option<f64> {
        (statements > 0).then(|| self.us() as f64 / statements as f64)
    }
}

//! One run as it is planned: which way, how many connections, what they do and for how long.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Case;

/// Which way the connections go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// To the database as it is installed: a thread per connection.
    Alone,
    /// To the database with its own thread pool.
    ThreadPool,
    /// To the front door, which has a few connections to the database.
    Myriad,
}

impl Way {
    /// All, in the order in which they are run and shown.
    pub const ALL: [Self; 3] = [Self::Alone, Self::ThreadPool, Self::Myriad];

    /// As people read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alone => "database alone",
            Self::ThreadPool => "alone, thread pool",
            Self::Myriad => "through Myriad",
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the connections do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// One point select after the other.
    PointSelect,
    /// Connect, log in, one point select, quit, again and again.
    Reconnect,
    /// One update by primary key after the other, each of them durable.
    Update,
    /// The same by an account with 128 connections, beside another account with those of the run.
    Beside,
    /// Statements of 10 ms, three times as many as can be run, by clients that connect again and repeat
    /// theirs if they have no answer within a second.
    Storm,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    /// Which way.
    pub way: Way,
    /// How many connections.
    pub connections: u32,
    /// What they do.
    pub workload: Workload,
    /// The limits in force, where they are what the run is about.
    pub case: Option<Case>,
    /// For how long before it is measured.
    pub warmup: Duration,
    /// For how long it is measured.
    pub duration: Duration,
}

/// Connections of the account that another one runs beside.
pub(crate) const PROTECTED: u32 = 128;
/// Connections from the front door to the database where they do not matter, and where 128 and a few more
/// statements are to run at once.
const BACKENDS: u32 = 32;
const BACKENDS_WIDE: u32 = 160;

impl Course {
    /// How many connections there may be at a moment: those of users who connect anew, and those that
    /// they have just closed.
    pub(crate) fn connections_max(&self) -> u32 {
        match self.workload {
            Workload::PointSelect | Workload::Update => self.connections,
            Workload::Beside => self.connections.saturating_add(PROTECTED),
            Workload::Reconnect | Workload::Storm => self.connections.saturating_mul(2),
        }
    }

    /// Connections from the front door to the database.
    pub(crate) fn backends(&self) -> u32 {
        match self.workload {
            Workload::Update | Workload::Beside => BACKENDS_WIDE,
            Workload::PointSelect | Workload::Reconnect | Workload::Storm => BACKENDS,
        }
    }

    /// Whether the database writes and syncs its binary log and its redo log at each commit.
    pub(crate) fn is_durable(&self) -> bool {
        matches!(self.workload, Workload::Update | Workload::Beside)
    }
}

/// What a run is called beside others of as many connections.
pub(crate) fn name(way: Way, case: Option<Case>) -> String {
    case.map_or_else(|| way.name().to_owned(), |case| format!("{way}, {case}"))
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connections = page::grouped(f64::from(self.connections));
        let name = name(self.way, self.case);
        match self.workload {
            Workload::PointSelect => write!(f, "{connections} connections, {name}"),
            Workload::Reconnect => write!(f, "{connections} reconnecting users, {name}"),
            Workload::Update => write!(f, "{connections} updating connections, {name}"),
            Workload::Beside => write!(f, "{connections} misbehaving clients, {name}"),
            Workload::Storm => write!(f, "a storm of {connections} clients, {name}"),
        }
    }
}

//! One run as it is planned: which way, how many connections, what they do and for how long.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

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
    /// For how long before it is measured.
    pub warmup: Duration,
    /// For how long it is measured.
    pub duration: Duration,
}

impl Course {
    /// How many connections there may be at a moment: those of users who connect anew, and those that
    /// they have just closed.
    pub(crate) fn connections_max(&self) -> u32 {
        match self.workload {
            Workload::PointSelect => self.connections,
            Workload::Reconnect => self.connections.saturating_mul(2),
        }
    }
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connections = page::grouped(f64::from(self.connections));
        match self.workload {
            Workload::PointSelect => write!(f, "{connections} connections, {}", self.way),
            Workload::Reconnect => write!(f, "{connections} reconnecting users, {}", self.way),
        }
    }
}

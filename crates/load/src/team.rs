//! What a worker knows of one group besides its connections.

use events::{Span, Timestamp};
use fastrand::Rng;

use crate::arrivals::Arrivals;
use crate::error::LoadError;
use crate::plan::{Group, Pacing};
use crate::script::Script;
use crate::tally::Tally;

/// A worker's part of a group.
pub(crate) struct Team {
    pub(crate) group: Group,
    /// What is to be sent; `None` if nothing is.
    pub(crate) script: Option<Script>,
    /// How many prepared statements a connection may have; 0 if none are to be prepared.
    pub(crate) variants: u32,
    /// No connection is opened before this time.
    pub(crate) connect_at: Timestamp,
    /// In an open loop.
    pub(crate) arrivals: Option<Arrivals>,
    pub(crate) tally: Tally,
}

/// More prepared statements than this on one connection are a mistake.
const VARIANTS_MAX: u32 = 10_000;

impl Team {
    /// A part of so many of the group's connections.
    pub(crate) fn new(group: Group, connections: u32, tally: Tally) -> Result<Self, LoadError> {
        let mut script = group.workload.script()?;
        let mut variants = 0;
        if let Some(script) = script.as_mut().filter(|_| group.prepared) {
            variants = script.number_variants();
            if variants > VARIANTS_MAX {
                return Err(LoadError::Variants { variants });
            }
        }
        let share = f64::from(connections) / f64::from(group.connections.max(1));
        let arrivals = match group.pacing {
            Pacing::Open { per_second } if connections > 0 => {
                Some(Arrivals::new(per_second * share, Rng::new()))
            }
            _ => None,
        };
        Ok(Self {
            group,
            script,
            variants,
            connect_at: Timestamp::ZERO,
            arrivals,
            tally,
        })
    }

    /// How long a connection thinks between two transactions.
    pub(crate) fn think_time(&self) -> Span {
        match self.group.pacing {
            Pacing::Closed { think_time } => think_time.into(),
            Pacing::Open { .. } => Span::ZERO,
        }
    }

    /// How long a client waits for a transaction that is to count as goodput.
    pub(crate) fn patience(&self) -> Option<Span> {
        self.group.patience.map(|patience| patience.timeout.into())
    }

    /// Arrivals that wait for a connection.
    pub(crate) fn backlog(&self, now: Timestamp) -> u64 {
        self.arrivals
            .as_ref()
            .map_or(0, |arrivals| arrivals.backlog(now))
    }
}

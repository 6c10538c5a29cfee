//! What a run is to do.

use std::net::IpAddr;
use std::time::Duration;

use driver::{Address, Driver};
use events::Span;

use crate::error::LoadError;
use crate::workload::Workload;

/// One run, from the first connection to the summary.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whom to connect to.
    pub target: Vec<Address>,
    /// Which event loop carries the workers.
    pub driver: Driver,
    /// Whether the addresses of `target` take turns; otherwise they are tried in their order.
    pub spread: bool,
    /// The addresses that connections come from, one after another; empty: whatever the system
    /// chooses.
    pub sources: Vec<IpAddr>,
    /// The connections and what they do; not empty.
    pub groups: Vec<Group>,
    /// How many connections may be logging in at once, over all threads, before the workload
    /// begins; not zero.
    pub connect_concurrency: u32,
    /// How many workers share the connections. Fewer are started where there is not at least one
    /// connection, and one login at once, for each; not zero.
    pub threads: u32,
    /// Over how long connections are opened evenly, each starting with its workload at once. Zero:
    /// as fast as they can be, and the workload begins when all are logged in.
    pub ramp: Duration,
    /// How long no further connection may be logged in before the run is given up; not zero.
    pub login_timeout: Duration,
    /// How long statements run before they are measured.
    pub warmup: Duration,
    /// How long statements are measured; not zero.
    pub duration: Duration,
    /// How long answers are awaited once no more statements are sent; not zero.
    pub answer_timeout: Duration,
    /// How often progress is reported; not zero.
    pub report_interval: Duration,
    /// Whether TLS sessions are resumed by connections that come later.
    pub resumes_tls: bool,
    /// Processes whose CPU time and memory are measured.
    pub watched: Vec<u32>,
}

/// Connections that are alike, reported together.
#[derive(Clone, Debug)]
pub struct Group {
    /// What it is called in reports.
    pub name: String,
    /// Who logs in, and where.
    pub account: Account,
    /// How many connections there are; not zero.
    pub connections: u32,
    /// What they do once they are logged in.
    pub workload: Workload,
    /// Whether statements are prepared, each once per connection.
    pub prepared: bool,
    /// When a connection begins with the next transaction.
    pub pacing: Pacing,
    /// How long a client waits for an answer.
    pub patience: Option<Patience>,
}

/// When a connection begins with the next transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// So long after the last one ended.
    Closed {
        /// The time between them; zero for none.
        think_time: Duration,
    },
    /// Transactions arrive at random times, so many per second over the whole group, and wait for
    /// a connection that has nothing to do. Their latency counts from their arrival.
    Open {
        /// The arrival rate; finite and greater than zero.
        per_second: f64,
    },
}

/// How long a client waits, and what it does then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Transactions answered within this time are goodput; not zero.
    pub timeout: Duration,
    /// What happens to a statement without an answer after that time.
    pub on_timeout: OnTimeout,
}

/// What a client does with a statement that takes too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTimeout {
    /// It goes on waiting.
    Wait,
    /// It closes the connection, connects again and repeats the transaction.
    Reconnect,
}

/// What a connection logs in with.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// The user name.
    pub user: String,
    /// The password; empty for none.
    pub password: String,
    /// The default schema; empty for none.
    pub schema: String,
    /// Over TLS, whatever certificate is shown.
    pub tls: bool,
}

impl Plan {
    /// How many connections there are in all groups.
    pub fn connections(&self) -> u32 {
        self.groups.iter().map(|group| group.connections).sum()
    }

    /// How many workers are started.
    pub(crate) fn workers(&self) -> u32 {
        self.threads
            .min(self.connections())
            .min(self.connect_concurrency)
    }

    /// Refuses what cannot work.
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        let zero = [
            ("the number of groups", self.groups.is_empty()),
            ("connect concurrency", self.connect_concurrency == 0),
            ("threads", self.threads == 0),
            ("login timeout", self.login_timeout.is_zero()),
            ("duration", self.duration.is_zero()),
            ("answer timeout", self.answer_timeout.is_zero()),
            ("report interval", self.report_interval.is_zero()),
        ];
        refuse(&zero)?;
        self.groups.iter().try_for_each(Group::check)
    }
}

impl Group {
    fn check(&self) -> Result<(), LoadError> {
        let no_rate = matches!(self.pacing, Pacing::Open { per_second }
            if !(per_second.is_finite() && per_second > 0.0));
        let no_patience = self.patience.is_some_and(|p| p.timeout.is_zero());
        refuse(&[
            ("connections", self.connections == 0),
            ("tables and table size", self.workload.is_empty()),
            ("the rate", no_rate),
            ("the client timeout", no_patience),
        ])
    }

    /// When a statement that was sent, or a login that was begun, has taken too long.
    pub(crate) fn reconnect_after(&self) -> Option<Span> {
        self.patience
            .filter(|patience| patience.on_timeout == OnTimeout::Reconnect)
            .map(|patience| patience.timeout.into())
    }

    /// Whether its clients reconnect by themselves, and are not to be held back.
    pub(crate) fn reconnects_at_will(&self) -> bool {
        self.workload.is_reconnect() || self.reconnect_after().is_some()
    }
}

fn refuse(zero: &[(&'static str, bool)]) -> Result<(), LoadError> {
    match zero.iter().find(|(_, is_zero)| *is_zero) {
        Some((what, _)) => Err(LoadError::Zero(what)),
        None => Ok(()),
    }
}

/// The share of `total` that falls to worker `number` of `workers`.
pub(crate) fn share(total: u32, number: u32, workers: u32) -> u32 {
    total / workers + u32::from(number < total % workers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_differ_by_one_at_most() {
        for (total, workers) in [(1, 1), (7, 3), (200, 8), (3, 3)] {
            let shares: Vec<u32> = (0..workers).map(|n| share(total, n, workers)).collect();
            assert_eq!(shares.iter().sum::<u32>(), total);
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
    }
}

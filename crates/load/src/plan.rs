//! What a run is to do.

use std::time::Duration;

use driver::{Address, Driver};

use crate::error::LoadError;
use crate::workload::Workload;

/// One run, from the first connection to the summary.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whom to connect to: each address is tried in this order.
    pub target: Vec<Address>,
    /// Which event loop carries the workers.
    pub driver: Driver,
    /// Who logs in, and where.
    pub account: Account,
    /// What the connections do once all are logged in.
    pub workload: Workload,
    /// How many connections there are; not zero.
    pub connections: u32,
    /// How many of them may be logging in at once, over all threads; not zero.
    pub connect_concurrency: u32,
    /// How many workers share the connections. Fewer are started where there is not at least one
    /// connection, and one login at once, for each; not zero.
    pub threads: u32,
    /// How long statements run before they are measured.
    pub warmup: Duration,
    /// How long statements are measured; not zero.
    pub duration: Duration,
    /// How often progress is reported; not zero.
    pub report_interval: Duration,
    /// Processes whose CPU time and memory are measured.
    pub watched: Vec<u32>,
}

/// What a connection logs in with.
#[derive(Clone, Debug)]
pub struct Account {
    /// The user name.
    pub user: String,
    /// The password; empty for none.
    pub password: String,
    /// The default schema; empty for none.
    pub schema: String,
}

impl Plan {
    /// How many workers are started.
    pub(crate) fn workers(&self) -> u32 {
        self.threads
            .min(self.connections)
            .min(self.connect_concurrency)
    }

    /// Refuses what cannot work.
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        let zero = [
            ("connections", self.connections == 0),
            ("connect concurrency", self.connect_concurrency == 0),
            ("threads", self.threads == 0),
            ("duration", self.duration.is_zero()),
            ("report interval", self.report_interval.is_zero()),
            ("tables and table size", self.workload.is_empty()),
        ];
        match zero.iter().find(|(_, is_zero)| *is_zero) {
            Some((what, _)) => Err(LoadError::Zero(what)),
            None => Ok(()),
        }
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

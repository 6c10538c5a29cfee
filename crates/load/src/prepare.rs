//! Making and removing the tables that the workloads use.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use driver::Address;
use fastrand::Rng;

use crate::client::Client;
use crate::error::LoadError;
use crate::plan::Account;
use crate::tables;

/// Rows per statement: about 200 KB.
const BATCH: u32 = 1_000;

/// Which tables, and where.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Whom to connect to: each address is tried in this order.
    pub target: Vec<Address>,
    /// Who logs in, and the schema of the tables.
    pub account: Account,
    /// How many tables; not zero.
    pub tables: u32,
    /// How many rows each has; not zero.
    pub rows: u32,
    /// How many connections share the work; not zero.
    pub connections: u32,
}

/// Something that one connection does by itself.
enum Job {
    Fill { table: u32, first: u32, last: u32 },
    Index { table: u32 },
}

impl Tables {
    /// Makes the tables and fills them. `progress` is told how many rows of all are there.
    ///
    /// # Errors
    /// A table is there already, or the target refuses something else.
    pub fn prepare(&self, mut progress: impl FnMut(u64)) -> Result<(), LoadError> {
        self.check()?;
        let mut client = Client::connect(&self.target, &self.account)?;
        for table in 1..=self.tables {
            client.execute(tables::create(table).as_bytes())?;
        }
        let mut rows = 0;
        self.share_out(&self.fills(), |more| {
            rows += more;
            progress(rows);
        })?;
        let index: Vec<Job> = (1..=self.tables)
            .map(|table| Job::Index { table })
            .collect();
        self.share_out(&index, |_| {})
    }

    /// Removes the tables that are there.
    ///
    /// # Errors
    /// The target refuses it.
    pub fn cleanup(&self) -> Result<(), LoadError> {
        self.check()?;
        let mut client = Client::connect(&self.target, &self.account)?;
        (1..=self.tables).try_for_each(|table| client.execute(tables::drop(table).as_bytes()))
    }

    /// How many rows all tables have together.
    pub fn rows_total(&self) -> u64 {
        u64::from(self.tables) * u64::from(self.rows)
    }

    fn check(&self) -> Result<(), LoadError> {
        match (self.rows_total(), self.connections) {
            (0, _) => Err(LoadError::Zero("tables and table size")),
            (_, 0) => Err(LoadError::Zero("connections")),
            _ => Ok(()),
        }
    }

    fn fills(&self) -> Vec<Job> {
        let batches = |table| {
            (1..=self.rows).step_by(BATCH as usize).map(move |first| {
                let last = first.saturating_add(BATCH - 1).min(self.rows);
                Job::Fill { table, first, last }
            })
        };
        (1..=self.tables).flat_map(batches).collect()
    }

    /// Has several connections do the jobs. `done` is told how many rows each of them made.
    fn share_out(&self, jobs: &[Job], mut done: impl FnMut(u64)) -> Result<(), LoadError> {
        let next = AtomicUsize::new(0);
        let (to, from) = channel();
        std::thread::scope(|scope| {
            for _ in 0..self.connections.min(jobs.len() as u32) {
                let (to, next) = (to.clone(), &next);
                scope.spawn(move || {
                    if let Err(error) = self.work(jobs, next, &to) {
                        // Nobody listens any more if another one has failed before.
                        let _gone = to.send(Err(error));
                    }
                });
            }
            drop(to);
            let mut told = from.into_iter();
            told.try_for_each(|rows| rows.map(&mut done))
        })
    }

    fn work(
        &self,
        jobs: &[Job],
        next: &AtomicUsize,
        to: &Sender<Result<u64, LoadError>>,
    ) -> Result<(), LoadError> {
        let mut client = Client::connect(&self.target, &self.account)?;
        let mut rng = Rng::new();
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let rows = self.run(job, &mut client, &mut rng)?;
            if to.send(Ok(rows)).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn run(&self, job: &Job, client: &mut Client, rng: &mut Rng) -> Result<u64, LoadError> {
        match *job {
            Job::Fill { table, first, last } => {
                client.execute(&tables::insert(table, first..=last, self.rows, rng))?;
                Ok(u64::from(last - first) + 1)
            }
            Job::Index { table } => {
                client.execute(tables::create_index(table).as_bytes())?;
                Ok(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_filled_in_once() {
        let tables = Tables {
            target: Vec::new(),
            account: Account::default(),
            tables: 2,
            rows: 2_500,
            connections: 1,
        };
        let rows: Vec<(u32, u32, u32)> = tables
            .fills()
            .iter()
            .filter_map(|job| match *job {
                Job::Fill { table, first, last } => Some((table, first, last)),
                Job::Index { .. } => None,
            })
            .collect();
        let expected = [1, 2].map(|t| [(t, 1, 1_000), (t, 1_001, 2_000), (t, 2_001, 2_500)]);
        assert_eq!(rows, expected.concat());
    }
}

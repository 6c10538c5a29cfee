//! What all listeners of the control plane answer from: the workers, what they told last, what the
//! process knows besides.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::{KillOutcome, Look, Mail, Reply, Victim};
use tokio::time::Instant;

use crate::facts::{DriverCount, Facts};
use crate::watch::Watch;
use crate::workers::{ANSWER_TIME, Workers, answer_by, ask, post};

/// What answers are made of; one for all listeners.
pub struct Desk {
    pub(crate) workers: Arc<dyn Workers>,
    pub(crate) answer_time: Duration,
    pub(crate) watch: Watch,
    pub(crate) facts: Facts,
    pub(crate) tallies: Tallies,
}

/// What the listeners count.
#[derive(Default)]
pub(crate) struct Tallies {
    /// HTTP connections that were refused because there were too many.
    pub(crate) http_refused: AtomicU64,
    /// Connections for statements, the same.
    pub(crate) sql_refused: AtomicU64,
    /// Logins of administrators that were refused.
    pub(crate) logins_refused: AtomicU64,
    /// Statements of administrators.
    pub(crate) sql_statements: AtomicU64,
}

impl Desk {
    /// For these workers.
    pub fn new(workers: Arc<dyn Workers>, facts: Facts) -> Arc<Self> {
        Self::within(ANSWER_TIME, workers, facts)
    }

    /// The same, where workers may take so long to answer.
    pub(crate) fn within(
        answer_time: Duration,
        workers: Arc<dyn Workers>,
        facts: Facts,
    ) -> Arc<Self> {
        Arc::new(Self {
            watch: Watch::new(Arc::clone(&workers), answer_time, facts.accounts.clone()),
            workers,
            answer_time,
            facts,
            tallies: Tallies::default(),
        })
    }

    /// What the listeners have counted, as in `/metrics`.
    pub(crate) fn counts(&self) -> [DriverCount; 5] {
        let tallies = &self.tallies;
        let count = |name, help, tally: &AtomicU64| (name, help, tally.load(Ordering::Relaxed));
        let (_, forgotten) = self.facts.shared.hosts_failed();
        [
            (
                "hosts_forgotten",
                "Addresses that had failed to log in and were forgotten to make room for others",
                forgotten,
            ),
            count(
                "http_connections_refused",
                "HTTP connections refused because there were too many",
                &tallies.http_refused,
            ),
            count(
                "admin_connections_refused",
                "Connections for statements of administrators refused because there were too many",
                &tallies.sql_refused,
            ),
            count(
                "admin_logins_refused",
                "Logins of administrators that were refused",
                &tallies.logins_refused,
            ),
            count(
                "admin_statements",
                "Statements of administrators",
                &tallies.sql_statements,
            ),
        ]
    }

    /// Asks all workers the same; `None` for one that does not answer in time.
    pub(crate) async fn ask_all<T: Send + 'static>(
        &self,
        question: impl Fn(Reply<T>) -> Look,
    ) -> Vec<Option<T>> {
        let deadline = Instant::now() + self.answer_time;
        let posted: Vec<_> = (0..self.workers.count())
            .map(|worker| {
                post(self.workers.as_ref(), worker, |reply| {
                    Mail::Look(question(reply))
                })
            })
            .collect();
        let mut answers = Vec::with_capacity(posted.len());
        for receiver in posted {
            answers.push(answer_by(receiver, deadline).await);
        }
        answers
    }

    /// Has a client or its statement ended; `None` if its worker does not answer.
    pub(crate) async fn kill(&self, victim: Victim) -> Option<KillOutcome> {
        let worker = self.facts.shared.worker_of(victim.id);
        let deadline = Instant::now() + self.answer_time;
        let asked = ask(self.workers.as_ref(), worker, deadline, |reply| {
            Mail::End(victim, reply)
        });
        asked.await
    }
}

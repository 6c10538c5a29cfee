//! What the workers told last. One round of questions serves everybody who came before its end, and
//! counters never run backwards: a worker that is silent counts with what it told last.

use std::sync::Arc;
use std::time::Duration;

use engine::Counters;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::credentials::Attempts;
use crate::facts::Accounts;
use crate::outlook::{Backend, Outlook};
use crate::workers::{Collected, Inquiry, Workers};

/// Remembers between the rounds.
pub(crate) struct Watch {
    answer_time: Duration,
    accounts: Option<Accounts>,
    state: Mutex<State>,
}

/// One round's outcome.
#[derive(Debug)]
pub(crate) struct Sighting {
    /// Who answered what. The counters of the total hold those of silent workers, too.
    pub(crate) collected: Collected,
    /// What all of it tells of the backend.
    pub(crate) backend: Backend,
    /// The attempts to read the database's accounts, where they are read.
    pub(crate) accounts: Option<Attempts>,
    ended: Instant,
}

struct State {
    inquiry: Inquiry,
    told: Vec<Told>,
    outlook: Outlook,
    latest: Option<Arc<Sighting>>,
}

#[derive(Clone)]
struct Told {
    counters: Counters,
    responding: bool,
}

impl Watch {
    pub(crate) fn new(
        workers: Arc<dyn Workers>,
        answer_time: Duration,
        accounts: Option<Accounts>,
    ) -> Self {
        let told = Told {
            counters: Counters::default(),
            responding: true,
        };
        let state = State {
            told: vec![told; workers.count()],
            inquiry: Inquiry::new(workers),
            outlook: Outlook::default(),
            latest: None,
        };
        Self {
            answer_time,
            accounts,
            state: Mutex::new(state),
        }
    }

    /// Asks the workers, or shares the answers of a round that ended after this call began.
    pub(crate) async fn look(&self) -> Arc<Sighting> {
        let arrived = Instant::now();
        let mut state = self.state.lock().await;
        if let Some(latest) = &state.latest
            && latest.ended > arrived
        {
            return Arc::clone(latest);
        }
        let collected = state.inquiry.collect(self.answer_time).await;
        let accounts = self.accounts.as_ref();
        let accounts = accounts.map(|accounts| accounts.status.attempts());
        let sighting = Arc::new(state.remember(collected, accounts));
        state.latest = Some(Arc::clone(&sighting));
        sighting
    }
}

impl State {
    fn remember(&mut self, mut collected: Collected, accounts: Option<Attempts>) -> Sighting {
        let answers = self.told.iter_mut().zip(&collected.reports).enumerate();
        for (worker, (told, report)) in answers {
            if told.responding != report.is_some() {
                tell(worker, report.is_some());
            }
            told.responding = report.is_some();
            match report {
                Some(report) => told.counters.clone_from(&report.counters),
                None => collected.total.counters.add(&told.counters),
            }
        }
        let ended = Instant::now();
        let last = accounts.as_ref().map(|accounts| accounts.last);
        let backend = self.outlook.update(&collected.total, last, ended);
        Sighting {
            collected,
            backend,
            accounts,
            ended,
        }
    }
}

fn tell(worker: usize, responding: bool) {
    match responding {
        true => tracing::info!(worker, "worker answers again"),
        false => tracing::warn!(worker, "worker does not answer"),
    }
}

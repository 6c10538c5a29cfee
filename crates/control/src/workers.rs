//! Asking the workers for their reports: all at once, and none for longer than [`ANSWER_TIME`].

use std::sync::Arc;
use std::time::Duration;

use engine::{AccountReport, Mail, Reply, Report};
use tokio::sync::oneshot::{self, Receiver};
use tokio::time::{Instant, timeout_at};

/// How long all workers together may take to answer.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(1);

/// The mailboxes of all workers.
pub trait Workers: Send + Sync + 'static {
    /// How many workers there are, ended ones included.
    fn count(&self) -> usize;

    /// Posts to a worker. Returns the mail if that worker has ended.
    fn post(&self, worker: usize, mail: Mail) -> Result<(), Mail>;
}

/// What the workers told.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// By worker; `None` for one that did not answer in time or has ended.
    pub reports: Vec<Option<Report>>,
    /// All reports added up, with the first server version that was told.
    pub total: Report,
}

/// Asks every worker for its report. Takes at most a second; a worker that has not answered by then
/// is `None`.
pub async fn collect(workers: Arc<dyn Workers>) -> Collected {
    Inquiry::new(workers).collect(ANSWER_TIME).await
}

/// Asks again and again, with at most one question open per worker: a worker that hangs would
/// otherwise come back to a mailbox full of them.
pub(crate) struct Inquiry {
    workers: Arc<dyn Workers>,
    open: Vec<Option<Receiver<Report>>>,
}

impl Inquiry {
    pub(crate) fn new(workers: Arc<dyn Workers>) -> Self {
        let open = (0..workers.count()).map(|_| None).collect();
        Self { workers, open }
    }

    /// May be dropped halfway: what is open then is still known.
    pub(crate) async fn collect(&mut self, answer_time: Duration) -> Collected {
        let deadline = Instant::now() + answer_time;
        for (worker, open) in self.open.iter_mut().enumerate() {
            if !is_pending(open) {
                *open = post(self.workers.as_ref(), worker, Mail::Report);
            }
        }
        let mut reports = Vec::with_capacity(self.open.len());
        for open in &mut self.open {
            reports.push(answer(open, deadline).await);
        }
        let total = total(reports.iter().flatten());
        Collected { reports, total }
    }
}

impl Collected {
    /// How many workers answered.
    pub fn responding(&self) -> usize {
        self.reports.iter().flatten().count()
    }
}

/// Whether the worker still owes an answer. One that came too late is of the past and forgotten.
fn is_pending(open: &mut Option<Receiver<Report>>) -> bool {
    let pending = |receiver: &mut Receiver<Report>| {
        matches!(
            receiver.try_recv(),
            Err(oneshot::error::TryRecvError::Empty)
        )
    };
    open.as_mut().is_some_and(pending)
}

/// Posts a question to a worker. `None` if it has ended.
pub(crate) fn post<T: Send + 'static>(
    workers: &dyn Workers,
    worker: usize,
    question: impl FnOnce(Reply<T>) -> Mail,
) -> Option<Receiver<T>> {
    let (sender, receiver) = oneshot::channel();
    let reply = move |answer| {
        // Nobody may be waiting any more.
        let _ = sender.send(answer);
    };
    let posted = workers.post(worker, question(Box::new(reply)));
    posted.is_ok().then_some(receiver)
}

/// The answer to a question that was posted; `None` if there is none by then.
pub(crate) async fn answer_by<T>(receiver: Option<Receiver<T>>, deadline: Instant) -> Option<T> {
    timeout_at(deadline, receiver?).await.ok()?.ok()
}

/// Asks one worker; `None` if there is no answer by then.
pub(crate) async fn ask<T: Send + 'static>(
    workers: &dyn Workers,
    worker: usize,
    deadline: Instant,
    question: impl FnOnce(Reply<T>) -> Mail,
) -> Option<T> {
    answer_by(post(workers, worker, question), deadline).await
}

/// The receiver stays where it is unless the worker answered or ended.
async fn answer(open: &mut Option<Receiver<Report>>, deadline: Instant) -> Option<Report> {
    let report = timeout_at(deadline, open.as_mut()?).await.ok()?;
    *open = None;
    report.ok()
}

/// Adds up what workers told of the same accounts.
fn add_accounts(sums: &mut Vec<AccountReport>, more: &[AccountReport]) {
    for account in more {
        match sums.iter_mut().find(|sum| sum.name == account.name) {
            Some(sum) => {
                sum.waiting += account.waiting;
                sum.counters.add(&account.counters);
            }
            None => sums.push(account.clone()),
        }
    }
}

fn total<'a>(reports: impl Iterator<Item = &'a Report>) -> Report {
    let mut total = Report::default();
    for report in reports {
        total.gauges.add(&report.gauges);
        total.counters.add(&report.counters);
        add_accounts(&mut total.accounts, &report.accounts);
        if total.server_version.is_empty() {
            total.server_version.clone_from(&report.server_version);
        }
    }
    total
}

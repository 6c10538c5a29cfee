//! The worker threads, as the main thread sees them.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use driver::{Clock, DriverError, Inbox, Listeners, Postboxes, Worker};

use crate::error::LoadError;
use crate::generator::{Generator, Mail, Report};
use crate::plan::{Plan, share};
use crate::tally::Tally;

/// All workers of a run.
pub(crate) struct Crew {
    postboxes: Postboxes<Mail>,
    threads: Vec<Thread>,
    /// Hears from each worker that ends.
    ended: Receiver<()>,
}

impl Crew {
    /// Starts the workers; they begin to connect at once. `clock` gives the times in tallies.
    pub(crate) fn start(plan: &Arc<Plan>, clock: Clock, empty: &Tally) -> Result<Self, LoadError> {
        let (inboxes, postboxes) = driver::mailboxes(plan.workers() as usize)?;
        let (end, ended) = channel();
        let mut crew = Self {
            postboxes,
            threads: Vec::new(),
            ended,
        };
        let mut first = 0;
        for (inbox, number) in inboxes.into_iter().zip(0..) {
            let last = first + share(plan.connections, number, plan.workers());
            let logins_max = share(plan.connect_concurrency, number, plan.workers());
            let generator = Generator::new(plan.clone(), first..last, logins_max, empty.clone());
            let worker = worker(plan, inbox, crew.postboxes.clone(), clock);
            match spawn(number, generator, worker, end.clone()) {
                Ok(thread) => crew.threads.push(thread),
                Err(error) => {
                    crew.finish(empty)?;
                    return Err(LoadError::Thread(error));
                }
            }
            first = last;
        }
        Ok(crew)
    }

    /// Has all workers begin with the workload.
    pub(crate) fn begin_work(&self) -> Result<(), LoadError> {
        self.post(|| Mail::Start)
    }

    /// What the workers have counted since they were asked last, and how many connections are
    /// logged in now.
    pub(crate) fn report(&self, empty: &Tally) -> Result<Report, LoadError> {
        let (to, from) = channel();
        self.post(|| Mail::Report(to.clone()))?;
        drop(to);
        let mut sum = Report {
            tally: empty.clone(),
            open: 0,
        };
        for _ in &self.threads {
            let report: Report = from.recv().map_err(|_| LoadError::Ended)?;
            sum.tally.add(report.tally);
            sum.open += report.open;
        }
        Ok(sum)
    }

    /// Waits, or fails because a worker has ended.
    pub(crate) fn wait_until(&self, time: Instant) -> Result<(), LoadError> {
        let left = time.saturating_duration_since(Instant::now());
        match self.ended.recv_timeout(left) {
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Err(LoadError::Ended),
        }
    }

    /// Stops the workers and waits until they have ended. Returns what they have counted since
    /// the last report, or why one of them could not go on.
    pub(crate) fn finish(self, empty: &Tally) -> Result<Tally, LoadError> {
        for worker in 0..self.threads.len() {
            // One that has ended already needs no telling.
            let _ended = self.postboxes.post(worker, Mail::Stop);
        }
        let (mut sum, mut failure) = (empty.clone(), None);
        for thread in self.threads {
            let generator = thread.join().map_err(|_| LoadError::Ended)??;
            sum.add(generator.tally);
            failure = failure.or(generator.failure);
        }
        failure.map_or(Ok(sum), Err)
    }

    fn post(&self, mail: impl Fn() -> Mail) -> Result<(), LoadError> {
        for worker in 0..self.threads.len() {
            let posted = self.postboxes.post(worker, mail());
            posted.map_err(|_| LoadError::Ended)?;
        }
        Ok(())
    }
}

type Thread = JoinHandle<Result<Generator, DriverError>>;

fn spawn(
    number: u32,
    generator: Generator,
    worker: Worker<Mail>,
    end: Sender<()>,
) -> io::Result<Thread> {
    let thread = std::thread::Builder::new().name(format!("load-{number}"));
    thread.spawn(move || {
        let result = driver::run(generator, worker);
        // Nobody listens once the run is over.
        let _gone = end.send(());
        result
    })
}

fn worker(
    plan: &Plan,
    inbox: Inbox<Mail>,
    postboxes: Postboxes<Mail>,
    clock: Clock,
) -> Worker<Mail> {
    Worker {
        inbox,
        postboxes,
        listeners: Listeners::default(),
        backend: plan.target.clone().into(),
        clock,
        driver: plan.driver,
        counters: Arc::default(),
    }
}

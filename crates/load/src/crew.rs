//! The worker threads, as the main thread sees them.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use driver::{Clock, DriverError, Inbox, Listeners, Postboxes, Sources, Worker};
use tls::{Client, Parties, Secured, Verify};

use crate::error::LoadError;
use crate::generator::{Generator, Mail, Part, Report};
use crate::plan::{Plan, share};
use crate::tally::Tally;

/// All workers of a run.
pub(crate) struct Crew {
    postboxes: Postboxes<Mail>,
    threads: Vec<Thread>,
    /// Hears from each worker that ends.
    ended: Receiver<()>,
    groups: usize,
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
            groups: plan.groups.len(),
        };
        let parties = parties(plan)?;
        let (mut shares, mut generators) = (Shares::new(plan), Vec::new());
        for number in 0..plan.workers() {
            let logins_max = share(plan.connect_concurrency, number, plan.workers());
            let numbers = shares.next(number);
            let generator = Generator::new(plan.clone(), &numbers, logins_max, empty)?;
            generators.push(Secured::new(generator, parties.clone()));
        }
        for ((inbox, generator), number) in inboxes.into_iter().zip(generators).zip(0..) {
            let worker = worker(plan, inbox, crew.postboxes.clone(), clock);
            match spawn(number, generator, worker, end.clone()) {
                Ok(thread) => crew.threads.push(thread),
                Err(error) => {
                    crew.finish(empty)?;
                    return Err(LoadError::Thread(error));
                }
            }
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
        let nothing = Part {
            tally: empty.clone(),
            open: 0,
            backlog: 0,
        };
        let mut sum = vec![nothing; self.groups];
        for _ in &self.threads {
            let report: Report = from.recv().map_err(|_| LoadError::Ended)?;
            for (sum, part) in sum.iter_mut().zip(report) {
                sum.tally.add(part.tally);
                sum.open += part.open;
                sum.backlog += part.backlog;
            }
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
    pub(crate) fn finish(self, empty: &Tally) -> Result<Vec<Tally>, LoadError> {
        for worker in 0..self.threads.len() {
            // One that has ended already needs no telling.
            let _ended = self.postboxes.post(worker, Mail::Stop);
        }
        let (mut sum, mut failure) = (vec![empty.clone(); self.groups], None);
        for thread in self.threads {
            let generator = thread.join().map_err(|_| LoadError::Ended)??.into_inner();
            for (sum, team) in sum.iter_mut().zip(generator.teams) {
                sum.add(team.tally);
            }
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

/// Deals the connections of all groups out to the workers.
struct Shares<'a> {
    plan: &'a Plan,
    next: u32,
}

impl<'a> Shares<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self { plan, next: 0 }
    }

    /// The numbers of the connections of this worker, for each group.
    fn next(&mut self, worker: u32) -> Vec<Range<u32>> {
        let workers = self.plan.workers();
        let groups = self.plan.groups.iter().zip(0..);
        let ranges = groups.map(|(group, number)| {
            // Each group begins with another worker, or the first would get all that is left over.
            let turn = (worker + number) % workers;
            let first = self.next;
            self.next += share(group.connections, turn, workers);
            first..self.next
        });
        ranges.collect()
    }
}

type Thread = JoinHandle<Result<Secured<Generator>, DriverError>>;

fn spawn(
    number: u32,
    generator: Secured<Generator>,
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

/// What TLS is spoken with, if any group does.
fn parties(plan: &Plan) -> Result<Parties, LoadError> {
    let mut parties = Parties::default();
    if plan.groups.iter().any(|group| group.account.tls) {
        // Whom it is for is not looked at.
        let client = Client::new("target.invalid", Verify::Nothing, None)?;
        let client = match plan.resumes_tls {
            true => client,
            false => client.without_resumption(),
        };
        parties.client = Some(Arc::new(client));
    }
    Ok(parties)
}

fn worker(
    plan: &Plan,
    inbox: Inbox<Mail>,
    postboxes: Postboxes<Mail>,
    clock: Clock,
) -> Worker<Mail> {
    // Workers begin with different pairs of addresses.
    let pairs = plan.target.len() * plan.sources.len().max(1);
    let turn = inbox.worker() * pairs / plan.workers() as usize;
    let sources = if plan.spread || !plan.sources.is_empty() {
        Sources::taking_turns(plan.sources.clone(), turn)
    } else {
        Sources::default()
    };
    Worker {
        inbox,
        sources,
        postboxes,
        listeners: Listeners::default(),
        backend: plan.target.clone().into(),
        clock,
        driver: plan.driver,
        counters: Arc::default(),
    }
}

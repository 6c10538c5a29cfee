//! What a run needs, running: a database, a front door if the way leads through it, and the generator.

use crate::database::{Database, Wanted};
use crate::door::Door;
use crate::error::ChallengeError;
use crate::orders::ROUNDS;
use crate::orders::{self, Orders, Phase};
use crate::summary::Summary;
use crate::{Course, Figures, KernelMemory, Live, Plan, Stop, Watcher, Way, Workload};
use crate::{figures, generator, kernel, storm};

/// Database and front door. They are stopped when dropped, the front door first.
pub(crate) struct Bench {
    door: Option<Door>,
    database: Database,
}

impl Bench {
    /// Starts them for a run, and for smaller ones of the same kind.
    pub(crate) fn start(plan: &Plan, course: &Course, stop: &Stop) -> Result<Self, ChallengeError> {
        stop.check()?;
        let through = course.way == Way::Myriad;
        let wanted = Wanted {
            way: course.way,
            connections: match through {
                true => course.backends(),
                false => course.connections_max(),
            },
            is_durable: course.is_durable(),
        };
        let database = Database::start(plan, wanted)?;
        database.warm_up()?;
        stop.check()?;
        let door = through.then(|| Door::start(plan, &database, course, stop));
        Ok(Self {
            door: door.transpose()?,
            database,
        })
    }

    /// Does one run.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        course: &Course,
        watcher: &mut dyn Watcher,
        stop: &Stop,
    ) -> Result<Figures, ChallengeError> {
        let mut run = Run {
            bench: self,
            plan,
            course,
            watcher,
            stop,
        };
        if course.is_durable() {
            self.database.rest(stop)?;
        }
        match course.workload {
            Workload::Beside => run.beside(),
            Workload::Storm => run.storm(),
            _ => run.summary(Phase::All)?.figures(course),
        }
    }
}

/// One run, on its way.
struct Run<'a> {
    bench: &'a Bench,
    plan: &'a Plan,
    course: &'a Course,
    watcher: &'a mut dyn Watcher,
    stop: &'a Stop,
}

impl Run<'_> {
    /// The protected account alone, beside the other one, and so on, and alone once more: a machine that
    /// becomes slower or faster meanwhile does so for both.
    fn beside(&mut self) -> Result<Figures, ChallengeError> {
        let mut alone = self.summary(Phase::Alone)?.figures(self.course)?;
        let first = self.round(&mut alone)?;
        let others = (1..ROUNDS).map(|_| self.round(&mut alone));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        Ok(figures::median_round(first, others))
    }

    /// Beside the other one, and alone; `alone` is what it had alone before.
    fn round(&mut self, alone: &mut Figures) -> Result<Figures, ChallengeError> {
        let both = self.summary(Phase::All)?;
        let after = self.summary(Phase::Alone)?.figures(self.course)?;
        let before = std::mem::replace(alone, after.clone());
        both.beside(self.course, &[before, after])
    }

    /// As many patient clients as may run, and then the storm.
    fn storm(&mut self) -> Result<Figures, ChallengeError> {
        storm::prepare(&self.bench.database, self.course)?;
        storm::write_script(self.plan, self.course)?;
        let calm = self.summary(Phase::Alone)?.figures(self.course)?;
        storm::prepare(&self.bench.database, self.course)?;
        let stormy = self.summary(Phase::All)?;
        let counted = storm::counted(&self.bench.database)?;
        stormy.storm(self.course, &calm, counted)
    }

    /// What the generator measured.
    fn summary(&mut self, phase: Phase) -> Result<Summary, ChallengeError> {
        let before = kernel::memory_at_rest(self.stop);
        let mut most: Option<KernelMemory> = None;
        let look = |live: Live| {
            self.watcher.look(&live);
            if live.is_measuring {
                // All connections are open while statements are measured, and none after.
                most = most
                    .into_iter()
                    .chain(kernel::memory())
                    .max_by_key(KernelMemory::total);
            }
        };
        let orders = self.bench.orders(self.plan, self.course, phase);
        let mut summary = generator::run(self.plan, &orders, self.stop, look)?;
        summary.kernel_per_connection =
            kernel::per_connection(before, most, self.course.connections);
        Ok(summary)
    }
}

impl Bench {
    fn orders(&self, plan: &Plan, course: &Course, phase: Phase) -> Orders {
        let database = self.database.pid();
        let mut watched = vec![database];
        let mut port = self.database.port();
        if let Some(door) = &self.door {
            watched.push(door.pid());
            port = door.port();
        }
        orders::orders(plan, course, port, phase).watching(&watched)
    }
}

//! What a run needs, running: a database, a front door if the way leads through it, and the generator.

use crate::database::Database;
use crate::door::Door;
use crate::error::ChallengeError;
use crate::generator;
use crate::kernel;
use crate::{Course, Figures, KernelMemory, Live, Plan, Stop, Watcher, Way};

/// Database and front door. They are stopped when dropped, the front door first.
pub(crate) struct Bench {
    door: Option<Door>,
    database: Database,
}

impl Bench {
    /// Starts them for runs of up to so many connections.
    pub(crate) fn start(
        plan: &Plan,
        way: Way,
        connections: u32,
        stop: &Stop,
    ) -> Result<Self, ChallengeError> {
        stop.check()?;
        let through = way == Way::Myriad;
        let to_database = if through {
            plan.backends()
        } else {
            connections
        };
        let database = Database::start(plan, way, to_database)?;
        database.warm_up()?;
        stop.check()?;
        let door = through.then(|| Door::start(plan, &database, connections, stop));
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
        let before = kernel::memory_at_rest(stop);
        let mut most: Option<KernelMemory> = None;
        let look = |live: Live| {
            watcher.look(&live);
            if live.is_measuring {
                // All connections are open while statements are measured, and none after.
                most = most
                    .into_iter()
                    .chain(kernel::memory())
                    .max_by_key(KernelMemory::total);
            }
        };
        let summary = generator::run(plan, &self.orders(plan, course), stop, look)?;
        let kernel = kernel::per_connection(before, most, course.connections);
        let figures = summary.figures(course, kernel);
        figures.ok_or_else(|| ChallengeError::Child {
            name: "myriad load",
            what: "did not watch the database".to_owned(),
            said: "report this as a defect".to_owned(),
        })
    }

    fn orders(&self, plan: &Plan, course: &Course) -> generator::Orders {
        let database = self.database.pid();
        match &self.door {
            Some(door) => generator::orders(plan, course, door.port(), &[database, door.pid()]),
            None => generator::orders(plan, course, self.database.port(), &[database]),
        }
    }
}

//! One world: the clock, the workers, the network between them, the clients and the database. It
//! goes from event to event and checks the rules at each.

use std::sync::Arc;

use engine::{Counters, DisconnectReason, Engine, Mail, Shared};
use events::{Handle, Handler, Span, Timestamp};
use fastrand::Rng;

use crate::client::{Client, Kills, Phase, Surroundings};
use crate::database::{Database, Incidents, Outside};
use crate::failure::{Broken, Rule, ensure};
use crate::invariants::Watch;
use crate::network::{Network, WorkerIo};
use crate::panics::Panics;
use crate::schedule::{Event, Schedule};
use crate::setup::{self, Setup};
use crate::trace::{Detail, Trace};
use crate::{Options, Sabotage, Scenario, Stats};

/// No world needs more.
const STEPS_MAX: u64 = 2_000_000;

/// All clients are to be done by then.
const OVER_BY: Timestamp = Timestamp::from_us(600_000_000);

/// How long everything is left alone at the end.
const AFTERMATH_US: u64 = 4_000_000;

/// One worker of the front door.
pub(crate) struct Worker {
    pub(crate) engine: Engine,
    /// A turn has begun and not ended.
    in_turn: bool,
    timer: u64,
    /// Timer calls after which the next was due at once.
    restless: u32,
}

pub(crate) struct World {
    pub(crate) setup: Setup,
    pub(crate) shared: Arc<Shared>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) network: Network,
    pub(crate) schedule: Schedule,
    pub(crate) trace: Trace,
    pub(crate) database: Database,
    pub(crate) clients: Vec<Client>,
    pub(crate) kills: Kills,
    pub(crate) drained_at: Option<Timestamp>,
    pub(crate) options: Options,
    pub(crate) watch: Watch,
    pub(crate) rng: Rng,
    steps: u64,
    /// The clients are done; what is left of their time comes to an end then.
    quiet_until: Option<Timestamp>,
}

impl World {
    pub(crate) fn new(seed: u64, options: &Options, detail: Detail) -> Self {
        let mut rng = Rng::with_seed(seed);
        let setup = match options.scenario {
            Some(scenario) => Setup::of(scenario, &mut rng),
            None => Setup::new(&mut rng),
        };
        let mut health = setup::health(&mut rng);
        match options.scenario {
            Some(Scenario::IdleTransactions) => health.incidents = Incidents::default(),
            Some(Scenario::Quotas | Scenario::ChangingQuotas) => {}
            Some(Scenario::Readers) => (health.service_us, health.slow) = (40, (1, 200)),
            Some(Scenario::Holders) => {
                health.incidents = Incidents::default();
                health.service_us = health.service_us.min(300);
            }
            Some(Scenario::HangUps) => {
                // What comes unasked in a lane looks like the next answer.
                let strays = if setup.settings.lane_stall.is_none() {
                    40
                } else {
                    0
                };
                health.incidents.strays = strays;
                health.service_us = [300, 2_000][rng.usize(..2)];
                health.slow = (40, 20);
            }
            Some(Scenario::Questions | Scenario::Texts) | None => {}
        }
        let shared = Shared::new(setup.workers, setup.slots);
        shared
            .admission
            .set_rules(setup.quotas.rules(options.sabotage));
        let settings = Arc::new(setup.settings.clone());
        let worker = |number| Worker {
            engine: Engine::new(settings.clone(), shared.clone(), number, [number as u8; 32]),
            in_turn: false,
            timer: 0,
            restless: 0,
        };
        let panics = Panics::new(options.panics, seed);
        let mut network = Network::new(setup.workers, rng.fork(), panics);
        network.loses_global_news = options.sabotage == Some(Sabotage::LoseGlobalNews);
        network.loses_wake_ups = options.sabotage == Some(Sabotage::LoseWakeUps);
        let mut database = Database::new(health, rng.fork(), options.sabotage);
        database.questions = options.scenario == Some(Scenario::Questions);
        Self {
            workers: (0..setup.workers).map(worker).collect(),
            network,
            schedule: Schedule::new(),
            trace: Trace::new(detail),
            database,
            clients: (0..setup.clients)
                .map(|number| setup.client(rng.fork(), number))
                .collect(),
            kills: Kills::default(),
            drained_at: None,
            options: options.clone(),
            watch: Watch::default(),
            rng,
            steps: 0,
            quiet_until: None,
            shared,
            setup,
        }
    }

    /// Goes on until everything is over.
    pub(crate) fn run(&mut self) -> Result<Stats, Broken> {
        self.begin();
        while let Some(event) = self.schedule.next() {
            self.steps += 1;
            let now = self.schedule.now();
            let in_time = self.steps < STEPS_MAX && (now < OVER_BY || self.quiet_until.is_some());
            ensure(Rule::Liveness, in_time, || self.what_hangs())?;
            self.happen(event)?;
            self.network.broken()?;
            if self.is_over() {
                break;
            }
        }
        ensure(Rule::Liveness, self.quiet_until.is_some(), || {
            self.what_hangs()
        })?;
        self.check_end()?;
        Ok(self.stats())
    }

    fn begin(&mut self) {
        let setup = &self.setup;
        self.trace.line(self.schedule.now(), || {
            let (workers, slots) = (setup.workers, setup.slots);
            format!("{workers} workers, {slots} slots, {:?}", setup.settings)
        });
        for worker in 0..self.workers.len() {
            let delay = self.rng.u64(0..300);
            self.workers[worker].in_turn = true;
            self.schedule.after_us(delay, Event::TurnEnd(worker));
        }
        for client in 0..self.clients.len() {
            let delay =
                self.setup.arrives_after_us(client) + self.rng.u64(0..self.setup.arrivals_us);
            self.schedule.after_us(delay, Event::Arrive(client));
        }
        if self.database.health.incidents.every_us > 0 {
            self.schedule.after_us(1_000, Event::Incident);
        }
        for &at in &self.setup.changes_us {
            self.schedule.after_us(at, Event::Rules);
        }
        if let Some(at) = self.setup.drain_at_us {
            self.schedule.after_us(at, Event::Drain);
        }
    }

    fn happen(&mut self, event: Event) -> Result<(), Broken> {
        match event {
            Event::TurnEnd(worker) => self.end_turn(worker),
            Event::Timer { worker, generation } => self.timer(worker, generation),
            Event::Mail { worker, mail } => {
                if !self.network.ended[worker] {
                    self.turn(worker, None, |engine, io, now| engine.mail(io, mail, now));
                }
                Ok(())
            }
            Event::ToPeer(handle) => self.reach_peer(handle),
            Event::ToEngine(handle) => self.reach_engine(handle),
            Event::Drained(handle) => {
                if let Some(tag) = self.network.is_drained(handle) {
                    let worker = self.network.link(handle).worker;
                    self.turn(worker, Some(handle), |engine, io, now| {
                        engine.drained(io, tag, now);
                    });
                }
                Ok(())
            }
            Event::Connect(handle) => self.connect(handle),
            Event::Arrive(client) => self.arrive(client),
            Event::Act { client, number } => {
                let (client, mut around) = self.client(client);
                client.act(&mut around, number)
            }
            Event::Done { connection, number } => {
                let (database, mut outside) = self.database();
                database.done(&mut outside, connection, number)
            }
            Event::LockTimeout { connection, number } => {
                let (database, mut outside) = self.database();
                database.lock_timeout(&mut outside, connection, number)
            }
            Event::Incident => {
                let (database, mut outside) = self.database();
                database.incident(&mut outside)
            }
            Event::Rules => {
                self.change_rules();
                Ok(())
            }
            Event::Drain => self.drain(),
        }
    }

    /// Tells an engine something, about a connection if any; what it writes leaves when its turn ends. `None` if it
    /// panics.
    pub(crate) fn turn<T>(
        &mut self,
        worker: usize,
        about: Option<Handle>,
        event: impl FnOnce(&mut Engine, &mut WorkerIo<'_>, Timestamp) -> T,
    ) -> Option<T> {
        if !std::mem::replace(&mut self.workers[worker].in_turn, true) {
            let length = self.rng.u64(0..40);
            self.schedule.after_us(length, Event::TurnEnd(worker));
        }
        self.tell(worker, about, event)
    }

    fn end_turn(&mut self, worker: usize) -> Result<(), Broken> {
        if self.network.ended[worker] {
            return Ok(());
        }
        self.turn(worker, None, |engine, io, now| engine.turn_ended(io, now));
        self.workers[worker].in_turn = false;
        if self.options.swaps_answers() && self.rng.u8(..) < 4 {
            self.network.swap_outboxes(worker);
        }
        self.network.flush_worker(&mut self.schedule, worker);
        if self.workers[worker].engine.finished() {
            self.network.end_worker(&mut self.schedule, worker);
            return Ok(());
        }
        self.set_timer(worker);
        self.check_rest(worker)?;
        self.check_turn(worker)
    }

    /// What is due is done by the end of the turn.
    fn check_rest(&mut self, number: usize) -> Result<(), Broken> {
        let now = self.schedule.now();
        let worker = &mut self.workers[number];
        let due = worker.engine.next_timer().is_some_and(|at| at <= now);
        worker.restless = if due { worker.restless + 1 } else { 0 };
        ensure(Rule::Liveness, worker.restless < 20, || {
            format!("worker {number} asks for its timer at once, again and again")
        })
    }

    fn set_timer(&mut self, number: usize) {
        let worker = &mut self.workers[number];
        worker.timer += 1;
        let generation = worker.timer;
        if let Some(at) = worker.engine.next_timer() {
            let mut late = Span::from_us(self.rng.u64(0..200));
            if self.network.loses_wake_ups {
                late = Span::from_ms(20);
            }
            let event = Event::Timer {
                worker: number,
                generation,
            };
            self.schedule.at(at + late, event);
        }
    }

    fn timer(&mut self, number: usize, generation: u64) -> Result<(), Broken> {
        if self.network.ended[number] || self.workers[number].timer != generation {
            return Ok(());
        }
        self.turn(number, None, |engine, io, now| engine.timer(io, now));
        Ok(())
    }

    fn drain(&mut self) -> Result<(), Broken> {
        let now = self.schedule.now();
        if self.quiet_until.is_some_and(|until| now >= until) {
            self.check_quiet()?;
        }
        self.trace
            .line(now, || "the workers are told to drain".to_owned());
        self.drained_at = Some(now);
        let span = Span::from_ms(self.rng.u64(1..300));
        for worker in 0..self.workers.len() {
            if !self.network.ended[worker] {
                let mail = Mail::Drain(span);
                self.schedule
                    .after_us(self.rng.u64(1..500), Event::Mail { worker, mail });
            }
        }
        Ok(())
    }

    /// True when nothing is left to be seen. After the clients everything is left alone for a
    /// while; then the workers drain, if they have not.
    fn is_over(&mut self) -> bool {
        let now = self.schedule.now();
        match self.quiet_until {
            None if self
                .clients
                .iter()
                .all(|client| client.phase == Phase::Ended) =>
            {
                let until = self.database.health.incidents.until_us.max(now.as_us());
                self.quiet_until = Some(Timestamp::from_us(until + AFTERMATH_US));
                self.schedule
                    .after_us(until + AFTERMATH_US - now.as_us(), Event::Drain);
                false
            }
            None => false,
            Some(until) => now > until && self.network.ended.iter().all(|&ended| ended),
        }
    }

    fn check_turn(&mut self, worker: usize) -> Result<(), Broken> {
        let mut watch = std::mem::take(&mut self.watch);
        let checked = watch.check_turn(self, worker);
        self.watch = watch;
        checked
    }

    pub(crate) fn database(&mut self) -> (&mut Database, Outside<'_>) {
        let outside = Outside {
            network: &mut self.network,
            schedule: &mut self.schedule,
            trace: &mut self.trace,
        };
        (&mut self.database, outside)
    }

    pub(crate) fn client(&mut self, number: usize) -> (&mut Client, Surroundings<'_>) {
        let around = Surroundings {
            outside: Outside {
                network: &mut self.network,
                schedule: &mut self.schedule,
                trace: &mut self.trace,
            },
            database: &mut self.database,
            kills: &mut self.kills,
            settings: &self.setup.settings,
            quotas: &self.setup.quotas,
            drained: self.drained_at.is_some(),
        };
        (&mut self.clients[number], around)
    }

    /// Adds up what the workers count.
    fn counted(&self, count: impl Fn(&Counters) -> u64) -> u64 {
        let reports = self.workers.iter().map(|worker| worker.engine.report());
        reports.map(|report| count(&report.counters)).sum()
    }

    /// Statements that waited for a permit and got it.
    fn waited(&self) -> u64 {
        let reports = self.workers.iter().map(|worker| worker.engine.report());
        let accounts = reports.flat_map(|report| report.accounts);
        accounts.map(|account| account.counters.waits.count()).sum()
    }

    fn stats(&self) -> Stats {
        Stats {
            steps: self.steps,
            answers: self.clients.iter().map(|client| client.answers).sum(),
            refused: self.clients.iter().map(|client| client.refused).sum(),
            interrupted: self.clients.iter().map(|client| client.interrupted).sum(),
            statements: self.database.executions.len() as u64,
            executed: self.database.executed,
            texts: self.database.texts,
            files: self.database.files,
            moved: self.clients.iter().map(Client::moved).sum(),
            followers: self.counted(|counters| counters.lane_followers),
            resent: self.counted(|counters| counters.lane_moves),
            repeated: self.counted(|counters| counters.lane_repeats),
            prepared: self.counted(|counters| counters.prepares_on_demand),
            admitted: self.waited(),
            panics: self.network.panics.count,
            cut_off: self
                .counted(|counters| counters.disconnects[DisconnectReason::Defect as usize]),
            slow_readers: self.counted(|c| c.disconnects[DisconnectReason::SlowReader as usize]),
            read_whole: self.counted(|counters| counters.answers_read_whole),
            lent: self.counted(|counters| counters.slots_lent),
            unserved_us: self.watch.fairness.longest_us,
            unasked: self.counted(|counters| counters.backend_unasked_packets),
            simulated_us: self.schedule.now().as_us(),
        }
    }
}

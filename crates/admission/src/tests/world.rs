//! Several workers on one virtual clock, with mail between them that takes its time and workers that
//! fall asleep. What must hold is checked after every event.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use events::{Span, Timestamp};
use fastrand::Rng;

use super::{limits, rules, user};
use crate::gate::SLACK;
use crate::{
    Arrival, Capacity, Decision, GateId, Ledger, Left, Needs, Permit, Place, Quota, Scheduler,
    Seat, Step,
};

/// For how long there may be room while somebody waits at a worker that is awake.
const ROOM_MAX: Span = Span::from_ms(1);
/// The same while more than one worker is asleep, or was a moment ago: who freed it may be one, and who was
/// told another.
const ROOM_MAX_ASLEEP: Span = Span::from_ms(12);

/// What a world is made of.
pub(super) struct Plan {
    pub(super) workers: usize,
    pub(super) statements: u32,
    pub(super) quotas: Vec<Quota>,
    /// Backends that each worker has; `None`: as many as are wanted.
    pub(super) backends: Option<u32>,
    /// Workers fall asleep now and then.
    pub(super) naps: bool,
    /// Statements need one kind of permit only, so that the order among all can be checked.
    pub(super) writes: bool,
}

impl Plan {
    pub(super) fn of(rng: &mut Rng) -> Self {
        let accounts = rng.usize(1..=3);
        let quotas = (0..accounts).map(|_| Quota {
            max_queued: [0, 0, 5][rng.usize(0..3)],
            weight: rng.u32(1..=4),
            ..limits(rng.u32(1..=4), rng.u32(0..=2))
        });
        Self {
            quotas: quotas.collect(),
            workers: rng.usize(1..=4),
            statements: rng.u32(50..=200),
            backends: rng.bool().then(|| rng.u32(1..=4)),
            naps: rng.bool(),
            writes: rng.bool(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive,
    Finish(u32),
    HangUp(u32),
    Mail(GateId),
    Timer,
    Nap,
    Limits(u32),
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    worker: usize,
    account: usize,
    since: Timestamp,
    writes: bool,
    place: Place,
}

struct Worker {
    scheduler: Scheduler<u32>,
    seats: Vec<Seat>,
    running: BTreeMap<u32, (usize, bool, Permit)>,
    /// Nothing is done before this.
    asleep_until: Timestamp,
    awake_since: Timestamp,
    timer: Option<Timestamp>,
}

pub(super) struct World {
    rng: Rng,
    plan: Plan,
    now: Timestamp,
    events: BinaryHeap<Reverse<(Timestamp, u64, usize, Event)>>,
    number: u64,
    ledger: Arc<Ledger>,
    workers: Vec<Worker>,
    limits: Vec<(u32, u32)>,
    waiting: BTreeMap<u32, Waiter>,
    /// Since when there has been room for a waiter of an account at a worker.
    room: BTreeMap<(usize, usize), Timestamp>,
    /// When more than one worker was asleep the last time.
    asleep_at: Option<Timestamp>,
    begun: u32,
    pub(super) served: u32,
    pub(super) order_checked: u32,
}

impl World {
    pub(super) fn new(mut rng: Rng, plan: Plan) -> Self {
        let ledger = Ledger::new(plan.workers, rules(&plan.quotas));
        let worker = |number| {
            let mut scheduler = Scheduler::new(&ledger, number, Span::from_secs(100));
            let seats = (0..plan.quotas.len()).map(|account| {
                let seat = scheduler.login(&user(&account.to_string()), Timestamp::ZERO);
                seat.unwrap()
            });
            Worker {
                seats: seats.collect(),
                scheduler,
                running: BTreeMap::new(),
                asleep_until: Timestamp::ZERO,
                awake_since: Timestamp::ZERO,
                timer: None,
            }
        };
        let workers = (0..plan.workers).map(worker).collect();
        let quotas = plan.quotas.iter();
        let limits = quotas.map(|q| (q.max_concurrent_queries, q.max_concurrent_transactions));
        let mut world = Self {
            limits: limits.collect(),
            now: Timestamp::ZERO,
            events: BinaryHeap::new(),
            number: 0,
            ledger,
            workers,
            waiting: BTreeMap::new(),
            room: BTreeMap::new(),
            asleep_at: None,
            begun: 0,
            served: 0,
            order_checked: 0,
            rng: rng.fork(),
            plan,
        };
        for _ in 0..world.plan.statements {
            let (at, worker) = (world.rng.u64(0..100_000), world.any_worker());
            world.post(Span::from_us(at), worker, Event::Arrive);
        }
        for _ in 0..3 {
            let at = Span::from_us(world.rng.u64(0..100_000));
            let account = world.rng.usize(0..world.limits.len()) as u32;
            world.post(at, 0, Event::Limits(account));
            let worker = world.any_worker();
            if world.plan.naps {
                world.post(at, worker, Event::Nap);
            }
        }
        world
    }

    fn any_worker(&mut self) -> usize {
        self.rng.usize(0..self.plan.workers)
    }

    fn post(&mut self, after: Span, worker: usize, event: Event) {
        self.number += 1;
        let at = self.now + after;
        self.events.push(Reverse((at, self.number, worker, event)));
    }

    /// Runs to the end.
    pub(super) fn run(&mut self) {
        while let Some(Reverse((at, number, worker, event))) = self.events.pop() {
            let awake = self.workers[worker].asleep_until;
            if at < awake {
                self.events.push(Reverse((awake, number, worker, event)));
                continue;
            }
            self.now = at;
            self.deal(worker, event);
            self.serve(worker);
            self.check();
        }
        assert!(self.waiting.is_empty(), "forgotten: {:?}", self.waiting);
        for usage in self.ledger.usage() {
            let counts = (usage.running, usage.transactions, usage.waiting);
            assert_eq!(counts, (0, 0, 0), "{}", usage.name);
        }
        self.workers
            .iter_mut()
            .for_each(|worker| worker.seats.clear());
        let connections = self
            .ledger
            .usage()
            .into_iter()
            .map(|usage| usage.connections);
        assert_eq!(connections.sum::<u32>(), 0);
    }

    fn deal(&mut self, number: usize, event: Event) {
        let worker = &mut self.workers[number];
        match event {
            Event::Arrive => self.arrive(number),
            Event::Finish(id) => {
                if let Some((_, _, mut permit)) = worker.running.remove(&id) {
                    match id % 3 {
                        0 => permit.end_query(),
                        1 => worker.scheduler.settle(permit, self.now),
                        _ => drop(permit),
                    }
                }
            }
            Event::HangUp(id) => {
                if let Some(waiter) = self.waiting.remove(&id) {
                    let left = worker.scheduler.leave(waiter.place, Left::Abandoned);
                    assert_eq!(left, Some(id));
                }
            }
            Event::Mail(gate) => worker.scheduler.woken(gate),
            Event::Timer => worker.timer = None,
            Event::Nap => {
                worker.asleep_until = self.now + Span::from_us(self.rng.u64(0..30_000));
                worker.awake_since = worker.asleep_until;
            }
            Event::Limits(account) => self.change_limits(account as usize),
        }
    }

    fn change_limits(&mut self, account: usize) {
        self.limits[account] = (self.rng.u32(1..=4), self.rng.u32(0..=2));
        let mut quotas = self.plan.quotas.clone();
        for (quota, &(queries, transactions)) in quotas.iter_mut().zip(&self.limits) {
            quota.max_concurrent_queries = queries;
            quota.max_concurrent_transactions = transactions;
        }
        self.ledger.set_rules(rules(&quotas));
        // Told at once here: how long mail takes is not what is tested.
        for number in 0..self.workers.len() {
            self.workers[number].scheduler.rules_changed();
            if self.now >= self.workers[number].asleep_until {
                self.serve(number);
            } else {
                let until = self.workers[number].asleep_until.since(self.now);
                self.post(until, number, Event::Timer);
            }
        }
    }

    fn arrive(&mut self, number: usize) {
        self.begun += 1;
        let (id, account) = (self.begun, self.rng.usize(0..self.limits.len()));
        let writes = self.plan.writes && self.rng.bool();
        let needs = if writes {
            Needs::Transaction
        } else {
            Needs::Query
        };
        let has_backend = self.has_backend(number) && self.rng.bool();
        let worker = &mut self.workers[number];
        if self.rng.u8(0..10) == 0 {
            // In a transaction or pinned: its backend is its own.
            let permit = worker.scheduler.force(&worker.seats[account], needs);
            return self.begin(number, id, (account, writes, permit));
        }
        let arrival = Arrival {
            who: id,
            needs,
            group: 0,
            has_backend,
            time_limit: Span::ZERO,
        };
        match worker
            .scheduler
            .arrive(&worker.seats[account], arrival, self.now)
        {
            Decision::Admit(permit) => {
                self.check_limits(account, writes);
                self.begin(number, id, (account, writes, permit));
            }
            Decision::Queue(place) => {
                let since = self.now;
                self.waiting.insert(
                    id,
                    Waiter {
                        worker: number,
                        account,
                        since,
                        writes,
                        place,
                    },
                );
                if self.rng.u8(0..10) == 0 {
                    let after = Span::from_us(self.rng.u64(0..5_000));
                    self.post(after, number, Event::HangUp(id));
                }
            }
            Decision::Reject(rejection) => {
                let max = self.plan.quotas[account].max_queued;
                assert!(max > 0 && rejection.to_string().contains("max_queued"));
                assert_eq!(
                    self.waiting_of(account),
                    max as usize,
                    "rejected without need"
                );
            }
        }
    }

    fn begin(&mut self, worker: usize, id: u32, statement: (usize, bool, Permit)) {
        self.served += 1;
        self.workers[worker].running.insert(id, statement);
        let takes = Span::from_us(self.rng.u64(1..8_000));
        self.post(takes, worker, Event::Finish(id));
    }

    fn serve(&mut self, number: usize) {
        loop {
            let capacity = if self.has_backend(number) {
                Capacity::Here
            } else {
                Capacity::Nowhere
            };
            let scheduler = &mut self.workers[number].scheduler;
            let Some(step) = scheduler.next(self.now, |_| capacity) else {
                break;
            };
            let Step::Run {
                who,
                permit,
                waited,
            } = step
            else {
                panic!("nobody times out here: {step:?}");
            };
            let waiter = self.waiting.remove(&who).expect("it waits");
            assert_eq!(self.now.since(waiter.since), waited);
            self.check_limits(waiter.account, waiter.writes);
            self.check_order(&waiter);
            self.begin(number, who, (waiter.account, waiter.writes, permit));
        }
        while let Some(wake) = self.workers[number].scheduler.next_wake() {
            self.workers[number].scheduler.wake_posted();
            let takes = Span::from_us(self.rng.u64(0..200));
            self.post(takes, wake.worker, Event::Mail(wake.gate));
        }
        let worker = &mut self.workers[number];
        let timer = worker.scheduler.next_timer();
        if let Some(at) = timer
            && worker.timer.is_none_or(|known| at < known)
        {
            worker.timer = timer;
            self.post(at.since(self.now), number, Event::Timer);
        }
    }

    fn has_backend(&self, worker: usize) -> bool {
        let running = self.workers[worker].running.len() as u32;
        self.plan.backends.is_none_or(|backends| running < backends)
    }

    fn running_of(&self, account: usize) -> (u32, u32) {
        let running = self
            .workers
            .iter()
            .flat_map(|worker| worker.running.values());
        let of = running.filter(|(other, ..)| *other == account);
        let transactions = of.clone().filter(|(_, writes, _)| *writes).count();
        (of.count() as u32, transactions as u32)
    }

    fn waiting_of(&self, account: usize) -> usize {
        let waiting = self.waiting.values();
        waiting.filter(|waiter| waiter.account == account).count()
    }

    fn has_room(&self, account: usize, writes: bool) -> bool {
        let (queries, transactions) = self.running_of(account);
        let (max_queries, max_transactions) = self.limits[account];
        queries < max_queries
            && (!writes || max_transactions == 0 || transactions < max_transactions)
    }

    /// Somebody is let through who could have waited.
    fn check_limits(&self, account: usize, writes: bool) {
        let running = self.running_of(account);
        let what = (account, writes, running, self.limits[account]);
        assert!(self.has_room(account, writes), "above the limit: {what:?}");
    }

    /// Nobody came earlier who needs the same.
    fn check_order(&mut self, waiter: &Waiter) {
        if self.plan.naps || self.plan.backends.is_some() {
            return;
        }
        self.order_checked += 1;
        let one_worker = self.plan.workers == 1;
        let slack = if one_worker { Span::ZERO } else { SLACK };
        let earlier = self.waiting.iter().find(|(_, other)| {
            other.account == waiter.account
                && other.writes == waiter.writes
                && other.since + slack < waiter.since
        });
        assert!(
            earlier.is_none(),
            "{earlier:?} came before {waiter:?}, now {:?}",
            self.now
        );
    }

    /// Room is not left unused where somebody waits.
    fn check(&mut self) {
        let mut room = BTreeMap::new();
        let asleep = self.workers.iter().filter(|w| w.asleep_until > self.now);
        if asleep.count() > 1 {
            self.asleep_at = Some(self.now);
        }
        let asleep_of_late = self
            .asleep_at
            .is_some_and(|at| self.now.since(at) < ROOM_MAX_ASLEEP);
        let max = match asleep_of_late {
            true => ROOM_MAX_ASLEEP,
            false => ROOM_MAX,
        };
        for waiter in self.waiting.values() {
            let worker = &self.workers[waiter.worker];
            let is_awake = self.now >= worker.awake_since;
            if is_awake
                && self.has_backend(waiter.worker)
                && self.has_room(waiter.account, waiter.writes)
            {
                let key = (waiter.account, waiter.worker);
                let since = self.room.get(&key).copied().unwrap_or(self.now);
                room.insert(key, since);
                let unused = self.now.since(since);
                assert!(
                    unused <= max,
                    "unused for {unused:?} at {}: {waiter:?}",
                    self.now.as_us()
                );
            }
        }
        self.room = room;
        for (account, quota) in self.plan.quotas.iter().enumerate() {
            let waiting = self.waiting_of(account);
            assert!(quota.max_queued == 0 || waiting <= quota.max_queued as usize);
        }
    }
}

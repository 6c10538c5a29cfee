//! One worker with backends for everybody, against a model that looks at every waiter each time.

use std::sync::Arc;

use events::{Span, Timestamp};
use proptest::prelude::*;

use super::{limits, rules, user};
use crate::{
    Arrival, Capacity, Decision, Ledger, Left, Needs, Permit, Place, Rules, Scheduler, Seat, Step,
};

const ACCOUNTS: usize = 3;

#[derive(Clone, Debug)]
enum Event {
    Arrive(usize, bool),
    Force(usize, bool),
    Finish(usize),
    EndQuery(usize),
    Abandon(usize),
    Limit(usize, u32, u32),
}

fn event() -> impl Strategy<Value = Event> {
    let account = 0..ACCOUNTS;
    prop_oneof![
        8 => (account.clone(), any::<bool>()).prop_map(|(a, writes)| Event::Arrive(a, writes)),
        1 => (account.clone(), any::<bool>()).prop_map(|(a, writes)| Event::Force(a, writes)),
        6 => any::<usize>().prop_map(Event::Finish),
        2 => any::<usize>().prop_map(Event::EndQuery),
        1 => any::<usize>().prop_map(Event::Abandon),
        1 => (account, 0..4_u32, 0..3_u32).prop_map(|(a, q, t)| Event::Limit(a, q, t)),
    ]
}

/// A statement that runs or waits, in the model.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Statement {
    id: u32,
    account: usize,
    query: bool,
    transaction: bool,
}

#[derive(Default)]
struct Model {
    limits: [(u32, u32); ACCOUNTS],
    running: Vec<Statement>,
    waiting: Vec<Statement>,
}

impl Model {
    fn fits(&self, statement: &Statement) -> bool {
        let of = |other: &&Statement| other.account == statement.account;
        let running = self.running.iter().filter(of);
        let queries = running.clone().filter(|s| s.query).count() as u32;
        let transactions = running.filter(|s| s.transaction).count() as u32;
        let (max_queries, max_transactions) = self.limits[statement.account];
        let fits = |count, max| max == 0 || count < max;
        fits(queries, max_queries)
            && (!statement.transaction || fits(transactions, max_transactions))
    }

    /// Lets through whoever came first of those that fit, until nobody does.
    fn serve(&mut self) -> Vec<u32> {
        let mut served = Vec::new();
        while let Some(at) = self.waiting.iter().position(|s| self.fits(s)) {
            let statement = self.waiting.remove(at);
            served.push(statement.id);
            self.running.push(statement);
        }
        served
    }
}

/// The scheduler and the model side by side.
struct Pair {
    model: Model,
    ledger: Arc<Ledger>,
    scheduler: Scheduler<u32>,
    seats: Vec<Seat>,
    permits: Vec<(u32, Permit)>,
    places: Vec<(u32, Place)>,
}

fn quotas(limits: &[(u32, u32)]) -> Rules {
    let quotas = limits.iter().map(|&(q, t)| super::limits(q, t));
    rules(&quotas.collect::<Vec<_>>())
}

fn needs(writes: bool) -> Needs {
    if writes {
        Needs::Transaction
    } else {
        Needs::Query
    }
}

impl Pair {
    fn new() -> Self {
        let model = Model {
            limits: [(2, 1), (1, 0), (3, 2)],
            ..Model::default()
        };
        let ledger = Ledger::new(1, quotas(&model.limits));
        let mut scheduler = Scheduler::new(&ledger, 0, Span::from_secs(1_000));
        let names = (0..ACCOUNTS).map(|account| account.to_string());
        let seats = names.map(|name| scheduler.login(&user(&name), Timestamp::ZERO).unwrap());
        Self {
            seats: seats.collect(),
            model,
            ledger,
            scheduler,
            permits: Vec::new(),
            places: Vec::new(),
        }
    }

    /// What happens to both. Returns who was let through at once.
    fn apply(&mut self, id: u32, event: &Event, now: Timestamp) -> Option<u32> {
        match *event {
            Event::Arrive(account, writes) => return self.arrive(id, (account, writes), now),
            Event::Force(account, writes) => {
                let permit = self.scheduler.force(&self.seats[account], needs(writes));
                self.permits.push((id, permit));
                self.model.running.push(statement(id, account, writes));
            }
            Event::Finish(which) if !self.permits.is_empty() => {
                let (id, permit) = self.permits.swap_remove(which % self.permits.len());
                self.model.running.retain(|s| s.id != id);
                self.scheduler.settle(permit, now);
            }
            Event::EndQuery(which) if !self.permits.is_empty() => {
                let which = which % self.permits.len();
                let (id, permit) = &mut self.permits[which];
                permit.end_query();
                let running = self.model.running.iter_mut();
                running
                    .filter(|s| s.id == *id)
                    .for_each(|s| s.query = false);
            }
            Event::Abandon(which) if !self.places.is_empty() => {
                let (id, place) = self.places.swap_remove(which % self.places.len());
                assert_eq!(self.scheduler.leave(place, Left::Abandoned), Some(id));
                assert_eq!(self.scheduler.leave(place, Left::Abandoned), None);
                self.model.waiting.retain(|s| s.id != id);
            }
            Event::Limit(account, queries, transactions) => {
                // Never none: what begins while there is no limit is not counted.
                self.model.limits[account] = (queries.max(1), transactions);
                self.ledger.set_rules(quotas(&self.model.limits));
                self.scheduler.rules_changed();
            }
            _ => {}
        }
        None
    }

    fn arrive(&mut self, id: u32, (account, writes): (usize, bool), now: Timestamp) -> Option<u32> {
        let arrival = Arrival {
            who: id,
            needs: needs(writes),
            group: 0,
            has_backend: true,
            time_limit: Span::ZERO,
        };
        self.model.waiting.push(statement(id, account, writes));
        match self.scheduler.arrive(&self.seats[account], arrival, now) {
            Decision::Admit(permit) => {
                self.permits.push((id, permit));
                return Some(id);
            }
            Decision::Queue(place) => self.places.push((id, place)),
            Decision::Reject(rejection) => panic!("{rejection}"),
        }
        None
    }

    fn serve(&mut self, now: Timestamp) -> Vec<u32> {
        let mut served = Vec::new();
        while let Some(step) = self.scheduler.next(now, |_| Capacity::Here) {
            match step {
                Step::Run { who, permit, .. } => {
                    self.permits.push((who, permit));
                    self.places.retain(|&(id, _)| id != who);
                    served.push(who);
                }
                Step::Reject { who, .. } => panic!("{who} was rejected"),
            }
        }
        served
    }

    /// What is shown is what the model counts.
    fn compare_counts(&self) {
        for (account, usage) in self.ledger.usage().into_iter().enumerate() {
            let of = |s: &&Statement| s.account == account;
            let running = self.model.running.iter().filter(of);
            let queries = running.clone().filter(|s| s.query).count();
            let transactions = running.filter(|s| s.transaction).count();
            let waiting = self.model.waiting.iter().filter(of).count();
            let counted = [usage.running, usage.transactions, usage.waiting];
            assert_eq!(
                counted.map(|n| n as usize),
                [queries, transactions, waiting]
            );
        }
    }
}

fn statement(id: u32, account: usize, writes: bool) -> Statement {
    Statement {
        id,
        account,
        query: true,
        transaction: writes,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn whoever_comes_first_and_fits_is_served(events in prop::collection::vec(event(), 1..200)) {
        let mut pair = Pair::new();
        for (id, event) in events.iter().enumerate() {
            let now = Timestamp::from_us(10 * id as u64);
            let mut served: Vec<u32> = pair.apply(id as u32, event, now).into_iter().collect();
            served.extend(pair.serve(now));
            let mut expected = pair.model.serve();
            served.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(served, expected);
            pair.compare_counts();
            prop_assert!(pair.scheduler.next_wake().is_none());
        }
        pair.permits.clear();
        while !pair.serve(Timestamp::ZERO).is_empty() {
            pair.permits.clear();
        }
        prop_assert_eq!(pair.scheduler.waiting(), 0);
        let usage = pair.ledger.usage();
        prop_assert!(usage.iter().all(|usage| usage.running == 0 && usage.transactions == 0));
    }
}

#[test]
fn unlimited_accounts_are_not_counted() {
    let ledger = Ledger::new(1, rules(&[limits(0, 0)]));
    let mut scheduler = Scheduler::<u32>::new(&ledger, 0, Span::from_secs(1));
    let seat = scheduler.login(&user("0"), Timestamp::ZERO).unwrap();
    let permit = scheduler.force(&seat, Needs::Transaction);
    assert!(!permit.is_counted());
}

//! What admission costs a statement, with and without limits, at once and from the queue:
//! `cargo bench --package admission`.

use std::collections::VecDeque;
use std::hint::black_box;

use admission::{
    AccountName, Arrival, Capacity, Decision, Identity, Ledger, Needs, Quota, Rules, Scheduler,
    Seat, Step,
};
use divan::Bencher;
use events::{Span, Timestamp};

/// How many wait in the queue.
const WAITERS: u32 = 1_000;

fn main() {
    divan::main();
}

#[divan::bench]
fn without_limits(bencher: Bencher<'_, '_>) {
    at_once(bencher, &Quota::NONE, Needs::Transaction);
}

#[divan::bench]
fn a_read_with_a_limit_of_queries(bencher: Bencher<'_, '_>) {
    at_once(bencher, &limited(128, 0), Needs::Query);
}

#[divan::bench]
fn a_write_with_both_limits(bencher: Bencher<'_, '_>) {
    at_once(bencher, &limited(128, 128), Needs::Transaction);
}

fn limited(queries: u32, transactions: u32) -> Quota {
    Quota {
        max_concurrent_queries: queries,
        max_concurrent_transactions: transactions,
        ..Quota::NONE
    }
}

fn scheduler(quota: &Quota) -> (Scheduler<u32>, Seat) {
    let name = AccountName::new("app", "%");
    let rules = Rules::new([(name, quota.clone())], Quota::NONE, []);
    let ledger = Ledger::new(2, rules);
    let mut scheduler = Scheduler::new(&ledger, 0, Span::from_secs(1_000));
    let who = Identity {
        user: "app",
        address: None,
        host: Some("localhost"),
    };
    let Ok(seat) = scheduler.login(&who, Timestamp::ZERO) else {
        unreachable!("an account without a limit of sessions")
    };
    (scheduler, seat)
}

fn arrival(who: u32, needs: Needs) -> Arrival<u32> {
    Arrival {
        who,
        needs,
        group: 0,
        has_backend: true,
        time_limit: Span::ZERO,
    }
}

/// A statement that comes, is let in, and ends.
fn at_once(bencher: Bencher<'_, '_>, quota: &Quota, needs: Needs) {
    let (mut scheduler, seat) = scheduler(quota);
    let mut who = 0;
    bencher.bench_local(|| {
        who += 1;
        let now = Timestamp::from_us(u64::from(who));
        let decision = scheduler.arrive(&seat, arrival(who, needs), now);
        if let Decision::Admit(permit) = black_box(decision) {
            scheduler.settle(permit, now);
        }
    });
}

/// A statement that ends and lets the next one in, and another one that comes, behind all who wait.
#[divan::bench]
fn a_write_from_the_queue(bencher: Bencher<'_, '_>) {
    let (mut scheduler, seat) = scheduler(&limited(4, 4));
    let mut running = VecDeque::new();
    let mut who = 0;
    let mut arrive = |scheduler: &mut Scheduler<u32>, running: &mut VecDeque<_>| {
        who += 1;
        let now = Timestamp::from_us(u64::from(who));
        let arrival = arrival(who, Needs::Transaction);
        if let Decision::Admit(permit) = scheduler.arrive(&seat, arrival, now) {
            running.push_back(permit);
        }
        now
    };
    for _ in 0..WAITERS {
        arrive(&mut scheduler, &mut running);
    }
    bencher.bench_local(|| {
        let now = arrive(&mut scheduler, &mut running);
        if let Some(permit) = running.pop_front() {
            scheduler.settle(permit, now);
        }
        while let Some(step) = scheduler.next(now, |_| Capacity::Here) {
            if let Step::Run { permit, .. } = step {
                running.push_back(permit);
            }
        }
    });
}

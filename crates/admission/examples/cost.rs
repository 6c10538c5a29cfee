//! What admission costs a statement, in ns: with and without limits, at once and from the queue.
//!
//! `cargo run --release --package admission --example cost`

use std::time::Instant;

use admission::{
    AccountName, Arrival, Capacity, Decision, Identity, Ledger, Needs, Quota, Rules, Scheduler,
    Seat, Step,
};
use events::{Span, Timestamp};

const STATEMENTS: u32 = 5_000_000;
const ROUNDS: usize = 5;

fn main() {
    let limited = |queries, transactions| Quota {
        max_concurrent_queries: queries,
        max_concurrent_transactions: transactions,
        ..Quota::NONE
    };
    for (what, quota, needs) in [
        ("without limits", Quota::NONE, Needs::Transaction),
        ("a read, query limit", limited(128, 0), Needs::Query),
        (
            "a write, both limits",
            limited(128, 128),
            Needs::Transaction,
        ),
    ] {
        report(what, || at_once(&quota, needs));
    }
    report("a write from a queue of 1,000", || {
        from_queue(&limited(4, 4))
    });
}

/// The least of a few rounds: the others were disturbed.
fn report(what: &str, round: impl Fn() -> f64) {
    let rounds = (0..ROUNDS).map(|_| round());
    println!("{what}: {:.1} ns", rounds.fold(f64::INFINITY, f64::min));
}

fn scheduler(quota: &Quota) -> Option<(Scheduler<u32>, Seat)> {
    let name = AccountName::new("app", "%");
    let rules = Rules::new([(name, quota.clone())], Quota::NONE, []);
    let ledger = Ledger::new(2, rules);
    let mut scheduler = Scheduler::new(&ledger, 0, Span::from_secs(1_000));
    let who = Identity {
        user: "app",
        address: None,
        host: Some("localhost"),
    };
    let seat = scheduler.login(&who, Timestamp::ZERO).ok()?;
    Some((scheduler, seat))
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

fn at_once(quota: &Quota, needs: Needs) -> f64 {
    let Some((mut scheduler, seat)) = scheduler(quota) else {
        return f64::NAN;
    };
    let begin = Instant::now();
    for who in 0..STATEMENTS {
        let now = Timestamp::from_us(u64::from(who));
        let decision = scheduler.arrive(&seat, arrival(who, needs), now);
        if let Decision::Admit(permit) = std::hint::black_box(decision) {
            scheduler.settle(permit, now);
        }
    }
    begin.elapsed().as_nanos() as f64 / f64::from(STATEMENTS)
}

/// Each statement that ends lets the next one through, and another one comes.
fn from_queue(quota: &Quota) -> f64 {
    let Some((mut scheduler, seat)) = scheduler(quota) else {
        return f64::NAN;
    };
    let mut running = std::collections::VecDeque::new();
    let statements = STATEMENTS / 5;
    let begin = Instant::now();
    for who in 0..statements {
        let now = Timestamp::from_us(u64::from(who));
        match scheduler.arrive(&seat, arrival(who, Needs::Transaction), now) {
            Decision::Admit(permit) => running.push_back(permit),
            Decision::Queue(_) if who < 1_000 => {}
            Decision::Queue(_) | Decision::Reject(_) => {
                if let Some(permit) = running.pop_front() {
                    scheduler.settle(permit, now);
                }
            }
        }
        while let Some(step) = scheduler.next(now, |_| Capacity::Here) {
            if let Step::Run { permit, .. } = step {
                running.push_back(permit);
            }
        }
    }
    begin.elapsed().as_nanos() as f64 / f64::from(statements)
}

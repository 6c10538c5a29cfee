//! Single scenes: what somebody waits for, is told, and comes before.

use std::sync::Arc;

use events::{Span, Timestamp};

use super::{limits, rules, user};
use crate::{
    AccountName, Arrival, Capacity, Decision, Ledger, Needs, Overload, Permit, Place, Quota, Rules,
    Scheduler, Seat, Step, Why,
};

struct Scene {
    ledger: Arc<Ledger>,
    scheduler: Scheduler<u32>,
    seats: Vec<Seat>,
    now: Timestamp,
}

impl Scene {
    fn new(quotas: &[Quota]) -> Self {
        let ledger = Ledger::new(1, rules(quotas));
        let mut scheduler = Scheduler::new(&ledger, 0, Span::from_secs(30));
        let users = (0..quotas.len()).map(|user| user.to_string());
        let seats = users.map(|name| scheduler.login(&user(&name), Timestamp::ZERO).unwrap());
        Self {
            seats: seats.collect(),
            ledger,
            scheduler,
            now: Timestamp::from_us(1),
        }
    }

    fn arrive(&mut self, account: usize, arrival: Arrival<u32>) -> Decision {
        let seat = &self.seats[account];
        self.scheduler.arrive(seat, arrival, self.now)
    }

    fn wait(&mut self, account: usize, who: u32) -> Place {
        match self.arrive(account, waiter(who)) {
            Decision::Queue(place) => place,
            other => panic!("{who}: {other:?}"),
        }
    }

    fn admit(&mut self, account: usize, who: u32) -> Permit {
        let arrival = Arrival {
            has_backend: true,
            ..waiter(who)
        };
        match self.arrive(account, arrival) {
            Decision::Admit(permit) => permit,
            other => panic!("{who}: {other:?}"),
        }
    }

    fn next(&mut self, capacity: impl FnMut(u32) -> Capacity) -> Option<(u32, Permit)> {
        match self.scheduler.next(self.now, capacity)? {
            Step::Run { who, permit, .. } => Some((who, permit)),
            Step::Reject { who, rejection } => panic!("{who}: {rejection}"),
        }
    }

    fn next_here(&mut self) -> Option<(u32, Permit)> {
        self.next(|_| Capacity::Here)
    }

    /// Lets time pass until somebody is told that it waited for too long.
    fn next_rejected(&mut self) -> (u32, String) {
        loop {
            match self.scheduler.next(self.now, |_| Capacity::Nowhere) {
                Some(Step::Run { who, .. }) => panic!("{who} runs"),
                Some(Step::Reject { who, rejection }) => return (who, rejection.to_string()),
                None => self.now = self.scheduler.next_timer().expect("somebody waits"),
            }
        }
    }
}

fn waiter(who: u32) -> Arrival<u32> {
    Arrival {
        who,
        needs: Needs::Query,
        group: 0,
        has_backend: false,
        time_limit: Span::ZERO,
    }
}

#[test]
fn whoever_waited_too_long_is_told_by_which_limit() {
    let quota = Quota {
        queue_timeout: Span::from_secs(5),
        ..limits(1, 0)
    };
    let mut scene = Scene::new(&[quota]);
    let permit = scene.admit(0, 1);
    scene.wait(0, 2);
    let hurried = Arrival {
        time_limit: Span::from_ms(200),
        ..waiter(3)
    };
    assert!(matches!(scene.arrive(0, hurried), Decision::Queue(_)));
    assert!(scene.next_here().is_none());
    let expected = "a statement of '0'@'%' waited for 200ms (max_statement_time); \
                    1 running, 1 waiting; the statement was not run";
    assert_eq!(scene.next_rejected(), (3, expected.to_owned()));
    assert_eq!(scene.now, Timestamp::from_us(201_000));
    let expected = "a statement of '0'@'%' waited for 5s (queue_timeout); \
                    1 running, 0 waiting; the statement was not run";
    assert_eq!(scene.next_rejected(), (2, expected.to_owned()));
    assert_eq!(scene.now, Timestamp::from_us(5_001_000));
    drop(permit);
    assert!(scene.next_here().is_none());
    assert_eq!(scene.scheduler.next_timer(), None);
    let report = scene.scheduler.accounts().next().unwrap();
    assert_eq!(
        (report.counters.admitted, report.counters.timed_out),
        (1, 2)
    );
}

#[test]
fn a_full_queue_names_the_account_and_its_counts() {
    let mut scene = Scene::new(&[Quota {
        max_queued: 1,
        ..limits(1, 0)
    }]);
    let _running = scene.admit(0, 1);
    scene.wait(0, 2);
    let Decision::Reject(rejection) = scene.arrive(0, waiter(3)) else {
        panic!("three of two");
    };
    assert_eq!(rejection.why, Why::Queued(1));
    assert_eq!(
        rejection.to_string(),
        "'0'@'%' has 1 statements waiting (max_queued); 1 running, 1 waiting; \
         the statement was not run"
    );
}

#[test]
fn transactions_in_progress_come_before_everybody_and_above_the_limit() {
    let mut scene = Scene::new(&[limits(1, 1)]);
    let _running = scene.admit(0, 1);
    scene.wait(0, 2);
    let seat = &scene.seats[0];
    scene
        .scheduler
        .arrive_in_progress(seat, waiter(3), scene.now);
    let (who, _permit) = scene.next_here().unwrap();
    assert_eq!(who, 3);
    assert_eq!(scene.ledger.usage()[0].running, 2);
    assert!(scene.next_here().is_none());
}

#[test]
fn a_read_does_not_wait_behind_a_write_that_lacks_a_transaction() {
    let mut scene = Scene::new(&[limits(3, 1)]);
    let write = Arrival {
        needs: Needs::Transaction,
        ..waiter(1)
    };
    assert!(matches!(scene.arrive(0, write), Decision::Queue(_)));
    let (_, mut transaction) = scene.next_here().unwrap();
    transaction.end_query();
    let write = Arrival { who: 2, ..write };
    assert!(matches!(scene.arrive(0, write), Decision::Queue(_)));
    assert!(scene.next_here().is_none());
    scene.wait(0, 3);
    assert_eq!(scene.next_here().map(|(who, _)| who), Some(3));
    drop(transaction);
    assert_eq!(scene.next_here().map(|(who, _)| who), Some(2));
}

#[test]
fn backends_are_shared_by_weight_though_one_account_has_many_more_waiters() {
    let weights = [1, 1, 2].map(|weight| Quota {
        weight,
        ..Quota::NONE
    });
    let mut scene = Scene::new(&weights);
    for who in 0..900 {
        scene.wait(0, who);
    }
    for who in 900..1_500 {
        scene.wait(if who % 2 == 0 { 1 } else { 2 }, who);
    }
    let mut served = [0; 3];
    for _ in 0..400 {
        let (who, permit) = scene.next_here().unwrap();
        scene.now = scene.now + Span::from_ms(1);
        scene.scheduler.settle(permit, scene.now);
        served[if who < 900 { 0 } else { 1 + who as usize % 2 }] += 1;
    }
    for (served, expected) in served.into_iter().zip([100, 100, 200_i32]) {
        assert!(expected.abs_diff(served) <= 2, "{served}");
    }
}

#[test]
fn groups_without_a_backend_do_not_hold_up_others() {
    let mut scene = Scene::new(&[Quota::NONE, Quota::NONE]);
    for (who, group, account) in [(1, 7, 0), (2, 8, 0), (3, 7, 1)] {
        let arrival = Arrival {
            group,
            ..waiter(who)
        };
        assert!(matches!(scene.arrive(account, arrival), Decision::Queue(_)));
    }
    let only = |wanted: u32| {
        move |group: u32| match group == wanted {
            true => Capacity::Here,
            false => Capacity::Elsewhere,
        }
    };
    assert_eq!(scene.next(only(8)).map(|(who, _)| who), Some(2));
    assert!(scene.next(only(8)).is_none());
    assert!(scene.next(|_| Capacity::Nowhere).is_none());
    let rest = [
        scene.next(only(7)),
        scene.next(only(7)),
        scene.next(only(7)),
    ];
    let mut rest: Vec<u32> = rest.into_iter().flatten().map(|(who, _)| who).collect();
    rest.sort_unstable();
    assert_eq!(rest, [1, 3]);
}

#[test]
fn the_newest_comes_first_when_the_oldest_has_waited_too_long() {
    let mut scene = Scene::new(&[Quota {
        overload: Overload::Lifo,
        ..limits(1, 0)
    }]);
    let permit = scene.admit(0, 1);
    for who in 2..5 {
        scene.wait(0, who);
    }
    assert!(scene.next_here().is_none());
    drop(permit);
    let (who, permit) = scene.next_here().unwrap();
    assert_eq!(who, 2);
    scene.now = scene.now + Span::from_ms(101);
    drop(permit);
    assert_eq!(scene.next_here().map(|(who, _)| who), Some(4));
}

#[test]
fn a_schema_limits_all_accounts_together_and_whoever_goes_elsewhere_is_free() {
    let schemas = [("shop%".to_owned(), limits(1, 0))];
    let ledger = Ledger::new(1, Rules::new([], Quota::NONE, schemas));
    let mut scheduler = Scheduler::<u32>::new(&ledger, 0, Span::from_secs(1));
    let now = Timestamp::from_us(1);
    let seats = ["0", "1"].map(|name| {
        let mut seat = scheduler.login(&user(name), now).unwrap();
        scheduler.use_schema(&mut seat, Some("shop1")).unwrap();
        seat
    });
    let [one, mut other] = seats;
    let at_hand = Arrival {
        has_backend: true,
        ..waiter(1)
    };
    let Decision::Admit(permit) = scheduler.arrive(&one, at_hand, now) else {
        panic!("nobody else runs");
    };
    assert!(matches!(
        scheduler.arrive(&other, at_hand, now),
        Decision::Queue(_)
    ));
    assert!(scheduler.next(now, |_| Capacity::Here).is_none());
    drop(permit);
    assert!(matches!(
        scheduler.next(now, |_| Capacity::Here),
        Some(Step::Run { .. })
    ));
    for schema in [Some("elsewhere"), Some("shop2"), None] {
        scheduler.use_schema(&mut other, schema).unwrap();
        assert!(matches!(
            scheduler.arrive(&other, at_hand, now),
            Decision::Admit(_)
        ));
    }
}

#[test]
fn raising_a_limit_lets_waiters_in_and_lowering_it_ends_nothing() {
    let mut scene = Scene::new(&[limits(2, 0)]);
    let permits = [scene.admit(0, 1), scene.admit(0, 2)];
    scene.wait(0, 3);
    scene.wait(0, 4);
    assert!(scene.next_here().is_none());
    scene.ledger.set_rules(rules(&[limits(3, 0)]));
    scene.scheduler.rules_changed();
    let (who, third) = scene.next_here().unwrap();
    assert_eq!(who, 3);
    scene.ledger.set_rules(rules(&[limits(1, 0)]));
    scene.scheduler.rules_changed();
    assert_eq!(scene.ledger.usage()[0].running, 3);
    drop(permits);
    assert!(scene.next_here().is_none(), "one runs, and one may");
    drop(third);
    assert_eq!(scene.next_here().map(|(who, _)| who), Some(4));
}

#[test]
fn connections_are_counted_and_come_at_their_rate() {
    let quota = Quota {
        max_connections: 3,
        max_connects_per_second: 2,
        ..Quota::NONE
    };
    let name = AccountName::new("app", "%");
    let ledger = Ledger::new(1, Rules::new([(name, quota)], Quota::NONE, []));
    let mut scheduler = Scheduler::<u32>::new(&ledger, 0, Span::from_secs(1));
    let mut login = |ms| scheduler.login(&user("app"), Timestamp::ZERO + Span::from_ms(ms));
    let early = [login(0).unwrap(), login(0).unwrap()];
    let fast = login(400).unwrap_err();
    assert_eq!(
        fast.to_string(),
        "'app'@'%' connected 2 times within a second (max_connects_per_second)"
    );
    let third = login(500).unwrap();
    let full = login(5_000).unwrap_err();
    assert_eq!(
        full.to_string(),
        "'app'@'%' has 3 connections (max_connections)"
    );
    assert!(full.why.is_login());
    drop(early);
    assert!(login(6_000).is_ok());
    drop(third);
    assert_eq!(ledger.usage()[0].connections, 0);
}

#[test]
fn a_worker_that_ends_holds_nobody_up() {
    let ledger = Ledger::new(2, rules(&[limits(1, 0)]));
    let mut workers =
        [0, 1].map(|worker| Scheduler::<u32>::new(&ledger, worker, Span::from_secs(1)));
    let now = Timestamp::from_us(1);
    let seats = workers
        .each_mut()
        .map(|worker| worker.login(&user("0"), now).unwrap());
    let at_hand = Arrival {
        has_backend: true,
        ..waiter(1)
    };
    let [mut ending, mut other] = workers;
    let Decision::Admit(permit) = other.arrive(&seats[1], at_hand, now) else {
        panic!("nobody else runs");
    };
    assert!(matches!(
        ending.arrive(&seats[0], at_hand, now),
        Decision::Queue(_)
    ));
    assert!(ending.next(now, |_| Capacity::Here).is_none());
    drop(ending);
    drop(permit);
    assert!(matches!(
        other.arrive(&seats[1], at_hand, now),
        Decision::Admit(_)
    ));
}

/// A worker fills the room it made itself, without mail to another one whose waiter came hardly earlier;
/// but not for long.
#[test]
fn mail_is_sent_only_to_whoever_has_waited_for_longer() {
    let ledger = Ledger::new(2, rules(&[limits(1, 0)]));
    let mut workers =
        [0, 1].map(|worker| Scheduler::<u32>::new(&ledger, worker, Span::from_secs(1)));
    let at = Timestamp::from_us;
    let seats = workers
        .each_mut()
        .map(|worker| worker.login(&user("0"), at(1)).unwrap());
    let [mut one, mut other] = workers;
    let at_hand = Arrival {
        has_backend: true,
        ..waiter(1)
    };
    let Decision::Admit(permit) = other.arrive(&seats[1], at_hand, at(1)) else {
        panic!("nobody else runs");
    };
    for (who, us) in [(2, 500), (3, 1_900)] {
        let _place = other.arrive(&seats[1], waiter(who), at(us));
    }
    let _place = one.arrive(&seats[0], waiter(4), at(100));
    for worker in [&mut one, &mut other] {
        assert!(worker.next(at(1_900), |_| Capacity::Here).is_none());
    }
    drop(permit);
    let Some(Step::Run { who: 2, permit, .. }) = other.next(at(2_000), |_| Capacity::Here) else {
        panic!("it has waited for nearly as long");
    };
    assert!(other.next_wake().is_none());
    drop(permit);
    assert!(other.next(at(2_000), |_| Capacity::Here).is_none());
    let wake = other.next_wake().unwrap();
    other.wake_posted();
    assert_eq!(wake.worker, 0);
    one.woken(wake.gate);
    assert!(matches!(
        one.next(at(2_000), |_| Capacity::Here),
        Some(Step::Run { who: 4, .. })
    ));
}

#[test]
fn workers_can_be_moved_to_their_threads() {
    fn is_send<T: Send>(_: &T) {}
    is_send(&Scene::new(&[]).scheduler);
    is_send(&Permit::NONE);
}

#[test]
fn whoever_comes_with_other_needs_does_not_go_before_those_who_wait() {
    let mut scene = Scene::new(&[limits(1, 0)]);
    let permit = scene.admit(0, 1);
    scene.wait(0, 2);
    assert!(scene.next_here().is_none());
    drop(permit);
    scene.now = Timestamp::from_us(100);
    let writes = Arrival {
        needs: Needs::Transaction,
        ..waiter(3)
    };
    assert!(matches!(scene.arrive(0, writes), Decision::Queue(_)));
    let (who, permit) = scene.next_here().unwrap();
    assert_eq!(who, 2);
    drop(permit);
    assert_eq!(scene.next_here().map(|(who, _)| who), Some(3));
}

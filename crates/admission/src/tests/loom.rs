//! The gate under every order in which its atomics can be seen, in bounded form.
//!
//! Mail is what a thread returns: the workers that it would have posted to.

use std::sync::Arc as StdArc;

use events::Timestamp;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use crate::gate::{Entry, Freed, Gate};

const SINCE: [Timestamp; 3] = [
    Timestamp::from_us(10),
    Timestamp::from_us(20),
    Timestamp::from_us(30),
];

fn gate(workers: usize, limit: u32) -> Arc<Gate> {
    let freed: StdArc<[Freed]> = (0..workers).map(|_| Freed::new()).collect();
    Arc::new(Gate::new(0, limit, freed))
}

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(check);
}

/// What a worker does that lets somebody out: the wake-up it owes.
fn leave_and_wake(gate: &Gate, worker: usize) -> Option<usize> {
    gate.leave(worker);
    gate.take_freed(worker);
    wake(gate, worker)
}

/// Whom a worker sends mail, because there is room.
fn wake(gate: &Gate, worker: usize) -> Option<usize> {
    let next = gate.next(worker, |_| true)?;
    gate.post(next, SINCE[0]).then_some(next)
}

/// What a worker does with a statement: true if it is through, false if it waits now.
fn enter_or_wait(gate: &Gate, worker: usize) -> bool {
    if gate.enter() {
        return true;
    }
    gate.wait(worker, SINCE[worker]);
    if gate.admit(worker, SINCE[worker], |_| false) == Entry::Entered {
        gate.stop_waiting(worker);
        return true;
    }
    false
}

#[test]
fn no_more_get_through_than_the_limit() {
    model(|| {
        let gate = gate(2, 1);
        let inside = Arc::new(AtomicU32::new(0));
        let threads = [0, 1].map(|worker| {
            let (gate, inside) = (gate.clone(), inside.clone());
            thread::spawn(move || {
                if enter_or_wait(&gate, worker) {
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two are inside");
                    inside.fetch_sub(1, Ordering::SeqCst);
                    gate.leave(worker);
                }
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(gate.running(), 0);
    });
}

#[test]
fn whoever_waits_is_let_in_or_woken() {
    model(|| {
        let gate = gate(2, 1);
        assert!(gate.enter());
        let waiting = {
            let gate = gate.clone();
            thread::spawn(move || enter_or_wait(&gate, 1))
        };
        let mail = leave_and_wake(&gate, 0);
        if waiting.join().unwrap() {
            return;
        }
        assert_eq!(mail, Some(1), "there is room, and nobody told worker 1");
        gate.take_post(1);
        assert_eq!(gate.admit(1, SINCE[1], |_| false), Entry::Entered);
    });
}

#[test]
fn mail_under_way_stands_for_every_permit_that_came_back_before_it_is_read() {
    model(|| {
        let gate = gate(2, 2);
        assert!(gate.enter() && gate.enter());
        gate.wait(1, SINCE[1]);
        let reading = {
            let gate = gate.clone();
            thread::spawn(move || {
                // Mail may come at any time, also for nothing.
                gate.take_post(1);
                gate.admit(1, SINCE[1], |_| false) == Entry::Entered
            })
        };
        let first = leave_and_wake(&gate, 0);
        let second = leave_and_wake(&gate, 0);
        let is_through = reading.join().unwrap();
        let was_told = first.or(second) == Some(1);
        assert!(
            is_through || was_told,
            "permits are free, and nobody told worker 1"
        );
    });
}

#[test]
fn a_second_permit_is_told_after_mail_was_read() {
    model(|| {
        let gate = gate(2, 1);
        assert!(gate.enter());
        gate.wait(1, SINCE[1]);
        // Mail is under way for nothing: the permit was taken again.
        assert!(gate.post(1, SINCE[0]));
        let reading = {
            let gate = gate.clone();
            thread::spawn(move || {
                gate.take_post(1);
                gate.admit(1, SINCE[1], |_| false) == Entry::Entered
            })
        };
        let mail = leave_and_wake(&gate, 0);
        let is_through = reading.join().unwrap();
        assert!(
            is_through || mail == Some(1),
            "the permit is lost to worker 1"
        );
    });
}

#[test]
fn whoever_goes_passes_the_wake_up_on() {
    model(|| {
        let gate = gate(3, 1);
        assert!(gate.enter());
        gate.wait(1, SINCE[1]);
        gate.wait(2, SINCE[2]);
        let going = {
            let gate = gate.clone();
            thread::spawn(move || {
                gate.stop_waiting(1);
                wake(&gate, 1)
            })
        };
        let mail = leave_and_wake(&gate, 0);
        let passed_on = going.join().unwrap();
        let mut told: Vec<usize> = mail.into_iter().chain(passed_on).collect();
        if told == [1] {
            // It gets its mail, finds that it wants nothing, and passes it on.
            gate.take_post(1);
            told.extend(wake(&gate, 1));
        }
        assert!(
            told.contains(&2),
            "worker 2 waits, there is room, and {told:?} were told"
        );
    });
}

#[test]
fn two_waiters_one_permit_and_nobody_is_forgotten() {
    model(|| {
        let gate = gate(2, 1);
        let threads = [0, 1].map(|worker| {
            let gate = gate.clone();
            thread::spawn(move || {
                let is_through = enter_or_wait(&gate, worker);
                let mail = is_through.then(|| leave_and_wake(&gate, worker));
                (is_through, mail.flatten())
            })
        });
        let ended = threads.map(|thread| thread.join().unwrap());
        for worker in [0, 1] {
            let told = ended[1 - worker].1 == Some(worker);
            assert!(
                ended[worker].0 || told,
                "worker {worker} waits beside a free permit"
            );
        }
    });
}

//! A retry storm: five thousand clients that want three times what there is, give up after a second
//! and come again. What counts is how much of the work was for somebody who still waited for it.
//!
//! Statements take 10 ms, 16 run at once: 1,600 a second can be done. Clients that gave up while they
//! waited have left the queue, as in the front door, but those that are almost out of patience when
//! their statement begins get nothing from it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use events::{Span, Timestamp};

use super::{limits, rules, user};
use crate::{
    Arrival, Capacity, Decision, Ledger, Left, Needs, Overload, Permit, Place, Quota, Scheduler,
    Seat, Step,
};

const CLIENTS: usize = 5_000;
const SERVICE: Span = Span::from_ms(10);
const LIMIT: u32 = 16;
const SECONDS: u64 = 20;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Ask(usize),
    GiveUp(usize, u64),
    Finish(usize),
}

struct Client {
    /// What it asked so far: what is about an earlier question does not count.
    question: u64,
    place: Option<Place>,
    permit: Option<Permit>,
    gives_up: Timestamp,
}

struct Storm {
    scheduler: Scheduler<usize>,
    seat: Seat,
    clients: Vec<Client>,
    events: BinaryHeap<Reverse<(Timestamp, u64, Event)>>,
    number: u64,
    patience: Span,
    think: Span,
    /// Statements that ended in time for their client.
    good: u64,
    rejected: u64,
    longest_wait: Span,
}

impl Storm {
    fn new(overload: Overload, patience: Span) -> Self {
        let ledger = Ledger::new(
            1,
            rules(&[Quota {
                overload,
                ..limits(LIMIT, 0)
            }]),
        );
        let mut scheduler = Scheduler::new(&ledger, 0, Span::from_secs(30));
        let seat = scheduler.login(&user("0"), Timestamp::ZERO).unwrap();
        let client = |_| Client {
            question: 0,
            place: None,
            permit: None,
            gives_up: Timestamp::ZERO,
        };
        // Three times the capacity, if each came again right after its second.
        let think = Span::from_us(CLIENTS as u64 * 1_000_000 / (3 * 1_600));
        let mut storm = Self {
            scheduler,
            seat,
            clients: (0..CLIENTS).map(client).collect(),
            events: BinaryHeap::new(),
            number: 0,
            patience,
            think,
            good: 0,
            rejected: 0,
            longest_wait: Span::ZERO,
        };
        for client in 0..CLIENTS {
            let at = Timestamp::from_us(client as u64 * 200);
            storm.post(at, Event::Ask(client));
        }
        storm
    }

    fn post(&mut self, at: Timestamp, event: Event) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, event)));
    }

    /// The share of the capacity that was of use, after the first five seconds.
    fn run(&mut self) -> f64 {
        let (from, to) = (
            Timestamp::ZERO + Span::from_secs(5),
            Timestamp::ZERO + Span::from_secs(SECONDS),
        );
        let mut before = 0;
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            if now > to {
                break;
            }
            if now < from {
                before = self.good;
            }
            self.deal(now, event);
            self.serve(now);
        }
        let capacity = u64::from(LIMIT) * (SECONDS - 5) * 1_000 / 10;
        (self.good - before) as f64 / capacity as f64
    }

    fn deal(&mut self, now: Timestamp, event: Event) {
        match event {
            Event::Ask(client) => self.ask(client, now),
            Event::GiveUp(client, question) => {
                let state = &mut self.clients[client];
                if state.question == question
                    && let Some(place) = state.place.take()
                {
                    assert_eq!(self.scheduler.leave(place, Left::Abandoned), Some(client));
                    self.post(now + Span::from_ms(1), Event::Ask(client));
                }
            }
            Event::Finish(client) => {
                let state = &mut self.clients[client];
                let permit = state.permit.take().unwrap();
                self.good += u64::from(now <= state.gives_up);
                self.scheduler.settle(permit, now);
                let again = now + self.think;
                self.post(again, Event::Ask(client));
            }
        }
    }

    fn ask(&mut self, client: usize, now: Timestamp) {
        let arrival = Arrival {
            who: client,
            needs: Needs::Query,
            group: 0,
            has_backend: true,
            time_limit: Span::ZERO,
        };
        let state = &mut self.clients[client];
        state.question += 1;
        state.gives_up = now + self.patience;
        let question = state.question;
        match self.scheduler.arrive(&self.seat, arrival, now) {
            Decision::Admit(permit) => self.begin(client, permit, now),
            Decision::Queue(place) => {
                self.clients[client].place = Some(place);
                self.post(now + self.patience, Event::GiveUp(client, question));
            }
            Decision::Reject(rejection) => panic!("{rejection}"),
        }
    }

    fn begin(&mut self, client: usize, permit: Permit, now: Timestamp) {
        let state = &mut self.clients[client];
        (state.place, state.permit) = (None, Some(permit));
        self.post(now + SERVICE, Event::Finish(client));
    }

    fn serve(&mut self, now: Timestamp) {
        while let Some(step) = self.scheduler.next(now, |_| Capacity::Here) {
            match step {
                Step::Run {
                    who,
                    permit,
                    waited,
                } => {
                    self.longest_wait = self.longest_wait.max(waited);
                    self.begin(who, permit, now);
                }
                Step::Reject { who, .. } => {
                    self.rejected += 1;
                    self.clients[who].place = None;
                    // It was told, and comes again at the pace of the others.
                    let again = now + self.think;
                    self.post(again, Event::Ask(who));
                }
            }
        }
    }
}

#[test]
fn a_storm_leaves_most_of_the_work_to_those_who_still_wait() {
    for patience in [Span::from_secs(1), Span::from_ms(300)] {
        let goodput = [Overload::Fifo, Overload::Lifo, Overload::Codel]
            .map(|overload| Storm::new(overload, patience).run());
        println!("goodput with a patience of {patience:?}: fifo, lifo, codel {goodput:.3?}");
        assert!(goodput[1] >= 0.9 && goodput[2] >= 0.9, "{goodput:?}");
    }
}

#[test]
fn patient_clients_are_all_served_first_come_first_served() {
    let [fifo, lifo, codel] = [Overload::Fifo, Overload::Lifo, Overload::Codel].map(|overload| {
        let mut storm = Storm::new(overload, Span::from_secs(100));
        storm.think = Span::ZERO;
        let goodput = storm.run();
        println!(
            "{overload:?}: goodput {goodput:.3}, longest wait {:?}",
            storm.longest_wait
        );
        (goodput, storm.rejected, storm.longest_wait)
    });
    // 5,000 clients, 1,600 a second.
    assert!(
        fifo.0 >= 0.99 && fifo.1 == 0 && fifo.2 < Span::from_ms(3_200),
        "{fifo:?}"
    );
    // Why that is the default: the others make somebody pay who would have waited.
    assert!(
        lifo.1 == 0 && lifo.2 < fifo.2,
        "of those that were served: {lifo:?}"
    );
    assert!(codel.1 > 1_000, "{codel:?}");
}

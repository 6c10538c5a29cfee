//! The scheduler of one worker: who is let through at once, who waits, who is next.
//!
//! Owns the waiters of this worker. What it shares with the others is in the [`Ledger`]; whether a
//! backend can be had is asked from whoever calls.
//!
//! | file | owns |
//! |---|---|
//! | `account` | what the worker keeps of an account, a schema, a queue, a gate |
//! | `seats` | logins, default schemas, changed rules |
//! | `arrive` | statements that come: through, into a queue, or refused |
//! | `next` | who is served, and in which order |
//! | `gates` | waiting at gates together with other workers |
//! | `demand` | who waits for backends alone |
//! | `leave` | waiters that go without having run |
//! | `report` | what can be seen from outside |

mod account;
mod arrive;
mod demand;
mod gates;
mod leave;
mod next;
mod report;
mod seats;

use std::collections::HashMap;
use std::sync::Arc;

use events::{Span, Timestamp};
use membership::{Key, Roster};

use crate::fair::Fair;
use crate::ledger::Ledger;
use crate::permit::{Needs, Permit};
use crate::rules::{Rules, Subject};
use crate::wheel::Wheel;

use account::{Account, LocalGate, Peers, Queue, QueueKey, Schema, Waiter};

pub use arrive::{Arrival, Decision};
pub use leave::Left;
pub use next::{Capacity, Step};
pub use report::{AccountReport, Counters, Waiting};
pub use seats::Seat;

/// The list of those who are in a transaction or pinned: they come before everybody else.
const IN_PROGRESS: u32 = 0;

/// The waiters of one worker, each of whom is a `T` to whoever calls.
pub struct Scheduler<T> {
    ledger: Arc<Ledger>,
    worker: usize,
    rules: Arc<Rules>,
    /// How long those may wait whose quota does not say.
    default_timeout: Span,
    numbers: HashMap<Subject, u32>,
    accounts: Vec<Account>,
    schemas: Vec<Schema>,
    /// The number of a queue is also the list of its waiters.
    queues: Vec<Queue>,
    queue_numbers: HashMap<QueueKey, u32>,
    /// By group: its queues that are not blocked at a gate, and not empty.
    ready: Vec<Vec<u32>>,
    /// Queues that were blocked while there was no backend for them; maybe others.
    lacking: Vec<u32>,
    waiters: Roster<Waiter<T>>,
    deadlines: Wheel<Key>,
    fair: Fair,
    /// By the gate's id.
    gates: Vec<Option<LocalGate>>,
    peers: Peers,
    /// Gates to be looked at before [`Scheduler::next`] says that there is nobody.
    touched: Vec<u32>,
    /// Those that are being looked at.
    in_hand: Vec<u32>,
    /// Gates where this worker is known to wait.
    registered: Vec<u32>,
    /// Accounts that are passed over for a moment.
    aside: Vec<u32>,
    /// Gates to be looked at until somebody has read its mail, and when that must be.
    watched: Vec<u32>,
    watch_at: Option<Timestamp>,
    /// When the gates where somebody waits are to be looked at again, and which comes first.
    poll_at: Option<Timestamp>,
    poll_from: usize,
    wakes: Vec<Wake>,
}

/// A waiter's place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place(Key);

/// Names a gate, among workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GateId(u32);

/// Mail to be posted: `worker` is to call [`Scheduler::woken`] with `gate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "nobody else will wake that worker"]
pub struct Wake {
    /// To whom.
    pub worker: usize,
    /// For what.
    pub gate: GateId,
}

impl<T: Copy> Scheduler<T> {
    /// The scheduler of `worker`. Those whose quota does not say may wait for `default_timeout`.
    pub fn new(ledger: &Arc<Ledger>, worker: usize, default_timeout: Span) -> Self {
        Self {
            ledger: ledger.clone(),
            worker,
            rules: ledger.rules(),
            default_timeout,
            numbers: HashMap::new(),
            accounts: Vec::new(),
            schemas: Vec::new(),
            queues: vec![Queue::in_progress()],
            queue_numbers: HashMap::new(),
            ready: Vec::new(),
            lacking: Vec::new(),
            waiters: Roster::new(1),
            deadlines: Wheel::new(),
            fair: Fair::default(),
            gates: Vec::new(),
            peers: Peers(vec![None; ledger.workers()]),
            touched: Vec::new(),
            in_hand: Vec::new(),
            registered: Vec::new(),
            aside: Vec::new(),
            watched: Vec::new(),
            watch_at: None,
            poll_at: None,
            poll_from: 0,
            wakes: Vec::new(),
        }
    }

    /// Mail that is to be posted now. To be asked after every call, until there is none.
    pub fn next_wake(&self) -> Option<Wake> {
        self.wakes.last().copied()
    }

    /// It was posted. Until then it stays: whoever posts it may panic.
    pub fn wake_posted(&mut self) {
        self.wakes.pop();
    }

    /// When [`Scheduler::next`] is to be called even if nothing else happens.
    pub fn next_timer(&self) -> Option<Timestamp> {
        let due = [self.watch_at, self.poll_at, self.deadlines.next()];
        due.into_iter().flatten().min()
    }

    /// How many wait here.
    pub fn waiting(&self) -> usize {
        self.waiters.len()
    }

    /// A statement that had to wait is over: the account is charged for what it took, and the permit
    /// is given back. Dropping the permit does the same, but leaves the charge at what was expected.
    pub fn settle(&mut self, mut permit: Permit, now: Timestamp) {
        if let Some(charge) = permit.charge.take() {
            let took = now.since(charge.since).as_us();
            self.fair.correct(charge.account, charge.us, took);
        }
    }

    /// Counts a statement that no limit concerns, and that needs no permit: most do not. False if
    /// [`Scheduler::arrive`] or [`Scheduler::force`] is to be asked.
    pub fn pass(&mut self, seat: &Seat) -> bool {
        let account = &mut self.accounts[seat.account as usize];
        let is_free = !account.limits && seat.schema.is_none();
        account.counters.admitted += u64::from(is_free);
        is_free
    }

    /// A permit for a statement that may not wait: of a session in a transaction or pinned. It is
    /// counted, whatever the limit.
    pub fn force(&mut self, seat: &Seat, needs: Needs) -> Permit {
        self.accounts[seat.account as usize].counters.admitted += 1;
        let rows = self.rows(seat.account, seat.schema);
        if matches!(rows, [None, None]) {
            return Permit::NONE;
        }
        for gate in account::gates(rows, needs) {
            gate.force();
        }
        Permit::new(rows, self.worker, needs)
    }
}

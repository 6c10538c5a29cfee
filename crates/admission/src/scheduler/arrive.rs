//! Statements that come: let through at once, put into a queue, or refused. Owns what a new waiter
//! is told it may wait for.

use events::{Span, Timestamp};
use membership::ListId;

use crate::gate::Gate;
use crate::permit::{Charge, Needs, Permit};
use crate::quota::{Overload, Quota};
use crate::rejection::{Rejection, Why};

use super::account::{Queue, QueueKey, Waiter, gates, rejection};
use super::{IN_PROGRESS, Place, Scheduler, Seat};

/// A statement that comes.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<T> {
    /// Whose it is.
    pub who: T,
    /// What it needs.
    pub needs: Needs,
    /// Statements of one group can run on the same backends. Groups are numbered from 0.
    pub group: u32,
    /// A backend that it can run on is free.
    pub has_backend: bool,
    /// How long it may take by its own words, its wait included; zero = they do not say.
    pub time_limit: Span,
}

/// What becomes of a statement.
#[derive(Debug)]
#[must_use = "dropping a permit gives it back"]
pub enum Decision {
    /// It may run, and must: its backend was said to be free.
    Admit(Permit),
    /// It waits. [`Scheduler::next`] is to be called.
    Queue(Place),
    /// It does not run.
    Reject(Rejection),
}

impl<T: Copy> Scheduler<T> {
    /// A statement comes, of a session that is neither in a transaction nor pinned.
    pub fn arrive(&mut self, seat: &Seat, arrival: Arrival<T>, now: Timestamp) -> Decision {
        let account = &mut self.accounts[seat.account as usize];
        if arrival.has_backend
            && account.is_free()
            && seat.schema.is_none()
            && self.fair.first().is_none()
        {
            account.counters.admitted += 1;
            return Decision::Admit(Permit::NONE);
        }
        if arrival.has_backend
            && account.waiting == 0
            && let Some(permit) = self.enter(seat, arrival.needs, now)
        {
            return Decision::Admit(permit);
        }
        let key = QueueKey {
            account: seat.account,
            schema: seat.schema,
            group: arrival.group,
            needs: arrival.needs,
        };
        if let Err(rejection) = self.begin_to_wait(&key) {
            self.accounts[seat.account as usize].counters.rejected += 1;
            return Decision::Reject(rejection);
        }
        let queue = self.queue(key);
        Decision::Queue(self.enqueue(queue, (key, arrival), now))
    }

    /// A statement comes, of a session in a transaction or pinned, whose backend is not at hand. It
    /// is next when there is one.
    pub fn arrive_in_progress(
        &mut self,
        seat: &Seat,
        arrival: Arrival<T>,
        now: Timestamp,
    ) -> Place {
        let key = QueueKey {
            account: seat.account,
            schema: seat.schema,
            group: arrival.group,
            needs: arrival.needs,
        };
        self.accounts[seat.account as usize].row.begin_to_wait(0);
        if let Some(schema) = seat.schema {
            self.schemas[schema as usize].row.begin_to_wait(0);
        }
        self.enqueue(IN_PROGRESS, (key, arrival), now)
    }

    fn enter(&mut self, seat: &Seat, needs: Needs, now: Timestamp) -> Option<Permit> {
        let rows = self.rows(seat.account, seat.schema);
        let gates = gates(rows, needs);
        for (passed, gate) in gates.clone().enumerate() {
            if !gate.enter() {
                gates.take(passed).for_each(|gate| gate.leave(self.worker));
                return None;
            }
        }
        let mut permit = Permit::new(rows, self.worker, needs);
        self.accounts[seat.account as usize].counters.admitted += 1;
        if self.fair.first().is_some() {
            permit.charge = Some(self.charge(seat.account, now));
        }
        Some(permit)
    }

    pub(super) fn charge(&mut self, account: u32, now: Timestamp) -> Charge {
        Charge {
            account,
            since: now,
            us: self.fair.charge(account),
        }
    }

    /// Counts a waiter with its account and its schema.
    fn begin_to_wait(&mut self, key: &QueueKey) -> Result<(), Rejection> {
        let account = &self.accounts[key.account as usize];
        let max = account.quota.max_queued;
        if !account.row.begin_to_wait(max) {
            return Err(rejection(account.row, Why::Queued(max)));
        }
        let Some(schema) = key.schema.map(|schema| &self.schemas[schema as usize]) else {
            return Ok(());
        };
        let max = schema.quota.max_queued;
        if !schema.row.begin_to_wait(max) {
            account.row.stop_waiting();
            return Err(rejection(schema.row, Why::Queued(max)));
        }
        Ok(())
    }

    fn queue(&mut self, key: QueueKey) -> u32 {
        if let Some(&queue) = self.queue_numbers.get(&key) {
            return queue;
        }
        let queue = self.waiters.add_list().0;
        self.queues.push(Queue::new(key));
        self.queue_numbers.insert(key, queue);
        let groups = self.ready.len().max(key.group as usize + 1);
        self.ready.resize_with(groups, Vec::new);
        queue
    }

    fn enqueue(
        &mut self,
        queue: u32,
        (key, arrival): (QueueKey, Arrival<T>),
        now: Timestamp,
    ) -> Place {
        let (deadline, why) = self.deadline(&key, arrival.time_limit, now);
        let account = &mut self.accounts[key.account as usize];
        if account.waiting == 0 {
            account.standing_since = now;
        }
        account.waiting += 1;
        let list = ListId(queue);
        let is_first = self.waiters.len_of(list) == 0;
        let waiter = self.waiters.insert(
            list,
            Waiter {
                who: arrival.who,
                key,
                since: now,
                deadline,
                why,
                alarm: None,
            },
        );
        let target = account.quota.overload_target;
        let look_at = match account.quota.overload {
            Overload::Codel if queue != IN_PROGRESS => deadline.min(now + target),
            _ => deadline,
        };
        let alarm = self.deadlines.insert(waiter, look_at, now);
        if let Some(waiter) = self.waiters.get_mut(waiter) {
            waiter.alarm = Some(alarm);
        }
        if is_first && queue != IN_PROGRESS {
            match self.closed_gate(&key) {
                Some(gate) => self.block(queue, gate),
                None => self.make_ready(queue),
            }
        }
        Place(waiter)
    }

    /// The first gate on the way at which others wait already: whoever comes now must not be let through
    /// before them, though there may be room since a moment ago.
    fn closed_gate(&self, key: &QueueKey) -> Option<&'static Gate> {
        let rows = self.rows(key.account, key.schema);
        gates(rows, key.needs).find(|gate| {
            let local = self.gates[gate.id() as usize].as_ref();
            local.is_some_and(|local| !local.blocked.is_empty())
        })
    }

    /// Until when somebody may wait, and what it is told then.
    fn deadline(&self, key: &QueueKey, own: Span, now: Timestamp) -> (Timestamp, Why) {
        let account = &self.accounts[key.account as usize].quota;
        let schema = key
            .schema
            .map(|schema| &self.schemas[schema as usize].quota);
        let quotas = || [Some(account), schema].into_iter().flatten();
        let least = |span: fn(&Quota) -> Span, more: Span| {
            let spans = quotas().map(span).chain([more]);
            spans.filter(|span| *span != Span::ZERO).min()
        };
        let timeout =
            least(|quota| quota.queue_timeout, Span::ZERO).unwrap_or(self.default_timeout);
        match least(|quota| quota.max_statement_time, own) {
            Some(limit) if limit < timeout => (now + limit, Why::Deadline(limit)),
            _ => (now + timeout, Why::Timeout(timeout)),
        }
    }
}

//! Waiting at gates together with other workers: what they are told, when this worker looks again,
//! and when it no longer gives way.

use events::{Span, Timestamp};

use crate::gate::{Entry, Gate};

use super::account::{LocalGate, QueueKey};
use super::{GateId, Scheduler, Wake};

/// How long room is left to another worker's waiter that came first and whose worker does not look at its
/// mail. Whoever sent that looks again then. With the time that mail to the next worker takes, room is left
/// unused for less than 1 ms, as long as only one worker is held up.
const PATIENCE: Span = Span::from_us(300);
/// How often gates are looked at where nothing is known to be due: more than one worker may be held up.
const POLL: Span = Span::from_ms(10);
/// Gates that are looked at each time.
const POLLED: usize = 1_024;

/// Since when somebody waits who could not use a permit yet: everybody else comes first.
const LAST: Timestamp = Timestamp::from_us(u64::MAX - 1);

impl LocalGate {
    /// Since when a waiter counts as waiting, compared with other workers'. Among accounts it is a
    /// worker's turn that depends on that, not who takes the turn.
    pub(super) fn claim(&self, since: Timestamp) -> Timestamp {
        match self.published {
            Some(published) if self.is_shared => published.min(since),
            _ => since,
        }
    }
}

impl<T: Copy> Scheduler<T> {
    /// Mail has come: there may be room at `gate`. [`Scheduler::next`] is to be called.
    pub fn woken(&mut self, GateId(gate): GateId) {
        if let Some(Some(local)) = self.gates.get(gate as usize) {
            local.gate.take_post(self.worker);
            self.touch(gate);
        }
    }

    /// A gate is to be looked at.
    pub(super) fn touch(&mut self, gate: u32) {
        if let Some(Some(local)) = self.gates.get_mut(gate as usize)
            && !std::mem::replace(&mut local.is_touched, true)
        {
            self.touched.push(gate);
        }
    }

    /// A queue has waiters that may be let through.
    pub(super) fn make_ready(&mut self, queue: u32) {
        let QueueKey { account, group, .. } = self.queues[queue as usize].key;
        self.accounts[account as usize].ready.push(queue);
        self.ready[group as usize].push(queue);
        self.fair.want(account);
    }

    /// A queue is empty, or must wait at a gate.
    pub(super) fn make_unready(&mut self, queue: u32) {
        let QueueKey { account, group, .. } = self.queues[queue as usize].key;
        let of_account = &mut self.accounts[account as usize].ready;
        for ready in [&mut *of_account, &mut self.ready[group as usize]] {
            if let Some(at) = ready.iter().position(|&other| other == queue) {
                ready.swap_remove(at);
            }
        }
        if of_account.is_empty() {
            self.fair.rest(account);
        }
    }

    /// The first of a queue found a gate closed.
    pub(super) fn block(&mut self, queue: u32, gate: &Gate) {
        self.make_unready(queue);
        self.queues[queue as usize].blocked_at = Some(gate.id());
        if let Some(local) = &mut self.gates[gate.id() as usize] {
            local.blocked.push(queue);
        }
        self.touch(gate.id());
    }

    /// A queue that is blocked has become empty.
    pub(super) fn unblock(&mut self, queue: u32, gate: u32) {
        self.leave_gate(queue);
        if let Some(local) = &mut self.gates[gate as usize]
            && let Some(at) = local.blocked.iter().position(|&other| other == queue)
        {
            local.blocked.swap_remove(at);
        }
    }

    fn leave_gate(&mut self, queue: u32) {
        let queue = &mut self.queues[queue as usize];
        (queue.blocked_at, queue.lacks_backend) = (None, false);
    }

    /// Time passes: gates are looked at where somebody may not have read its mail, and now and then
    /// all where somebody waits.
    pub(super) fn poll(&mut self, now: Timestamp) {
        self.watch_at = None;
        while let Some(gate) = self.watched.pop() {
            if let Some(Some(local)) = self.gates.get_mut(gate as usize) {
                local.is_watched = false;
            }
            self.touch(gate);
        }
        if self.poll_at.is_none_or(|at| now < at) {
            return;
        }
        self.poll_at = None;
        let gates = self.registered.len();
        for step in 0..gates.min(POLLED) {
            self.touch(self.registered[(self.poll_from + step) % gates]);
        }
        self.poll_from = self.poll_from.wrapping_add(POLLED);
    }

    /// Brings what other workers know of this one up to date, and tells those who are next. Returns
    /// true if waiters of this worker may be let through after all.
    pub(super) fn reconcile(&mut self, now: Timestamp) -> bool {
        while let Some(gate) = Gate::first_freed(self.ledger.freed(), self.worker) {
            let Some(Some(local)) = self.gates.get(gate as usize) else {
                break;
            };
            local.gate.take_freed(self.worker);
            self.touch(gate);
        }
        let mut may_pass = false;
        let mut gates = std::mem::take(&mut self.in_hand);
        std::mem::swap(&mut gates, &mut self.touched);
        for gate in gates.drain(..) {
            if self.reconcile_gate(gate, now) {
                self.open(gate);
                may_pass = true;
            }
        }
        self.in_hand = gates;
        let waits = !self.registered.is_empty() && self.ledger.workers() > 1;
        self.poll_at = waits.then(|| self.poll_at.unwrap_or(now + POLL));
        self.watch_at = (!self.watched.is_empty()).then_some(now + PATIENCE);
        may_pass
    }

    /// Returns true if the gate's waiters at this worker may try again.
    fn reconcile_gate(&mut self, id: u32, now: Timestamp) -> bool {
        let worker = self.worker;
        let oldest = self.oldest_blocked(id);
        self.tell(id, oldest);
        let Some(Some(local)) = self.gates.get_mut(id as usize) else {
            return false;
        };
        local.is_touched = false;
        let gate = local.gate;
        let Some(oldest) = oldest else {
            self.pass_on(gate, now);
            return false;
        };
        loop {
            let peers = &self.peers;
            match gate.look(worker, oldest, |other| peers.is_asleep(other)) {
                Entry::Full => return false,
                Entry::Entered => return true,
                Entry::Older(to) if self.leave_to(gate, to, now) => return false,
                Entry::Older(_) => {}
            }
        }
    }

    /// There may be room for those who wait elsewhere.
    fn pass_on(&mut self, gate: &'static Gate, now: Timestamp) {
        let mut next = gate.next(self.worker, |_| true);
        while let Some(to) = next {
            if self.leave_to(gate, to, now) {
                return;
            }
            let peers = &self.peers;
            next = gate.next(self.worker, |other| !peers.is_asleep(other));
        }
    }

    /// Tells worker `to` that there is room. False if it does not look at its mail.
    fn leave_to(&mut self, gate: &'static Gate, to: usize, now: Timestamp) -> bool {
        if gate.post(to, now) {
            self.wakes.push(wake(to, gate.id()));
        }
        if self.peers.is_asleep(to) {
            return false;
        }
        if let Some(mail) = gate.unread(to)
            && gate.unread_for(to, now) >= PATIENCE
        {
            self.peers.0[to] = Some((gate, mail));
            return false;
        }
        if let Some(Some(local)) = self.gates.get_mut(gate.id() as usize)
            && !std::mem::replace(&mut local.is_watched, true)
        {
            self.watched.push(gate.id());
        }
        true
    }

    /// Tells the other workers since when the oldest has waited here.
    fn tell(&mut self, id: u32, oldest: Option<Timestamp>) {
        let Some(Some(local)) = self.gates.get_mut(id as usize) else {
            return;
        };
        let gate = local.gate;
        match (std::mem::replace(&mut local.published, oldest), oldest) {
            (None, Some(oldest)) => {
                gate.wait(self.worker, oldest);
                local.place = self.registered.len();
                self.registered.push(id);
            }
            (Some(known), Some(oldest)) if known != oldest => gate.publish(self.worker, oldest),
            (Some(_), None) => {
                gate.stop_waiting(self.worker);
                let place = local.place;
                self.registered.swap_remove(place);
                self.set_place(place);
            }
            _ => {}
        }
    }

    /// Another gate has come to this place among those where this worker waits.
    fn set_place(&mut self, place: usize) {
        if let Some(&moved) = self.registered.get(place)
            && let Some(Some(moved)) = self.gates.get_mut(moved as usize)
        {
            moved.place = place;
        }
    }

    /// All queues that are blocked at the gate may try again.
    fn open(&mut self, gate: u32) {
        let Some(Some(local)) = self.gates.get_mut(gate as usize) else {
            return;
        };
        let mut blocked = std::mem::take(&mut local.blocked);
        for queue in blocked.drain(..) {
            self.leave_gate(queue);
            self.make_ready(queue);
        }
        if let Some(Some(local)) = self.gates.get_mut(gate as usize) {
            local.blocked = blocked;
        }
        // What the others know is brought up to date when these have tried.
        self.touch(gate);
    }

    fn oldest_blocked(&self, gate: u32) -> Option<Timestamp> {
        let local = self.gates.get(gate as usize)?.as_ref()?;
        let oldest = local.blocked.iter().filter_map(|&queue| {
            let (_, since) = self.oldest(queue)?;
            Some(match self.queues[queue as usize].lacks_backend {
                true => LAST,
                false => since,
            })
        });
        oldest.min()
    }
}

/// Whoever waits at other workers must not wait for one that has ended.
impl<T> Drop for Scheduler<T> {
    fn drop(&mut self) {
        for gate in self.registered.drain(..) {
            if let Some(Some(local)) = self.gates.get(gate as usize) {
                local.gate.stop_waiting(self.worker);
            }
        }
    }
}

fn wake(worker: usize, gate: u32) -> Wake {
    Wake {
        worker,
        gate: GateId(gate),
    }
}

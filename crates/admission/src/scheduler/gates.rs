//! Waiting at gates together with other workers: what they are told, when this worker looks again,
//! and when it no longer gives way.

use events::{Span, Timestamp};

use crate::gate::{Entry, Gate};

use super::account::{LocalGate, Yielding};
use super::{GateId, Scheduler, Wake};

/// How long room is left to another worker's waiter that came first, and how often gates are looked
/// at. A statement that needs two permits may find the sleeping worker before it at both: so room is
/// left unused for less than 1 ms.
const PATIENCE: Span = Span::from_us(300);
/// Gates that are looked at each time.
const POLLED: usize = 1_024;
/// So few are looked at in each turn, so that a worker that has turns anyway is not woken for it.
const FEW: usize = 8;

impl LocalGate {
    /// Since when a waiter counts as waiting, compared with other workers'. Among accounts it is a
    /// worker's turn that depends on that, not who takes the turn.
    pub(super) fn claim(&self, since: Timestamp) -> Timestamp {
        match self.published {
            Some(published) if self.is_shared => published.min(since),
            _ => since,
        }
    }

    /// Leaves the room there is to worker `to`, which has mail. Returns the mail if it has not been
    /// looked at for too long.
    fn yield_to(&mut self, to: usize, now: Timestamp) -> Option<u32> {
        let mail = self.gate.unread(to)?;
        match self.yielding {
            Some(known) if (known.to, known.mail) == (to, mail) => {
                (now.since(known.since) >= PATIENCE).then_some(mail)
            }
            _ => {
                let since = now;
                self.yielding = Some(Yielding { since, to, mail });
                None
            }
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
        let account = self.queues[queue as usize].key.account;
        self.accounts[account as usize].ready.push(queue);
        self.fair.want(account);
    }

    /// A queue is empty, or must wait at a gate.
    pub(super) fn make_unready(&mut self, queue: u32) {
        let number = self.queues[queue as usize].key.account;
        let ready = &mut self.accounts[number as usize].ready;
        if let Some(at) = ready.iter().position(|&other| other == queue) {
            ready.swap_remove(at);
        }
        if ready.is_empty() {
            self.fair.rest(number);
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
        self.queues[queue as usize].blocked_at = None;
        if let Some(local) = &mut self.gates[gate as usize]
            && let Some(at) = local.blocked.iter().position(|&other| other == queue)
        {
            local.blocked.swap_remove(at);
        }
    }

    /// Time passes: gates where somebody waits are looked at in turn, since whoever is to be served
    /// first may be asleep.
    pub(super) fn poll(&mut self, now: Timestamp) {
        let gates = self.registered.len();
        if gates == 0 {
            self.poll_at = None;
            return;
        }
        if gates > FEW && self.poll_at.is_none_or(|at| now < at) {
            return;
        }
        self.poll_at = None;
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
        if self.poll_at.is_none() && !self.registered.is_empty() && self.ledger.workers() > 1 {
            self.poll_at = Some(now + PATIENCE);
        }
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
        let Some(oldest) = oldest else {
            // There may be room for those who wait elsewhere.
            self.wakes
                .extend(local.gate.wake(worker).map(|to| wake(to, id)));
            return false;
        };
        loop {
            let peers = &self.peers;
            match local
                .gate
                .look(worker, oldest, |other| peers.is_asleep(other))
            {
                Entry::Full => return false,
                Entry::Entered => return true,
                Entry::Older(to) => {
                    if local.gate.post(to) {
                        self.wakes.push(wake(to, id));
                    }
                    let Some(mail) = local.yield_to(to, now) else {
                        return false;
                    };
                    self.peers.0[to] = Some((local.gate, mail));
                }
            }
        }
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
            self.queues[queue as usize].blocked_at = None;
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
        let queues = local.blocked.iter();
        let oldest = queues.filter_map(|&queue| self.oldest(queue));
        oldest.map(|(_, since)| since).min()
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

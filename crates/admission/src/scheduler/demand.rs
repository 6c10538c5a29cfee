//! Who waits for backends alone: statements that might have their permits at once. Owns what is told of
//! them to whoever provides backends, who must not provide any for those that are at their limits.

use membership::ListId;

use crate::gate::{Entry, Gate};

use super::account::gates;
use super::{Capacity, Scheduler};

impl<T: Copy> Scheduler<T> {
    /// Whoever has waited longest of those of a group who wait for a backend and for nothing else. After
    /// [`Scheduler::next`] has said that there is nobody.
    pub fn first_without_backend(&self, group: u32) -> Option<T> {
        let queues = self.ready.get(group as usize)?.iter();
        let oldest = queues.filter_map(|&queue| self.oldest(queue));
        let (key, _) = oldest.min_by_key(|&(_, since)| since)?;
        Some(self.waiters.get(key)?.who)
    }

    /// How many of a group would run now if there were backends for them.
    pub fn without_backend(&self, group: u32) -> usize {
        let Some(queues) = self.ready.get(group as usize) else {
            return 0;
        };
        let runnable = queues.iter().map(|&queue| {
            let key = self.queues[queue as usize].key;
            let gates = gates(self.rows(key.account, key.schema), key.needs);
            let room = gates.map(Gate::room).min().unwrap_or(usize::MAX);
            room.min(self.waiters.len_of(ListId(queue)))
        });
        runnable.sum()
    }

    /// There is no backend for anybody of `account`: those at their limits wait for permits, behind those who have
    /// backends.
    pub(super) fn block_all_at_limits(&mut self, account: u32) {
        let mut at = 0;
        while let Some(&queue) = self.accounts[account as usize].ready.get(at) {
            let Some(gate) = self.closed_for(queue) else {
                at += 1;
                continue;
            };
            self.block(queue, gate);
            self.queues[queue as usize].lacks_backend = true;
            if !self.lacking.contains(&queue) {
                self.lacking.push(queue);
            }
        }
    }

    /// Those that wait for permits behind everybody else take their places, where there is a backend now.
    pub(super) fn call_forward(&mut self, capacity: &mut impl FnMut(u32) -> Capacity) {
        let mut at = 0;
        while let Some(&number) = self.lacking.get(at) {
            let queue = &mut self.queues[number as usize];
            let gate = queue.blocked_at.filter(|_| queue.lacks_backend);
            if gate.is_some() && capacity(queue.key.group) != Capacity::Here {
                at += 1;
                continue;
            }
            queue.lacks_backend = false;
            self.lacking.swap_remove(at);
            if let Some(gate) = gate {
                self.touch(gate);
            }
        }
    }

    /// The first gate that the first of a queue would find closed.
    fn closed_for(&self, queue: u32) -> Option<&'static Gate> {
        let (_, since) = self.oldest(queue)?;
        let key = self.queues[queue as usize].key;
        let mut gates = gates(self.rows(key.account, key.schema), key.needs);
        gates.find(|gate| {
            let local = self.gates[gate.id() as usize].as_ref();
            let since = local.map_or(since, |local| local.claim(since));
            let is_asleep = |worker| self.peers.is_asleep(worker);
            gate.look(self.worker, since, is_asleep) != Entry::Entered
        })
    }
}

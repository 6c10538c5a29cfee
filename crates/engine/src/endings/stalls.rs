//! Clients that take their answers more slowly than backends give them, and so hold backends. Owns how long that may
//! last: a client that takes nothing is closed after `client_write_timeout`; one that takes a little is closed earlier if
//! its account holds more than its share so, and others wait.
//!
//! Before that, memory helps: while a statement waits for a backend, answers of slow clients are read whole, as long as all
//! answers together take no more than half of `answer_buffer_total`. Reading an answer to its end sets the backend free.

use events::{Io, Span, Timestamp};
use membership::Key;
use pool::Waiter;

use crate::backend::{Backend, Reading};
use crate::client::State;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// How often clients that do not take their answers are looked at.
const LOOK_AT_STALLS: Span = Span::from_ms(250);

/// A statement waits so long for a backend before answers are read whole.
const READ_WHOLE_AFTER: Span = Span::from_ms(50);

/// It waits so long before the slowest client of another account is closed.
const CLOSE_AFTER: Span = Span::from_ms(300);

/// Time for a backend to become free before the next client is closed.
const CLOSE_EVERY: Span = Span::from_ms(100);

/// A client that does not take its answer, which holds a backend.
pub(crate) struct Stall {
    client: Key,
    /// Bytes that it had not taken when it was last looked at.
    untaken: usize,
    /// Bytes that it took between the last two looks.
    taken: Option<usize>,
    /// Since when it has taken none.
    since: Timestamp,
    /// When it is to be looked at next.
    look_at: Timestamp,
}

/// The clients that do not take their answers.
#[derive(Default)]
pub(crate) struct Stalls {
    stalls: Vec<Stall>,
    /// When one of them was last closed because others waited.
    closed: Option<Timestamp>,
}

impl Stalls {
    /// When one of them is to be looked at.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.stalls.iter().map(|stall| stall.look_at).min()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.stalls.is_empty()
    }

    /// A client has taken all that there was, or is gone.
    pub(crate) fn forget(&mut self, client: Key) {
        self.stalls.retain(|stall| stall.client != client);
    }

    /// Forgets the clients that are not known any more.
    pub(crate) fn forget_strangers(&mut self, is_known: impl Fn(&Key) -> bool) {
        self.stalls.retain(|stall| is_known(&stall.client));
    }

    pub(crate) fn clients(&self) -> impl Iterator<Item = Key> {
        self.stalls.iter().map(|stall| stall.client)
    }
}

impl Stall {
    /// Notes how much the client has not taken by now. More of its answer may have come meanwhile.
    fn look(&mut self, untaken: usize, now: Timestamp) {
        let taken = self.untaken.saturating_sub(untaken);
        if taken > 0 {
            self.since = now;
        }
        (self.untaken, self.taken) = (untaken, Some(taken));
        self.look_at = now + LOOK_AT_STALLS;
    }
}

impl Engine {
    /// A client must take something before more of its answer is read: its backend is not listened to until then.
    pub(crate) fn stall<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        (backend, client): (Key, Key),
    ) {
        let handle = self.clients.get(client).map(|client| client.handle);
        let (Some(backend), Some(handle)) = (self.pool.get_mut(backend), handle) else {
            return;
        };
        backend.reading = Reading::Paused;
        turn.io.pause_receive(backend.handle);
        turn.io.notify_drained(handle);
        self.counters.answers_held += 1;
        if self.stalls.clients().any(|known| known == client) {
            return;
        }
        self.stalls.stalls.push(Stall {
            client,
            untaken: turn.io.untaken(handle),
            taken: None,
            since: turn.now,
            look_at: turn.now + LOOK_AT_STALLS,
        });
    }

    /// Looks at the clients that are due. Those that took something get another `client_write_timeout`; others are closed.
    pub(crate) fn stalls_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let mut stuck = Vec::new();
        let due = |stall: &&mut Stall| turn.now >= stall.look_at;
        for stall in self.stalls.stalls.iter_mut().filter(due) {
            let Some(client) = self.clients.get(stall.client) else {
                continue;
            };
            stall.look(turn.io.untaken(client.handle), turn.now);
            if turn.now >= stall.since + self.settings.client_write_timeout {
                stuck.push(stall.client);
            }
        }
        for client in stuck {
            self.close_client(turn, client, DisconnectReason::WriteTimeout);
        }
    }

    /// The backend whose answer a client is being told.
    pub(crate) fn answering(&self, client: Key) -> Option<Key> {
        let lane = match self.clients.state(client) {
            Some(State::InLane) => self.place_in_lane(client),
            _ => None,
        };
        let lane = lane.filter(|&(_, place)| place == 0).map(|(lane, _)| lane);
        self.clients.get(client)?.backend.or(lane)
    }

    /// Bytes of a client's answer that may wait for it now, if that is read as `reading` says.
    pub(crate) fn answers_ahead<I: Io<Mail>>(&self, turn: &Turn<'_, I>, reading: Reading) -> usize {
        let (limit, total) = match reading {
            Reading::Paused => return usize::MAX,
            Reading::Bounded => (
                self.settings.answer_buffer,
                self.settings.answer_buffer_total,
            ),
            Reading::Whole => (usize::MAX, self.memory_for_whole_answers()),
        };
        match turn.io.unsent_total() > total {
            true => 0,
            false => limit,
        }
    }

    fn memory_for_whole_answers(&self) -> usize {
        self.settings.answer_buffer_total / 2
    }

    /// A statement waits here or with another worker. If it has waited for long, backends that slow clients hold are set free.
    pub(crate) fn relieve_backends<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if self.stalls.is_empty() {
            return;
        }
        let ledger = &self.shared.ledger;
        let needs = (0..ledger.workers()).filter_map(|worker| ledger.need(worker));
        let mut waiters: Vec<Waiter> = needs.flat_map(|need| need.waiters()).collect();
        waiters.sort_unstable();
        waiters.retain(|waiter| turn.now.since(waiter.since) >= READ_WHOLE_AFTER);
        if !waiters.is_empty() {
            self.read_whole_answers(turn);
        }
        let may_close = self
            .stalls
            .closed
            .is_none_or(|at| turn.now >= at + CLOSE_EVERY);
        let mut waiters = waiters.into_iter();
        // The slow clients of the oldest waiter may be its own account's, and those in the way of the next another's.
        while let Some(waiter) = waiters.next().filter(|_| may_close)
            && turn.now.since(waiter.since) >= CLOSE_AFTER
            && !self.close_slowest(turn, waiter)
        {}
    }

    /// Reads the answers of slow clients into memory, as far as that suffices, if their backends will be free then.
    fn read_whole_answers<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if turn.io.unsent_total() > self.memory_for_whole_answers() {
            return;
        }
        let keeps = |client: &Key| {
            let client = self.clients.get(*client);
            client.is_none_or(|client| client.holds_backend())
        };
        let clients = self.stalls.clients().filter(|client| !keeps(client));
        let backends: Vec<Key> = clients.filter_map(|key| self.answering(key)).collect();
        for key in backends {
            if let Some(backend) = self.pool.get_mut(key)
                && backend.reading == Reading::Paused
            {
                backend.reading = Reading::Whole;
                turn.io.resume_receive(backend.handle);
                self.counters.answers_read_whole += 1;
            }
        }
    }

    /// Closes the client that took least lately, of those whose accounts hold more than their share of the backends by
    /// taking so little. Accounts do not do so to themselves. False if there is none.
    fn close_slowest<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, waiter: Waiter) -> bool {
        let held = self.held_by_slow_clients();
        let beyond = |share: usize| {
            let slow = held.iter().filter(|&&(_, of)| of == share).count();
            self.shares[share].account != waiter.account
                && self.is_beyond_share(share, slow, waiter)
        };
        let candidates = held.iter().filter(|&&(_, share)| beyond(share));
        let slowest = candidates.min_by_key(|&&(at, _)| {
            let stall = &self.stalls.stalls[at];
            (stall.taken, stall.since)
        });
        let Some(&(at, share)) = slowest else {
            return false;
        };
        let client = self.stalls.stalls[at].client;
        let id = self.clients.get(client).map(|client| client.id);
        tracing::warn!(
            id,
            held = held.iter().filter(|&&(_, of)| of == share).count(),
            waited_ms = turn.now.since(waiter.since).as_us() / 1_000,
            "client closed: its account holds more than its share of the backend connections by taking \
             answers slowly, and another account waits"
        );
        self.stalls.closed = Some(turn.now);
        self.close_client(turn, client, DisconnectReason::SlowReader);
        true
    }

    /// The clients, by place, that hold a backend by taking little, as far as they were looked at, with the share of each.
    fn held_by_slow_clients(&self) -> Vec<(usize, usize)> {
        let is_paused = |key: Key| {
            let backend = self.pool.get(key);
            backend.is_some_and(|backend: &Backend| backend.reading == Reading::Paused)
        };
        let stalls = self.stalls.stalls.iter().enumerate();
        let held = stalls.filter_map(|(at, stall)| {
            stall.taken?;
            let id = self.clients.get(stall.client)?.key;
            let holds = self.answering(stall.client).is_some_and(is_paused);
            holds.then(|| (at, self.keys[id.0 as usize].share))
        });
        held.collect()
    }

    /// True if so many backends are more than the account's share, beside all accounts that wait.
    fn is_beyond_share(&self, share: usize, backends: usize, waiter: Waiter) -> bool {
        let share = &self.shares[share];
        let weight = u64::from(share.weight.max(1));
        let others = self.turns.weights.max(u64::from(waiter.weight.max(1)));
        let weights = match share.has_waiters() {
            true => others.max(weight + u64::from(waiter.weight.max(1))),
            false => others + weight,
        };
        let slots = self.shared.ledger.claim(self.worker).owned as u64;
        backends as u64 * weights > slots * weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_takes_a_byte_begins_anew() {
        let mut keys = membership::Slab::default();
        let at = |ms: u64| Timestamp::ZERO + Span::from_ms(ms);
        let mut stall = Stall {
            client: keys.insert(()),
            untaken: 1_000,
            taken: None,
            since: at(0),
            look_at: at(250),
        };
        for (ms, untaken, taken, since) in [
            (250, 1_000, 0, 0),
            (500, 999, 1, 500),
            (750, 999, 0, 500),
            // More of its answer was read meanwhile.
            (1_000, 5_000, 0, 500),
            (1_250, 1_000, 4_000, 1_250),
        ] {
            stall.look(untaken, at(ms));
            assert_eq!((stall.taken, stall.since), (Some(taken), at(since)), "{ms}");
            assert_eq!(stall.look_at, at(ms + 250));
        }
    }
}

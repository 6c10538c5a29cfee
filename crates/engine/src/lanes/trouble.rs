//! What goes wrong with lanes: heads that take too long or say too much, clients that hang up or are
//! killed, backends that are lost (rules 7 and 15). Only the read concerned is affected: the others of
//! its lane are sent again elsewhere, once, and what still comes for them is swallowed.

use admission::Permit;
use events::{Io, Timestamp};
use membership::Key;
use pool::State as BackendState;

use crate::backend::{Backend, ClientCommand, Purpose, Reading};
use crate::client::State;
use crate::endings::next_sequence_id;
use crate::endings::retry::Retry;
use crate::errors::ClientError;
use crate::{Engine, Mail, Turn};

/// Lanes, and what is left of lanes.
const LANES: [BackendState; 2] = [BackendState::Lane, BackendState::Draining];

impl Backend {
    /// Clients whose reads are here, with their places.
    pub(crate) fn riders(&self) -> impl Iterator<Item = (usize, Key)> {
        let exchanges = self.exchanges.iter().enumerate();
        exchanges.filter_map(|(place, exchange)| match &exchange.purpose {
            Purpose::Command(command) => Some((place, command.client?)),
            _ => None,
        })
    }

    /// What is still to come at `place` is nobody's any more.
    fn swallow(&mut self, place: usize) -> Option<Key> {
        self.command_at(place)?.client.take()
    }

    fn command_at(&mut self, place: usize) -> Option<&mut ClientCommand> {
        match &mut self.exchanges.get_mut(place)?.purpose {
            Purpose::Command(command) => Some(command),
            _ => None,
        }
    }

    /// A read is to be sent again elsewhere: its client takes its permit along. The server has not
    /// dealt with it here, so what it will do is counted, too.
    fn take_along(&mut self, place: usize) -> Option<(Key, Permit)> {
        let command = self.command_at(place)?;
        let rider = command.client.take()?;
        let twin = command.permit.twin();
        Some((rider, std::mem::replace(&mut command.permit, twin)))
    }
}

impl Engine {
    /// True for lanes and what is left of them.
    pub(crate) fn is_lane(&self, backend: Key) -> bool {
        self.pool
            .state(backend)
            .is_some_and(|state| LANES.contains(&state))
    }

    /// The lane that a client's read is in, and its place there.
    pub(crate) fn place_in_lane(&self, key: Key) -> Option<(Key, usize)> {
        let id = self.clients.get(key)?.key;
        let mut lanes = LANES
            .into_iter()
            .flat_map(|state| self.pool.iter(id, state));
        lanes.find_map(|(lane, backend)| {
            let mut riders = backend.riders();
            let (place, _) = riders.find(|&(_, rider)| rider == key)?;
            Some((lane, place))
        })
    }

    /// The lane gets no more reads, and those behind its head are sent again elsewhere.
    pub(crate) fn empty_lane<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, lane: Key) {
        let Some(id) = self.pool.key_of(lane) else {
            return;
        };
        if self.pool.state(lane) == Some(BackendState::Lane) {
            self.pool.move_to(lane, BackendState::Draining, turn.now);
        }
        let places = 1..self.pool.get(lane).map_or(0, |b| b.exchanges.len());
        for place in places {
            let rider = self.pool.get_mut(lane).and_then(|b| b.take_along(place));
            if let Some((rider, permit)) = rider {
                self.counters.lane_moves += 1;
                self.hold_permit(rider, permit, turn.now);
                self.send_again(turn, rider, Retry::Moved);
            }
        }
        self.serve(turn, id);
    }

    /// A read whose answer has not begun goes alone from now on, to whichever backend is free first.
    fn send_again<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, key: Key, retry: Retry) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let id = client.key;
        client.retry = match self.known.digests.is_base(client.digest, turn.now) {
            true => retry,
            false => Retry::Unchecked,
        };
        self.clients.move_to(key, State::Waiting(id), turn.now);
        self.wake(id);
    }

    /// Lanes are looked at again when a head that began now would have taken too long.
    pub(crate) fn watch_lanes(&mut self, now: Timestamp) {
        self.lane_due = self.lane_due.or(Some(now + self.lane_patience.limit()));
    }

    /// Finds the heads that take too long.
    pub(crate) fn lanes_due<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        if self.lane_due.is_none_or(|at| turn.now < at) {
            return;
        }
        if !turn.io.has_told_all() {
            // The answers may be there.
            self.lane_due = Some(turn.now);
            return;
        }
        self.lane_due = None;
        let (mut stalled, mut next) = (Vec::new(), None);
        let limit = self.lane_patience.limit();
        let late = turn.io.told_late();
        for &id in &self.awake {
            for (key, backend) in LANES.into_iter().flat_map(|s| self.pool.iter(id, s)) {
                let at = backend.head_since + limit + late;
                match turn.now >= at {
                    true => stalled.push(key),
                    false => next = [next, Some(at)].into_iter().flatten().min(),
                }
            }
        }
        self.lane_due = next;
        for lane in stalled {
            self.lane_stalled(turn, lane);
        }
    }

    /// The head of a lane takes too long. If nobody waits for it, it is ended.
    fn lane_stalled<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, lane: Key) {
        let Some(backend) = self.pool.get(lane) else {
            return;
        };
        let head = backend.riders().find(|&(place, _)| place == 0);
        let known = backend.orphaned.is_some();
        if self.pool.state(lane) == Some(BackendState::Lane) {
            self.counters.lane_stalls += 1;
        }
        self.empty_lane(turn, lane);
        if head.is_none() && !known {
            self.orphan(lane, turn.now);
        }
    }

    /// The answer at the head of a lane is more than its client takes, or than lanes are for: the
    /// others do not wait for it.
    pub(crate) fn hold_back_lane<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, lane: Key) {
        let Some((backend, front)) = self
            .pool
            .get(lane)
            .and_then(|b| Some((b, b.exchanges.front()?)))
        else {
            return;
        };
        let Purpose::Command(command) = &front.purpose else {
            return;
        };
        let Some(client) = command.client.filter(|_| command.answered) else {
            return;
        };
        let Some(handle) = self.clients.get(client).map(|client| client.handle) else {
            return;
        };
        let over = turn.io.unsent(handle) > self.answers_ahead(turn, backend.reading);
        if front.bytes > self.settings.answer_buffer || over {
            self.empty_lane(turn, lane);
        }
        if over {
            self.stall(turn, (lane, client));
        }
    }

    /// A client whose read is in a lane is gone, or was answered otherwise.
    pub(crate) fn leave_lane<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        (lane, place): (Key, usize),
    ) {
        let Some(backend) = self.pool.get_mut(lane) else {
            return;
        };
        backend.swallow(place);
        if place == 0 && std::mem::take(&mut backend.reading) == Reading::Paused {
            turn.io.resume_receive(backend.handle);
        }
    }

    /// A client whose read is in a lane is to be interrupted. The head is ended on the backend, which
    /// may hit those behind it: they go elsewhere first. Who is behind never comes to its turn.
    pub(crate) fn kill_in_lane<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (lane, place): (Key, usize),
    ) {
        if place == 0 {
            self.empty_lane(turn, lane);
            return self.interrupt(turn, lane);
        }
        self.leave_lane(turn, (lane, place));
        self.answer_err(turn, key, &ClientError::interrupted());
        self.drop_waiting_command(turn, key);
    }

    /// A lane was lost with its connection. What nothing was told of is sent again; the head's client
    /// may have been told a part.
    pub(crate) fn lane_lost<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, backend: &mut Backend) {
        for exchange in &mut backend.exchanges {
            let Purpose::Command(command) = &mut exchange.purpose else {
                continue;
            };
            let Some(client) = command.client else {
                continue;
            };
            if command.answered {
                let first = self.clients.get(client).map_or(1, |of| of.answer_begins);
                let sequence_id = next_sequence_id(exchange, first);
                self.lose_backend(turn, client, false, sequence_id);
            } else {
                self.counters.retries += 1;
                let permit = std::mem::replace(&mut command.permit, Permit::NONE);
                self.hold_permit(client, permit, turn.now);
                self.send_again(turn, client, Retry::Resent);
            }
        }
    }
}

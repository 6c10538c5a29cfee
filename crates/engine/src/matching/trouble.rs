//! What goes wrong with lanes: heads that take too long, clients that hang up or are killed, backends that are lost (rules 7 and
//! 15). Only the read concerned is affected: the others of its lane are sent again elsewhere, once, and Myriad drops what still
//! comes for them.

use admission::Permit;
use events::{Io, Timestamp};
use membership::Key;
use pool::State as BackendState;

use crate::matching::Matching;
use crate::record::backend::{Backend, ClientCommand, Purpose, Reading};
use crate::record::client::State;
use crate::record::records::Records;
use crate::record::retry::Retry;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// Lanes, and what is left of lanes.
pub(crate) const LANES: [BackendState; 2] = [BackendState::Lane, BackendState::Draining];

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
    pub(crate) fn take_along(&mut self, place: usize) -> Option<(Key, Permit)> {
        let command = self.command_at(place)?;
        let rider = command.client.take()?;
        let twin = command.permit.twin();
        Some((rider, std::mem::replace(&mut command.permit, twin)))
    }
}

impl Records {
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

    /// A read whose answer has not begun goes alone from now on, to whichever backend is free first.
    pub(crate) fn send_again<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, key: Key, retry: Retry) {
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
}

impl Matching {
    /// Lanes are looked at again when a head that began now would have taken too long.
    pub(crate) fn watch_lanes(&mut self, now: Timestamp) {
        self.lane_due = self.lane_due.or(Some(now + self.lane_patience.limit()));
    }
}

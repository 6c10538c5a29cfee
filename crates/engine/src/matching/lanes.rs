//! Lanes: backends that are kept filled with plain reads of several sessions, one behind the other, so that a busy server finds
//! the next one without being woken. Only reads that are known to be fast and small share a lane, and only sessions whose state
//! is the lane's: nothing is restored in one. What goes wrong with lanes is in `trouble`.

use carry::diagnostics::Counts;
use carry::digests::{Bounds, Digest};
use carry::packet::Packet;
use events::{Io, Timestamp};
use membership::Key;
use pool::{Choice, Fit, KeyId, Preference, State as BackendState};
use session::statement::{Kind, PinReasons, Statement, Traits};
use wire::{ResponseWalk, Shape, Translation};

use crate::matching::Matching;
use crate::record::allowance::Allowance;
use crate::record::backend::{Backend, ClientCommand, Purpose, Reading};
use crate::record::client::{Client, State};
use crate::record::pieces::put_as_sent;
use crate::record::records::Records;
use crate::record::retry::Retry;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// So many reads are in a lane at most.
pub(crate) const LANE_DEPTH: usize = 32;

/// A lane is filled again, in one go, when no more than so many are left.
pub(crate) const FILL_AT: usize = LANE_DEPTH / 2;

/// So many of those who wait for lanes are looked at for one that suits.
const LOOK_AT: usize = 64;

impl Backend {
    /// True if a lane may get one more read.
    fn takes_more(&self, now: Timestamp, max_age: Option<events::Span>) -> bool {
        let too_old = max_age.is_some_and(|max| now.since(self.opened) > max);
        let bounded = self.reading == Reading::Bounded;
        bounded
            && !(self.retired || self.dirty || self.kill_outstanding || too_old)
            && self.due.is_empty()
    }

    /// How many reads a lane takes now: none until it is filled again.
    pub(crate) fn room_in_lane(&self) -> usize {
        match self.exchanges.len() {
            depth if depth <= FILL_AT => LANE_DEPTH - depth,
            _ => 0,
        }
    }
}

impl Client {
    /// True if its command may go in a lane, as long as reads like that are fast.
    pub(crate) fn may_ride(&self) -> bool {
        self.digest != Digest::NONE && self.retry == Retry::Fresh
    }
}

impl Records {
    /// True if a lane is in the state of this client's session.
    pub(crate) fn has_lane(&self, key: Key) -> bool {
        let Some(client) = self.clients.get(key) else {
            return false;
        };
        let mut lanes = self.pool.iter(client.key, BackendState::Lane);
        lanes.any(|(_, lane)| lane.session.matches(&client.session))
    }
}

impl Matching {
    /// True if a command may share a lane.
    pub(crate) fn may_share<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> bool {
        let client = records.clients.get(key);
        let digest = client.map_or(Digest::NONE, |client| {
            records.known.digest(client, packet, statement)
        });
        let Some(client) = records.clients.get_mut(key) else {
            return false;
        };
        client.digest = digest;
        let fresh = client.retry == Retry::Fresh && !client.may_initiate;
        let behind = turn.io.unsent(client.handle) > records.settings.answer_buffer;
        digest != Digest::NONE && fresh && !behind && self.is_fast(records, turn, digest)
    }

    pub(crate) fn is_fast<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &Turn<'_, I>,
        digest: Digest,
    ) -> bool {
        let bounds = self.lane_bounds(records);
        records.settings.lane_stall.is_some()
            && records.known.digests.is_fast(digest, &bounds, turn.now)
    }

    /// Puts a command into a lane at once, unless others wait for lanes or none has room.
    pub(crate) fn join_lane<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
    ) -> bool {
        records.resolve_charset(key);
        let Some(id) = records.clients.get(key).map(|client| client.key) else {
            return false;
        };
        if records.clients.count(State::ForLane(id)) > 0 {
            return false;
        }
        let Some(lane) = self.lane_with_room(records, turn, key) else {
            return false;
        };
        self.put_in_lane(records, turn, lane, key, packet);
        true
    }

    /// What counts as fast and small enough for a lane.
    pub(crate) fn lane_bounds(&self, records: &Records) -> Bounds {
        Bounds {
            stall: self.lane_patience.limit(),
            bytes: records.settings.answer_buffer / 2,
        }
    }

    /// A lane that takes a client's read at once: one that has room, or an idle backend in the
    /// session's state, as long as there may be more lanes.
    pub(crate) fn lane_with_room<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &mut Turn<'_, I>,
        key: Key,
    ) -> Option<Key> {
        let client = records.clients.get(key)?;
        let id = client.key;
        let suits = |backend: &Backend| backend.session.matches(&client.session);
        let lanes = records.pool.iter(id, BackendState::Lane);
        let (mut count, mut best) = (0, None);
        for (lane, backend) in lanes.filter(|(_, backend)| suits(backend)) {
            count += 1;
            let depth = backend.exchanges.len();
            let takes = backend.takes_more(turn.now, records.settings.backend_max_age);
            if takes && best.is_none_or(|(_, least)| depth < least) {
                best = Some((lane, depth));
            }
        }
        let fit = |backend: &Backend| {
            if suits(backend) {
                Fit::Same
            } else {
                Fit::Never
            }
        };
        if count < self.lane_limit.limit()
            && let Choice::Attach(idle) =
                records
                    .pool
                    .choose(id, (1, turn.now), Preference::Fitting, fit)
        {
            records.pool.move_to(idle, BackendState::Lane, turn.now);
            records.wake(id);
            self.watch_lanes(turn.now);
            return Some(idle);
        }
        let (lane, depth) = best?;
        (depth <= FILL_AT && !self.must_yield(records, turn, id, lane)).then_some(lane)
    }

    /// Sends a read into a lane. Its bytes stay at the front of the client's inbox until it is
    /// answered: it may have to be sent again.
    fn put_in_lane<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &mut Turn<'_, I>,
        lane: Key,
        key: Key,
        packet: Packet<'_>,
    ) {
        let allowance = self.take_allowance(records, key, Kind::Select);
        let (Some(client), Some(backend)) = (records.clients.get(key), records.pool.get_mut(lane))
        else {
            return;
        };
        if backend.exchanges.is_empty() {
            backend.head_since = turn.now;
        }
        records.counters.lane_followers += u64::from(!backend.exchanges.is_empty());
        let outbox = turn.io.outbox(backend.handle);
        let sequence_id = put_as_sent(outbox, packet).last;
        let walk = ResponseWalk::shaped(Shape::Results, true, sequence_id);
        let command = lane_command(key, client, allowance);
        let id = client.key;
        backend.owe(walk, Purpose::Command(command));
        records.served(id, turn.now);
        records.clients.move_to(key, State::InLane, turn.now);
        records.counters.statements += 1;
        records.counters.lane_statements += 1;
    }

    /// True if a read that waits for a lane may still have one; else it waits to go alone.
    pub(crate) fn still_shares<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &Turn<'_, I>,
        key: Key,
    ) -> bool {
        let Some(client) = records.clients.get(key) else {
            return false;
        };
        let (id, digest) = (client.key, client.digest);
        let shares = self.is_fast(records, turn, digest);
        if !shares {
            records.clients.move_to(key, State::Waiting(id), turn.now);
        }
        shares
    }

    /// Fills a lane that is running empty, in one go.
    pub(crate) fn fill<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &mut Turn<'_, I>,
        lane: Key,
    ) {
        let Some(id) = records.pool.key_of(lane) else {
            return;
        };
        let waiting =
            [State::ForLane(id), State::Waiting(id)].map(|queue| records.clients.count(queue));
        if waiting == [0, 0] || self.must_yield(records, turn, id, lane) {
            return;
        }
        let max_age = records.settings.backend_max_age;
        while let Some(backend) = records.pool.get(lane) {
            let room = backend.exchanges.len() < LANE_DEPTH;
            if !room || !backend.takes_more(turn.now, max_age) {
                return;
            }
            if let Some(client) = self.late_sharer(records, turn, id, lane) {
                self.send_in_lane(records, turn, lane, client);
                continue;
            }
            let Some(backend) = records.pool.get(lane) else {
                return;
            };
            let suits = |client: &Client| backend.session.matches(&client.session);
            let waiting = records.clients.iter(State::ForLane(id)).take(LOOK_AT);
            let next = { waiting }
                .find(|(_, client)| suits(client))
                .map(|(key, _)| key);
            let Some(client) = next else { return };
            if self.still_shares(records, turn, client) {
                self.send_in_lane(records, turn, lane, client);
            }
        }
    }

    /// The client that has waited longest to go alone, if nobody has waited longer for lanes and its
    /// read may share this one by what is known now. When many come at once, what they ask is not
    /// known yet: they all wait to go alone, and must not see those who come later go first.
    fn late_sharer<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &Turn<'_, I>,
        id: KeyId,
        lane: Key,
    ) -> Option<Key> {
        let key = records.clients.first(State::Waiting(id))?;
        let client = records.clients.get(key)?;
        let first = records.clients.oldest(State::ForLane(id));
        let due = first.is_none_or(|first| client.since < first);
        let suits = |lane: &Backend| lane.session.matches(&client.session);
        let shares = due && client.may_ride() && suits(records.pool.get(lane)?);
        let digest = client.digest;
        (shares && self.is_fast(records, turn, digest)).then_some(key)
    }

    /// Sends the read that waits at the front of a client's inbox.
    pub(crate) fn send_in_lane<I: Io<Mail>>(
        &mut self,
        records: &mut Records,
        turn: &mut Turn<'_, I>,
        lane: Key,
        key: Key,
    ) {
        let Some(client) = records.clients.get_mut(key) else {
            return;
        };
        let waited = turn.now.since(client.since);
        let inbox = std::mem::take(&mut client.inbox);
        if let Ok(packet) = wire::whole_packet(&inbox) {
            let packet = Packet {
                raw: &inbox[..packet.consumed],
                payload: packet.payload.bytes(),
                // Nobody looks into it any more.
                attributes: 0,
            };
            records.counters.queue_wait.record(waited);
            self.put_in_lane(records, turn, lane, key, packet);
        }
        if let Some(client) = records.clients.get_mut(key) {
            client.inbox = inbox;
        }
    }
}

fn lane_command(key: Key, client: &Client, allowance: Allowance) -> ClientCommand {
    ClientCommand {
        client: Some(key),
        translation: Translation::new(client.dialect(), client.answer_begins.wrapping_sub(1)),
        kind: Kind::Select,
        traits: Traits::PURE_READ,
        pins: PinReasons::NONE,
        counts: Counts::default(),
        does: client.digest.does(),
        effect: None,
        untold: None,
        answered: false,
        permit: allowance.permit,
        keeping: None,
        until: allowance.until,
        timed_out: false,
        digest: client.digest,
        keeps_definitions_of: None,
    }
}

//! Lanes: backends that are kept filled with plain reads of several sessions, one behind the other, so
//! that a busy server finds the next one without being woken. Owns who joins which lane, and what
//! follows an answer there; what goes wrong with lanes is in `lane_trouble`.
//!
//! Only reads that are known to be fast and small share a lane, and only sessions whose state is the
//! lane's: nothing is restored in one. A read that finds an idle backend goes there at once.

pub(crate) mod digests;
pub(crate) mod patience;
mod trouble;
pub(crate) mod views;

use events::{Io, Timestamp};
use membership::Key;
use pool::{Choice, Fit, KeyId, Preference, State as BackendState};
use session::statement::{Kind, PinReasons, Statement, Traits};
use wire::{Command, ResponseWalk, ServerStatus, Shape, Translation};

use crate::backend::{Backend, ClientCommand, Purpose, Reading};
use crate::client::{Client, State};
use crate::commands::Packet;
use crate::commands::pieces::put_as_sent;
use crate::conditions::{Answer, Does};
use crate::diagnostics::Counts;
use crate::endings::retry::{COMMAND_MAX, Retry};
use crate::known::Known;
use crate::lanes::digests::{Bounds, Digest, Sample};
use crate::permits::overtime::Allowance;
use crate::prepared::named::executes;
use crate::prepared::templates::Template;
use crate::report::counters::DisconnectReason;
use crate::{Engine, Mail, Turn};

/// So many reads are in a lane at most.
pub(crate) const LANE_DEPTH: usize = 32;

/// A lane is filled again, in one go, when no more than so many are left.
const FILL_AT: usize = LANE_DEPTH / 2;

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
}

impl Backend {
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

impl Known {
    /// What a plain read outside of transactions and pins has in common with others.
    pub(crate) fn digest(
        &self,
        client: &Client,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> Digest {
        let plain = statement.traits.contains(Traits::PURE_READ)
            // What the server says of these concerns none of the sessions beside.
            && !statement.traits.contains(Traits::HINTS_VARIABLES)
            && packet.payload.first() == Some(&(Command::Query as u8))
            && packet.raw.len() <= COMMAND_MAX
            && client.login.is_none()
            && client.status.contains(ServerStatus::AUTOCOMMIT)
            // The first read of a lane would use up what was for another one's.
            && client.session.next_transaction().is_none()
            && !client.holds_backend();
        if !plain {
            return Digest::NONE;
        }
        self.digest_of_tables(client, packet, statement)
    }

    /// What a read has in common with others that read the same tables.
    pub(crate) fn digest_of_tables(
        &self,
        client: &Client,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> Digest {
        let prepared = client.statement(packet.payload);
        if let Some(prepared) = prepared.filter(|_| executes(packet.payload)) {
            let Template {
                binding, meaning, ..
            } = &*prepared.template;
            return Digest::prepared(meaning.statement.digest, (client.key, binding.schema()));
        }
        let does = Does::of_statement(statement, packet.text(), self.flavor());
        let schema = client.session.schema.as_deref();
        Digest::new(statement.digest, (client.key, schema), does)
    }
}

impl Engine {
    /// True if a command may share a lane.
    pub(crate) fn may_share<I: Io<Mail>>(
        &mut self,
        turn: &Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> bool {
        let client = self.clients.get(key);
        let digest = client.map_or(Digest::NONE, |client| {
            self.known.digest(client, packet, statement)
        });
        let Some(client) = self.clients.get_mut(key) else {
            return false;
        };
        client.digest = digest;
        let fresh = client.retry == Retry::Fresh && !client.may_initiate;
        let behind = turn.io.unsent(client.handle) > self.settings.answer_buffer;
        digest != Digest::NONE && fresh && !behind && self.is_fast(turn, digest)
    }

    pub(crate) fn is_fast<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, digest: Digest) -> bool {
        let bounds = self.lane_bounds();
        self.settings.lane_stall.is_some() && self.known.digests.is_fast(digest, &bounds, turn.now)
    }

    /// Puts a command into a lane at once, unless others wait for lanes or none has room.
    pub(crate) fn join_lane<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
    ) -> bool {
        self.resolve_charset(key);
        let Some(id) = self.clients.get(key).map(|client| client.key) else {
            return false;
        };
        if self.clients.count(State::ForLane(id)) > 0 {
            return false;
        }
        let Some(lane) = self.lane_with_room(turn, key) else {
            return false;
        };
        self.put_in_lane(turn, (lane, key), packet);
        true
    }

    /// What counts as fast and small enough for a lane.
    pub(crate) fn lane_bounds(&self) -> Bounds {
        Bounds {
            stall: self.lane_patience.limit(),
            bytes: self.settings.answer_buffer / 2,
        }
    }

    /// A lane that takes a client's read at once: one that has room, or an idle backend in the
    /// session's state, as long as there may be more lanes.
    fn lane_with_room<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> Option<Key> {
        let client = self.clients.get(key)?;
        let id = client.key;
        let suits = |backend: &Backend| backend.session.matches(&client.session);
        let lanes = self.pool.iter(id, BackendState::Lane);
        let (mut count, mut best) = (0, None);
        for (lane, backend) in lanes.filter(|(_, backend)| suits(backend)) {
            count += 1;
            let depth = backend.exchanges.len();
            let takes = backend.takes_more(turn.now, self.settings.backend_max_age);
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
                self.pool
                    .choose(id, (1, turn.now), Preference::Fitting, fit)
        {
            self.pool.move_to(idle, BackendState::Lane, turn.now);
            self.wake(id);
            self.watch_lanes(turn.now);
            return Some(idle);
        }
        let (lane, depth) = best?;
        (depth <= FILL_AT && !self.must_yield(turn, (id, lane))).then_some(lane)
    }

    /// True if a lane is in the state of this client's session.
    pub(crate) fn has_lane(&self, key: Key) -> bool {
        let Some(client) = self.clients.get(key) else {
            return false;
        };
        let mut lanes = self.pool.iter(client.key, BackendState::Lane);
        lanes.any(|(_, lane)| lane.session.matches(&client.session))
    }

    /// Sends a read into a lane. Its bytes stay at the front of the client's inbox until it is
    /// answered: it may have to be sent again.
    fn put_in_lane<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        (lane, key): (Key, Key),
        packet: Packet<'_>,
    ) {
        let allowance = self.take_allowance(key, Kind::Select);
        let (Some(client), Some(backend)) = (self.clients.get(key), self.pool.get_mut(lane)) else {
            return;
        };
        if backend.exchanges.is_empty() {
            backend.head_since = turn.now;
        }
        self.counters.lane_followers += u64::from(!backend.exchanges.is_empty());
        let outbox = turn.io.outbox(backend.handle);
        let sequence_id = put_as_sent(outbox, packet).last;
        let walk = ResponseWalk::shaped(Shape::Results, true, sequence_id);
        let command = lane_command(key, client, allowance);
        let id = client.key;
        backend.owe(walk, Purpose::Command(command));
        self.served(id, turn.now);
        self.clients.move_to(key, State::InLane, turn.now);
        self.counters.statements += 1;
        self.counters.lane_statements += 1;
    }

    /// Sends the read that waits first, and those who wait behind it, if there is a lane with room, or
    /// a backend that can be brought to its state.
    pub(crate) fn serve_lanes<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, first: Key) -> bool {
        if !self.still_shares(turn, first) {
            return true;
        }
        if let Some(lane) = self.lane_with_room(turn, first) {
            self.send_in_lane(turn, lane, first);
            self.fill(turn, lane);
            return true;
        }
        !self.has_lane(first) && self.serve_alone(turn, first)
    }

    /// True if a read that waits for a lane may still have one; else it waits to go alone.
    fn still_shares<I: Io<Mail>>(&mut self, turn: &Turn<'_, I>, key: Key) -> bool {
        let Some(client) = self.clients.get(key) else {
            return false;
        };
        let (id, digest) = (client.key, client.digest);
        let shares = self.is_fast(turn, digest);
        if !shares {
            self.clients.move_to(key, State::Waiting(id), turn.now);
        }
        shares
    }

    /// Fills a lane that is running empty, in one go.
    fn fill<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, lane: Key) {
        let Some(id) = self.pool.key_of(lane) else {
            return;
        };
        let waiting =
            [State::ForLane(id), State::Waiting(id)].map(|queue| self.clients.count(queue));
        if waiting == [0, 0] || self.must_yield(turn, (id, lane)) {
            return;
        }
        let max_age = self.settings.backend_max_age;
        while let Some(backend) = self.pool.get(lane) {
            let room = backend.exchanges.len() < LANE_DEPTH;
            if !room || !backend.takes_more(turn.now, max_age) {
                return;
            }
            if let Some(client) = self.late_sharer(turn, (id, lane)) {
                self.send_in_lane(turn, lane, client);
                continue;
            }
            let Some(backend) = self.pool.get(lane) else {
                return;
            };
            let suits = |client: &Client| backend.session.matches(&client.session);
            let waiting = self.clients.iter(State::ForLane(id)).take(LOOK_AT);
            let next = { waiting }
                .find(|(_, client)| suits(client))
                .map(|(key, _)| key);
            let Some(client) = next else { return };
            if self.still_shares(turn, client) {
                self.send_in_lane(turn, lane, client);
            }
        }
    }

    /// The client that has waited longest to go alone, if nobody has waited longer for lanes and its
    /// read may share this one by what is known now. When many come at once, what they ask is not
    /// known yet: they all wait to go alone, and must not see those who come later go first.
    fn late_sharer<I: Io<Mail>>(
        &mut self,
        turn: &Turn<'_, I>,
        (id, lane): (KeyId, Key),
    ) -> Option<Key> {
        let key = self.clients.first(State::Waiting(id))?;
        let client = self.clients.get(key)?;
        let first = self.clients.oldest(State::ForLane(id));
        let due = first.is_none_or(|first| client.since < first);
        let suits = |lane: &Backend| lane.session.matches(&client.session);
        let shares = due && client.may_ride() && suits(self.pool.get(lane)?);
        let digest = client.digest;
        (shares && self.is_fast(turn, digest)).then_some(key)
    }

    /// Sends the read that waits at the front of a client's inbox.
    fn send_in_lane<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, lane: Key, key: Key) {
        let Some(client) = self.clients.get_mut(key) else {
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
            self.counters.queue_wait.record(waited);
            self.put_in_lane(turn, (lane, key), packet);
        }
        if let Some(client) = self.clients.get_mut(key) {
            client.inbox = inbox;
        }
    }

    /// The answer to the oldest read of a lane is complete.
    pub(crate) fn lane_answered<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        lane: Key,
        command: &ClientCommand,
        sample: Sample,
    ) {
        let bounds = self.lane_bounds();
        self.lane_patience.note(sample.service, turn.now);
        self.known
            .digests
            .learn(command.digest, &sample, (&bounds, false), turn.now);
        let followed = self.pool.get(lane).is_some_and(Backend::is_working);
        self.lane_limit.answered(followed, turn.now);
        if let Some(client) = command.client {
            self.lane_client_answered(turn, client, (command, sample.odd));
        }
        let left = self.pool.get(lane).map_or(0, |lane| lane.exchanges.len());
        match self.pool.state(lane) {
            Some(BackendState::Lane) if left <= FILL_AT => {
                self.fill(turn, lane);
            }
            Some(BackendState::Draining) => self.watch_lanes(turn.now),
            _ => {}
        }
    }

    /// A client whose read was in a lane has its answer.
    fn lane_client_answered<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (command, odd): (&ClientCommand, bool),
    ) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        let failed = odd && !command.counts.warned;
        self.counters.statement_errors += u64::from(failed);
        client.capture.answered(command, failed);
        match wire::whole_packet(&client.inbox).ok().filter(|_| odd) {
            Some(packet) => {
                let count = command.counts.warnings.max(u16::from(failed));
                let text = client.text(packet.payload.bytes());
                client.capture.conditions.repeatable(text, count);
            }
            None => {
                let conditions = &mut client.capture.conditions;
                conditions.answered(command.does, &Answer::default());
                // The next command may come to another backend.
                conditions.lose();
            }
        }
        self.drop_first_command(key);
        self.clients.move_to(key, State::Idle, turn.now);
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        if self.draining.is_some() {
            return self.close_client(turn, key, DisconnectReason::Drain);
        }
        if client.inbox.is_empty() && client.paused.is_empty() {
            let inbox = std::mem::take(&mut client.inbox);
            return self.recycle(inbox);
        }
        self.consume_inbox(turn, key);
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

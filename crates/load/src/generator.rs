//! One worker of the load generator: its connections and what happens on them.
//!
//! How connections come to be is in [`crate::ramp`], how they end in [`crate::winding_down`].

use std::sync::Arc;
use std::sync::mpsc::Sender;

use events::{Close, ConnectError, Handle, Handler, HangUp, Io, Peer, Tag, Timestamp};
use fastrand::Rng;
use membership::Key;

use crate::answer::{Answer, Expectation, Verdict};
use crate::connection::{Connections, Pending, State};
use crate::error::LoadError;
use crate::packets::first_packet;
use crate::plan::Plan;
use crate::tally::Tally;

/// What the main thread tells a worker.
#[derive(Debug)]
pub(crate) enum Mail {
    /// Say what was counted since the last time.
    Report(Sender<Report>),
    /// All connections of all workers are logged in: begin with the workload.
    Start,
    /// Send no more statements; await those that are under way, and end.
    Stop,
}

/// A worker's answer to [`Mail::Report`].
#[derive(Debug)]
pub(crate) struct Report {
    /// What was counted since the last report.
    pub(crate) tally: Tally,
    /// Connections logged in now.
    pub(crate) open: usize,
}

/// What a worker is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Connections are logged in and then held.
    Ramp,
    /// Connections do what the workload says.
    Work,
    /// Connections end; those that have not by this time are given up.
    Stop(Timestamp),
}

/// The state machine of one worker.
pub(crate) struct Generator {
    pub(crate) plan: Arc<Plan>,
    pub(crate) connections: Connections,
    /// How many logins may be under way.
    pub(crate) logins_max: usize,
    pub(crate) phase: Phase,
    /// No connection is opened before this time.
    pub(crate) connect_at: Timestamp,
    /// Whether any connection could be made so far.
    pub(crate) ever_connected: bool,
    pub(crate) tally: Tally,
    /// Why there is no use in going on.
    pub(crate) failure: Option<LoadError>,
    rng: Rng,
}

impl Generator {
    /// A worker with the connections of these numbers.
    pub(crate) fn new(
        plan: Arc<Plan>,
        numbers: std::ops::Range<u32>,
        logins_max: u32,
        tally: Tally,
    ) -> Self {
        Self {
            plan,
            connections: Connections::new(numbers),
            logins_max: logins_max as usize,
            phase: Phase::Ramp,
            connect_at: Timestamp::ZERO,
            ever_connected: false,
            tally,
            failure: None,
            rng: Rng::new(),
        }
    }

    /// Sends the workload's next statement, or holds the connection if there is none.
    pub(crate) fn send_next<I: Io<Mail>>(&mut self, io: &mut I, key: Key, now: Timestamp) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let origin = connection.next_origin();
        let outbox = io.outbox(connection.handle);
        match self.plan.workload.put_next(outbox, origin, &mut self.rng) {
            Some(expectation) => self.await_answer(key, expectation, now),
            None => self.connections.enter(key, State::Held),
        }
    }

    /// A command is leaving.
    pub(crate) fn await_answer(&mut self, key: Key, expectation: Expectation, now: Timestamp) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let pending = Pending {
            sent_at: now,
            answer: Answer::new(expectation, connection.deprecate_eof),
        };
        self.connections.enter(key, State::Busy(pending));
    }

    /// Closes the socket; the connection gets another one, unless the run is ending.
    pub(crate) fn give_up_socket<I: Io<Mail>>(&mut self, io: &mut I, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        io.close(connection.handle, Close::Abort);
        self.socket_is_gone(key);
    }

    /// The socket is closed; the connection gets another one, unless the run is ending.
    pub(crate) fn socket_is_gone(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.partial = Vec::new();
        }
        if let Phase::Stop(_) = self.phase {
            self.connections.remove(key);
        } else {
            self.connections.enter(key, State::Due);
        }
    }

    /// Takes as many whole packets as there are. Returns how many bytes they were, or `None` if
    /// the socket was closed meanwhile.
    fn packets<I: Io<Mail>>(
        &mut self,
        io: &mut I,
        key: Key,
        input: &[u8],
        now: Timestamp,
    ) -> Option<usize> {
        let mut used = 0;
        while let Some(packet) = first_packet(&input[used..]) {
            used += packet.len();
            match &self.connections.get_mut(key)?.state {
                State::Due => return None,
                &State::Login(step) => self.login_packet(io, key, (step, packet), now),
                State::Held => self.unasked_packet(packet),
                State::Busy(_) => self.answer_packet(io, key, packet, now),
            }
        }
        let state = &self.connections.get_mut(key)?.state;
        (!matches!(state, State::Due)).then_some(used)
    }

    fn answer_packet<I: Io<Mail>>(&mut self, io: &mut I, key: Key, packet: &[u8], now: Timestamp) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let number = connection.number();
        let State::Busy(pending) = &mut connection.state else {
            return;
        };
        let sent_at = pending.sent_at;
        match pending.answer.packet(packet) {
            Ok(None) => return,
            Ok(Some(Verdict::Right)) => self.tally.answered(now.since(sent_at)),
            Ok(Some(Verdict::Wrong(what))) => {
                self.tally.wrong(|| format!("connection {number}: {what}"));
            }
            Ok(Some(Verdict::Err(error))) => self.tally.err_packet(&error),
            Err(error) => {
                self.tally.wrong(|| format!("connection {number}: {error}"));
                self.tally.reconnects += 1;
                return self.give_up_socket(io, key);
            }
        }
        match self.phase {
            Phase::Stop(_) => self.quit(io, key),
            Phase::Ramp | Phase::Work => self.send_next(io, key, now),
        }
    }

    /// A server says something of itself only before it closes a connection, and then why.
    fn unasked_packet(&mut self, packet: &[u8]) {
        match wire::ErrPacket::parse(&packet[wire::HEADER_LEN..]) {
            Ok(error) => self.tally.err_packet(&error),
            Err(_) => self.tally.wrong(|| "a packet that nobody asked for".into()),
        }
    }
}

impl Handler for Generator {
    type Mail = Mail;

    fn accepted<I: Io<Mail>>(
        &mut self,
        io: &mut I,
        handle: Handle,
        _peer: Peer,
        _nonce: [u8; 32],
        _now: Timestamp,
    ) -> Tag {
        // A client listens nowhere; whoever comes in all the same is sent away.
        io.close(handle, Close::Abort);
        Tag(u64::MAX)
    }

    fn connected<I: Io<Mail>>(&mut self, _io: &mut I, _tag: Tag, _now: Timestamp) {
        self.ever_connected = true;
    }

    fn connect_failed<I: Io<Mail>>(
        &mut self,
        _io: &mut I,
        tag: Tag,
        error: ConnectError,
        now: Timestamp,
    ) {
        self.connect_error(Key::from_bits(tag.0), error, now);
    }

    fn received<I: Io<Mail>>(&mut self, io: &mut I, tag: Tag, bytes: &[u8], now: Timestamp) {
        let key = Key::from_bits(tag.0);
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let mut partial = std::mem::take(&mut connection.partial);
        let used = if partial.is_empty() {
            self.packets(io, key, bytes, now).map(|used| &bytes[used..])
        } else {
            partial.extend_from_slice(bytes);
            let used = self.packets(io, key, &partial, now);
            used.map(|used| &partial[used..])
        };
        if let (Some(rest), Some(connection)) = (used, self.connections.get_mut(key)) {
            connection.partial = rest.to_vec();
        }
    }

    fn drained<I: Io<Mail>>(&mut self, _io: &mut I, _tag: Tag, _now: Timestamp) {}

    fn hung_up<I: Io<Mail>>(&mut self, io: &mut I, tag: Tag, how: HangUp, now: Timestamp) {
        let key = Key::from_bits(tag.0);
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        if let State::Login(_) = connection.state {
            self.tally.hung_up_at_login(how);
            self.pause_connecting(now);
        } else {
            self.tally.reconnects += 1;
        }
        self.give_up_socket(io, key);
    }

    fn mail<I: Io<Mail>>(&mut self, io: &mut I, mail: Mail, now: Timestamp) {
        match mail {
            Mail::Report(to) => {
                let tally = self.tally.take();
                let open = self.connections.open();
                // Nobody waits for it any more if it cannot be sent.
                let _gone = to.send(Report { tally, open });
            }
            Mail::Start => {
                self.phase = Phase::Work;
                for key in self.connections.held() {
                    self.send_next(io, key, now);
                }
            }
            Mail::Stop => self.stop(io, now),
        }
    }

    fn timer<I: Io<Mail>>(&mut self, io: &mut I, now: Timestamp) {
        self.give_up_late(io, now);
    }

    fn next_timer(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Stop(deadline) => Some(deadline),
            Phase::Ramp | Phase::Work => self.may_connect().then_some(self.connect_at),
        }
    }

    fn turn_ended<I: Io<Mail>>(&mut self, io: &mut I, now: Timestamp) {
        self.open_due(io, now);
    }

    fn finished(&self) -> bool {
        self.failure.is_some() || self.connections.is_empty()
    }
}

#[cfg(test)]
mod tests;

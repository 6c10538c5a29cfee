//! One worker of the load generator: its connections and what happens on them.
//!
//! How connections come to be is in [`crate::ramp`], what they send in [`crate::work`], what time
//! brings about in [`crate::pace`], and how they end in [`crate::winding_down`].

use std::sync::Arc;
use std::sync::mpsc::Sender;

use events::{Close, ConnectError, Handle, Handler, HangUp, Io, Peer, Tag, Timestamp, TlsFacts};
use fastrand::Rng;
use membership::Key;

use crate::connection::{Connections, List, State};
use crate::error::LoadError;
use crate::packets::first_packet;
use crate::plan::Plan;
use crate::tally::Tally;
use crate::team::Team;

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

/// A worker's answer to [`Mail::Report`]: one part per group.
pub(crate) type Report = Vec<Part>;

/// What a worker reports of a group.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// What was counted since the last report.
    pub(crate) tally: Tally,
    /// Connections logged in now.
    pub(crate) open: usize,
    /// Arrivals that wait for a connection.
    pub(crate) backlog: u64,
}

/// What a worker is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Connections are logged in and then held, unless the ramp takes its time.
    Ramp,
    /// Connections do what the workload says.
    Work,
    /// Connections end; those that have not by this time are given up.
    Stop(Timestamp),
}

/// The state machine of one worker.
pub(crate) struct Generator {
    pub(crate) plan: Arc<Plan>,
    pub(crate) teams: Vec<Team>,
    pub(crate) connections: Connections,
    /// How many connections there were at the beginning.
    pub(crate) connections_max: usize,
    /// How many logins may be under way.
    pub(crate) logins_max: usize,
    pub(crate) phase: Phase,
    /// When the ramp began.
    pub(crate) ramp_begin: Option<Timestamp>,
    /// How many connections were opened during the ramp.
    pub(crate) opened: usize,
    /// Whether any connection could be made so far.
    pub(crate) ever_connected: bool,
    /// Since when there is no source port for a connection.
    pub(crate) no_port_since: Option<Timestamp>,
    /// Why there is no use in going on.
    pub(crate) failure: Option<LoadError>,
    pub(crate) rng: Rng,
}

impl Generator {
    /// A worker with the connections of these numbers, a range per group.
    pub(crate) fn new(
        plan: Arc<Plan>,
        numbers: &[std::ops::Range<u32>],
        logins_max: u32,
        tally: &Tally,
    ) -> Result<Self, LoadError> {
        let teams = plan.groups.iter().zip(numbers).map(|(group, numbers)| {
            let count = numbers.end - numbers.start;
            Team::new(group.clone(), count, tally.clone())
        });
        let teams: Result<_, _> = teams.collect();
        let connections = Connections::new(numbers);
        Ok(Self {
            teams: teams?,
            plan,
            connections_max: connections.len(),
            connections,
            logins_max: logins_max as usize,
            phase: Phase::Ramp,
            ramp_begin: None,
            opened: 0,
            ever_connected: false,
            no_port_since: None,
            failure: None,
            rng: Rng::new(),
        })
    }

    /// The team of a connection.
    pub(crate) fn team_of(&mut self, key: Key) -> Option<&mut Team> {
        let group = self.connections.get(key)?.group();
        self.teams.get_mut(usize::from(group))
    }

    /// The books of a connection's team.
    pub(crate) fn tally_of(&mut self, key: Key) -> Option<&mut Tally> {
        self.team_of(key).map(|team| &mut team.tally)
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
            connection.prepared = Box::default();
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
        let handle = self.connections.get(key)?.handle;
        let mut used = 0;
        while let Some(packet) = first_packet(&input[used..]) {
            used += packet.len();
            match self.connections.get(key)?.state {
                State::Due => return None,
                State::Login(step, _) => self.login_packet(io, key, (step, packet), now),
                State::Held | State::Thinking(_) => self.unasked_packet(key, packet),
                State::Busy(_) => self.answer_packet(io, key, packet, now),
            }
        }
        let connection = self.connections.get(key)?;
        let same = connection.handle == handle && !matches!(connection.state, State::Due);
        same.then_some(used)
    }

    /// A server says something of itself only before it closes a connection, and then why.
    fn unasked_packet(&mut self, key: Key, packet: &[u8]) {
        let Some(tally) = self.tally_of(key) else {
            return;
        };
        match wire::ErrPacket::parse(&packet[wire::HEADER_LEN..]) {
            Ok(error) => tally.err_packet(&error),
            Err(_) => tally.wrong(|| "a packet that nobody asked for".into()),
        }
    }

    fn report(&mut self, now: Timestamp) -> Report {
        let connections = &self.connections;
        let part = |(team, group): (&mut Team, usize)| Part {
            tally: team.tally.take(),
            open: connections.open(group),
            backlog: team.backlog(now),
        };
        self.teams.iter_mut().zip(0..).map(part).collect()
    }

    fn start<I: Io<Mail>>(&mut self, io: &mut I, now: Timestamp) {
        let ramped = !self.plan.ramp.is_zero();
        self.phase = Phase::Work;
        if ramped {
            return;
        }
        self.begin_arrivals(now);
        for key in self.connections.all(List::Held) {
            self.next_transaction(io, key, now);
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
        self.no_port_since = None;
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

    fn tls_established<I: Io<Mail>>(
        &mut self,
        io: &mut I,
        tag: Tag,
        _facts: TlsFacts,
        _now: Timestamp,
    ) {
        self.secured(io, Key::from_bits(tag.0));
    }

    fn drained<I: Io<Mail>>(&mut self, _io: &mut I, _tag: Tag, _now: Timestamp) {}

    fn hung_up<I: Io<Mail>>(&mut self, io: &mut I, tag: Tag, how: HangUp, now: Timestamp) {
        self.lost(io, Key::from_bits(tag.0), how, now);
    }

    fn mail<I: Io<Mail>>(&mut self, io: &mut I, mail: Mail, now: Timestamp) {
        match mail {
            Mail::Report(to) => {
                // Nobody waits for it any more if it cannot be sent.
                let _gone = to.send(self.report(now));
            }
            Mail::Start => self.start(io, now),
            Mail::Stop => self.stop(io, now),
        }
    }

    fn timer<I: Io<Mail>>(&mut self, io: &mut I, now: Timestamp) {
        self.give_up_late(io, now);
    }

    fn next_timer(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Stop(deadline) => {
                Some(self.next_given_up().map_or(deadline, |at| at.min(deadline)))
            }
            Phase::Ramp | Phase::Work => self.next_due(),
        }
    }

    fn turn_ended<I: Io<Mail>>(&mut self, io: &mut I, now: Timestamp) {
        if let Phase::Stop(_) = self.phase {
            return self.all_lose_patience(io, now);
        }
        self.keep_pace(io, now);
        self.open_due(io, now);
    }

    fn finished(&self) -> bool {
        self.failure.is_some() || self.connections.len() == 0
    }
}

#[cfg(test)]
pub(crate) mod tests;

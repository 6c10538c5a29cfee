//! Opening connections: not all at once, and after a failure not at once again.

use events::{ConnectError, Io, Span, Tag, Timestamp, TlsSide};
use membership::Key;

use crate::connection::{List, State};
use crate::error::LoadError;
use crate::generator::{Generator, Mail, Phase};
use crate::login::{LoginOutcome, LoginStep};

/// How long no connection is opened after one could not be made.
const PAUSE: Span = Span::from_ms(100);

/// The same where the listener's queue was full.
const PAUSE_FULL: Span = Span::from_ms(5);

/// For so long no connection may come about, for want of ports, before it is given up: ports of
/// connections that were closed are free again after a second.
const PORTS_AWAITED: Span = Span::from_secs(2);

/// No source port is left, from one of the source addresses at least.
const EADDRNOTAVAIL: i32 = 99;

/// What a unix socket says whose listener's queue is full.
const EAGAIN: i32 = 11;

impl Generator {
    /// When another connection is to be opened.
    pub(crate) fn next_connect(&self) -> Option<Timestamp> {
        let groups = 0..self.teams.len();
        let due = groups.filter(|group| self.may_connect(*group));
        let at = due.map(|group| self.teams[group].connect_at).min()?;
        Some(at.max(self.next_of_ramp()))
    }

    /// Opens as many connections as may be.
    pub(crate) fn open_due<I: Io<Mail>>(&mut self, io: &mut I, now: Timestamp) {
        if self.ramp_begin.is_none() {
            self.ramp_begin = Some(now);
            if !self.plan.ramp.is_zero() {
                self.begin_arrivals(now);
            }
        }
        for group in 0..self.teams.len() {
            while now >= self.teams[group].connect_at
                && now >= self.next_of_ramp()
                && self.may_connect(group)
                && let Some((key, _)) = self.connections.first(group, List::Due)
            {
                self.open(io, key, now);
            }
        }
    }

    fn open<I: Io<Mail>>(&mut self, io: &mut I, key: Key, now: Timestamp) {
        let handle = io.connect(Tag(key.to_bits()));
        if let Some(connection) = self.connections.get_mut(key) {
            connection.handle = handle;
        }
        self.opened += 1;
        self.connections
            .enter(key, State::Login(LoginStep::Handshake, now));
    }

    /// Whether another connection of the group is to be opened, perhaps later.
    fn may_connect(&self, group: usize) -> bool {
        let free = self.phase == Phase::Work && self.teams[group].group.reconnects_at_will();
        (free || self.connections.logins() < self.logins_max)
            && self.connections.count(group, List::Due) > 0
    }

    /// When the ramp lets another connection be opened.
    fn next_of_ramp(&self) -> Timestamp {
        let (Phase::Ramp, Some(begin)) = (self.phase, self.ramp_begin) else {
            return Timestamp::ZERO;
        };
        let part = self.opened as f64 / self.connections_max.max(1) as f64;
        begin + Span::from(self.plan.ramp.mul_f64(part.min(1.0)))
    }

    /// A packet of the connection phase.
    pub(crate) fn login_packet<I: Io<Mail>>(
        &mut self,
        io: &mut I,
        key: Key,
        (step, packet): (LoginStep, &[u8]),
        now: Timestamp,
    ) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let State::Login(_, since) = connection.state else {
            return;
        };
        let Some(team) = self.teams.get(usize::from(connection.group())) else {
            return;
        };
        let outbox = io.outbox(connection.handle);
        match step.packet(packet, &team.group.account, outbox) {
            LoginOutcome::Next(step) => {
                if let LoginStep::Securing(_) = step {
                    let tag = Tag(key.to_bits());
                    io.start_tls((connection.handle, tag), TlsSide::Client, &[]);
                }
                self.connections.enter(key, State::Login(step, since));
            }
            LoginOutcome::Done { deprecate_eof } => {
                connection.deprecate_eof = deprecate_eof;
                self.logged_in(io, key, since, now);
            }
            LoginOutcome::Refused { number, message } => {
                self.refused(key, number, message);
                self.pause_connecting(key, now);
                self.give_up_socket(io, key);
            }
            LoginOutcome::Hopeless(error) => self.hopeless(io, key, error, now),
        }
    }

    /// A connection speaks TLS, and goes on with its login.
    pub(crate) fn secured<I: Io<Mail>>(&mut self, io: &mut I, key: Key) {
        let Some(connection) = self.connections.get(key) else {
            return;
        };
        let State::Login(step, since) = connection.state else {
            return;
        };
        let Some(team) = self.teams.get(usize::from(connection.group())) else {
            return;
        };
        let outbox = io.outbox(connection.handle);
        if let Some(step) = step.secured(&team.group.account, outbox) {
            self.connections.enter(key, State::Login(step, since));
        }
    }

    /// A connection could not be made; its socket is gone.
    pub(crate) fn connect_error(&mut self, key: Key, error: ConnectError, now: Timestamp) {
        self.socket_is_gone(key);
        if error == ConnectError::Os(EADDRNOTAVAIL) && self.may_find_port(now) {
            return self.wait_for_port(key, now);
        }
        let open = self.connections.open_total();
        let (plan, ever) = (&self.plan, self.ever_connected);
        if let Some(failure) = LoadError::of_connect(error, plan, open, ever) {
            self.failure.get_or_insert(failure);
        }
        let Some(team) = self.team_of(key) else {
            return;
        };
        if error == ConnectError::Os(EAGAIN) {
            team.tally.full += 1;
            team.connect_at = team.connect_at.max(now + PAUSE_FULL);
            return;
        }
        if let ConnectError::Os(errno) = error {
            team.tally.os_error(errno);
        }
        self.pause_connecting(key, now);
    }

    /// Whether a port may be found soon, or from another address.
    fn may_find_port(&mut self, now: Timestamp) -> bool {
        now.since(*self.no_port_since.get_or_insert(now)) < PORTS_AWAITED
    }

    fn wait_for_port(&mut self, key: Key, now: Timestamp) {
        let counts = self.phase == Phase::Work;
        if let Some(team) = self.team_of(key) {
            team.connect_at = team.connect_at.max(now + PAUSE_FULL);
            if counts {
                team.tally.os_error(EADDRNOTAVAIL);
            }
        }
    }

    /// Opens no connection of the group for a moment.
    pub(crate) fn pause_connecting(&mut self, key: Key, now: Timestamp) {
        if let Some(team) = self.team_of(key) {
            team.connect_at = team.connect_at.max(now + PAUSE);
        }
    }

    fn logged_in<I: Io<Mail>>(&mut self, io: &mut I, key: Key, since: Timestamp, now: Timestamp) {
        if let Some(tally) = self.tally_of(key) {
            tally.logged_in(since, now);
        }
        let waits = match self.phase {
            Phase::Work => false,
            Phase::Ramp => self.plan.ramp.is_zero(),
            Phase::Stop(_) => true,
        };
        let begun = self
            .connections
            .get(key)
            .is_some_and(|c| c.transaction.is_some());
        match (waits, begun) {
            (true, _) => self.connections.enter(key, State::Held),
            (false, true) => self.send_step(io, key, None, now),
            (false, false) => self.next_transaction(io, key, now),
        }
    }

    /// Ends the run, unless logins have worked before: then the target may come to its senses.
    fn hopeless<I: Io<Mail>>(&mut self, io: &mut I, key: Key, error: LoadError, now: Timestamp) {
        if self.phase == Phase::Ramp {
            self.failure.get_or_insert(error);
            return;
        }
        match error {
            LoadError::Refused { number, message } => self.refused(key, number, message),
            other => {
                if let Some(tally) = self.tally_of(key) {
                    tally.wrong(|| other.to_string());
                }
            }
        }
        self.pause_connecting(key, now);
        self.give_up_socket(io, key);
    }
}

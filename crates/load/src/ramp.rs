//! Opening connections: not all at once, and after a failure not at once again.

use events::{ConnectError, Io, Span, Tag, Timestamp};
use membership::Key;

use crate::connection::State;
use crate::error::LoadError;
use crate::generator::{Generator, Mail, Phase};
use crate::login::{LoginOutcome, LoginStep};
use crate::tally::ErrorNumber;

/// How long no connection is opened after one could not be made.
const PAUSE: Span = Span::from_ms(100);

/// The same where the listener's queue was full.
const PAUSE_FULL: Span = Span::from_ms(5);

/// What a unix socket says whose listener's queue is full.
const EAGAIN: i32 = 11;

impl Generator {
    /// Whether another connection is to be opened, perhaps later.
    pub(crate) fn may_connect(&self) -> bool {
        self.connections.logins() < self.logins_max && self.connections.first_due().is_some()
    }

    /// Opens as many connections as may be.
    pub(crate) fn open_due<I: Io<Mail>>(&mut self, io: &mut I, now: Timestamp) {
        while now >= self.connect_at
            && self.connections.logins() < self.logins_max
            && let Some(key) = self.connections.first_due()
        {
            let handle = io.connect(Tag(key.to_bits()));
            if let Some(connection) = self.connections.get_mut(key) {
                connection.handle = handle;
            }
            let step = LoginStep::Handshake;
            self.connections.enter(key, State::Login(step));
        }
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
        let outbox = io.outbox(connection.handle);
        match step.packet(packet, &self.plan.account, outbox) {
            LoginOutcome::Next(step) => self.connections.enter(key, State::Login(step)),
            LoginOutcome::Done { deprecate_eof } => {
                connection.deprecate_eof = deprecate_eof;
                self.logged_in(io, key, now);
            }
            LoginOutcome::Refused { number, message } => {
                self.tally.error(ErrorNumber::Err(number), || message);
                self.pause_connecting(now);
                self.give_up_socket(io, key);
            }
            LoginOutcome::Hopeless(error) => self.hopeless(io, key, error, now),
        }
    }

    /// A connection could not be made; its socket is gone.
    pub(crate) fn connect_error(&mut self, key: Key, error: ConnectError, now: Timestamp) {
        self.socket_is_gone(key);
        if error == ConnectError::Os(EAGAIN) {
            self.connect_at = self.connect_at.max(now + PAUSE_FULL);
            return;
        }
        let open = self.connections.open();
        let (target, ever) = (&self.plan.target, self.ever_connected);
        if let Some(failure) = LoadError::of_connect(error, target, open, ever) {
            self.failure.get_or_insert(failure);
        } else if let ConnectError::Os(errno) = error {
            self.tally.os_error(errno);
        }
        self.pause_connecting(now);
    }

    /// Opens no connection for a moment.
    pub(crate) fn pause_connecting(&mut self, now: Timestamp) {
        self.connect_at = self.connect_at.max(now + PAUSE);
    }

    fn logged_in<I: Io<Mail>>(&mut self, io: &mut I, key: Key, now: Timestamp) {
        self.tally.logged_in(now);
        match self.phase {
            Phase::Work => self.send_next(io, key, now),
            Phase::Ramp | Phase::Stop(_) => self.connections.enter(key, State::Held),
        }
    }

    /// Ends the run, unless logins have worked before: then the target may come to its senses.
    fn hopeless<I: Io<Mail>>(&mut self, io: &mut I, key: Key, error: LoadError, now: Timestamp) {
        if self.phase == Phase::Ramp {
            self.failure.get_or_insert(error);
            return;
        }
        match error {
            LoadError::Refused { number, message } => {
                self.tally.error(ErrorNumber::Err(number), || message);
            }
            other => self.tally.wrong(|| other.to_string()),
        }
        self.pause_connecting(now);
        self.give_up_socket(io, key);
    }
}

//! The event loop: wait, deliver, flush, again.
//!
//! A turn reads the clock once. Its order: what the last turn left to be told, events, sockets
//! known to hold more, timer, mail, the end of the turn, and then all outboxes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use events::{Handler, Timestamp};

use crate::clock::Clock;
use crate::counters::DriverCounters;
use crate::doors::Doors;
use crate::mailbox::{Inbox, Letter};
use crate::worker::{DriverError, Worker};

use super::effects::Effects;
use super::poll::{Events, Token};

/// Size of the worker's one receive buffer: the most that a socket may bring per turn.
const BUFFER: usize = 64 * 1024;

/// A worker at work.
pub(super) struct Loop<H: Handler> {
    pub(super) handler: H,
    pub(super) io: Effects<H::Mail>,
    pub(super) buffer: Box<[u8]>,
    /// Emptied each turn, kept for its memory.
    pub(super) serving: Vec<events::Handle>,
    events: Events,
    letters: VecDeque<Letter<H::Mail>>,
    inbox: Inbox<H::Mail>,
    timer: Option<Timestamp>,
    clock: Clock,
    counters: Arc<DriverCounters>,
}

impl<H: Handler> Loop<H> {
    pub(super) fn new(handler: H, worker: Worker<H::Mail>) -> Result<Self, DriverError> {
        Ok(Self {
            io: Effects::new(&worker)?,
            timer: handler.next_timer(),
            handler,
            buffer: vec![0; BUFFER].into(),
            serving: Vec::new(),
            events: Events::new(),
            letters: VecDeque::new(),
            inbox: worker.inbox,
            clock: worker.clock,
            counters: worker.counters,
        })
    }

    pub(super) fn run(mut self) -> Result<H, DriverError> {
        while !self.handler.finished() {
            self.wait()?;
            self.deliver();
            self.io.flush_dirty();
            self.publish();
            self.timer = self.handler.next_timer();
        }
        self.wind_down()
    }

    /// Sleeps until there is something to do, which may be now.
    fn wait(&mut self) -> Result<(), DriverError> {
        let timeout = self.timeout();
        self.io
            .poll
            .wait(&mut self.events, timeout)
            .map_err(|e| DriverError::Wait(e.into()))?;
        self.io.now = self.clock.now();
        self.io.counts.turns += 1;
        self.io.counts.loop_events += self.events.len() as u64;
        Ok(())
    }

    fn timeout(&mut self) -> Option<Duration> {
        if self.io.has_work() || !self.inbox.fall_asleep() {
            return Some(Duration::ZERO);
        }
        let closing = self.io.closing.deadline(&self.io.table);
        let accepting = self.io.doors.as_ref().and_then(Doors::resume_at);
        let wake_at = [self.timer, closing, accepting]
            .into_iter()
            .flatten()
            .min()?;
        // The turn has taken time since it read the clock.
        Some(Duration::from(wake_at.since(self.clock.now())))
    }

    fn deliver(&mut self) {
        self.deliver_notices();
        self.deliver_events();
        self.serve_ready();
        self.io.expire_closing();
        self.io.reopen_doors();
        self.deliver_timer();
        self.deliver_mail();
        let now = self.io.now;
        self.handler.turn_ended(&mut self.io, now);
        self.io.handled();
    }

    fn deliver_events(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        for event in events.drain(..) {
            match Token::of(&event) {
                Token::Connection(handle) => self.connection_event(handle, event.flags),
                Token::Listener(number) => self.accept(number),
                Token::Wake => {}
            }
        }
        self.events = events;
    }

    fn deliver_timer(&mut self) {
        let now = self.io.now;
        if self.timer.is_some_and(|at| at <= now) {
            self.handler.timer(&mut self.io, now);
            self.io.handled();
        }
    }

    fn deliver_mail(&mut self) {
        let now = self.io.now;
        let mut letters = std::mem::take(&mut self.letters);
        self.inbox.take(&mut letters);
        for letter in letters.drain(..) {
            match letter {
                Letter::Mail(mail) => {
                    self.handler.mail(&mut self.io, mail, now);
                    self.io.handled();
                }
                Letter::Adopt(fd, peer) => self.adopt(fd, peer),
            }
        }
        self.letters = letters;
    }

    /// The handler has finished: only what it closed gently is still brought to its end.
    fn wind_down(mut self) -> Result<H, DriverError> {
        self.inbox.end();

        self.io.close_doors();
        self.io.abandon_owned();
        self.timer = None;
        while !self.io.closing.is_done() {
            self.wait()?;
            self.deliver_events();
            self.serve_ready();
            self.io.expire_closing();
            self.io.flush_dirty();
        }
        self.publish();
        Ok(self.handler)
    }

    fn publish(&mut self) {
        self.io.counts.outbox_bytes = events::Io::unsent_total(&self.io) as u64;
        self.counters.publish(&self.io.counts);
    }
}

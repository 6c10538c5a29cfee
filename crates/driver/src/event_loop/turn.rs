//! The event loop: wait, deliver, send, again.
//!
//! A turn reads the clock once. Its order: mail, what the last turn left to be told, what has happened,
//! connections known to have more, timer, the end of the turn, and then all outboxes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use events::{Handle, Handler, Io, Span, Timestamp};

use crate::clock::Clock;
use crate::counters::DriverCounters;
use crate::doors::Doors;
use crate::error::DriverError;
use crate::mailbox::{Inbox, Letter};
use crate::worker::Worker;

use super::effects::Effects;
use super::multiplexer::Multiplexer;
use super::tell::{About, Streak};

/// How long the end of a worker waits for the kernel to let go of what was discarded.
const LEAVING_MAX: Span = Span::from_secs(2);

/// A worker at work.
pub(crate) struct Loop<H: Handler, X: Multiplexer<H::Mail>> {
    pub(crate) handler: H,
    pub(crate) io: Effects<H::Mail, X>,
    /// What the multiplexer has at hand beside the sockets.
    pub(crate) desk: X::Desk,
    /// Emptied each turn, kept for its memory.
    pub(super) serving: Vec<Handle>,
    letters: VecDeque<Letter<H::Mail>>,
    pub(crate) inbox: Inbox<H::Mail>,
    timer: Option<Timestamp>,
    pub(super) streak: Streak,
    clock: Clock,
    /// When the clock was last looked at. A turn looks when it begins and when its work is done.
    looked: Timestamp,
    counters: Arc<DriverCounters>,
}

impl<H: Handler, X: Multiplexer<H::Mail>> Loop<H, X> {
    pub(crate) fn new(handler: H, io: Effects<H::Mail, X>, worker: Worker<H::Mail>) -> Self {
        Self {
            io,
            timer: None,
            handler,
            desk: X::Desk::default(),
            serving: Vec::new(),
            letters: VecDeque::new(),
            streak: Streak::default(),
            inbox: worker.inbox,
            looked: worker.clock.now(),
            clock: worker.clock,
            counters: worker.counters,
        }
    }

    pub(crate) fn run(mut self) -> Result<H, DriverError> {
        while !self.has_finished() {
            let events = self.io.counts.loop_events;
            self.wait()?;
            self.deliver();
            self.io.events_before = self.io.counts.loop_events - events;
            self.io.flush_dirty();
            self.publish();
            self.note_lateness();
            if self.io.handler_is_lost {
                return Err(DriverError::Panicked);
            }
        }
        self.wind_down()
    }

    /// Asks the handler what it wants: to end, or to be called at some time.
    fn has_finished(&mut self) -> bool {
        let wants = self.tell(About::Turn, |handler, _| {
            (handler.finished(), handler.next_timer())
        });
        self.count_streak();
        // Whoever cannot say so is asked again.
        let (finished, timer) = wants.unwrap_or((false, Some(self.io.now)));
        self.timer = timer;
        finished
    }

    /// What happens from the time of a turn that told all until the next time the loop waits is told
    /// in the turn after it.
    fn note_lateness(&mut self) {
        let io = &mut self.io;
        let since = io.behind_since.unwrap_or(io.now);
        io.behind_since = (!io.multiplexer.has_told_all()).then_some(since);
        self.look();
        self.io.late = self.looked.since(since);
    }

    /// Looks at the clock, before it is computed how long to sleep.
    pub(crate) fn look(&mut self) {
        self.looked = self.clock.now();
    }

    /// Sleeps until there is something to do, which may be now.
    fn wait(&mut self) -> Result<(), DriverError> {
        X::wait(self)?;
        self.io.now = self.clock.now();
        self.io.counts.turns += 1;
        Ok(())
    }

    /// How long there is nothing to do unless something happens; `None` is for ever.
    pub(crate) fn timeout(&mut self) -> Option<Duration> {
        if self.io.has_work() || !self.inbox.fall_asleep() {
            return Some(Duration::ZERO);
        }
        let closing = self.io.closing.deadline(&self.io.table);
        let accepting = self.io.doors.as_ref().and_then(Doors::resume_at);
        let other = self.io.multiplexer.wake_at();
        let wake_at = [self.timer, closing, accepting, other]
            .into_iter()
            .flatten()
            .min()?;
        // The turn has taken time since it began.
        Some(Duration::from(wake_at.since(self.looked)))
    }

    fn deliver(&mut self) {
        // First: what a client says because of what it saw at another worker comes after what that worker posted.
        self.deliver_mail();
        self.deliver_notices();
        X::deliver(self);
        self.serve_ready();
        X::served(self);
        self.io.expire_closing();
        self.io.reopen_doors();
        self.deliver_timer();
        let now = self.io.now;
        self.tell(About::Turn, |handler, io| handler.turn_ended(io, now));
    }

    fn deliver_timer(&mut self) {
        let now = self.io.now;
        if self.timer.is_some_and(|at| at <= now) {
            self.tell(About::Turn, |handler, io| handler.timer(io, now));
        }
    }

    fn deliver_mail(&mut self) {
        let now = self.io.now;
        let mut letters = std::mem::take(&mut self.letters);
        self.inbox.take(&mut letters);
        for letter in letters.drain(..) {
            match letter {
                Letter::Mail(mail) => {
                    self.tell(About::Mail, |handler, io| handler.mail(io, mail, now));
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
        while !self.io.closing.is_done() || !self.io.multiplexer.is_clear() {
            // Nothing of the handler is due any more; a last bound is.
            self.timer = Some(self.io.now + LEAVING_MAX);
            self.wait()?;
            let late = self.timer.is_some_and(|at| at <= self.io.now);
            if late && self.io.closing.is_done() {
                break;
            }
            X::deliver(&mut self);
            self.serve_ready();
            X::served(&mut self);
            self.io.expire_closing();
            self.io.flush_dirty();
        }
        self.publish();
        Ok(self.handler)
    }

    fn publish(&mut self) {
        self.io.counts.outbox_bytes = self.io.unsent_total() as u64;
        self.io.counts.connection_bytes = self.io.table.bytes() as u64;
        self.io.multiplexer.count(&mut self.io.counts);
        self.counters.publish(&self.io.counts);
    }
}

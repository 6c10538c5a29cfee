//! The event loop: submit and wait, deliver, note what is to be sent, again.
//!
//! A turn reads the clock once. Its order: what the last turn left to be told, completions,
//! connections known to have more, timer, mail, the end of the turn, and then all outboxes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use events::{ConnectError, Handle, Handler, Io, Span, Timestamp};

use crate::clock::Clock;
use crate::connection::Marks;
use crate::counters::DriverCounters;
use crate::mailbox::{Inbox, Letter};
use crate::notice::Notice;
use crate::worker::{DriverError, Worker};

use super::effects::Effects;
use super::kernel::Completion;
use super::token::Op;

/// How many completions a turn takes. Answers leave at the end of the turn, so this bounds how
/// long the first of them waits for the last.
const COMPLETIONS_MAX: usize = 256;
/// How long the end of a worker waits for the kernel to end what is in flight.
const LEAVING_MAX: Span = Span::from_secs(2);

/// A worker at work.
pub(super) struct Loop<H: Handler> {
    pub(super) handler: H,
    pub(super) io: Effects<H::Mail>,
    /// Emptied each turn, kept for its memory.
    pub(super) serving: Vec<Handle>,
    letters: VecDeque<Letter<H::Mail>>,
    inbox: Inbox<H::Mail>,
    timer: Option<Timestamp>,
    clock: Clock,
    counters: Arc<DriverCounters>,
}

impl<H: Handler> Loop<H> {
    pub(super) fn new(handler: H, io: Effects<H::Mail>, worker: Worker<H::Mail>) -> Self {
        Self {
            io,
            timer: handler.next_timer(),
            handler,
            serving: Vec::new(),
            letters: VecDeque::new(),
            inbox: worker.inbox,
            clock: worker.clock,
            counters: worker.counters,
        }
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

    /// Sleeps until there is something to do, which may be now. That a send has ended is mostly
    /// nothing to do.
    fn wait(&mut self) -> Result<(), DriverError> {
        loop {
            let timeout = self.timeout();
            self.io.rings.wait(timeout).map_err(DriverError::Wait)?;
            let told = self.io.rings.have_told();
            if !told || timeout == Some(Duration::ZERO) || !self.only_sent() {
                break;
            }
            // They may have left something to be sent.
            self.io.flush_dirty();
        }
        self.io.now = self.clock.now();
        self.io.counts.turns += 1;
        Ok(())
    }

    fn timeout(&mut self) -> Option<Duration> {
        if self.io.has_work() || !self.inbox.fall_asleep() {
            return Some(Duration::ZERO);
        }
        let closing = self.io.closing.deadline(&self.io.table);
        let entrance = self.io.entrance.as_ref();
        let accepting = entrance.and_then(|entrance| entrance.doors.resume_at());
        let wake_at = [self.timer, closing, accepting, self.io.sweep_at()]
            .into_iter()
            .flatten()
            .min()?;
        // The turn has taken time since it read the clock.
        Some(Duration::from(wake_at.since(self.clock.now())))
    }

    fn deliver(&mut self) {
        self.deliver_notices();
        self.deliver_completions();
        self.serve_ready();
        self.io.sweep();
        self.io.expire_closing();
        self.io.reopen_entrance();
        self.deliver_timer();
        self.deliver_mail();
        let now = self.io.now;
        self.handler.turn_ended(&mut self.io, now);
        self.io.handled();
    }

    fn deliver_completions(&mut self) {
        for _ in 0..COMPLETIONS_MAX {
            let Some((ring, completion)) = self.io.rings.take() else {
                return;
            };
            self.io.counts.loop_events += 1;
            self.complete(ring, completion);
        }
    }

    fn complete(&mut self, ring: usize, completion: Completion) {
        match completion {
            Completion::Received {
                handle,
                outcome: Ok(Some(filled)),
                more,
            } => {
                self.received(handle, Ok(Some(&filled)), more);
                self.io.rings.ring(ring).give_back(filled);
            }
            Completion::Received {
                handle,
                outcome,
                more,
            } => self.received(handle, outcome.map(|_| None), more),
            Completion::Polled { handle, outcome } => self.polled(handle, outcome),
            Completion::Sent {
                handle,
                outbox,
                outcome,
            } => self.io.sent(handle, outbox, outcome),
            Completion::Cancelled { handle, op, found } => self.io.cancelled(handle, op, found),
            Completion::Installed { handle, outcome } => self.installed(handle, outcome),
            Completion::Signal { op, number, more } => self.signalled(op, number, more),
            Completion::Nothing => {}
        }
    }

    fn signalled(&mut self, op: Op, number: u32, more: bool) {
        match op {
            Op::Listener => self.listener_event(number as usize),
            Op::Ring if !more => self.io.rings.watch_ring(number as usize),
            Op::Wake if !more => self.io.rings.watch_mail(self.inbox.wake_fd()),
            _ => {}
        }
    }

    /// Tells the handler what followed from the effects of the last turn.
    fn deliver_notices(&mut self) {
        let mut notices = std::mem::take(&mut self.io.notices);
        for (handle, notice) in notices.drain(..) {
            match notice {
                Notice::Drained => self.deliver_drained(handle),
                Notice::ConnectFailed(error) => self.deliver_connect_failed(handle, error),
            }
        }
        // What came up meanwhile waits for the next turn.
        notices.append(&mut self.io.notices);
        self.io.notices = notices;
    }

    fn deliver_drained(&mut self, handle: Handle) {
        let unsent = self.io.unsent(handle);
        let Some(connection) = self.io.owned(handle) else {
            return;
        };
        if unsent > 0 {
            connection.marks.insert(Marks::DRAIN_WANTED);
            return;
        }
        let (tag, now) = (connection.tag, self.io.now);
        self.handler.drained(&mut self.io, tag, now);
        self.io.handled();
    }

    fn deliver_connect_failed(&mut self, handle: Handle, error: ConnectError) {
        let Some(connection) = self.io.owned(handle) else {
            return;
        };
        let (tag, now) = (connection.tag, self.io.now);
        self.io.discard(handle);
        self.handler.connect_failed(&mut self.io, tag, error, now);
        self.io.handled();
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
                Letter::Adopt(fd, peer) => self.adopt(&fd, peer),
            }
        }
        self.letters = letters;
    }

    /// The handler has finished: only what it closed gently is still brought to its end.
    fn wind_down(mut self) -> Result<H, DriverError> {
        self.inbox.end();
        self.io.close_entrance();
        self.io.abandon_owned();
        while !self.io.closing.is_done() || self.io.leaving > 0 {
            // Nothing of the handler is due any more; a last bound is.
            self.timer = Some(self.io.now + LEAVING_MAX);
            self.wait()?;
            let late = self.timer.is_some_and(|at| at <= self.io.now);
            if late && self.io.closing.is_done() {
                break;
            }
            self.deliver_completions();
            self.serve_ready();
            self.io.expire_closing();
            self.io.flush_dirty();
        }
        self.publish();
        Ok(self.handler)
    }

    fn publish(&mut self) {
        self.io.counts.outbox_bytes = self.io.unsent_total() as u64;
        self.io.counts.receiving = self.io.receiving as u64;
        self.io.counts.io_uring_enters = self.io.rings.enters;
        self.counters.publish(&self.io.counts);
    }
}

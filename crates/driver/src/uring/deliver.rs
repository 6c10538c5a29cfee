//! Waiting for completions, and whom each of them is about.

use std::time::Duration;

use events::Handler;

use crate::connection::Phase;
use crate::error::DriverError;
use crate::event_loop::{Loop, Multiplexer};

use super::completions::Completions;
use super::kernel::Completion;
use super::token::Op;

/// How many completions a turn takes. Answers leave at the end of the turn, so this bounds how
/// long the first of them waits for the last.
const COMPLETIONS_MAX: usize = 256;

impl<H: Handler> Loop<H, Completions> {
    /// Sleeps until there is something to do, which may be now. That a send has ended is mostly
    /// nothing to do.
    pub(super) fn wait_for_more_than_sends(&mut self) -> Result<(), DriverError> {
        loop {
            let timeout = self.timeout();
            let rings = &mut self.io.multiplexer.rings;
            rings.wait(timeout).map_err(DriverError::Wait)?;
            let told = rings.have_told();
            if !told || timeout == Some(Duration::ZERO) || !self.only_sent() {
                return Ok(());
            }
            // They may have left something to be sent.
            self.io.flush_dirty();
            self.look();
        }
    }

    /// Deals with what the kernel has done, up to a bound.
    pub(super) fn deliver_completions(&mut self) {
        self.io.multiplexer.leaves_some = false;
        for _ in 0..COMPLETIONS_MAX {
            let Some((ring, completion)) = self.io.multiplexer.rings.take() else {
                return;
            };
            self.io.counts.loop_events += 1;
            self.complete(ring, completion);
        }
        self.io.multiplexer.leaves_some = true;
    }

    fn complete(&mut self, ring: usize, completion: Completion) {
        match completion {
            Completion::Received {
                handle,
                outcome: Ok(Some(filled)),
                more,
            } => {
                self.received(handle, Ok(Some(&filled)), more);
                self.io.multiplexer.rings.ring(ring).give_back(filled);
            }
            Completion::Received {
                handle,
                outcome,
                more,
            } => self.received(handle, outcome.map(|_| None), more),
            Completion::Polled { handle, outcome } => {
                let phase = self.io.table.get(handle).map(|c| c.phase);
                match phase {
                    Some(Phase::Connecting { address }) => self.attempted(handle, address),
                    _ => self.polled(handle, outcome),
                }
            }
            Completion::Sent {
                handle,
                outbox,
                outcome,
            } => self.io.sent(handle, outbox, outcome),
            Completion::Cancelled { handle, op, found } => self.io.cancelled(handle, op, found),
            Completion::Installed { handle, outcome } => self.installed(handle, outcome),
            Completion::Signal { op, number, more } => self.signalled(op, number, more),
            // Nobody waits for the descriptor any more.
            Completion::Lent { .. } | Completion::Nothing => {}
        }
    }

    fn signalled(&mut self, op: Op, number: u32, more: bool) {
        let rings = &mut self.io.multiplexer.rings;
        match op {
            Op::Listener => self.listener_event(number as usize),
            Op::Ring if !more => rings.watch_ring(number as usize),
            Op::Wake if !more => rings.watch_mail(self.inbox.wake_fd()),
            _ => {}
        }
    }

    /// A client waits at a listener, or the watch has ended otherwise.
    fn listener_event(&mut self, number: usize) {
        self.io.multiplexer.unwatched(number);
        self.accept(number);
        // What is left there is reported at once. Watching does not fail.
        if let Some(doors) = &self.io.doors
            && doors.resume_at().is_none()
        {
            let _ = Multiplexer::<H::Mail>::watch(&mut self.io.multiplexer, doors);
        }
    }
}

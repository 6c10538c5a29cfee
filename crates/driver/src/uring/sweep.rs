//! Connections that have been silent for long: the kernel is to hold as little as it can for them.
//!
//! An armed receive keeps 864 bytes of the kernel's memory, a poll 256. So a walk over all
//! connections, a few at each step, cancels the receiving of those that nothing came from between
//! two visits; [`receive`](super::receive) then polls for them instead. When the poll tells, it
//! receives once and polls again, and only who is heard twice between two visits receives as
//! everybody does: cancelling is the dear part, and who speaks now and then is spared it. Who is
//! heard from all the time pays with one bit. When nobody receives any more the walk rests, and the
//! worker sleeps.

use events::{Span, Timestamp};

use crate::connection::{Marks, Phase};

use super::completions::{Completions, Effects};
use super::seat::Armed;

/// How long all connections together take at least: silent for at least this long is long.
const LAP: Span = Span::from_secs(1);
/// How long there is from one step to the next.
const STEP: Span = Span::from_ms(10);
/// How many connections a step looks at.
const LOOKS_MAX: usize = 512;
/// How many of them stop receiving: this bounds how long a step holds the others up.
const STOPS_MAX: usize = 32;

/// Where the walk is.
#[derive(Default)]
pub(super) struct Sweep {
    /// The place that is looked at next.
    place: usize,
    /// When the next step is due.
    due: Timestamp,
    lap_began: Timestamp,
}

impl Completions {
    /// When the walk goes on; never while nobody receives.
    pub(super) fn sweep_at(&self) -> Option<Timestamp> {
        (self.receiving > 0).then_some(self.sweep.due)
    }
}

impl<M> Effects<M> {
    /// Takes a step if one is due.
    pub(super) fn sweep(&mut self) {
        if self
            .multiplexer
            .sweep_at()
            .is_some_and(|due| due <= self.now)
        {
            self.step();
        }
    }

    fn step(&mut self) {
        let now = self.now;
        if self.multiplexer.sweep.place == 0 {
            self.multiplexer.sweep.lap_began = now;
        }
        let end = (self.multiplexer.sweep.place + LOOKS_MAX).min(self.table.places());
        let mut stopped = 0;
        while self.multiplexer.sweep.place < end && stopped < STOPS_MAX {
            stopped += usize::from(self.stop_if_silent(self.multiplexer.sweep.place));
            self.multiplexer.sweep.place += 1;
        }
        self.multiplexer.sweep.due = now + STEP;
        if self.multiplexer.sweep.place >= self.table.places() {
            self.multiplexer.sweep.place = 0;
            self.multiplexer.sweep.due = self
                .multiplexer
                .sweep
                .due
                .max(self.multiplexer.sweep.lap_began + LAP);
        }
    }

    /// Ends the receiving of a connection that nothing came from since the last visit.
    fn stop_if_silent(&mut self, place: usize) -> bool {
        let Some((handle, connection)) = self.table.at(place) else {
            return false;
        };
        let heard = connection.marks.contains(Marks::HEARD);
        connection.marks.remove(Marks::HEARD);
        let armed = connection.socket.armed;
        let receives = armed.contains(Armed::RECEIVE) && !armed.contains(Armed::CANCELLING);
        if heard || !receives || connection.phase != Phase::Open {
            return false;
        }
        connection.socket.armed.insert(Armed::CANCELLING);
        let wanted = !connection.marks.contains(Marks::PAUSED);
        let ring = self.multiplexer.rings.of(&connection.socket);
        if wanted && armed.contains(Armed::POLL) {
            // For the peer's end only, left from a pause; one for input, too, takes its place.
            ring.cancel_poll(handle);
        }
        ring.cancel_receive(handle);
        self.counts.idle_polls += 1;
        true
    }
}

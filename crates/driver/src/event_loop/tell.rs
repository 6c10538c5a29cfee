//! Telling the handler, and what follows when it panics.
//!
//! A panic ends the event that it happens in, and the connections which that concerns: the one that the event is about, and
//! those that it has written to. All others go on. The handler puts its records in order ([`Handler::recover`]).

use std::panic::{AssertUnwindSafe, catch_unwind};

use events::{Handle, Handler};

use crate::connection::Connection;

use super::effects::Effects;
use super::multiplexer::Multiplexer;
use super::turn::Loop;

/// So many turns in a row may panic in what every turn does again. Then all of the worker's connections are closed.
const STREAK_MAX: u32 = 3;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// This connection, which is closed if the handler panics.
    Connection(Handle),
    /// A letter, which is gone then.
    Mail,
    /// The turn, the timer: what comes again in the next turn.
    Turn,
}

/// How many turns in a row have panicked in what every turn does again.
#[derive(Default)]
pub(super) struct Streak {
    turns: u32,
    is_in_turn: bool,
}

impl<H: Handler, X: Multiplexer<H::Mail>> Loop<H, X> {
    /// Tells the handler something. `None` if it panics.
    #[inline]
    pub(crate) fn tell<T>(
        &mut self,
        about: About,
        event: impl FnOnce(&mut H, &mut Effects<H::Mail, X>) -> T,
    ) -> Option<T> {
        let (handler, io) = (&mut self.handler, &mut self.io);
        let told = tell(handler, io, event);
        if told.is_none() {
            self.panicked(about);
        }
        told
    }

    /// What follows when [`tell`] says that the handler has panicked.
    #[cold]
    pub(crate) fn panicked(&mut self, about: About) {
        if self.io.handler_is_lost {
            return;
        }
        self.io.counts.worker_panics += 1;
        self.io.settle();
        let mut suspects = std::mem::take(&mut self.io.outgoing.touched);
        match about {
            About::Connection(handle) => suspects.push(handle),
            About::Mail => {}
            About::Turn => self.streak.is_in_turn = true,
        }
        let is_hopeless = self.streak.turns >= STREAK_MAX;
        tracing::error!(
            worker = self.io.worker,
            connections = suspects.len(),
            ?about,
            "an event has panicked; the connections that it concerns are closed"
        );
        if !is_hopeless && self.recovers(suspects) {
            return;
        }
        tracing::error!(
            worker = self.io.worker,
            "the worker's records are not in order after a panic; all of its connections are closed"
        );
        let all = self.io.table.handles().collect();
        if self.streak.turns > STREAK_MAX || !self.recovers(all) {
            self.io.handler_is_lost = true;
        }
    }

    /// Has the handler give up these connections. True if it can go on.
    fn recovers(&mut self, mut suspects: Vec<Handle>) -> bool {
        let now = self.io.now;
        let (handler, io) = (&mut self.handler, &mut self.io);
        let kept = tell(handler, io, |handler, io| {
            handler.recover(io, &mut suspects, now)
        });
        self.io.outgoing.touched.clear();
        for handle in suspects {
            self.io.discard(handle);
        }
        let Some(kept) = kept.flatten() else {
            return false;
        };
        let is_lost = |handle: &Handle| {
            let connection = self.io.table.get(*handle);
            connection.is_some_and(Connection::is_owned) && !kept.contains(handle)
        };
        let lost: Vec<_> = self.io.table.handles().filter(is_lost).collect();
        for handle in lost {
            self.io.discard(handle);
        }
        true
    }

    /// At the end of a turn.
    pub(super) fn count_streak(&mut self) {
        let streak = &mut self.streak;
        streak.turns = match std::mem::take(&mut streak.is_in_turn) {
            true => streak.turns + 1,
            false => 0,
        };
    }
}

/// Has the handler deal with an event, and counts what it wrote. `None` if it panics; then what it wrote to is still noted.
#[inline]
pub(crate) fn tell<H: Handler, X: Multiplexer<H::Mail>, T>(
    handler: &mut H,
    io: &mut Effects<H::Mail, X>,
    event: impl FnOnce(&mut H, &mut Effects<H::Mail, X>) -> T,
) -> Option<T> {
    if io.handler_is_lost {
        return None;
    }
    let told = catch_unwind(AssertUnwindSafe(|| event(handler, io))).ok()?;
    io.handled();
    Some(told)
}

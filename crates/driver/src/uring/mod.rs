//! The event loop over io_uring: one per worker thread, one system call per turn, and connections
//! that are no open files, so that a process holds more of them than it may have.
//!
//! [`turn`] is the loop; [`effects`] is what the handler sees of it; [`kernel`] holds the rings and
//! all that is unsafe. Each thing that happens to a connection has its file: [`accept`],
//! [`connect`], [`receive`], [`send`], [`close`]; [`sweep`] is about those that nothing happens to.

mod accept;
mod close;
mod connect;
mod effects;
mod kernel;
mod receive;
mod rings;
mod seat;
mod send;
mod sweep;
mod token;
mod turn;

use std::io;

use events::Handler;

use crate::worker::{DriverError, Worker};

/// Tries everything that a worker will need. The error says what is refused.
pub(crate) fn probe() -> io::Result<()> {
    kernel::Ring::new(rings::slots()).map(drop)
}

/// What a worker needs of the kernel, made.
pub(crate) struct Prepared<M> {
    effects: effects::Effects<M>,
}

impl<M> Prepared<M> {
    /// Makes the first ring, on the thread that will use it, and begins to accept.
    pub(crate) fn new(worker: &Worker<M>) -> Result<Self, DriverError> {
        let effects = effects::Effects::new(worker)?;
        Ok(Self { effects })
    }

    /// Runs `handler` on this thread until it is finished.
    pub(crate) fn run<H: Handler<Mail = M>>(
        self,
        handler: H,
        worker: Worker<M>,
    ) -> Result<H, DriverError> {
        turn::Loop::new(handler, self.effects, worker).run()
    }
}

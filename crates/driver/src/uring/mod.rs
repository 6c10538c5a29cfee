//! io_uring as the event loop's multiplexer: one system call per turn, and connections that are no
//! open files, so that a process holds more of them than it may have.
//!
//! [`completions`] is what the loop sees of it; [`kernel`] holds the rings and all that is unsafe.
//! What happens to a connection has its file: [`receive`], [`send`], [`close`]; [`sweep`] is about
//! those that nothing happens to.

mod close;
mod completions;
mod deliver;
mod kept;
mod kernel;
mod receive;
mod rings;
mod seat;
mod send;
mod sweep;
mod token;

use std::io;

use events::Handler;

use crate::error::DriverError;
use crate::event_loop::{Effects, Loop};
use crate::worker::Worker;

use completions::Completions;

pub(crate) use kernel::queued;

/// Tries everything that a worker will need. The error says what is refused.
pub(crate) fn probe() -> io::Result<()> {
    kernel::Ring::new(rings::slots()).map(drop)
}

/// What a worker needs of the kernel, made.
pub(crate) struct Prepared<M> {
    io: Effects<M, Completions>,
}

impl<M> Prepared<M> {
    /// Makes the first ring, on the thread that will use it, and begins to accept.
    pub(crate) fn new(worker: &Worker<M>) -> Result<Self, DriverError> {
        let completions = Completions::new(worker.inbox.wake_fd())?;
        let io = Effects::new(worker, completions).map_err(DriverError::setup("accepting"))?;
        Ok(Self { io })
    }

    /// Runs `handler` on this thread until it is finished.
    pub(crate) fn run<H: Handler<Mail = M>>(
        self,
        handler: H,
        worker: Worker<M>,
    ) -> Result<H, DriverError> {
        Loop::new(handler, self.io, worker).run()
    }
}

//! Epoll as the event loop's multiplexer: edge-triggered, no system call to ask for what the kernel
//! will report anyway.
//!
//! [`readiness`] is what the loop sees of it; [`poll`] is the epoll instance. What happens to the
//! bytes of a connection has its file: [`receive`], [`send`].

mod poll;
mod readiness;
mod receive;
mod send;

use events::Handler;

use crate::error::DriverError;
use crate::event_loop::{Effects, Loop};
use crate::worker::Worker;

/// Runs `handler` on this thread until it is finished.
pub(crate) fn run<H: Handler>(handler: H, worker: Worker<H::Mail>) -> Result<H, DriverError> {
    let readiness = readiness::Readiness::new(worker.inbox.wake_fd())?;
    let io = Effects::new(&worker, readiness).map_err(DriverError::setup("accepting"))?;
    Loop::new(handler, io, worker).run()
}

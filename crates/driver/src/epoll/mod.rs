//! The event loop over epoll: one per worker thread, edge-triggered, no system call to ask for
//! what the kernel will report anyway.
//!
//! [`turn`] is the loop; [`effects`] is what the handler sees of it. Each thing that happens to a
//! connection has its file: [`accept`], [`connect`], [`receive`], [`send`], [`close`].

mod accept;
mod close;
mod connect;
mod effects;
mod notice;
mod poll;
mod receive;
mod send;
mod turn;

use events::Handler;

use crate::worker::{DriverError, Worker};

/// Runs `handler` on this thread until it is finished.
pub(crate) fn run<H: Handler>(handler: H, worker: Worker<H::Mail>) -> Result<H, DriverError> {
    turn::Loop::new(handler, worker)?.run()
}

//! The one entry of the event loops.

use events::Handler;

use crate::choice::Driver;
use crate::error::DriverError;
use crate::worker::Worker;
use crate::{epoll, uring};

/// Runs `handler` on this thread until it is finished, and gives it back. A worker whose ring
/// cannot be made runs over epoll.
///
/// Once [`Handler::finished`] says so, no more is reported: connections that the handler has not
/// closed are aborted, those closed with [`Close::Flush`](events::Close::Flush) may take some
/// seconds to end, and mail that has not been delivered is dropped.
pub fn run<H: Handler>(handler: H, worker: Worker<H::Mail>) -> Result<H, DriverError> {
    match worker.driver {
        Driver::Epoll => epoll::run(handler, worker),
        Driver::IoUring => match uring::Prepared::new(&worker) {
            Ok(prepared) => prepared.run(handler, worker),
            Err(error) => {
                tracing::warn!(%error, "this worker runs over epoll, where connections are open files");
                epoll::run(handler, worker)
            }
        },
    }
}

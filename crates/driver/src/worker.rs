//! What one worker is made of, and how it can fail.

use std::io;
use std::sync::Arc;

use crate::address::Address;
use crate::choice::{Driver, remedy};
use crate::clock::Clock;
use crate::counters::DriverCounters;
use crate::listener::Listeners;
use crate::mailbox::{Inbox, Postboxes};
use crate::sources::Sources;

/// All that [`run`](crate::run) needs besides the handler, `M` being the workers' mail.
pub struct Worker<M> {
    /// This worker's own inbox; it also says which worker this is.
    pub inbox: Inbox<M>,
    /// The way to all workers of the process.
    pub postboxes: Postboxes<M>,
    /// Where clients are accepted, shared by all workers; empty in a process that only connects.
    pub listeners: Listeners,
    /// Where [`Io::connect`](events::Io::connect) leads: each address is tried in this order,
    /// unless `sources` takes turns.
    pub backend: Arc<[Address]>,
    /// Where those connections come from.
    pub sources: Sources,
    /// The clock, shared by all workers.
    pub clock: Clock,
    /// Which event loop carries it: what [`Driver::choose`] has found.
    pub driver: Driver,
    /// Where this worker publishes what it counts.
    pub counters: Arc<DriverCounters>,
}

/// Why a worker could not start or go on: the operating system's fault, never a connection's.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The event loop or a mailbox could not be set up.
    #[error("cannot set up {what}: {source}; check the limit of open files")]
    Setup {
        /// What was being set up.
        what: &'static str,
        /// What the operating system says.
        source: io::Error,
    },
    /// io_uring, which is wanted, is not to be had.
    #[error("io_uring is refused: {cause}; {remedy}, or choose another driver")]
    Refused {
        /// What the operating system says.
        cause: io::Error,
        /// What to do about it.
        remedy: &'static str,
    },
    /// Waiting for events failed.
    #[error("cannot wait for events: {0}; report this as a defect")]
    Wait(io::Error),
}

impl DriverError {
    pub(crate) fn refused(cause: io::Error) -> Self {
        let remedy = remedy(&cause);
        Self::Refused { cause, remedy }
    }

    pub(crate) fn setup(what: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::Setup {
            what,
            source: errno.into(),
        }
    }
}

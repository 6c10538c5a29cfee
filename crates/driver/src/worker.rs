//! What one worker is made of.

use std::sync::Arc;

use crate::address::Address;
use crate::choice::Driver;
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

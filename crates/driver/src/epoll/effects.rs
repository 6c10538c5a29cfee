//! What the handler may do to the worker's sockets: the driver's side of [`Io`].
//!
//! The event loop owns it and lends it to the handler. Nothing in here calls the handler; what
//! must be reported is noted for the next turn.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use events::{Close, ConnectError, Handle, Io, Tag, Timestamp};

use crate::address::Address;
use crate::balance::Balance;
use crate::closing::Closing;
use crate::connection::{Connection, Marks, Phase};
use crate::counters::DriverCounts;
use crate::doors::Doors;
use crate::mailbox::Postboxes;
use crate::notice::Notice;
use crate::outgoing::Outgoing;
use crate::sources::Sources;
use crate::table::Table;
use crate::worker::{DriverError, Worker};

use super::poll::Poll;

/// A connection's socket; absent only while no address could be connected to.
pub(super) type Socket = Option<OwnedFd>;

/// The sockets of a worker and what is to be done with them.
pub(super) struct Effects<M> {
    /// This worker's number.
    pub(super) worker: usize,
    pub(super) poll: Poll,
    pub(super) table: Table<Socket>,
    pub(super) outgoing: Outgoing,
    pub(super) closing: Closing,
    pub(super) doors: Option<Doors>,
    pub(super) backend: Arc<[Address]>,
    pub(super) sources: Sources,
    pub(super) postboxes: Postboxes<M>,
    pub(super) balance: Balance,
    /// Connections to be read in the next turn without a further event.
    pub(super) ready: Vec<Handle>,
    /// What the handler is to be told in the next turn.
    pub(super) notices: Vec<(Handle, Notice)>,
    /// The time of this turn.
    pub(super) now: Timestamp,
    pub(super) counts: DriverCounts,
}

impl<M> Effects<M> {
    /// The sockets of a worker that has none but its listeners yet.
    pub(super) fn new(worker: &Worker<M>) -> Result<Self, DriverError> {
        let poll = Poll::new().map_err(DriverError::setup("the event loop"))?;
        poll.add_wake(worker.inbox.wake_fd())
            .map_err(DriverError::setup("a mailbox"))?;
        let mut effects = Self {
            worker: worker.inbox.worker(),
            poll,
            table: Table::default(),
            outgoing: Outgoing::default(),
            closing: Closing::default(),
            doors: None,
            backend: Arc::clone(&worker.backend),
            sources: worker.sources.clone(),
            postboxes: worker.postboxes.clone(),
            balance: worker.inbox.balance(),
            ready: Vec::new(),
            notices: Vec::new(),
            now: worker.clock.now(),
            counts: DriverCounts::default(),
        };
        if worker.listeners.sockets().is_empty() {
            effects.balance.retire(effects.worker);
        } else {
            let opened = effects.open_doors(worker.listeners.clone());
            opened.map_err(DriverError::setup("accepting"))?;
        }
        Ok(effects)
    }

    /// Whether the next turn has work without waiting for an event.
    pub(super) fn has_work(&self) -> bool {
        !self.ready.is_empty() || !self.notices.is_empty()
    }

    /// The connection if the handler owns it.
    pub(super) fn owned(&mut self, handle: Handle) -> Option<&mut Connection<Socket>> {
        self.table
            .get_mut(handle)
            .filter(|connection| connection.is_owned())
    }

    /// Has the connection read in the next turn.
    pub(super) fn make_ready(&mut self, handle: Handle) {
        if let Some(connection) = self.table.get_mut(handle)
            && !connection.marks.contains(Marks::READY)
        {
            connection.marks.insert(Marks::READY);
            self.ready.push(handle);
        }
    }

    /// Takes the connection out of everything and closes its socket.
    pub(super) fn discard(&mut self, handle: Handle) {
        let Some(connection) = self.table.remove(handle) else {
            return;
        };
        if let Some(outbox) = connection.outbox {
            self.outgoing.give_back(outbox);
        }
        if matches!(connection.phase, Phase::Flushing | Phase::Lingering) {
            self.closing.ended();
        }
        if connection.marks.contains(Marks::ACCEPTED) {
            self.balance.closed(self.worker);
        }
    }
}

impl<M> Io<M> for Effects<M> {
    fn outbox(&mut self, handle: Handle) -> &mut Vec<u8> {
        self.settle();
        let usable = |connection: &&mut Connection<Socket>| {
            connection.is_owned() && !connection.marks.contains(Marks::BROKEN)
        };
        let Some(connection) = self.table.get_mut(handle).filter(usable) else {
            return self.outgoing.scratch();
        };
        self.outgoing.lend(handle, connection)
    }

    fn unsent(&self, handle: Handle) -> usize {
        self.table.get(handle).map_or(0, Connection::unsent)
    }

    fn unsent_total(&self) -> usize {
        self.outgoing.unsent_total(&self.table)
    }

    fn notify_drained(&mut self, handle: Handle) {
        let Some(connection) = self.owned(handle) else {
            return;
        };
        if connection.outbox.is_some() || connection.marks.contains(Marks::BLOCKED) {
            connection.marks.insert(Marks::DRAIN_WANTED);
        } else {
            self.notices.push((handle, Notice::Drained));
        }
    }

    fn pause_receive(&mut self, handle: Handle) {
        if let Some(connection) = self.owned(handle) {
            connection.marks.insert(Marks::PAUSED);
        }
    }

    fn resume_receive(&mut self, handle: Handle) {
        let Some(connection) = self.owned(handle) else {
            return;
        };
        connection.marks.remove(Marks::PAUSED);
        if connection.marks.contains(Marks::READABLE) {
            self.make_ready(handle);
        }
    }

    fn connect(&mut self, tag: Tag) -> Handle {
        let handle = self.table.insert(Connection::connecting(tag, None));
        let first = self.sources.begin(self.backend.len());
        self.try_addresses(handle, first, ConnectError::Address);
        handle
    }

    fn close(&mut self, handle: Handle, how: Close) {
        self.settle();
        if self.owned(handle).is_some() {
            match how {
                Close::Flush => self.close_gently(handle),
                Close::Abort => self.discard(handle),
            }
        }
    }

    fn post(&mut self, worker: usize, mail: M) -> Result<(), M> {
        self.postboxes.post(worker, mail)
    }

    fn stop_accepting(&mut self) {
        self.close_doors();
    }
}

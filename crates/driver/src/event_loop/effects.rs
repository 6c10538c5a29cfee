//! What the handler may do to the worker's sockets: the driver's side of [`Io`].
//!
//! The event loop owns it and lends it to the handler. Nothing in here calls the handler; what
//! must be reported is noted for the next turn.

use std::sync::Arc;

use events::{Close, ConnectError, Handle, Io, Span, Tag, Timestamp};
use rustix::io::Errno;

use crate::address::Address;
use crate::balance::Balance;
use crate::closing::Closing;
use crate::connection::{Connection, Marks};
use crate::counters::DriverCounts;
use crate::doors::Doors;
use crate::mailbox::Postboxes;
use crate::notice::Notice;
use crate::outgoing::Outgoing;
use crate::sources::Sources;
use crate::table::Table;
use crate::worker::Worker;

use super::multiplexer::Multiplexer;

/// The sockets of a worker and what is to be done with them.
pub(crate) struct Effects<M, X: Multiplexer<M>> {
    /// This worker's number.
    pub(crate) worker: usize,
    /// Who tells of the sockets.
    pub(crate) multiplexer: X,
    pub(crate) table: Table<X::Socket>,
    pub(crate) outgoing: Outgoing,
    pub(crate) closing: Closing,
    pub(crate) doors: Option<Doors>,
    pub(super) backend: Arc<[Address]>,
    pub(super) sources: Sources,
    pub(super) postboxes: Postboxes<M>,
    pub(crate) balance: Balance,
    /// Connections to be looked at in the next turn without anything happening.
    pub(super) ready: Vec<Handle>,
    /// What the handler is to be told in the next turn.
    pub(super) notices: Vec<(Handle, Notice)>,
    /// How many events the turn before this one brought.
    pub(super) events_before: u64,
    /// The time of this turn.
    pub(crate) now: Timestamp,
    /// How late this turn's events may be told.
    pub(super) late: Span,
    /// Since when the turns before this one have left events for the next.
    pub(super) behind_since: Option<Timestamp>,
    pub(crate) counts: DriverCounts,
    /// Nothing is told the handler any more: it has panicked, and cannot go on.
    pub(super) handler_is_lost: bool,
}

impl<M, X: Multiplexer<M>> Effects<M, X> {
    /// The sockets of a worker that has none but its listeners yet.
    pub(crate) fn new(worker: &Worker<M>, multiplexer: X) -> Result<Self, Errno> {
        let mut effects = Self {
            worker: worker.inbox.worker(),
            multiplexer,
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
            events_before: 0,
            now: worker.clock.now(),
            late: Span::ZERO,
            behind_since: None,
            counts: DriverCounts::default(),
            handler_is_lost: false,
        };
        if worker.listeners.sockets().is_empty() {
            effects.balance.retire(effects.worker);
        } else {
            effects.open_doors(worker.listeners.clone())?;
        }
        Ok(effects)
    }

    /// Whether the next turn has work without waiting.
    pub(crate) fn has_work(&mut self) -> bool {
        let noted = !self.ready.is_empty() || !self.notices.is_empty();
        noted || self.multiplexer.has_work()
    }

    /// The connection if the handler owns it.
    pub(super) fn owned(&mut self, handle: Handle) -> Option<&mut Connection<X::Socket>> {
        self.table
            .get_mut(handle)
            .filter(|connection| connection.is_owned())
    }

    /// Has the connection looked at in the next turn.
    pub(crate) fn make_ready(&mut self, handle: Handle) {
        if let Some(connection) = self.table.get_mut(handle)
            && !connection.marks.contains(Marks::READY)
        {
            connection.marks.insert(Marks::READY);
            self.ready.push(handle);
        }
    }

    /// Takes the connection out of everything and closes its socket.
    pub(crate) fn discard(&mut self, handle: Handle) {
        X::discard(self, handle);
    }
}

impl<M, X: Multiplexer<M>> Io<M> for Effects<M, X> {
    fn outbox(&mut self, handle: Handle) -> &mut Vec<u8> {
        self.settle();
        let usable = |connection: &&mut Connection<X::Socket>| {
            connection.is_owned() && !connection.marks.contains(Marks::BROKEN)
        };
        let Some(connection) = self.table.get_mut(handle).filter(usable) else {
            return self.outgoing.scratch();
        };
        self.outgoing.lend(handle, connection)
    }

    fn unsent(&self, handle: Handle) -> usize {
        self.table.get(handle).map_or(0, |connection| {
            connection.unsent() + self.multiplexer.in_flight(&connection.socket)
        })
    }

    fn untaken(&mut self, handle: Handle) -> usize {
        self.unsent(handle) + X::queued(self, handle)
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
            X::paused(self, handle);
        }
    }

    fn resume_receive(&mut self, handle: Handle) {
        if let Some(connection) = self.owned(handle) {
            connection.marks.remove(Marks::PAUSED);
            X::resumed(self, handle);
        }
    }

    fn connect(&mut self, tag: Tag) -> Handle {
        let connection = Connection::connecting(tag, X::no_socket());
        let handle = self.table.insert(connection);
        self.outgoing.touched.push(handle);
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

    fn told_late(&self) -> Span {
        self.late
    }

    fn has_told_all(&self) -> bool {
        self.multiplexer.has_told_all()
    }
}

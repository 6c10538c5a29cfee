//! What the handler may do to the worker's sockets: the driver's side of [`Io`].
//!
//! The event loop owns it and lends it to the handler. Nothing in here calls the handler; what
//! must be reported is noted for the next turn.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use events::{Close, ConnectError, Handle, Io, Tag, Timestamp};

use crate::address::Address;
use crate::balance::Balance;
use crate::closing::Closing;
use crate::connection::{Connection, Marks};
use crate::counters::DriverCounts;
use crate::mailbox::Postboxes;
use crate::notice::Notice;
use crate::outgoing::Outgoing;
use crate::sources::Sources;
use crate::table::Table;
use crate::worker::{DriverError, Worker};

use super::accept::Entrance;
use super::rings::Rings;
use super::seat::{Armed, Seat};
use super::sweep::Sweep;

/// The sockets of a worker and what is to be done with them.
pub(super) struct Effects<M> {
    /// This worker's number.
    pub(super) worker: usize,
    pub(super) rings: Rings,
    pub(super) table: Table<Seat>,
    pub(super) outgoing: Outgoing,
    pub(super) closing: Closing,
    /// How many connections the kernel still works for though they are gone.
    pub(super) leaving: usize,
    pub(super) entrance: Option<Entrance>,
    pub(super) backend: Arc<[Address]>,
    pub(super) sources: Sources,
    pub(super) postboxes: Postboxes<M>,
    pub(super) balance: Balance,
    /// Input that came while nobody wanted it. Those that have some are marked as readable.
    pub(super) kept: HashMap<Handle, Vec<u8>>,
    /// Connections that found no buffer to receive into.
    pub(super) starved: VecDeque<Handle>,
    /// How many connections receive.
    pub(super) receiving: usize,
    pub(super) sweep: Sweep,
    /// Connections to be looked at in the next turn without a completion.
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
        let mut rings = Rings::new().map_err(DriverError::refused)?;
        rings.watch_mail(worker.inbox.wake_fd());
        let mut effects = Self {
            worker: worker.inbox.worker(),
            rings,
            table: Table::default(),
            outgoing: Outgoing::default(),
            closing: Closing::default(),
            leaving: 0,
            entrance: None,
            backend: Arc::clone(&worker.backend),
            sources: worker.sources.clone(),
            postboxes: worker.postboxes.clone(),
            balance: worker.inbox.balance(),
            kept: HashMap::new(),
            starved: VecDeque::new(),
            receiving: 0,
            sweep: Sweep::default(),
            ready: Vec::new(),
            notices: Vec::new(),
            now: worker.clock.now(),
            counts: DriverCounts::default(),
        };
        if worker.listeners.sockets().is_empty() {
            effects.balance.retire(effects.worker);
        } else {
            effects.open_entrance(worker.listeners.clone());
        }
        Ok(effects)
    }

    /// Whether the next turn has work without waiting for a completion.
    pub(super) fn has_work(&mut self) -> bool {
        let waiting = !self.ready.is_empty() || !self.notices.is_empty();
        waiting || !self.starved.is_empty() || self.rings.have_told()
    }

    /// The connection if the handler owns it.
    pub(super) fn owned(&mut self, handle: Handle) -> Option<&mut Connection<Seat>> {
        self.table
            .get_mut(handle)
            .filter(|connection| connection.is_owned())
    }

    /// Has the connection looked at in the next turn.
    pub(super) fn make_ready(&mut self, handle: Handle) {
        if let Some(connection) = self.table.get_mut(handle)
            && !connection.marks.contains(Marks::READY)
        {
            connection.marks.insert(Marks::READY);
            self.ready.push(handle);
        }
    }
}

impl<M> Io<M> for Effects<M> {
    fn outbox(&mut self, handle: Handle) -> &mut Vec<u8> {
        self.settle();
        let usable = |connection: &&mut Connection<Seat>| {
            connection.is_owned() && !connection.marks.contains(Marks::BROKEN)
        };
        let Some(connection) = self.table.get_mut(handle).filter(usable) else {
            return self.outgoing.scratch();
        };
        self.outgoing.lend(handle, connection)
    }

    fn unsent(&self, handle: Handle) -> usize {
        let Some(connection) = self.table.get(handle) else {
            return 0;
        };
        match connection.socket.armed.contains(Armed::SEND) {
            true => connection.unsent() + self.rings.unsent(&connection.socket),
            false => connection.unsent(),
        }
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

    /// Receiving goes on until something comes: mostly nothing does until it is wanted again.
    fn pause_receive(&mut self, handle: Handle) {
        let Some(connection) = self.owned(handle) else {
            return;
        };
        connection.marks.insert(Marks::PAUSED);
        if !connection.socket.armed.contains(Armed::RECEIVE) {
            self.make_ready(handle);
        }
    }

    fn resume_receive(&mut self, handle: Handle) {
        let Some(connection) = self.owned(handle) else {
            return;
        };
        connection.marks.remove(Marks::PAUSED);
        let waiting = connection.marks.intersects(Marks::READABLE | Marks::ENDING);
        if waiting || !connection.socket.armed.contains(Armed::RECEIVE) {
            self.make_ready(handle);
        }
    }

    fn connect(&mut self, tag: Tag) -> Handle {
        let handle = self.table.insert(Connection::connecting(tag, Seat::none()));
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
        self.close_entrance();
    }
}

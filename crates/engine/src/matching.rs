//! Who gets which backend: permits, places in lanes, slots and turns. Owns who waits and in which order; reads the
//! records, and decides. The desk carries out what it decides.

mod attach;
mod awake;
mod busy;
pub(crate) mod lanes;
mod lending;
mod lock_effects;
pub(crate) mod locks;
mod need;
mod overtime;
pub(crate) mod permits;
mod relay_places;
mod seats;
mod shares;
mod standstill;
mod tables;
pub(crate) mod trouble;

use std::collections::HashMap;

use admission::Scheduler;
use events::Timestamp;
use membership::Key;
use pool::{Bounds, Concurrency, KeyId, Turns};

use crate::record::busy::Busy;
use crate::record::hold::Hold;
use crate::record::lane_patience::LanePatience;
use crate::record::lending::Lending;
use crate::record::lock_waits::LockWaits;
use crate::record::records::Records;
use crate::record::relay_places::RelayQueue;

/// Who waits for what.
pub(crate) struct Matching {
    /// Clients that wait for a backend to decide their login.
    pub relays: RelayQueue,
    /// How often accounts have turns.
    pub turns: Turns,
    /// How many backends run statements alone at once.
    pub busy: Busy,
    /// How many lanes there may be for one state of sessions.
    pub lane_limit: Concurrency,
    /// For how long a lane may be silent.
    pub lane_patience: LanePatience,
    /// When lanes are to be looked at.
    pub lane_due: Option<Timestamp>,
    /// Clients that want a user-level lock.
    pub lock_waits: LockWaits,
    /// What this worker tells others of slots, and what it has asked them for.
    pub lending: Lending,
    /// Which statements may run, and who is next.
    pub scheduler: Scheduler<Key>,
    /// Clients whose statement was counted or waits to be, and was not sent.
    pub holds: HashMap<Key, Hold>,
    /// When statements that may not take longer are to be looked at.
    pub overtime_due: Option<Timestamp>,
    /// Keys whose statements were let through and are sent next.
    pub to_serve: Vec<KeyId>,
}

impl Matching {
    /// Nobody waits yet.
    pub(crate) fn new(records: &Records) -> Self {
        let (settings, shared) = (&*records.settings, &*records.shared);
        let slots = shared.ledger.total();
        let slots_here = slots / shared.ledger.workers().max(1);
        let busy = Bounds {
            least: settings.min_connections,
            first: settings.busy_at_first.unwrap_or(slots),
            most: slots,
        };
        // With a single lane the server has nothing to do while it is filled.
        let lanes = Bounds {
            least: 2,
            first: 2,
            most: slots_here,
        };
        let turns = Turns {
            weights: 0,
            slots: slots_here,
        };
        Self {
            relays: RelayQueue::default(),
            turns,
            busy: Busy::new(busy),
            lane_limit: Concurrency::new(lanes),
            lane_patience: LanePatience::new(settings.lane_stall.unwrap_or_default()),
            lane_due: None,
            lock_waits: LockWaits::default(),
            lending: Lending::default(),
            scheduler: Scheduler::new(&shared.admission, records.worker, settings.queue_timeout),
            holds: HashMap::new(),
            overtime_due: None,
            to_serve: Vec::new(),
        }
    }

    /// The login of `id` that is decided next.
    pub(crate) fn next_relay_of(&self, id: KeyId) -> Option<Key> {
        let (client, of) = self.next_relay()?;
        (of == id).then_some(client)
    }

    /// The login that a backend is to decide next, which has its place.
    fn next_relay(&self) -> Option<(Key, KeyId)> {
        self.relays.first().filter(|_| self.relays.place.is_some())
    }
}

//! What a client holds between the arrival and the sending of its statement: a place in the queue, or a permit (rules 19
//! and 20). From then on the permit is with the command, and a transaction's is with its backend.

use admission::{Permit, Place};
use events::Timestamp;
use pool::{KeyId, Pool, State as BackendState};

use crate::record::backend::{Backend, PoolKey};
use crate::record::busy::Busy;
use crate::record::client::State;
use crate::record::clients::Clients;
use crate::record::key_state::KeyState;
use crate::record::shares::Share;

/// What a client holds whose statement has not been sent.
#[derive(Debug)]
pub(crate) enum Hold {
    /// A place in the queue for permits, among those who can use backends of the key.
    Queued(Place, KeyId),
    /// Its permit, and when it came. It waits for a backend, or for what must be restored first.
    Admitted(Permit, Timestamp),
}

/// What says whether there is a backend for one more.
pub(crate) struct Backends<'a> {
    pub clients: &'a Clients,
    pub pool: &'a Pool<PoolKey, Backend>,
    pub busy: &'a Busy,
    pub keys: &'a [KeyState],
    pub shares: &'a [Share],
}

impl Backends<'_> {
    /// True if there is a backend for one more statement of `id`, beside those that wait for backends
    /// already: one that is idle, unless as many work as are good for it, or room in a lane that is filled
    /// again.
    pub(crate) fn has_room(&self, id: KeyId) -> bool {
        let count = |list| self.clients.count(list);
        let ahead = count(State::Waiting(id)) + count(State::ForLane(id));
        let account = &self.shares[self.keys[id.0 as usize].share];
        let pool = (self.pool, self.keys);
        let alone = self.busy.room(pool, account, &[BackendState::Active]);
        let idle = self.pool.count(id, BackendState::Idle).min(alone);
        if ahead < idle {
            return true;
        }
        let lanes = self.pool.iter(id, BackendState::Lane);
        let room = lanes.map(|(_, lane)| lane.room_in_lane());
        ahead < idle + room.sum::<usize>()
    }
}

//! What somebody who looks in is told. Gauges are lengths of the lists that decide.

pub(crate) mod counters;
pub(crate) mod look;
mod memory;

use std::sync::atomic::Ordering;

use admission::AccountReport;
use pool::State as BackendState;
use session::statement::PinReason;

use crate::Engine;
use crate::client::State;
use crate::report::counters::Counters;

/// How many there are now, on one worker or on all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Clients in the connection phase.
    pub clients_login: u64,
    /// Clients for which nothing runs and nothing is held.
    pub clients_idle: u64,
    /// Clients whose statement waits for a backend.
    pub clients_waiting: u64,
    /// Clients whose statement waits for the right to run.
    pub clients_queued: u64,
    /// Clients whose statement waits for a user-level lock.
    pub clients_for_lock: u64,
    /// Clients whose statement runs.
    pub clients_active: u64,
    /// Clients whose statement waits for room in a lane.
    pub clients_for_lane: u64,
    /// Clients whose statement is in a lane.
    pub clients_in_lane: u64,
    /// Silent clients in a transaction or pinned.
    pub clients_held: u64,
    /// Backend connections being made.
    pub backends_connecting: u64,
    /// Backend connections being set up or cleaned.
    pub backends_resetting: u64,
    /// Backend connections that are free.
    pub backends_idle: u64,
    /// Backend connections that are attached.
    pub backends_active: u64,
    /// Backend connections that are lanes: several sessions share each.
    pub backends_lane: u64,
    /// Backend connections that may run statements alone at once.
    pub busy_limit: u64,
    /// Lanes that there may be for one state of sessions.
    pub lane_limit: u64,
    /// Backend connections that finish what was sent to them as lanes.
    pub backends_draining: u64,
    /// Backend connections that are kept for KILL, outside the budget.
    pub backends_reserved: u64,
    /// Pinned sessions by reason; one may have several.
    pub pinned: [u64; 32],
    /// How long the oldest waiter has waited, in µs.
    pub queue_wait_us_max: u64,
    /// Different prepared statements that sessions have.
    pub prepared_templates: u64,
    /// Bytes of their texts.
    pub prepared_text_bytes: u64,
    /// Kinds of sessions that share backend connections: accounts, with what their clients can do.
    pub pool_keys: u64,
    /// Statements that are prepared on backend connections.
    pub prepared_on_backends: u64,
    /// Bytes of long data that waits for the execution that uses it.
    pub long_data_bytes: u64,
    /// Bytes of what sessions keep: prepared statements, texts, conditions, variables.
    pub session_bytes: u64,
    /// Bytes of the client records.
    pub client_bytes: u64,
    /// Bytes of the table that finds clients by their ids.
    pub client_id_bytes: u64,
    /// Bytes of the buffers with what clients sent and what waits, estimated.
    pub client_inbox_bytes: u64,
}

/// What a worker tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What there is now.
    pub gauges: Gauges,
    /// What has happened.
    pub counters: Counters,
    /// The accounts that were seen here, in no order.
    pub accounts: Vec<AccountReport>,
    /// The version that clients are told; empty while no backend has been reached.
    pub server_version: String,
}

impl Gauges {
    /// Adds another worker's.
    pub fn add(&mut self, other: &Self) {
        self.clients_login += other.clients_login;
        self.clients_idle += other.clients_idle;
        self.clients_waiting += other.clients_waiting;
        self.clients_queued += other.clients_queued;
        self.clients_for_lock += other.clients_for_lock;
        self.clients_active += other.clients_active;
        self.clients_for_lane += other.clients_for_lane;
        self.clients_in_lane += other.clients_in_lane;
        self.clients_held += other.clients_held;
        self.backends_connecting += other.backends_connecting;
        self.backends_resetting += other.backends_resetting;
        self.backends_idle += other.backends_idle;
        self.backends_active += other.backends_active;
        self.backends_lane += other.backends_lane;
        self.busy_limit += other.busy_limit;
        self.lane_limit += other.lane_limit;
        self.backends_draining += other.backends_draining;
        self.backends_reserved += other.backends_reserved;
        for (count, more) in self.pinned.iter_mut().zip(other.pinned) {
            *count += more;
        }
        self.queue_wait_us_max = self.queue_wait_us_max.max(other.queue_wait_us_max);
        self.prepared_templates += other.prepared_templates;
        self.prepared_text_bytes += other.prepared_text_bytes;
        self.pool_keys += other.pool_keys;
        self.prepared_on_backends += other.prepared_on_backends;
        self.long_data_bytes += other.long_data_bytes;
        self.session_bytes += other.session_bytes;
        self.client_bytes += other.client_bytes;
        self.client_id_bytes += other.client_id_bytes;
        self.client_inbox_bytes += other.client_inbox_bytes;
    }
}

impl Engine {
    /// What there is and what has happened.
    pub fn report(&self) -> Report {
        let waiting = |key| self.clients.count(State::Waiting(key)) as u64;
        let for_lane = |key| self.clients.count(State::ForLane(key)) as u64;
        let clients = |state| self.clients.count(state) as u64;
        let backends = |state| self.pool.count_all(state) as u64;
        let gauges = Gauges {
            clients_login: clients(State::Greeting)
                + State::LOGINS.map(clients).iter().sum::<u64>(),
            clients_idle: clients(State::Idle),
            clients_waiting: self.pool.key_ids().map(waiting).sum(),
            clients_queued: clients(State::Queued),
            clients_for_lock: clients(State::ForLock),
            clients_active: clients(State::Active),
            clients_for_lane: self.pool.key_ids().map(for_lane).sum(),
            clients_in_lane: clients(State::InLane),
            clients_held: clients(State::Held),
            backends_connecting: backends(BackendState::Connecting),
            backends_resetting: backends(BackendState::Resetting),
            backends_idle: backends(BackendState::Idle),
            backends_active: backends(BackendState::Active),
            backends_lane: backends(BackendState::Lane),
            busy_limit: self.busy.limit() as u64,
            lane_limit: self.lane_limit.limit() as u64,
            backends_draining: backends(BackendState::Draining),
            backends_reserved: backends(BackendState::Reserved),
            pinned: self.pinned(),
            queue_wait_us_max: self.lending.oldest_wait().as_us(),
            prepared_templates: self.known.templates.len() as u64,
            prepared_text_bytes: self.known.templates.bytes() as u64,
            pool_keys: self.keys.len() as u64,
            prepared_on_backends: self.prepared_on_backends(),
            long_data_bytes: self.long_data.load(Ordering::Relaxed) as u64,
            session_bytes: self.session_memory_bytes() as u64,
            client_bytes: self.clients.bytes() as u64,
            client_id_bytes: self.client_id_bytes(),
            client_inbox_bytes: self.client_inbox_bytes(),
        };
        let version = self
            .known
            .facts
            .as_ref()
            .map_or(&b""[..], |facts| &facts.version);
        Report {
            gauges,
            counters: Counters {
                session_memory_refused: self.session_memory_refused(),
                ..self.counters.clone()
            },
            accounts: self.scheduler.accounts().collect(),
            server_version: String::from_utf8_lossy(version).into_owned(),
        }
    }

    /// Only attached sessions are pinned, so this looks at no more of them than there are slots.
    pub(crate) fn pinned(&self) -> [u64; 32] {
        let mut pinned = [0; 32];
        let attached = [State::Held, State::Active];
        let attached = attached
            .into_iter()
            .flat_map(|state| self.clients.iter(state));
        for reason in attached.flat_map(|(_, client)| client.pins.iter()) {
            pinned[reason as usize & 31] += 1;
        }
        pinned
    }
}

const _: () = assert!(PinReason::ALL.len() <= 32);

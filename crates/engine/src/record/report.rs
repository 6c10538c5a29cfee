//! The report of a worker. Gauges are the lengths of its lists.

use admission::AccountReport;

use crate::record::counters::Counters;

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

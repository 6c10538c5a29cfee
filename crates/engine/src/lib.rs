//! One worker of the front door: clients on one side, backends on the other, and all decisions
//! between them.
//!
//! Pure: events come in through [`events::Handler`], effects go out through [`events::Io`]; time
//! and random bytes are arguments. The engine composes `wire` (what packets say), `session` (what
//! statements do to a session) and `pool` (who may have which backend). It knows nothing of
//! sockets, of configuration files or of an admin interface.
//!
//! | file | is about |
//! |---|---|
//! | `handler` | the events that drivers tell, each handed to what deals with it |
//! | `login` | the connection phase of clients |
//! | `places` | places in the connection phase, by address |
//! | `dawdlers` | who gives its place in the connection phase to others |
//! | `tls` | connections that become TLS connections |
//! | `inbox` | what clients have sent and what is not dealt with |
//! | `commands` | the command phase of clients: cutting and answering commands |
//! | `permits` | the right of a statement to run, and waiting for it |
//! | `limits` | limits that statements set |
//! | `grants` | what the server says that an account may do |
//! | `owner` | whose connection an event is about |
//! | `overtime` | statements that take longer than they may |
//! | `seats` | whose limits hold for a client |
//! | `attach` | finding a backend for a command, or waiting for one |
//! | `statements` | what a command is |
//! | `dispatch` | what must be restored before a command, and what may share a write with it |
//! | `sending` | the command, on its way to the backend |
//! | `set_option` | COM_SET_OPTION |
//! | `prepared` | prepared statements of the binary protocol: what clients want of them |
//! | `client_statements` | the prepared statements of a session |
//! | `templates` | prepared statements as sessions share them |
//! | `backend_statements` | what is prepared on a backend |
//! | `on_demand` | preparing on a backend what a session executes there |
//! | `named` | commands that name a prepared statement, on their way to the backend |
//! | `local_infile` | files that clients send for LOAD DATA LOCAL |
//! | `identity` | who a client is |
//! | `relay` | logins that a backend decides, its challenges being handed on |
//! | `relay_places` | how many such logins there are at a time, and who waits |
//! | `relayed` | the backend connections that such logins have brought |
//! | `proxied` | clients behind a load balancer that says who they are |
//! | `address` | what stands for an address in tables of those |
//! | `strangers` | addresses that fail to log in |
//! | `denial` | wrong passwords that are told later |
//! | `full_exchange` | passwords that clients send as they are |
//! | `directory` | who may log in, as it is known here, and asking again |
//! | `backend_login` | the connection phase of backends |
//! | `backend_setup` | cleaning a backend, and learning what a session begins with |
//! | `backend_auth` | who we are, proved to backends |
//! | `answers` | what backends say, on its way to clients |
//! | `diagnostics` | row counts, captured and asked for |
//! | `track_filter` | what of changes to its session a client is told |
//! | `capture` | what is kept of a session's last statement |
//! | `conditions` | what SHOW WARNINGS and its like tell: where that is, and telling it (a folder) |
//! | `rewrite` | what is sent in place of a text that asks for what the front door knows better |
//! | `read_back` | what only backends know, asked of them |
//! | `user_variables` | user variables, carried from backend to backend |
//! | `text_prepared` | texts that are prepared by name, carried from backend to backend |
//! | `effect` | what a command will do to what its session holds |
//! | `roles` | the role of a session |
//! | `routines` | what procedures leave in a session |
//! | `holdings` | pins that end, because what was held is let go of |
//! | `binary_rows` | conditions as rows of an execution |
//! | `busy` | how many backends run statements alone at once |
//! | `lanes` | backends that several sessions share |
//! | `lane_patience` | how long the head of a lane may take |
//! | `lane_trouble` | what goes wrong with those |
//! | `digests` | what was learned of plain reads |
//! | `views` | whether a plain read is of base tables |
//! | `key_state` | what is known of a key |
//! | `awake` | the keys for which something may be due |
//! | `retry` | plain reads whose backend was lost |
//! | `orphans` | what still runs for clients that hung up |
//! | `settle` | what follows an answer |
//! | `detach` | a session parts from its backend |
//! | `endings` | hang-ups, losses, closing |
//! | `kill` | KILL, of statements and of connections |
//! | `timers` | everything that is due at some time |
//! | `lending` | slots between workers |
//! | `look` | what somebody who looks in is told of single clients and backends |
//! | `memory` | what the clients take of it |

mod address;
mod answers;
mod attach;
mod awake;
mod backend;
mod backend_auth;
mod backend_login;
mod backend_setup;
mod backend_statements;
mod binary_rows;
mod busy;
mod capture;
mod client;
mod client_statements;
mod commands;
mod conditions;
mod counters;
mod dawdlers;
mod denial;
mod detach;
mod diagnostics;
mod digests;
mod directory;
mod dispatch;
mod effect;
mod endings;
mod errors;
mod facts;
mod full_exchange;
mod grants;
mod handler;
mod holdings;
mod identity;
mod inbox;
mod invariants;
mod key_state;
mod kill;
mod lane_patience;
mod lane_trouble;
mod lanes;
mod lending;
mod limits;
mod local_infile;
mod login;
mod look;
mod memory;
mod named;
mod on_demand;
mod orphans;
mod overtime;
mod owner;
mod permits;
mod pin_log;
mod places;
mod prepared;
mod proxied;
mod read_back;
mod relay;
mod relay_places;
mod relayed;
mod report;
mod retry;
mod rewrite;
mod roles;
mod routines;
mod schemas;
mod seats;
mod sending;
mod set_option;
mod settings;
mod settle;
mod shared;
mod statements;
mod strangers;
mod templates;
mod text_prepared;
mod timers;
mod tls;
mod track_filter;
mod tracking;
mod user_variables;
mod views;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use accounts::Directory;
use admission::Scheduler;
use events::Timestamp;
use membership::Key;
use pool::{Bounds, Concurrency, KeyId, Pool};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use session::Interner;
use session::statement::Flavor;

use crate::backend::{Backend, PoolKey};
use crate::client::Clients;
use crate::facts::{Charsets, Facts};
use crate::key_state::KeyState;

pub use admission::{AccountName, AccountReport, Quota, Usage};
pub use counters::{Counters, DisconnectReason, Histogram};
pub use directory::AccountsOrder;
pub use full_exchange::{Checker, PasswordCheck, Sent};
pub use kill::{KillOrder, KillOutcome, Victim};
pub use limits::{LimitsChange, LimitsOrder};
pub use look::{BackendLine, ClientLine, Look, PinLine, Reply, Slice, Whom};
pub use proxied::ProxyNetwork;
pub use report::{Gauges, Report};
pub use rewrite::PublicAddress;
pub use session::statement::{Limit, Limits, PinReason};
pub use settings::{OnDisconnect, Settings, TlsMode};
pub use shared::{FIRST_CONNECTION_ID, Mail, Shared};
pub use wire::AuthPlugin;

/// One worker's state machine.
pub struct Engine {
    settings: Arc<Settings>,
    shared: Arc<Shared>,
    worker: usize,
    /// Who may log in, as it is known here.
    accounts: Arc<Directory>,
    /// Who waits for it to be read again.
    asking: directory::Asking,
    /// Keys that cannot have a backend, whose clients are told so when the turn ends.
    locked_out: Vec<KeyId>,
    /// Who waits for a backend to decide its login.
    relays: relay_places::RelayQueue,
    /// Who is in the connection phase, by address.
    places: places::Places,
    clients: Clients,
    pool: Pool<PoolKey, Backend>,
    /// One per key of the pool.
    keys: Vec<KeyState>,
    interner: Interner,
    /// What sessions have prepared.
    templates: templates::Templates,
    /// Bytes of long data that waits for the execution that uses it.
    long_data: Arc<AtomicUsize>,
    /// `None` until a backend was reached or could not be.
    facts: Option<Facts>,
    charsets: Charsets,
    known_schemas: schemas::KnownSchemas,
    stalls: Vec<endings::Stall>,
    /// Clients by connection id, for KILL.
    ids: HashMap<u32, Key>,
    /// Backends that run something for clients that hung up, the first first.
    orphans: VecDeque<orphans::Orphan>,
    /// Those that were killed, to no avail so far.
    killed_orphans: VecDeque<orphans::Orphan>,
    /// Why sessions were pinned, as far as it was logged.
    pin_log: pin_log::PinLog,
    /// Keys for which something may be due.
    awake: Vec<KeyId>,
    /// What was learned of plain reads.
    digests: digests::Digests,
    /// What is known of procedures.
    routines: routines::Routines,
    /// When somebody last asked for that.
    routines_at: Timestamp,
    /// How many backends run statements alone at once.
    busy: busy::Busy,
    /// How many lanes there may be for one state of sessions.
    lane_limit: Concurrency,
    lane_patience: lane_patience::LanePatience,
    /// When lanes are to be looked at.
    lane_due: Option<Timestamp>,
    /// When idle backends are to be looked at.
    idle_due: Option<Timestamp>,
    /// When the first idle backend must be closed because of the `wait_timeout` it carries.
    short_idle: Option<Timestamp>,
    /// Backends whose statement is to be ended, the first first.
    kills: VecDeque<Key>,
    /// Which statements may run, and who is next.
    scheduler: Scheduler<Key>,
    /// Statements that change limits and were not sent.
    intents: HashMap<Key, limits::Intent>,
    /// OKs that are told once the limits are kept.
    kept: HashMap<Key, limits::Kept>,
    /// When statements that may not take longer are to be looked at.
    overtime_due: Option<Timestamp>,
    /// Clients whose statement was counted or waits to be, and was not sent.
    holds: HashMap<Key, permits::Hold>,
    /// Keys whose statements were let through and are sent next.
    to_serve: Vec<KeyId>,
    /// Texts that were prepared by name so far, so that each has a number of its own.
    texts_prepared: u64,
    counters: Counters,
    /// For what must not be guessed, besides clients' nonces.
    random: ChaCha20Rng,
    /// Buffers without content, for clients' inboxes.
    spares: Vec<Vec<u8>>,
    lending: lending::Lending,
    /// Wrong passwords that are told later.
    denials: denial::Denials,
    draining: Option<Timestamp>,
    started: bool,
}

/// One event's view of the world.
struct Turn<'a, I> {
    io: &'a mut I,
    now: Timestamp,
}

impl Engine {
    /// The engine of worker number `worker`. `seed`: fresh random bytes, this engine's own.
    pub fn new(
        settings: Arc<Settings>,
        shared: Arc<Shared>,
        worker: usize,
        seed: [u8; 32],
    ) -> Self {
        let scheduler = Scheduler::new(&shared.admission, worker, settings.queue_timeout);
        let lane_stall = settings.lane_stall.unwrap_or_default();
        let slots = shared.ledger.total();
        let busy = Bounds {
            least: settings.min_connections,
            first: settings.busy_at_first.unwrap_or(slots),
            most: slots,
        };
        // With a single lane the server has nothing to do while it is filled.
        let lanes = Bounds {
            least: 2,
            first: 2,
            most: slots / shared.ledger.workers().max(1),
        };
        Self {
            accounts: settings.accounts.clone(),
            asking: directory::Asking::default(),
            locked_out: Vec::new(),
            relays: relay_places::RelayQueue::default(),
            settings,
            shared,
            worker,
            places: places::Places::default(),
            clients: Clients::new(),
            pool: Pool::default(),
            keys: Vec::new(),
            interner: Interner::default(),
            templates: templates::Templates::default(),
            long_data: Arc::default(),
            facts: None,
            charsets: Charsets::new(),
            known_schemas: schemas::KnownSchemas::default(),
            stalls: Vec::new(),
            ids: HashMap::new(),
            orphans: VecDeque::new(),
            killed_orphans: VecDeque::new(),
            pin_log: pin_log::PinLog::default(),
            awake: Vec::new(),
            digests: digests::Digests::new(),
            routines: routines::Routines::default(),
            routines_at: Timestamp::default(),
            busy: busy::Busy::new(busy),
            lane_limit: Concurrency::new(lanes),
            lane_patience: lane_patience::LanePatience::new(lane_stall),
            lane_due: None,
            idle_due: None,
            short_idle: None,
            kills: VecDeque::new(),
            scheduler,
            intents: HashMap::new(),
            kept: HashMap::new(),
            overtime_due: None,
            holds: HashMap::new(),
            to_serve: Vec::new(),
            texts_prepared: 0,
            counters: Counters::default(),
            random: ChaCha20Rng::from_seed(seed),
            spares: Vec::new(),
            lending: lending::Lending::default(),
            denials: denial::Denials::default(),
            draining: None,
            started: false,
        }
    }

    /// The server's family, as far as it is known.
    fn flavor(&self) -> Flavor {
        self.facts
            .as_ref()
            .map_or(Flavor::MySql, |facts| facts.flavor)
    }

    fn key_id(&mut self, key: &PoolKey) -> KeyId {
        let id = self.pool.key_id(key);
        self.clients.add_key(id);
        while self.keys.len() <= id.0 as usize {
            self.keys.push(KeyState::default());
        }
        id
    }
}

//! One worker of the front door: clients on one side, backends on the other, and all decisions
//! between them.
//!
//! Pure: events come in through [`events::Handler`], effects go out through [`events::Io`]; time
//! and random bytes are arguments. The engine composes `wire` (what packets say), `session` (what
//! statements do to a session) and `pool` (who may have which backend). It knows nothing of
//! sockets, of configuration files or of an admin interface.
//!
//! | folder | is about |
//! |---|---|
//! | `login` | the connection phase of clients: TLS, who they are, places and who is kept out, and logins that a backend decides (`relay`) |
//! | `commands` | the command phase: a command is cut out (`commands`), told what it is (`statements`), given a backend (`attach`), made ready (`dispatch`), sent (`sending`), answered (`answers`), and followed by what must follow (`settle`, `detach`) |
//! | `permits` | the right of a statement to run, and waiting for it; limits that statements set; what takes too long |
//! | `prepared` | prepared statements: those of a session, as sessions share them, what is prepared on a backend; texts that are prepared by name |
//! | `carried` | what follows a session from backend to backend, how it is learned, and what pins |
//! | `conditions` | what SHOW WARNINGS tells: where that is, and how it is told |
//! | `diagnostics` | counts of rows: captured, and asked for |
//! | `locks` | user-level locks: who holds them, and waiting for them without a backend |
//! | `lanes` | backends that several sessions share, and what was learned of plain reads |
//! | `backend` | backend connections: their records, how they log in and are set up, how many are busy, and whose slots they take |
//! | `client` | client connections: their records, and the list that each is on |
//! | `endings` | hang-ups, losses, closing, KILL, and plain reads that are run once more |
//! | `report` | what somebody who looks in is told |
//! | `handler`, `owner` | the events that drivers tell, whose connection each is about, and what deals with it |
//! | `timers`, `awake` | everything that is due at some time, and the keys for which something may be |
//! | `standstill` | all backends held by silent sessions while statements wait: noticed, and told |
//! | `settings`, `shared` | what an engine is told at its start; what the workers of a process share |
//! | `errors` | the errors that Myriad itself tells a client |

mod ask;
mod awake;
mod backend;
mod carried;
mod client;
mod clients;
mod commands;
mod conditions;
mod diagnostics;
mod endings;
mod errors;
mod handler;
mod invariants;
mod known;
mod lanes;
mod locks;
mod login;
mod owner;
mod pair;
mod permits;
mod prepared;
mod report;
mod settings;
mod shared;
mod standstill;
mod timers;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use accounts::Directory;
use admission::Scheduler;
use events::Timestamp;
use membership::Key;
use pool::{Bounds, Concurrency, KeyId, Pool, Turns};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::backend::key_state::KeyState;
use crate::backend::shares::Share;
use crate::backend::{Backend, PoolKey, TurnCounter};
use crate::clients::Clients;
use crate::known::Known;
use crate::locks::LockWaits;

pub use admission::{AccountName, AccountReport, Quota, Usage};
pub use backend::setup::TRACK_ALL;
pub use carried::trust::{tracker_probe, untold_by_probe};
pub use commands::long::{LongCommand, PreparedCommand, Preparer};
pub use commands::reservations::Reservation;
pub use commands::rewrite::PublicAddress;
pub use endings::kill::{KillOrder, KillOutcome, Victim};
pub use login::address::Network;
pub use login::directory::AccountsOrder;
pub use login::full_exchange::{Checker, PasswordCheck, Sent};
pub use login::strangers::BrokenHost;
pub use permits::limits::{LimitsChange, LimitsOrder};
pub use pool::Preference;
pub use report::counters::{Counters, DisconnectReason, Histogram};
pub use report::look::{BackendLine, ClientLine, Look, PinLine, Reply, Slice, Whom};
pub use report::{Gauges, Report};
pub use session::statement::{Limit, Limits, PinReason};
pub use settings::{OnDisconnect, Settings, TlsMode};
pub use shared::{FIRST_CONNECTION_ID, Mail, Shared};
pub use standstill::Standstill;
pub use wire::AuthPlugin;

/// One worker's state machine.
pub struct Engine {
    settings: Arc<Settings>,
    shared: Arc<Shared>,
    worker: usize,
    /// Who may log in, as it is known here.
    accounts: Arc<Directory>,
    /// Who waits for it to be read again.
    asking: login::directory::Asking,
    /// Keys that cannot have a backend, whose clients are told so when the turn ends.
    locked_out: Vec<KeyId>,
    /// Who waits for a backend to decide its login.
    relays: login::relay_places::RelayQueue,
    /// Who is in the connection phase, by address.
    places: login::places::Places,
    clients: Clients,
    /// How many clients of this worker are counted among those of all.
    counted: usize,
    pool: Pool<PoolKey, Backend>,
    /// Of the loop, as its backends know it, too.
    loop_turns: TurnCounter,
    /// One per key of the pool.
    keys: Vec<KeyState>,
    /// One per account that has keys.
    shares: Vec<Share>,
    /// Their places by account.
    places_of_shares: HashMap<u32, usize>,
    /// How often accounts have turns.
    turns: Turns,
    /// What sessions keep besides.
    session_memory: carried::session_memory::SessionMemory,
    /// Bytes of long data that waits for the execution that uses it.
    long_data: Arc<AtomicUsize>,
    /// What is known of the server and of statements.
    known: Known,
    stalls: endings::stalls::Stalls,
    /// Clients by connection id, for KILL.
    ids: HashMap<u32, Key>,
    /// Backends that run something for clients that hung up, the first first.
    orphans: VecDeque<endings::orphans::Orphan>,
    /// Those that were killed, to no avail so far.
    killed_orphans: VecDeque<endings::orphans::Orphan>,
    /// Backends that go on with what a KILL was to end.
    surviving: Vec<endings::kill_again::Surviving>,
    /// Why sessions were pinned, as far as it was logged.
    pin_log: carried::pin_log::PinLog,
    /// Keys for which something may be due.
    awake: Vec<KeyId>,
    /// How many backends run statements alone at once.
    busy: backend::busy::Busy,
    /// How many lanes there may be for one state of sessions.
    lane_limit: Concurrency,
    lane_patience: lanes::patience::LanePatience,
    /// When lanes are to be looked at.
    lane_due: Option<Timestamp>,
    /// When idle backends are to be looked at.
    idle_due: Option<Timestamp>,
    /// When the first idle backend must be closed because of the `wait_timeout` it carries.
    short_idle: Option<Timestamp>,
    /// Clients that want a user-level lock.
    lock_waits: LockWaits,
    /// What other workers were told last of those who hold backends and of those who wait.
    holders_published: (usize, Timestamp, usize),
    /// When was last looked for a standstill.
    standstill_seen: Option<Timestamp>,
    /// When to look whether the database is still there, since the last connection to it was lost.
    find_out_at: Option<Timestamp>,
    /// Backends whose statement is to be ended, the first first.
    kills: VecDeque<Key>,
    /// Which statements may run, and who is next.
    scheduler: Scheduler<Key>,
    /// Statements that change limits and were not sent.
    intents: HashMap<Key, permits::limits::Intent>,
    /// OKs that are told once the limits are kept.
    kept: HashMap<Key, permits::limits::Kept>,
    /// When statements that may not take longer are to be looked at.
    overtime_due: Option<Timestamp>,
    /// Clients whose statement was counted or waits to be, and was not sent.
    holds: HashMap<Key, permits::Hold>,
    /// Keys whose statements were let through and are sent next.
    to_serve: Vec<KeyId>,
    counters: Counters,
    /// For what must not be guessed, besides clients' nonces.
    random: ChaCha20Rng,
    /// Buffers without content, for clients' inboxes.
    spares: Vec<Vec<u8>>,
    /// Commands that are too long to be looked at here.
    long: commands::long::LongCommands,
    /// Memory for clients' commands.
    buffering: commands::buffering::Buffering,
    lending: backend::lending::Lending,
    /// Wrong passwords that are told later.
    denials: login::denial::Denials,
    /// Whom a panic would forget now.
    at_hand: endings::panics::AtHand,
    /// Whose bytes are out of their records right now.
    at_work: Vec<owner::Owner>,
    draining: Option<Timestamp>,
    started: bool,
}

/// One event's view of the world.
struct Turn<'a, I> {
    io: &'a mut I,
    now: Timestamp,
}

/// How many backends may run statements alone at once, and how many lanes there may be for one state of sessions.
fn bounds(settings: &Settings, shared: &Shared) -> (Bounds, Bounds) {
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
    (busy, lanes)
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
        let (busy, lanes) = bounds(&settings, &shared);
        let turns = Turns {
            weights: 0,
            slots: shared.ledger.total() / shared.ledger.workers().max(1),
        };
        Self {
            accounts: settings.accounts.clone(),
            asking: login::directory::Asking::default(),
            locked_out: Vec::new(),
            relays: login::relay_places::RelayQueue::default(),
            settings,
            shared,
            worker,
            places: login::places::Places::default(),
            clients: Clients::new(),
            counted: 0,
            pool: Pool::default(),
            loop_turns: TurnCounter::default(),
            keys: Vec::new(),
            shares: Vec::new(),
            places_of_shares: HashMap::new(),
            turns,
            session_memory: carried::session_memory::SessionMemory::default(),
            long_data: Arc::default(),
            known: Known::nothing(),
            stalls: endings::stalls::Stalls::default(),
            ids: HashMap::new(),
            orphans: VecDeque::new(),
            killed_orphans: VecDeque::new(),
            surviving: Vec::new(),
            pin_log: carried::pin_log::PinLog::default(),
            awake: Vec::new(),
            busy: backend::busy::Busy::new(busy),
            lane_limit: Concurrency::new(lanes),
            lane_patience: lanes::patience::LanePatience::new(lane_stall),
            lane_due: None,
            idle_due: None,
            short_idle: None,
            lock_waits: LockWaits::default(),
            holders_published: Default::default(),
            standstill_seen: None,
            find_out_at: None,
            kills: VecDeque::new(),
            scheduler,
            intents: HashMap::new(),
            kept: HashMap::new(),
            overtime_due: None,
            holds: HashMap::new(),
            to_serve: Vec::new(),
            counters: Counters::default(),
            random: ChaCha20Rng::from_seed(seed),
            spares: Vec::new(),
            long: commands::long::LongCommands::default(),
            buffering: commands::buffering::Buffering::default(),
            lending: backend::lending::Lending::default(),
            denials: login::denial::Denials::default(),
            at_hand: endings::panics::AtHand::default(),
            at_work: Vec::new(),
            draining: None,
            started: false,
        }
    }

    fn key_id(&mut self, key: &PoolKey) -> KeyId {
        let id = self.pool.key_id(key);
        self.clients.add_key(id);
        if self.keys.len() <= id.0 as usize {
            let share = self.place_of_share(key.account);
            self.shares[share].keys.push(id);
            self.keys.push(KeyState {
                share,
                ..KeyState::default()
            });
        }
        id
    }

    /// The place of the share of an account.
    fn place_of_share(&mut self, account: u32) -> usize {
        let shares = &mut self.shares;
        let place = self.places_of_shares.entry(account);
        *place.or_insert_with(|| {
            shares.push(Share::of(account));
            shares.len() - 1
        })
    }
}

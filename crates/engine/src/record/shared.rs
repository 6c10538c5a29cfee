//! What the workers of one process share, and what they write to each other.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use accounts::{Directory, Proof};
use admission::{GateId, Rules};
use carry::locks::registry::{LockRegistry, LockTurn};
use carry::victim::Victim;
use events::Span;
use membership::Key;
use pool::Ledger;
use wire::TextResultSet;

use crate::record::directory::{AccountsOrder, Published};
use crate::record::full_exchange::Checker;
use crate::record::kill::{KillOrder, KillOutcome};
use crate::record::limits::LimitsOrder;
use crate::record::long::{PreparedCommand, Preparer};
use crate::record::look::Look;
use crate::record::relay_places::{RelayPlace, RelayPlaces};
use crate::record::report::Report;
use crate::record::reservations::{Reservation, Reservations};
use crate::record::settings::Settings;
use crate::record::standstill::{Standstill, Standstills};
use crate::record::strangers::{BrokenHost, Strangers};

/// Client connection ids begin here, so that none is ever a backend's (rule 15).
pub const FIRST_CONNECTION_ID: u32 = 1 << 30;

/// Counters over all workers.
#[derive(Debug)]
pub struct Shared {
    /// The budget of backend connections.
    pub ledger: Arc<Ledger>,
    /// What runs and waits of each account, and the limits of that.
    pub admission: Arc<admission::Ledger>,
    keeper: OnceLock<Keeper>,
    checker: OnceLock<Guard>,
    preparer: OnceLock<Assistant>,
    /// Who may log in, as it was read last.
    pub(crate) accounts: Published,
    /// Addresses that failed to log in.
    pub(crate) strangers: Strangers,
    /// User-level locks that sessions hold, and who waits for them.
    pub(crate) locks: Arc<LockRegistry>,
    /// Logins that backends decide.
    pub(crate) relays: Arc<RelayPlaces>,
    /// Memory for commands.
    pub(crate) commands: Arc<Reservations>,
    /// Whether silent sessions hold all backend connections while statements wait.
    pub(crate) standstills: Standstills,
    clients: AtomicUsize,
    logins: AtomicUsize,
    pinned: Arc<AtomicUsize>,
    next_id: AtomicU32,
    /// Of which server it was said that its session tracker is not sound: a hash of its version.
    unsound: AtomicU64,
}

impl Shared {
    /// For `workers` workers with a budget of `backends` connections.
    pub fn new(workers: usize, backends: usize) -> Arc<Self> {
        Arc::new(Self {
            ledger: Ledger::new(backends, workers),
            admission: admission::Ledger::new(workers, Rules::default()),
            keeper: OnceLock::new(),
            checker: OnceLock::new(),
            preparer: OnceLock::new(),
            accounts: Published::default(),
            strangers: Strangers::default(),
            locks: Arc::default(),
            relays: RelayPlaces::new(workers),
            commands: Arc::default(),
            standstills: Standstills::new(workers),
            clients: AtomicUsize::new(0),
            logins: AtomicUsize::new(0),
            pinned: Arc::default(),
            next_id: AtomicU32::new(0),
            unsound: AtomicU64::new(0),
        })
    }

    /// Who keeps the limits that statements set and puts them in force, without making the worker wait
    /// that asks. Only the first who is named counts; until then no limits can be set.
    pub fn keep_limits_with(&self, keep: impl Fn(LimitsOrder) + Send + Sync + 'static) {
        self.keeper.get_or_init(|| Keeper(Box::new(keep)));
    }

    /// Has a change kept. False if nobody keeps any.
    pub(crate) fn keep_limits(&self, order: LimitsOrder) -> bool {
        let Some(Keeper(keep)) = self.keeper.get() else {
            return false;
        };
        keep(order);
        true
    }

    /// Forgets which addresses failed to log in: `FLUSH HOSTS`. Returns how many had.
    pub fn flush_hosts(&self) -> usize {
        self.strangers.forget()
    }

    /// Forgets the broken handshakes of one address: `FLUSH HOSTS 'address'`. True if it had failed.
    pub fn flush_host(&self, address: IpAddr) -> bool {
        self.strangers.forget_one(address)
    }

    /// How many addresses failed to log in and are remembered, and how many were forgotten to make room for others.
    pub fn hosts_failed(&self) -> (usize, u64) {
        (self.strangers.len(), self.strangers.evicted())
    }

    /// How many addresses are blocked because of broken handshakes.
    pub fn hosts_blocked(&self) -> usize {
        self.strangers.blocked()
    }

    /// Where handshakes broke, in no order.
    pub fn broken_hosts(&self) -> Vec<BrokenHost> {
        self.strangers.broken()
    }

    /// The standstill, if silent sessions hold all backend connections while statements wait.
    pub fn standstill(&self) -> Option<Standstill> {
        self.standstills.now()
    }

    /// The session tracker of a server is not sound: true for the first worker that finds so.
    pub(crate) fn tracker_is_news(&self, version: &[u8]) -> bool {
        let mut hasher = DefaultHasher::new();
        version.hash(&mut hasher);
        let hash = hasher.finish();
        self.unsound.swap(hash, Ordering::Relaxed) != hash
    }

    /// Bytes that are reserved for commands, and how many clients wait for such.
    pub fn command_memory(&self) -> (usize, usize) {
        self.commands.totals()
    }

    /// Client connections of all workers.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// Who may log in has changed; each worker is to be told by [`Mail::AccountsChanged`].
    pub fn publish_accounts(&self, directory: Arc<Directory>) {
        self.accounts.publish(directory);
    }

    /// Who checks passwords that clients send, without making the worker wait. Only the first who is named
    /// counts; until then none can be checked.
    pub fn check_passwords_with(&self, checker: impl Checker + 'static) {
        self.checker.get_or_init(|| Guard(Box::new(checker)));
    }

    /// Who prepares long commands, without making the worker wait. Only the first who is named counts; until then workers
    /// do it themselves.
    pub fn prepare_commands_with(&self, preparer: impl Preparer + 'static) {
        self.preparer.get_or_init(|| Assistant(Box::new(preparer)));
    }

    pub(crate) fn preparer(&self) -> Option<&dyn Preparer> {
        self.preparer.get().map(|Assistant(preparer)| &**preparer)
    }

    pub(crate) fn checker(&self) -> Option<&dyn Checker> {
        self.checker.get().map(|Guard(checker)| &**checker)
    }

    /// Who reads the accounts of the database when a worker asks, without making it wait. Only the first who
    /// is named counts; until then nothing is read.
    pub fn read_accounts_with(&self, read: impl Fn(AccountsOrder) + Send + Sync + 'static) {
        self.accounts.read_with(read);
    }

    /// The right of a session to be pinned, whose account's sessions are counted by `own`. `Err` holds the
    /// limit that is reached.
    pub(crate) fn pin(&self, own: &Arc<AtomicUsize>, limits: PinLimits) -> Result<PinSlot, usize> {
        let take = |counted: &AtomicUsize, max| {
            let below = |pinned| (pinned < max).then_some(pinned + 1);
            let taken = counted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, below);
            taken.map(drop).map_err(|_| max)
        };
        take(own, limits.of_account)?;
        if let Err(max) = take(&self.pinned, limits.of_all) {
            own.fetch_sub(1, Ordering::Relaxed);
            return Err(max);
        }
        Ok(PinSlot(Box::new([self.pinned.clone(), own.clone()])))
    }

    /// The right to be in the connection phase, unless `max` clients are already.
    pub(crate) fn begin_login(self: &Arc<Self>, max: usize) -> Option<LoginSlot> {
        let below = |logins| (logins < max).then_some(logins + 1);
        self.logins
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, below)
            .ok()?;
        Some(LoginSlot(self.clone()))
    }

    /// Counts one client connection more, unless there are `max` already.
    pub(crate) fn admit_client(&self, max: usize) -> bool {
        let below = |clients| (clients < max).then_some(clients + 1);
        self.clients
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, below)
            .is_ok()
    }

    /// Counts one client connection less.
    pub(crate) fn client_gone(&self) {
        self.clients.fetch_sub(1, Ordering::Relaxed);
    }

    /// A connection id for a client of `worker` that no live client has: ids come round after 2^30
    /// connections.
    pub(crate) fn connection_id(&self, worker: usize) -> u32 {
        let workers = self.ledger.workers() as u32;
        let rounds = FIRST_CONNECTION_ID / workers;
        let number = self.next_id.fetch_add(1, Ordering::Relaxed) % rounds;
        FIRST_CONNECTION_ID + number * workers + worker as u32
    }

    /// The worker of the client with that id, which is [`FIRST_CONNECTION_ID`] at least.
    pub fn worker_of(&self, id: u32) -> usize {
        id.saturating_sub(FIRST_CONNECTION_ID) as usize % self.ledger.workers()
    }
}

/// The right of one client to be in the connection phase. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct LoginSlot(Arc<Shared>);

impl Drop for LoginSlot {
    fn drop(&mut self) {
        self.0.logins.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The right of one session to be pinned, counted for all and for its account. Dropping it gives it back. Boxed,
/// because few sessions have it.
#[derive(Debug)]
pub(crate) struct PinSlot(Box<[Arc<AtomicUsize>; 2]>);

impl Drop for PinSlot {
    fn drop(&mut self) {
        for pinned in &*self.0 {
            pinned.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// How many sessions may be pinned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PinLimits {
    /// Of all.
    pub of_all: usize,
    /// Of one account.
    pub of_account: usize,
}

impl PinLimits {
    /// What has happened already is not refused.
    pub(crate) const NONE: Self = Self {
        of_all: usize::MAX,
        of_account: usize::MAX,
    };
}

/// Whoever checks passwords.
struct Guard(Box<dyn Checker>);

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guard")
    }
}

/// Whoever prepares long commands.
struct Assistant(Box<dyn Preparer>);

impl std::fmt::Debug for Assistant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Assistant")
    }
}

/// Whoever keeps limits.
struct Keeper(Box<dyn Fn(LimitsOrder) + Send + Sync>);

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keeper")
    }
}

/// A statement that may define what was known of tables and schemas as something else.
#[derive(Clone, Copy, Debug)]
pub struct SchemaChange {
    /// So may it be with triggers, views and routines.
    pub(crate) stored: bool,
    /// It was answered; else it is about to be sent.
    pub(crate) done: bool,
}

/// What is posted to a worker.
pub enum Mail {
    /// Another worker has waited for a slot for longer than it should.
    SlotWanted,
    /// A slot was given back that this worker may take.
    SlotFree,
    /// A client of this worker, or its statement, is to be ended.
    Kill(KillOrder),
    /// What became of an order of this worker's client.
    Killed(Key, KillOutcome),
    /// Somebody changed a global variable: sessions that begin from now on must see it, so the
    /// backend connections of before are used up.
    GlobalChanged,
    /// What sessions begin with after such a change, as a backend has told it.
    Globals(Arc<TextResultSet>),
    /// A schema was dropped, or rights were taken away: what is known of schemas is old.
    SchemasChanged(SchemaChange),
    /// A schema was made, changed or dropped: connections that have selected it select one anew.
    SchemasDefined,
    /// A client of this worker may ask the server for the user-level lock that it waits for.
    LockTurn(LockTurn),
    /// There may be room at a gate where statements of this worker wait.
    Woken(GateId),
    /// Other limits are in force.
    RulesChanged,
    /// A place to have a login decided by a backend, for this worker is short of them.
    RelayPlace(RelayPlace),
    /// Another worker is short of such places.
    RelayWanted,
    /// A long command that is prepared.
    CommandPrepared(Box<PreparedCommand>),
    /// Preparing the long command of this client panicked: the command is lost.
    CommandLost(Key),
    /// Memory for the command of a client that waits for it.
    Memory(Key, Reservation),
    /// Other settings hold from now on: for who comes, and whatever is looked up when it is needed. What is only
    /// looked at when an engine is made stays as it was then.
    SettingsChanged(Arc<Settings>),
    /// The password that a client sent was looked at.
    PasswordChecked(Key, Proof),
    /// There is a public key, which a client waits for.
    PublicKey(Key),
    /// Other accounts were published.
    AccountsChanged,
    /// The database was asked for its accounts after the order with this ticket was given.
    AccountsRead {
        /// Of the order.
        ticket: u64,
        /// False if it could not be asked.
        read: bool,
    },
    /// What a statement of a client has changed is kept and in force, or why not.
    LimitsKept(Key, Result<(), String>),
    /// Somebody wants to look in.
    Report(Box<dyn FnOnce(Report) + Send>),
    /// Somebody wants to see single clients or backend connections.
    Look(Look),
    /// An administrator wants a client of this worker, or its statement, ended.
    End(Victim, Box<dyn FnOnce(KillOutcome) + Send>),
    /// Take no new clients, let what runs finish for so long, then end.
    Drain(Span),
}

impl std::fmt::Debug for Mail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Mail::SlotWanted => "SlotWanted",
            Mail::SlotFree => "SlotFree",
            Mail::Kill(_) => "Kill",
            Mail::Killed(..) => "Killed",
            Mail::GlobalChanged => "GlobalChanged",
            Mail::Globals(_) => "Globals",
            Mail::SchemasChanged { .. } => "SchemasChanged",
            Mail::SchemasDefined => "SchemasDefined",
            Mail::LockTurn(_) => "LockTurn",
            Mail::Woken(_) => "Woken",
            Mail::RulesChanged => "RulesChanged",
            Mail::RelayPlace(_) => "RelayPlace",
            Mail::RelayWanted => "RelayWanted",
            Mail::CommandPrepared(_) => "CommandPrepared",
            Mail::CommandLost(_) => "CommandLost",
            Mail::Memory(..) => "Memory",
            Mail::SettingsChanged(_) => "SettingsChanged",
            Mail::PasswordChecked(..) => "PasswordChecked",
            Mail::PublicKey(_) => "PublicKey",
            Mail::AccountsChanged => "AccountsChanged",
            Mail::AccountsRead { .. } => "AccountsRead",
            Mail::LimitsKept(..) => "LimitsKept",
            Mail::Report(_) => "Report",
            Mail::Look(_) => "Look",
            Mail::End(..) => "End",
            Mail::Drain(_) => "Drain",
        })
    }
}

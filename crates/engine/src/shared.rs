//! What the workers of one process share, and what they write to each other.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use admission::{GateId, Rules};
use events::Span;
use membership::Key;
use pool::Ledger;

use crate::kill::{KillOrder, KillOutcome, Victim};
use crate::limits::LimitsOrder;
use crate::look::Look;
use crate::report::Report;

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
    clients: AtomicUsize,
    logins: AtomicUsize,
    pinned: Arc<AtomicUsize>,
    /// The same by account, once somebody was pinned.
    pinned_by: OnceLock<Box<[Arc<PinCount>]>>,
    next_id: AtomicU32,
}

impl Shared {
    /// For `workers` workers with a budget of `backends` connections.
    pub fn new(workers: usize, backends: usize) -> Arc<Self> {
        Arc::new(Self {
            ledger: Ledger::new(backends, workers),
            admission: admission::Ledger::new(workers, Rules::default()),
            keeper: OnceLock::new(),
            clients: AtomicUsize::new(0),
            logins: AtomicUsize::new(0),
            pinned: Arc::default(),
            pinned_by: OnceLock::new(),
            next_id: AtomicU32::new(0),
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

    /// Client connections of all workers.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// The right of a session of an account, which is one of so many, to be pinned. `Err` holds the limit
    /// that is reached.
    pub(crate) fn pin(
        &self,
        (account, accounts): (u32, usize),
        limits: PinLimits,
    ) -> Result<PinSlot, usize> {
        let counts = self.pinned_by.get_or_init(|| {
            let count = || PinCount {
                all: self.pinned.clone(),
                own: AtomicUsize::new(0),
            };
            (0..accounts).map(|_| Arc::new(count())).collect()
        });
        let count = counts.get(account as usize).ok_or(0_usize)?;
        let take = |counted: &AtomicUsize, max| {
            let below = |pinned| (pinned < max).then_some(pinned + 1);
            let taken = counted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, below);
            taken.map(drop).map_err(|_| max)
        };
        take(&count.own, limits.of_account)?;
        if let Err(max) = take(&self.pinned, limits.of_all) {
            count.own.fetch_sub(1, Ordering::Relaxed);
            return Err(max);
        }
        Ok(PinSlot(count.clone()))
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

/// The right of one session to be pinned. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct PinSlot(Arc<PinCount>);

impl Drop for PinSlot {
    fn drop(&mut self) {
        self.0.all.fetch_sub(1, Ordering::Relaxed);
        self.0.own.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The sessions of an account that are pinned, and those of all.
#[derive(Debug)]
struct PinCount {
    all: Arc<AtomicUsize>,
    own: AtomicUsize,
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

/// Whoever keeps limits.
struct Keeper(Box<dyn Fn(LimitsOrder) + Send + Sync>);

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keeper")
    }
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
    /// A schema was dropped, or rights were taken away: what is known of schemas is old.
    SchemasChanged,
    /// There may be room at a gate where statements of this worker wait.
    Woken(GateId),
    /// Other limits are in force.
    RulesChanged,
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
            Mail::SchemasChanged => "SchemasChanged",
            Mail::Woken(_) => "Woken",
            Mail::RulesChanged => "RulesChanged",
            Mail::LimitsKept(..) => "LimitsKept",
            Mail::Report(_) => "Report",
            Mail::Look(_) => "Look",
            Mail::End(..) => "End",
            Mail::Drain(_) => "Drain",
        })
    }
}

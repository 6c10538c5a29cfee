//! The rules that are checked from outside of any one answer: budget, records, who waits beside
//! what, and what is left at the end.

use engine::Gauges;
use events::{Span, Timestamp};
use session::statement::PinReason;

use crate::client::{Client, Phase};
use crate::failure::{Broken, Rule, ensure};
use crate::fairness_watch::FairnessWatch;
use crate::quota_watch::QuotaWatch;
use crate::world::World;

/// Slots may be free for so long beside somebody who waits: what a key keeps, patience, mail and connecting.
const HAND_OVER: Span = Span::from_ms(pool::KEEP.as_us() / 1_000 + 20);

/// After a connection could not be made, a worker waits up to two seconds.
const RETRY_MAX: Span = Span::from_ms(2_100);

/// A pin may outlive what it was for by so long: what ended it is under way, or being cleaned up.
const PIN_ENDS: Span = Span::from_ms(30);

/// Reasons that end when the session lets go of the last of what it held.
const ENDING: [PinReason; 5] = [
    PinReason::Prepared,
    PinReason::Cursor,
    PinReason::TemporaryTable,
    PinReason::UserLock,
    PinReason::LockTables,
];

/// What must not last.
#[derive(Default)]
pub(crate) struct Watch {
    /// Since when more sessions are pinned for a reason than hold something of that kind.
    pinned_since: [Option<Timestamp>; ENDING.len()],
    /// Since when somebody has waited beside free slots.
    unserved_since: Option<Timestamp>,
    pub(crate) quotas: QuotaWatch,
    pub(crate) fairness: FairnessWatch,
}

impl Watch {
    /// After each turn of a worker.
    pub(crate) fn check_turn(&mut self, world: &World, worker: usize) -> Result<(), Broken> {
        let engine = &world.workers[worker].engine;
        engine
            .check_invariants()
            .map_err(|text| Broken::new(Rule::Records, format!("worker {worker}: {text}")))?;
        let gauges = world.gauges();
        let open = world
            .network
            .engines()
            .filter(|(_, link)| link.is_backend());
        let open = open.count();
        // Those that are kept for KILL are outside the budget.
        let budget = world.setup.slots as u64 + gauges.backends_reserved;
        // A worker that has ended gives its slots back with its records.
        let all_live = !world.network.ended.contains(&true);
        ensure(Rule::Budget, open as u64 <= budget || !all_live, || {
            format!("{open} backend connections of {budget} are open")
        })?;
        let taken = world.shared.ledger.taken() as u64;
        let owned = gauges.backends_connecting
            + gauges.backends_resetting
            + gauges.backends_idle
            + gauges.backends_active
            + gauges.backends_lane
            + gauges.backends_draining;
        let agree = taken == owned && owned + gauges.backends_reserved == open as u64;
        ensure(Rule::Budget, agree || !all_live, || {
            format!("{taken} slots are taken, {owned} backends known and {open} open")
        })?;
        ensure(Rule::Liveness, !engine.gathers(), || {
            format!("worker {worker} keeps a lone client waiting: {gauges:?}")
        })?;
        self.check_pins(world, &gauges)?;
        self.check_waiting(world, &gauges)?;
        self.fairness.check_turn(world)?;
        self.quotas.check_turn(world)
    }

    /// Pins end.
    fn check_pins(&mut self, world: &World, gauges: &Gauges) -> Result<(), Broken> {
        let now = world.schedule.now();
        for (reason, since) in ENDING.into_iter().zip(&mut self.pinned_since) {
            let pinned = gauges.pinned[reason as usize];
            let may_hold = |client: &&Client| client.may_hold(reason);
            let excused = pinned as usize <= world.clients.iter().filter(may_hold).count();
            if pinned == 0 || excused {
                *since = None;
                continue;
            }
            let since = *since.get_or_insert(now);
            ensure(Rule::Liveness, now.since(since) < PIN_ENDS, || {
                format!("{pinned} are pinned for {reason:?}, more than hold anything")
            })?;
        }
        Ok(())
    }

    /// Nobody waits beside free slots (rule 2).
    fn check_waiting(&mut self, world: &World, gauges: &Gauges) -> Result<(), Broken> {
        let now = world.schedule.now();
        let taken = world.shared.ledger.taken();
        // Connections under way are waited for, however long the database takes.
        let coming = gauges.backends_connecting + gauges.backends_resetting;
        let for_lanes = match gauges.backends_lane {
            0 => gauges.clients_for_lane,
            _ => 0,
        };
        let queued: u64 = world
            .live()
            .map(|worker| worker.engine.without_backends())
            .sum();
        // No slot helps those who can have a connection by a login alone.
        let bound: u64 = world
            .live()
            .map(|worker| worker.engine.waiting_for_their_own())
            .sum();
        let waiting = (gauges.clients_waiting + for_lanes).saturating_sub(bound) + queued;
        let short = coming < waiting;
        let free = short && (taken < world.setup.slots || gauges.backends_idle > 0);
        let health = &world.database.health;
        // An attempt that began while it was unwell may take all its time before it fails.
        let attempt = world.setup.settings.connect_timeout;
        let recovering = now < health.unwell_until() + attempt + RETRY_MAX;
        if waiting == 0 || !free || recovering {
            self.unserved_since = None;
            return Ok(());
        }
        let since = *self.unserved_since.get_or_insert(now);
        ensure(Rule::Liveness, now.since(since) < HAND_OVER, || {
            format!(
                "{} wait and {} backends are idle, {taken} of {} slots taken, for {:?}: {gauges:?}",
                waiting,
                gauges.backends_idle,
                world.setup.slots,
                now.since(since)
            )
        })
    }
}

impl World {
    /// The gauges of all workers.
    pub(crate) fn gauges(&self) -> Gauges {
        let mut sum = Gauges::default();
        let living = self.workers.iter().zip(&self.network.ended);
        for (worker, _) in living.filter(|(_, ended)| !**ended) {
            sum.add(&worker.engine.report().gauges);
        }
        sum
    }

    /// When clients are gone and the database was well for a while, nothing is under way.
    pub(crate) fn check_quiet(&self) -> Result<(), Broken> {
        let gauges = self.gauges();
        let left = gauges.clients_login
            + gauges.clients_idle
            + gauges.clients_waiting
            + gauges.clients_queued
            + gauges.clients_active
            + gauges.clients_held
            + gauges.clients_for_lane
            + gauges.clients_in_lane
            + gauges.backends_lane
            + gauges.backends_draining
            + gauges.backends_resetting
            + gauges.backends_active;
        ensure(Rule::End, left == 0 && self.shared.clients() == 0, || {
            format!(
                "something is left: {gauges:?}, {} clients counted",
                self.shared.clients()
            )
        })?;
        self.check_counts()?;
        ensure(Rule::End, !self.database.holds_rows(0..u32::MAX), || {
            "rows are locked and nobody is there".to_owned()
        })
    }

    /// When everything is over.
    pub(crate) fn check_end(&self) -> Result<(), Broken> {
        let ended = self.network.ended.iter().all(|&ended| ended);
        ensure(Rule::End, ended, || {
            "a worker did not finish its drain".to_owned()
        })?;
        ensure(Rule::End, self.shared.clients() == 0, || {
            format!("{} clients are counted at the end", self.shared.clients())
        })?;
        let open = self.network.engines().next();
        ensure(Rule::End, open.is_none(), || {
            format!("{:?} was never closed", open.map(|(handle, _)| handle))
        })
    }

    /// Who is not done.
    pub(crate) fn what_hangs(&self) -> String {
        let left = self.clients.iter().filter(|c| c.phase != Phase::Ended);
        let left: Vec<String> = left
            .map(|client| {
                let waiting: Vec<_> = client.waiting.iter().map(|sent| &sent.tag).collect();
                let (client, phase) = (client.profile.client, client.phase);
                format!("client {client} {phase:?} waits for {waiting:?}")
            })
            .collect();
        format!("not over: {}; {:?}", left.join("; "), self.gauges())
    }
}

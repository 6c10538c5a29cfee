//! Whether each account, and each client of an account, gets a backend in time, seen from outside of the engine: by the
//! statements that wait with the workers, and those that begin to run. Only for worlds in which some backends
//! always come back.

use std::collections::{BTreeMap, BTreeSet};

use events::{Span, Timestamp};
use pool::{KEEP, Turns};

use crate::client::{Phase, SLOW_READERS};
use crate::failure::{Broken, Rule, ensure};
use crate::world::World;

/// A statement that came so much later than another one of its account and worker begins after it. Where others compete,
/// the earlier one may wait for a turn of its account first.
const IN_ORDER: Span = KEEP;

/// The earlier one may still wait while a connection is opened for it: the later one then takes nothing from it. It is
/// at work, or has left, this long after.
const OPENING: Span = Span::from_ms(40);

/// The time until the backend that an account or a worker has got comes back: it may keep it for [`KEEP`], runs a statement,
/// and the next one has to be opened.
const PER_SIDE: Span = Span::from_ms(KEEP.as_us() / 1_000 + 40);

/// Backends that slow clients hold come back by then.
const RELIEVED: Span = Span::from_ms(700);

/// An account's clients on one worker.
type Side = (usize, usize);

/// A statement that waits: of which side, since when, and of which client.
type Waiting = (Side, Timestamp, usize);

/// What was seen so far.
#[derive(Default)]
pub(crate) struct FairnessWatch {
    /// Statements that were seen at work.
    seen: BTreeSet<String>,
    /// When a statement of a side was last seen to begin, or one of its clients ceased to wait.
    served: BTreeMap<Side, Timestamp>,
    /// Statements that waited after the last turn.
    waiting: Vec<Waiting>,
    /// Those of them that others went before, which statement was the first, and when.
    overtaken: BTreeMap<Waiting, (String, Timestamp)>,
    /// The longest wait of a side for its turn.
    pub(crate) longest_us: u64,
}

impl FairnessWatch {
    /// After each turn of a worker.
    pub(crate) fn check_turn(&mut self, world: &World) -> Result<(), Broken> {
        if world.setup.holders.is_none() || world.drained_at.is_some() {
            return Ok(());
        }
        self.note_order(world);
        self.note_waiting(world);
        self.check_order(world)?;
        self.check_turns(world)
    }

    /// Which statements went before others of their account that had waited for longer.
    fn note_order(&mut self, world: &World) {
        let now = world.schedule.now();
        for (account, running) in world.running() {
            if self.seen.contains(&running.tag) {
                continue;
            }
            let bound = running.bound || world.is_bound(&running.tag);
            self.seen.insert(running.tag.clone());
            let (Some(sent), Some(worker)) = (
                world.sent_at(&running.tag).filter(|_| !bound),
                world.worker_of(&running.tag),
            ) else {
                continue;
            };
            let side = (worker, account);
            self.served.insert(side, now);
            let turn = match world.is_alone(account) {
                true => Span::ZERO,
                false => world.turn_bound(account),
            };
            for &waiting in &self.waiting {
                let (of, since, _) = waiting;
                if of == side && since + IN_ORDER + turn < sent {
                    let first = || (running.tag.clone(), now);
                    self.overtaken.entry(waiting).or_insert_with(first);
                }
            }
        }
    }

    /// Nobody waits on after others went before.
    fn check_order(&mut self, world: &World) -> Result<(), Broken> {
        self.overtaken
            .retain(|waiting, _| self.waiting.contains(waiting));
        let now = world.schedule.now();
        let mut overtaken = self.overtaken.iter();
        let waits_on = overtaken.find(|(_, (_, began))| *began + OPENING < now);
        ensure(Rule::Fairness, waits_on.is_none(), || {
            format!("at {now:?} one still waits that another statement went before: {waits_on:?}")
        })
    }

    fn note_waiting(&mut self, world: &World) {
        let workers = world.workers.iter().zip(0..);
        let waiting = workers.flat_map(|(worker, number)| {
            let waiting = worker.engine.waiting_for_backends();
            waiting.filter_map(move |(since, id)| {
                let client = world.kills.client_of(id)?;
                let account = world.clients[client].profile.account;
                Some(((number, account), since, client))
            })
        });
        let before = std::mem::replace(&mut self.waiting, waiting.collect());
        // Logins wait, too, and no statement of theirs is seen.
        for (side, since, client) in before {
            let waits = self.waiting.contains(&(side, since, client));
            if !waits && world.clients[client].phase != Phase::Ended {
                self.served.insert(side, world.schedule.now());
            }
        }
    }

    /// The turn of each side comes.
    fn check_turns(&mut self, world: &World) -> Result<(), Broken> {
        let now = world.schedule.now();
        for &(side, since, client) in &self.waiting {
            if world.is_held_by_its_own(side.1) {
                continue;
            }
            let served = self.served.get(&side).copied();
            let unserved = now.since(served.map_or(since, |served| served.max(since)));
            self.longest_us = self.longest_us.max(unserved.as_us());
            let bound = world.turn_bound(side.1);
            ensure(Rule::Fairness, unserved <= bound, || {
                format!(
                    "client {client} waits since {since:?}, and nobody of its account and worker was served for \
                     {unserved:?}: {:?}",
                    world.gauges()
                )
            })?;
        }
        Ok(())
    }
}

impl World {
    /// How long the clients of an account on one worker may wait for the next backend, as docs/ADMISSION.md says.
    fn turn_bound(&self, account: usize) -> Span {
        let weight = |account: usize| {
            let quotas = &self.setup.quotas.accounts;
            quotas.get(account).map_or(1, |quota| quota.weight)
        };
        let turns = Turns {
            weights: u64::from(weight(0) + weight(1)),
            slots: self.setup.slots / self.setup.workers,
        };
        let sides = 2 * self.setup.workers as u64;
        let others = Span::from_us(sides * PER_SIDE.as_us());
        let held = match self.setup.holders {
            Some(holders) if holders >= self.setup.slots => RELIEVED,
            _ => Span::ZERO,
        };
        [turns.every(weight(account)), others, held]
            .iter()
            .fold(Span::ZERO, |sum, span| {
                Span::from_us(sum.as_us() + span.as_us())
            })
    }

    /// True if slow clients of the account itself may hold all backends: none of them is closed for its sake.
    fn is_held_by_its_own(&self, account: usize) -> bool {
        let all_held = self.setup.holders >= Some(self.setup.slots);
        all_held && account == SLOW_READERS
    }

    /// True if no other account and no other worker competes with an account.
    fn is_alone(&self, account: usize) -> bool {
        let mut clients = self.clients.iter();
        self.setup.workers == 1 && clients.all(|client| client.profile.account == account)
    }

    /// The worker of the client that sent a statement.
    fn worker_of(&self, tag: &str) -> Option<usize> {
        let client = tag.strip_prefix('c')?.split(' ').next()?.parse().ok()?;
        let id = self.kills.id_of(client)?;
        let mut workers = self.workers.iter();
        workers.position(|worker| worker.engine.has_client(id))
    }
}

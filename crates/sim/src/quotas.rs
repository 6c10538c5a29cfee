//! What accounts may do at once in a world, and the checks of that, from outside of the engine: by what
//! runs in the database, what waits with the workers, and what is counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use admission::{AccountName, Overload, Quota, Rules};
use events::{Span, Timestamp};
use fastrand::Rng;

use crate::catalog::{ACCOUNTS, SCHEMAS};
use crate::database::Running;
use crate::failure::{Broken, Rule, ensure};
use crate::sabotage::Sabotage;
use crate::world::{Worker, World};

/// Room may be left beside somebody who waits for so long: 1 ms, and what the world adds to each turn,
/// timer and mail.
const UNUSED_MAX: Span = Span::from_us(1_000 + 600);

/// A statement may be sent so much before one that came earlier: workers leave room to each other for a
/// moment only.
const OVERTAKES: Span = Span::from_us(2_500);

/// What is configured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quotas {
    /// One per account of the catalog; none if nothing is configured.
    accounts: Vec<Quota>,
    schema: Option<(String, Quota)>,
}

/// What must not last.
#[derive(Default)]
pub(crate) struct QuotaWatch {
    /// Since when somebody has waited beside free permits.
    unused_since: Option<Timestamp>,
    /// Statements that were seen at work, and whether their session was in a transaction or pinned.
    seen: BTreeMap<String, bool>,
    /// Clients whose statements wait for nothing but a permit: of which account, and since when.
    waiting: BTreeMap<u32, (Arc<str>, Timestamp)>,
}

impl Quotas {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let schema = (rng.u8(0..3) == 0).then(|| {
            let name = SCHEMAS[rng.usize(..SCHEMAS.len())].to_owned();
            (name, limits(rng))
        });
        Self {
            accounts: ACCOUNTS.iter().map(|_| quota(rng)).collect(),
            schema,
        }
    }

    /// As the workers are told.
    pub(crate) fn rules(&self, sabotage: Option<Sabotage>) -> Rules {
        let accounts = ACCOUNTS.iter().zip(&self.accounts);
        let accounts = accounts.map(|((user, _), quota)| {
            let quota = spoilt(quota.clone(), sabotage);
            (AccountName::new(*user, "%"), quota)
        });
        Rules::new(accounts, Quota::NONE, self.schema.clone())
    }

    /// The least time after which a statement of the account may be told that it waited too long.
    pub(crate) fn least_timeout(&self, account: usize) -> Span {
        let quotas = self.of(account);
        let spans = quotas.map(|quota| quota.queue_timeout);
        let spans = spans.filter(|span| *span != Span::ZERO);
        spans.min().unwrap_or(Span::from_secs(3_600))
    }

    /// Whether statements of the account may be refused at once, or shed.
    pub(crate) fn rejects(&self, account: usize) -> bool {
        let mut quotas = self.of(account);
        quotas.any(|quota| quota.max_queued > 0 || quota.overload == Overload::Codel)
    }

    /// Whether logins of the account may be refused.
    pub(crate) fn refuses_logins(&self, account: usize) -> bool {
        let mut quotas = self.of(account);
        quotas.any(|quota| quota.max_connections > 0 || quota.max_connects_per_second > 0)
    }

    fn of(&self, account: usize) -> impl Iterator<Item = &Quota> {
        let schema = self.schema.iter().map(|(_, quota)| quota);
        self.accounts.get(account).into_iter().chain(schema)
    }

    /// Whether statements of the account are served in the order in which they come.
    fn keeps_order(&self, account: usize) -> bool {
        let quota = &self.accounts[account];
        self.schema.is_none()
            && quota.overload == Overload::Fifo
            && quota.max_concurrent_transactions == 0
    }

    fn limits_of(&self, name: &str, is_schema: bool) -> Option<&Quota> {
        if is_schema {
            return self.schema.as_ref().map(|(_, quota)| quota);
        }
        let user = |(user, _): &(&str, &str)| AccountName::new(*user, "%").to_string() == name;
        self.accounts.get(ACCOUNTS.iter().position(user)?)
    }
}

fn limits(rng: &mut Rng) -> Quota {
    Quota {
        max_concurrent_queries: [0, 1, 2, 4][rng.usize(..4)],
        max_concurrent_transactions: [0, 0, 1, 2][rng.usize(..4)],
        ..Quota::NONE
    }
}

fn quota(rng: &mut Rng) -> Quota {
    Quota {
        max_connections: [0, 0, 0, 4][rng.usize(..4)],
        max_queued: [0, 0, 0, 3][rng.usize(..4)],
        queue_timeout: [Span::ZERO, Span::ZERO, Span::from_ms(30)][rng.usize(..3)],
        overload: [
            Overload::Fifo,
            Overload::Fifo,
            Overload::Lifo,
            Overload::Codel,
        ][rng.usize(..4)],
        overload_target: Span::from_ms(5),
        weight: rng.u32(1..4),
        ..limits(rng)
    }
}

fn spoilt(quota: Quota, sabotage: Option<Sabotage>) -> Quota {
    let raised = |limit: u32| limit + u32::from(limit > 0);
    match sabotage {
        Some(Sabotage::RaiseLimits) => Quota {
            max_concurrent_queries: raised(quota.max_concurrent_queries),
            max_concurrent_transactions: raised(quota.max_concurrent_transactions),
            ..quota
        },
        Some(Sabotage::NewestFirst) if quota.overload == Overload::Fifo => Quota {
            overload: Overload::Lifo,
            overload_target: Span::from_us(1),
            ..quota
        },
        _ => quota,
    }
}

impl QuotaWatch {
    /// After each turn of a worker.
    pub(crate) fn check_turn(&mut self, world: &World) -> Result<(), Broken> {
        if world.setup.quotas.accounts.is_empty() {
            return Ok(());
        }
        let running: Vec<_> = world.running().collect();
        self.check_order(world, &running)?;
        self.note_waiting(world);
        for account in 0..ACCOUNTS.len() {
            self.check_running(world, account, &running)?;
        }
        self.check_unused(world)
    }

    /// Nobody is sent before somebody who came earlier.
    fn check_order(&mut self, world: &World, running: &[(usize, &Running)]) -> Result<(), Broken> {
        for (account, running) in running {
            if self.seen.contains_key(&running.tag) {
                continue;
            }
            let bound = running.bound || world.is_bound(&running.tag);
            self.seen.insert(running.tag.clone(), bound);
            if bound || !world.setup.quotas.keeps_order(*account) {
                continue;
            }
            let Some(sent) = world.sent_at(&running.tag) else {
                continue;
            };
            let name = AccountName::new(ACCOUNTS[*account].0, "%").to_string();
            let overtaken = self.waiting.values().find(|(account, since)| {
                let since = Timestamp::from_us(since.as_us() + OVERTAKES.as_us());
                **account == *name && since < sent
            });
            ensure(Rule::Quota, overtaken.is_none(), || {
                let tag = &running.tag;
                format!("{tag}, sent at {sent:?}, runs before {overtaken:?}")
            })?;
        }
        Ok(())
    }

    /// Whoever had no backend until now was not overtaken by those who had one.
    fn note_waiting(&mut self, world: &World) {
        let now = world.schedule.now();
        let known = std::mem::take(&mut self.waiting);
        let waiting = world
            .live()
            .flat_map(|worker| worker.engine.waiting_for_permits());
        self.waiting = waiting
            .map(|(account, since, id)| {
                let same = known.get(&id).filter(|(_, known)| *known >= since);
                let since = same.map_or(now, |&(_, known)| known);
                (id, (account, since))
            })
            .collect();
    }

    /// No more run than may, besides those that may not wait.
    fn check_running(
        &self,
        world: &World,
        account: usize,
        running: &[(usize, &Running)],
    ) -> Result<(), Broken> {
        let quota = &world.setup.quotas.accounts[account];
        let waited = |tag: &&str| self.seen.get(*tag) == Some(&false);
        let of_account = running.iter().filter(|(of, _)| *of == account);
        let tags = of_account.map(|(_, running)| &running.tag[..]);
        let tags: BTreeSet<&str> = tags.filter(waited).collect();
        let max = quota.max_concurrent_queries as usize;
        ensure(Rule::Quota, max == 0 || tags.len() <= max, || {
            format!("{tags:?} run at once, and {max} may")
        })?;
        let open: BTreeSet<&str> = world.transactions(account).filter(waited).collect();
        let max = quota.max_concurrent_transactions as usize;
        ensure(Rule::Quota, max == 0 || open.len() <= max, || {
            format!("the transactions of {open:?} are open, and {max} may be")
        })
    }

    /// No permit is left unused while somebody waits for it.
    fn check_unused(&mut self, world: &World) -> Result<(), Broken> {
        let now = world.schedule.now();
        let usage = world.shared.admission.usage();
        let quotas = &world.setup.quotas;
        let mut waiting = usage.iter().filter(|usage| usage.waiting > 0);
        // Whoever has no backend at hand does not wait for its permit alone.
        let somebody = world.live().any(|worker| worker.engine.lacks_permits());
        let room = waiting.all(|usage| {
            let limits = quotas.limits_of(&usage.name, usage.is_schema);
            limits.is_none_or(|quota| {
                let has = |limit, used| limit == 0 || used < limit;
                has(quota.max_concurrent_queries, usage.running)
                    && has(quota.max_concurrent_transactions, usage.transactions)
            })
        });
        let ends = world.network.ended.contains(&true) || world.drained_at.is_some();
        if !somebody || !room || ends {
            self.unused_since = None;
            return Ok(());
        }
        let since = *self.unused_since.get_or_insert(now);
        ensure(Rule::Liveness, now.since(since) < UNUSED_MAX, || {
            format!(
                "permits were free for {:?} beside {usage:?}",
                now.since(since)
            )
        })
    }
}

impl World {
    /// The workers that have not ended.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Worker> {
        let workers = self.workers.iter().zip(&self.network.ended);
        workers
            .filter(|(_, ended)| !**ended)
            .map(|(worker, _)| worker)
    }

    /// The statements that run on connections which the front door has not given up.
    fn running(&self) -> impl Iterator<Item = (usize, &Running)> {
        let running = self.database.running();
        running
            .filter(|(_, handle, _)| self.network.link(*handle).is_engines())
            .map(|(account, _, running)| (account, running))
    }

    /// The statements that began the transactions which are open now.
    fn transactions(&self, account: usize) -> impl Iterator<Item = &str> {
        let open = self.database.transactions(account);
        open.filter(|(_, handle)| self.network.link(*handle).is_engines())
            .map(|(tag, _)| tag)
    }

    /// True if the session of a statement may not wait, or nothing is known of it any more.
    fn is_bound(&self, tag: &str) -> bool {
        let client = tag.strip_prefix('c').and_then(|tag| tag.split(' ').next());
        let client = client.and_then(|number| number.parse().ok());
        let Some(id) = client.and_then(|client| self.kills.id_of(client)) else {
            return true;
        };
        let mut engines = self.workers.iter().map(|worker| &worker.engine);
        let engine = engines.find(|engine| engine.has_client(id));
        engine.is_none_or(|engine| engine.bound_sessions().any(|bound| bound == id))
    }

    /// When the client sent a statement.
    fn sent_at(&self, tag: &str) -> Option<Timestamp> {
        let mut clients = self.clients.iter();
        clients.find_map(|client| client.sent_at(tag))
    }

    /// When everybody is gone, nothing is counted any more.
    pub(crate) fn check_counts(&self) -> Result<(), Broken> {
        // A worker that has ended gives back what it counts with its records, which are kept here.
        if self.network.ended.contains(&true) {
            return Ok(());
        }
        let usage = self.shared.admission.usage();
        let left = usage.iter().find(|usage| {
            usage.running + usage.transactions + usage.waiting + usage.connections > 0
        });
        ensure(Rule::End, left.is_none(), || {
            format!("{left:?} is counted, and nobody is there")
        })
    }
}

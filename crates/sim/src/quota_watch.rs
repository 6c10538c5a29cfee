//! Whether limits are kept, seen from outside of the engine: by what runs in the database, what waits with the
//! workers, and what is counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use admission::AccountName;
use events::{Span, Timestamp};

use crate::catalog::ACCOUNTS;
use crate::database::Running;
use crate::failure::{Broken, Rule, ensure};
use crate::quotas::Quotas;
use crate::world::{Worker, World};

/// Room may be left beside somebody who waits for so long: 1 ms, and what the world adds to each turn,
/// timer and mail.
const UNUSED_MAX: Span = Span::from_us(1_000 + 600);

/// A statement may be sent so much before one that came earlier: workers leave room to each other for a
/// moment only.
const OVERTAKES: Span = Span::from_us(2_500);

/// What was let through by limits that are no more in force is seen at work by then.
const UNDER_WAY: Span = Span::from_ms(30);

/// What must not last, and what must not begin.
#[derive(Default)]
pub(crate) struct QuotaWatch {
    /// Since when somebody has waited beside free permits.
    unused_since: Option<Timestamp>,
    /// Statements that were seen at work.
    seen: BTreeMap<String, Seen>,
    /// Those of them that were seen to have opened transactions.
    opened: BTreeSet<String>,
    /// Clients whose statements wait for nothing but a permit: of which account, and since when.
    waiting: BTreeMap<u32, (Arc<str>, Timestamp)>,
    /// When limits changed.
    changed_at: Option<Timestamp>,
    /// Until when the statements of each account were sent that nobody counts.
    uncounted: BTreeMap<usize, Timestamp>,
}

/// A statement at work.
struct Seen {
    since: Timestamp,
    /// When it was sent, if it had to have a permit before it ran.
    waited: Option<Timestamp>,
}

impl QuotaWatch {
    /// Other limits come into force than `before`.
    pub(crate) fn changed(&mut self, before: &Quotas, now: Timestamp) {
        self.changed_at = Some(now);
        for (account, quota) in before.accounts.iter().enumerate() {
            if quota.max_concurrent_queries == 0 && quota.max_concurrent_transactions == 0 {
                // Until the workers know that there are limits.
                self.uncounted.insert(account, now + UNDER_WAY);
            }
        }
    }

    /// After each turn of a worker.
    pub(crate) fn check_turn(&mut self, world: &World) -> Result<(), Broken> {
        if world.setup.quotas.accounts.is_empty() {
            return Ok(());
        }
        let running: Vec<_> = world.running().collect();
        let began = self.check_order(world, &running)?;
        self.note_waiting(world);
        for account in 0..ACCOUNTS.len() {
            if began.contains(&account) {
                self.check_running(world, account, &running)?;
            }
            self.check_transactions(world, account)?;
        }
        self.check_unused(world)
    }

    /// True while what is seen may have been let through by other limits.
    fn is_changing(&self, now: Timestamp) -> bool {
        self.changed_at.is_some_and(|at| now < at + UNDER_WAY)
    }

    /// Nobody is sent before somebody who came earlier. Returns the accounts of which statements began that
    /// had to have permits.
    fn check_order(
        &mut self,
        world: &World,
        running: &[(usize, &Running)],
    ) -> Result<Vec<usize>, Broken> {
        let now = world.schedule.now();
        let is_changing = self.is_changing(now);
        let mut began = Vec::new();
        for (account, running) in running {
            if self.seen.contains_key(&running.tag) {
                continue;
            }
            let bound = running.bound || world.is_bound(&running.tag);
            let waited = world.sent_at(&running.tag).filter(|_| !bound);
            let since = now;
            let seen = Seen { since, waited };
            self.seen.insert(running.tag.clone(), seen);
            let Some(sent) = waited.filter(|_| !is_changing) else {
                continue;
            };
            began.push(*account);
            if !world.setup.quotas.keeps_order(*account) {
                continue;
            }
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
        Ok(began)
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

    /// True if a statement had to have a permit, and is counted.
    fn is_counted(&self, account: usize, tag: &str) -> bool {
        let waited = self.seen.get(tag).and_then(|seen| seen.waited);
        let uncounted = self.uncounted.get(&account);
        waited.is_some_and(|sent| uncounted.is_none_or(|&until| sent >= until))
    }

    /// No more run than may when one begins, besides those that may not wait.
    fn check_running(
        &self,
        world: &World,
        account: usize,
        running: &[(usize, &Running)],
    ) -> Result<(), Broken> {
        let quota = &world.setup.quotas.accounts[account];
        let of_account = running.iter().filter(|(of, _)| *of == account);
        let tags = of_account.map(|(_, running)| &running.tag[..]);
        let tags: BTreeSet<&str> = tags.filter(|tag| self.is_counted(account, tag)).collect();
        let max = quota.max_concurrent_queries as usize;
        ensure(Rule::Quota, max == 0 || tags.len() <= max, || {
            format!("{tags:?} run at once, and {max} may")
        })
    }

    /// No more transactions are open than may be when one is opened.
    fn check_transactions(&mut self, world: &World, account: usize) -> Result<(), Broken> {
        let open = world.transactions(account);
        let open: BTreeSet<&str> = open.filter(|tag| self.is_counted(account, tag)).collect();
        let mut is_new = false;
        for tag in &open {
            let since = self.seen.get(*tag).map(|seen| seen.since);
            let changing = since.is_none_or(|since| self.is_changing(since));
            is_new |= self.opened.insert((*tag).to_owned()) && !changing;
        }
        let max = world.setup.quotas.accounts[account].max_concurrent_transactions as usize;
        ensure(
            Rule::Quota,
            !is_new || max == 0 || open.len() <= max,
            || format!("the transactions of {open:?} are open, and {max} may be"),
        )
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
    pub(crate) fn running(&self) -> impl Iterator<Item = (usize, &Running)> {
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
    pub(crate) fn is_bound(&self, tag: &str) -> bool {
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
    pub(crate) fn sent_at(&self, tag: &str) -> Option<Timestamp> {
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

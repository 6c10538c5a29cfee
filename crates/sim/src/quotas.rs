//! What accounts may do at once in a world, and when that changes. Owns the limits; whether they are kept is
//! checked in `quota_watch`.

use admission::{AccountName, Overload, Quota, Rules};
use engine::Mail;
use events::Span;
use fastrand::Rng;

use crate::catalog::{ACCOUNTS, SCHEMAS};
use crate::sabotage::Sabotage;
use crate::schedule::Event;
use crate::world::World;

/// What is configured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quotas {
    /// One per account of the catalog; none if nothing is configured.
    pub(crate) accounts: Vec<Quota>,
    pub(crate) schema: Option<(String, Quota)>,
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

    /// Other limits for some of them, higher or lower ones or none.
    fn change(&mut self, rng: &mut Rng) {
        let schema = self.schema.iter_mut().map(|(_, quota)| quota);
        for quota in self.accounts.iter_mut().chain(schema) {
            if rng.bool() {
                let limits = limits(rng);
                quota.max_concurrent_queries = limits.max_concurrent_queries;
                quota.max_concurrent_transactions = limits.max_concurrent_transactions;
            }
        }
    }

    /// Whether statements of the account are served in the order in which they come.
    pub(crate) fn keeps_order(&self, account: usize) -> bool {
        let quota = &self.accounts[account];
        self.schema.is_none()
            && quota.overload == Overload::Fifo
            && quota.max_concurrent_transactions == 0
    }

    pub(crate) fn limits_of(&self, name: &str, is_schema: bool) -> Option<&Quota> {
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

impl World {
    /// The limits change while sessions run.
    pub(crate) fn change_rules(&mut self) {
        let before = self.setup.quotas.clone();
        let mut rng = self.rng.fork();
        self.setup.quotas.change(&mut rng);
        let now = self.schedule.now();
        let quotas = &self.setup.quotas;
        self.trace
            .line(now, || format!("the limits are {quotas:?}"));
        self.watch.quotas.changed(&before, now);
        let sabotage = self.options.sabotage;
        if sabotage != Some(Sabotage::KeepLimits) {
            self.shared.admission.set_rules(quotas.rules(sabotage));
        }
        if sabotage == Some(Sabotage::LoseRules) {
            return;
        }
        for worker in 0..self.workers.len() {
            let mail = Mail::RulesChanged;
            let delay = rng.u64(1..300);
            self.schedule.after_us(delay, Event::Mail { worker, mail });
        }
    }
}

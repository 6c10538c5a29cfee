//! The limits of accounts and schemas: read from the configuration and from the file of what statements
//! have set, put in force, and read again while the process runs.
//!
//! Owns the two files and their order. What a limit does is `admission`'s matter.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use driver::Postboxes;
use engine::{Limit, Limits, LimitsChange, LimitsOrder, Mail, Shared};
use events::Span;

/// Where the limits come from.
pub(crate) struct Sources {
    /// The configuration file; `None` without one.
    config: Option<PathBuf>,
    /// Where limits stand that statements have set.
    auto: PathBuf,
}

/// The limits of a running front door.
pub(crate) struct Book {
    sources: Sources,
    shared: Arc<Shared>,
    postboxes: Postboxes<Mail>,
    /// As they were read last.
    settings: config::Settings,
}

impl Sources {
    /// Those of a configuration file, or of a private database in `folder`.
    pub(crate) fn new(config: Option<&Path>, folder: &Path) -> Self {
        let auto = match config {
            Some(path) => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                path.with_file_name(format!("{stem}-auto.toml"))
            }
            None => folder.join("myriad-auto.toml"),
        };
        Self {
            config: config.map(Path::to_owned),
            auto,
        }
    }

    /// The rules of `settings`, and of what statements have set.
    pub(crate) fn rules(&self, settings: &config::Settings) -> anyhow::Result<admission::Rules> {
        let set = config::auto::load(&self.auto)?;
        let quotas = config::Quotas::new(&settings.quotas, &set);
        let accounts = quotas.accounts.iter().map(|(name, limits)| {
            let name = admission::AccountName::new(&name.user, &name.host);
            (name, quota(limits))
        });
        let schemas = settings.schemas.iter();
        let schemas = schemas.map(|schema| (schema.name.clone(), quota(&schema.limits)));
        Ok(admission::Rules::new(
            accounts,
            quota(&quotas.others),
            schemas,
        ))
    }
}

impl Book {
    /// For workers that run already, with the rules of `settings`.
    pub(crate) fn new(
        sources: Sources,
        settings: config::Settings,
        shared: Arc<Shared>,
        postboxes: Postboxes<Mail>,
    ) -> Self {
        Self {
            sources,
            shared,
            postboxes,
            settings,
        }
    }

    /// Reads the files again and puts the limits in force, without touching a connection. What else has
    /// changed holds from the next start on, and is named in the log. If a file is wrong, everything stays
    /// as it is.
    pub(crate) fn reload(&mut self) -> anyhow::Result<()> {
        let settings = match &self.sources.config {
            Some(path) => config::load(path)?,
            None => self.settings.clone(),
        };
        let rules = self.sources.rules(&settings)?;
        let changes = self.settings.changes(&settings);
        for key in &changes.at_next_start {
            tracing::warn!(
                key,
                "changed in the configuration; holds from the next start on"
            );
        }
        self.put_in_force(rules);
        tracing::info!(quotas_changed = changes.quotas, "configuration read again");
        // What waits for the next start is still as it was.
        self.settings.quotas = settings.quotas;
        self.settings.schemas = settings.schemas;
        Ok(())
    }

    /// As [`Book::reload`]; what goes wrong is told in the log.
    pub(crate) fn try_to_reload(&mut self) {
        let reloaded = self.reload().context("nothing was changed");
        if let Err(error) = reloaded {
            tracing::error!("{error:#}");
        }
    }

    /// Keeps what a statement has changed, puts it in force, and tells whoever asked.
    pub(crate) fn carry_out(&self, order: &LimitsOrder) {
        let kept = self.keep(&order.change);
        if let Err(error) = &kept {
            tracing::error!("limits could not be kept: {error:#}");
        }
        let (worker, client) = order.asker;
        let told = Mail::LimitsKept(client, kept.map_err(|error| format!("{error:#}")));
        // If that worker has ended, so has whoever asked.
        let _ended = self.postboxes.post(worker, told);
    }

    fn keep(&self, change: &LimitsChange) -> anyhow::Result<()> {
        let path = &self.sources.auto;
        let mut set = config::auto::load(path)?;
        apply(change, &mut set);
        config::auto::save(path, &set)
            .with_context(|| format!("{} cannot be written", path.display()))?;
        self.put_in_force(self.sources.rules(&self.settings)?);
        Ok(())
    }

    fn put_in_force(&self, rules: admission::Rules) {
        self.shared.admission.set_rules(rules);
        for worker in 0..self.postboxes.workers() {
            // A worker that has ended has nobody who waits.
            let _ended = self.postboxes.post(worker, Mail::RulesChanged);
        }
    }
}

/// Changes what statements have set so far.
fn apply(change: &LimitsChange, set: &mut BTreeMap<config::AccountName, config::Limits>) {
    match change {
        LimitsChange::Set(accounts, limits) => {
            for account in accounts {
                overwrite(set.entry(name(account)).or_default(), limits);
            }
        }
        LimitsChange::Drop(accounts) => {
            for account in accounts {
                set.remove(&name(account));
            }
        }
        LimitsChange::Rename(pairs) => {
            for (from, to) in pairs {
                if let Some(limits) = set.remove(&name(from)) {
                    set.insert(name(to), limits);
                }
            }
        }
    }
}

fn name(account: &engine::AccountName) -> config::AccountName {
    config::AccountName {
        user: account.user.clone(),
        host: account.host.clone(),
    }
}

/// Numbers that are too large for a file of limits are as good as the largest.
fn overwrite(limits: &mut config::Limits, set: &Limits) {
    const CLIENTS: RangeInclusive<u32> = 0..=16_000_000;
    const RUNNING: RangeInclusive<u32> = 0..=1_000_000;
    const WEIGHT: RangeInclusive<u32> = 1..=1_000;
    let take = |limit, range: RangeInclusive<u32>, value: &mut Option<u32>| {
        let written = set.get(limit);
        let written = written.map(|number| number.clamp(*range.start(), *range.end()));
        *value = written.or(*value);
    };
    let config::Limits {
        max_connections,
        max_concurrent_queries,
        max_concurrent_transactions,
        max_queued,
        max_connects_per_second,
        weight,
        ..
    } = limits;
    take(Limit::Queries, RUNNING, max_concurrent_queries);
    take(Limit::Transactions, RUNNING, max_concurrent_transactions);
    take(Limit::Queued, CLIENTS, max_queued);
    take(Limit::Connections, CLIENTS, max_connections);
    take(Limit::ConnectsPerSecond, RUNNING, max_connects_per_second);
    take(Limit::Weight, WEIGHT, weight);
    if let Some(ms) = set.get(Limit::QueueTimeout) {
        limits.queue_timeout = Some(Duration::from_millis(ms.into()));
    }
}

fn quota(limits: &config::Limits) -> admission::Quota {
    let none = admission::Quota::NONE;
    let number = |limit: Option<u32>| limit.unwrap_or_default();
    let span = |limit: Option<std::time::Duration>| limit.map_or(Span::ZERO, Span::from);
    admission::Quota {
        max_connections: number(limits.max_connections),
        max_concurrent_queries: number(limits.max_concurrent_queries),
        max_concurrent_transactions: number(limits.max_concurrent_transactions),
        max_queued: number(limits.max_queued),
        queue_timeout: span(limits.queue_timeout),
        weight: limits.weight.unwrap_or(none.weight),
        max_statement_time: span(limits.max_statement_time),
        max_connects_per_second: number(limits.max_connects_per_second),
        overload: match limits.overload.unwrap_or_default() {
            config::Overload::Fifo => admission::Overload::Fifo,
            config::Overload::Lifo => admission::Overload::Lifo,
            config::Overload::Codel => admission::Overload::Codel,
        },
        overload_target: limits
            .overload_target
            .map_or(none.overload_target, Span::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(user: &str) -> engine::AccountName {
        engine::AccountName::new(user, "%")
    }

    #[test]
    fn what_statements_set_is_kept_as_the_file_can_have_it() {
        let limits = Limits::default()
            .with(Limit::Queries, u32::MAX)
            .with(Limit::Weight, 0)
            .with(Limit::QueueTimeout, 2_500);
        let mut set = BTreeMap::new();
        let accounts = vec![account("a"), account("b")];
        apply(&LimitsChange::Set(accounts, limits), &mut set);
        let more = Limits::default().with(Limit::Queued, 7);
        apply(&LimitsChange::Set(vec![account("a")], more), &mut set);
        apply(&LimitsChange::Drop(vec![account("b")]), &mut set);
        let pairs = vec![(account("a"), account("c")), (account("x"), account("y"))];
        apply(&LimitsChange::Rename(pairs), &mut set);
        let expected = config::Limits {
            max_concurrent_queries: Some(1_000_000),
            weight: Some(1),
            queue_timeout: Some(Duration::from_millis(2_500)),
            max_queued: Some(7),
            ..config::Limits::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auto.toml");
        config::auto::save(&path, &set).unwrap();
        let loaded = config::auto::load(&path).unwrap();
        assert_eq!(loaded, BTreeMap::from([(name(&account("c")), expected)]));
    }
}

//! The limits of accounts and schemas: read from the configuration and from the file of what statements
//! have set, and put in force.
//!
//! Owns the two files and their order. What a limit does is `admission`'s matter; reading the configuration again is
//! that of `reload`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use control::{Lasts, Whose};
use driver::Postboxes;
use engine::{LimitsChange, Mail, Shared};
use events::Span;
use session::statement::{Limit, Limits};

use crate::certificates::Certificates;
use crate::credentials::Roll;
use crate::workers::Prepared;

/// Where the limits come from.
pub(crate) struct Sources {
    /// The configuration file; `None` without one.
    pub(crate) config: Option<PathBuf>,
    /// Where limits stand that statements have set.
    auto: PathBuf,
}

/// What is in force, and what of it can change while the process runs.
pub(crate) struct Book {
    pub(crate) sources: Sources,
    pub(crate) shared: Arc<Shared>,
    pub(crate) postboxes: Postboxes<Mail>,
    /// As they hold now.
    pub(crate) settings: config::Settings,
    /// Limits that hold above that until the configuration is read again.
    pub(crate) trials: Trials,
    /// Read again with the configuration.
    pub(crate) certificates: Certificates,
    pub(crate) roll: Roll,
}

/// Limits on trial, of an account or of all others.
pub(crate) type Trials = BTreeMap<Option<config::AccountName>, config::Limits>;

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

    /// The file of what statements have set.
    pub(crate) fn auto(&self) -> &Path {
        &self.auto
    }

    /// The rules of `settings`, and of what statements have set.
    pub(crate) fn rules(&self, settings: &config::Settings) -> anyhow::Result<admission::Rules> {
        self.rules_on_trial(settings, &Trials::new())
    }

    fn rules_on_trial(
        &self,
        settings: &config::Settings,
        trials: &Trials,
    ) -> anyhow::Result<admission::Rules> {
        let mut set = config::auto::load(&self.auto)?;
        let mut configured = settings.quotas.clone();
        for (account, limits) in trials {
            match account {
                Some(name) => overlay(&mut set, name, limits),
                None => overlay_others(&mut configured, limits),
            }
        }
        let quotas = config::Quotas::new(&configured, &set);
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
    /// For workers that do not run yet, with the rules of `settings`.
    pub(crate) fn new(
        (sources, settings): (Sources, config::Settings),
        workers: &Prepared,
        certificates: Certificates,
        roll: Roll,
    ) -> Self {
        Self {
            sources,
            shared: workers.shared.clone(),
            postboxes: workers.postboxes.clone(),
            settings,
            trials: Trials::new(),
            certificates,
            roll,
        }
    }

    /// Sets limits for each of these, until the files are read again or for good; all of it or nothing.
    pub(crate) fn set(
        &mut self,
        whose: &[Whose],
        limits: &config::Limits,
        lasts: Lasts,
    ) -> anyhow::Result<()> {
        let mut trials = self.trials.clone();
        let mut kept = config::auto::load(&self.sources.auto)?;
        for whose in whose {
            match (account_name(whose), lasts) {
                (Some(name), Lasts::Kept) => overlay(&mut kept, &name, limits),
                (None, Lasts::Kept) => anyhow::bail!("name an account"),
                (name, Lasts::Trial) => overlay(&mut trials, &name, limits),
            }
        }
        let any = config::AccountName {
            user: String::new(),
            host: "%".to_owned(),
        };
        config::auto::check(&BTreeMap::from([(any, limits.clone())]))?;
        for name in whose.iter().filter_map(account_name) {
            if says_nothing(&name, &kept, &self.settings.quotas) {
                kept.remove(&name);
            }
        }
        match lasts {
            Lasts::Trial => self.trials = trials,
            Lasts::Kept => config::auto::save(&self.sources.auto, &kept)
                .with_context(|| format!("cannot write {}", self.sources.auto.display()))?,
        }
        self.put_in_force(self.sources.rules_on_trial(&self.settings, &self.trials)?);
        Ok(())
    }

    /// Keeps what a statement of a client has changed, and puts it in force.
    pub(crate) fn keep(&mut self, change: &LimitsChange) -> anyhow::Result<()> {
        if let LimitsChange::Set(accounts, limits) = change {
            let whose = accounts.iter().cloned();
            let whose = whose.map(|name| Whose::Account(name.user, name.host));
            let whose: Vec<Whose> = whose.collect();
            return self.set(&whose, &clamped(&written(limits)), Lasts::Kept);
        }
        let mut kept = config::auto::load(&self.sources.auto)?;
        let before = kept.clone();
        let mut trials = self.trials.clone();
        follow(change, &mut kept, &mut trials);
        if kept == before && trials == self.trials {
            return Ok(());
        }
        config::auto::save(&self.sources.auto, &kept)
            .with_context(|| format!("cannot write {}", self.sources.auto.display()))?;
        self.trials = trials;
        self.put_in_force(self.sources.rules_on_trial(&self.settings, &self.trials)?);
        Ok(())
    }

    pub(crate) fn put_in_force(&self, rules: admission::Rules) {
        self.shared.admission.set_rules(rules);
        for worker in 0..self.postboxes.workers() {
            // A worker that has ended has nobody who waits.
            let _ended = self.postboxes.post(worker, Mail::RulesChanged);
        }
    }
}

fn overlay<N: Clone + Ord>(set: &mut BTreeMap<N, config::Limits>, name: &N, over: &config::Limits) {
    let limits = set.entry(name.clone()).or_default();
    *limits = limits.overlaid(over);
}

fn overlay_others(configured: &mut Vec<config::Quota>, over: &config::Limits) {
    let mut others = configured.iter_mut();
    match others.find(|quota| quota.account.is_none()) {
        Some(quota) => quota.limits = quota.limits.overlaid(over),
        None => configured.push(config::Quota {
            account: None,
            limits: over.clone(),
        }),
    }
}

/// True if what is kept for an account need not be: there are no limits in it, nor any that it lifts, of the
/// account itself or of a less specific one.
fn says_nothing(
    name: &config::AccountName,
    kept: &BTreeMap<config::AccountName, config::Limits>,
    configured: &[config::Quota],
) -> bool {
    let is_near = |other: &config::AccountName| other.user == name.user || other.user.is_empty();
    let kept = kept.iter().filter(|(other, _)| is_near(other));
    let configured = configured
        .iter()
        .filter(|quota| quota.account.as_ref().is_none_or(is_near));
    let mut all = kept
        .map(|(_, limits)| limits)
        .chain(configured.map(|quota| &quota.limits));
    all.all(|limits| quota(limits) == admission::Quota::NONE)
}

fn account_name(whose: &Whose) -> Option<config::AccountName> {
    match whose {
        Whose::Account(user, host) => Some(config::AccountName {
            user: user.clone(),
            host: host.clone(),
        }),
        Whose::Others => None,
    }
}

/// Takes the limits of accounts along that are gone or have other names.
fn follow(
    change: &LimitsChange,
    kept: &mut BTreeMap<config::AccountName, config::Limits>,
    trials: &mut Trials,
) {
    let pairs: Vec<_> = match change {
        LimitsChange::Set(..) => return,
        LimitsChange::Drop(accounts) => accounts.iter().map(|from| (from, None)).collect(),
        LimitsChange::Rename(pairs) => pairs.iter().map(|(from, to)| (from, Some(to))).collect(),
    };
    for (from, to) in pairs {
        let (from, to) = (name(from), to.map(name));
        let limits = (kept.remove(&from), trials.remove(&Some(from)));
        let Some(to) = to else { continue };
        kept.extend(limits.0.map(|limits| (to.clone(), limits)));
        trials.extend(limits.1.map(|limits| (Some(to), limits)));
    }
}

fn name(account: &engine::AccountName) -> config::AccountName {
    config::AccountName {
        user: account.user.clone(),
        host: account.host.clone(),
    }
}

/// Numbers that are too large for the configuration are as good as the largest: the server has done its
/// part of the statement already.
fn clamped(limits: &config::Limits) -> config::Limits {
    const CLIENTS_MAX: u32 = 16_000_000;
    const RUNNING_MAX: u32 = 1_000_000;
    let up_to = |max: u32| move |limit: u32| limit.min(max);
    config::Limits {
        max_connections: limits.max_connections.map(up_to(CLIENTS_MAX)),
        max_concurrent_queries: limits.max_concurrent_queries.map(up_to(RUNNING_MAX)),
        max_concurrent_transactions: limits.max_concurrent_transactions.map(up_to(RUNNING_MAX)),
        max_queued: limits.max_queued.map(up_to(CLIENTS_MAX)),
        max_connects_per_second: limits.max_connects_per_second.map(up_to(RUNNING_MAX)),
        weight: limits.weight.map(|weight| weight.clamp(1, 1_000)),
        ..limits.clone()
    }
}

/// Limits of a statement as the configuration has them.
pub(crate) fn written(limits: &Limits) -> config::Limits {
    let queue_timeout = limits.get(Limit::QueueTimeout).map(u64::from);
    config::Limits {
        max_connections: limits.get(Limit::Connections),
        max_concurrent_queries: limits.get(Limit::Queries),
        max_concurrent_transactions: limits.get(Limit::Transactions),
        max_queued: limits.get(Limit::Queued),
        queue_timeout: queue_timeout.map(Duration::from_millis),
        max_connects_per_second: limits.get(Limit::ConnectsPerSecond),
        weight: limits.get(Limit::Weight),
        ..config::Limits::default()
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
    fn limits_go_with_their_accounts() {
        let some = config::Limits {
            max_queued: Some(7),
            ..config::Limits::default()
        };
        let of = |user| (name(&account(user)), some.clone());
        let mut kept = BTreeMap::from([of("a"), of("b")]);
        let mut trials = Trials::from([(Some(name(&account("a"))), some.clone())]);
        let drop = LimitsChange::Drop(vec![account("b"), account("nobody")]);
        follow(&drop, &mut kept, &mut trials);
        let pairs = vec![(account("a"), account("c")), (account("x"), account("y"))];
        follow(&LimitsChange::Rename(pairs), &mut kept, &mut trials);
        assert_eq!(kept, BTreeMap::from([of("c")]));
        assert_eq!(trials, Trials::from([(Some(name(&account("c"))), some)]));
    }

    #[test]
    fn what_lifts_no_limits_need_not_be_kept() {
        let limit = |queries| config::Limits {
            max_concurrent_queries: Some(queries),
            ..config::Limits::default()
        };
        let of = |user: &str, host: &str| name(&engine::AccountName::new(user, host));
        let configured = |account, queries| config::Quota {
            account,
            limits: limit(queries),
        };
        let app = of("app", "%");
        for (also_kept, configured, expected) in [
            (None, vec![], true),
            (Some((of("bob", "%"), 4)), vec![], true),
            (None, vec![configured(Some(of("bob", "%")), 4)], true),
            (None, vec![configured(None, 0)], true),
            // Without what is kept these would hold.
            (Some((of("app", "10.%"), 4)), vec![], false),
            (Some((of("", "%"), 4)), vec![], false),
            (None, vec![configured(Some(app.clone()), 4)], false),
            (None, vec![configured(None, 4)], false),
            // It has limits of its own.
            (Some((app.clone(), 4)), vec![], false),
        ] {
            let mut kept = BTreeMap::from([(app.clone(), limit(0))]);
            kept.extend(
                also_kept
                    .clone()
                    .map(|(name, queries)| (name, limit(queries))),
            );
            let found = says_nothing(&app, &kept, &configured);
            assert_eq!(found, expected, "{also_kept:?} {configured:?}");
        }
    }

    #[test]
    fn numbers_of_statements_are_made_to_fit_the_file() {
        let limits = Limit::ALL
            .into_iter()
            .fold(Limits::default(), |limits, limit| {
                limits.with(limit, u32::MAX)
            });
        let limits = clamped(&written(&limits.with(Limit::Weight, 0)));
        let set = BTreeMap::from([(name(&account("a")), limits)]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auto.toml");
        config::auto::save(&path, &set).unwrap();
        assert_eq!(config::auto::load(&path).unwrap(), set);
    }
}

//! The limits of accounts and schemas: read from the configuration and from the file of what statements
//! have set, put in force, and read again while the process runs.
//!
//! Owns the two files and their order. What a limit does is `admission`'s matter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use control::{Lasts, Whose};
use driver::Postboxes;
use engine::{Mail, Shared};
use events::Span;
use session::statement::{Limit, Limits};

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
    /// What holds above that until they are read again.
    trials: Trials,
}

/// Limits on trial, of an account or of all others.
type Trials = BTreeMap<Option<config::AccountName>, config::Limits>;

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
            trials: Trials::new(),
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
        match lasts {
            Lasts::Trial => self.trials = trials,
            Lasts::Kept => config::auto::save(&self.sources.auto, &kept)
                .with_context(|| format!("cannot write {}", self.sources.auto.display()))?,
        }
        self.put_in_force(self.sources.rules_on_trial(&self.settings, &self.trials)?);
        Ok(())
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
        self.trials.clear();
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

    fn put_in_force(&self, rules: admission::Rules) {
        self.shared.admission.set_rules(rules);
        for worker in 0..self.postboxes.workers() {
            // A worker that has ended has nobody who waits.
            let _ended = self.postboxes.post(worker, Mail::RulesChanged);
        }
    }
}

/// The limits as statements of administrators reach them.
pub(crate) struct Desk(pub(crate) Arc<Mutex<Book>>);

impl control::Office for Desk {
    fn reload(&self) -> Result<(), String> {
        open(&self.0).reload().map_err(|error| format!("{error:#}"))
    }

    fn set_limits(&self, whose: &[Whose], limits: &Limits, lasts: Lasts) -> Result<(), String> {
        let set = open(&self.0).set(whose, &written(limits), lasts);
        set.map_err(|error| format!("{error:#}"))
    }
}

/// The book, also if somebody failed while it was open: it is changed in one step.
pub(crate) fn open(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
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

fn account_name(whose: &Whose) -> Option<config::AccountName> {
    match whose {
        Whose::Account(user, host) => Some(config::AccountName {
            user: user.clone(),
            host: host.clone(),
        }),
        Whose::Others => None,
    }
}

/// Limits of a statement as the configuration has them.
fn written(limits: &Limits) -> config::Limits {
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

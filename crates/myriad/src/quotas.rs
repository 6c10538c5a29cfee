//! The limits of accounts and schemas: read from the configuration and from the file of what statements
//! have set, put in force, and read again while the process runs.
//!
//! Owns the two files and their order. What a limit does is `admission`'s matter.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use driver::Postboxes;
use engine::{Mail, Shared};
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

    fn put_in_force(&self, rules: admission::Rules) {
        self.shared.admission.set_rules(rules);
        for worker in 0..self.postboxes.workers() {
            // A worker that has ended has nobody who waits.
            let _ended = self.postboxes.post(worker, Mail::RulesChanged);
        }
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

//! Reading the configuration again while the process runs: SIGHUP and `RELOAD`.
//!
//! Owns the order in which a change is put in force: all of it or nothing. Which keys can change is said by
//! [`config::Settings::taking_over`].

use std::sync::Arc;

use engine::Mail;

use crate::credentials::Notice;
use crate::quotas::Book;
use crate::workers::engine_settings;

impl Book {
    /// Reads the files again and puts in force what can be, without touching a connection. What else has
    /// changed holds from the next start on, and is named in the log. If a file is wrong, everything stays
    /// as it is.
    pub(crate) fn reload(&mut self) -> anyhow::Result<()> {
        let read = match &self.sources.config {
            Some(path) => config::load(path)?,
            None => self.settings.clone(),
        };
        let settings = self.settings.taking_over(&read);
        let rules = self.sources.rules(&settings)?;
        // Nothing that comes behind this can fail.
        self.certificates.reload(&settings)?;
        let changed = self.settings.changes(&settings);
        for key in settings.changes(&read) {
            tracing::warn!(
                key,
                "changed in the configuration; holds from the next start on"
            );
        }
        self.settings = settings;
        self.trials.clear();
        self.put_in_force(rules);
        self.tell_accounts();
        self.tell_settings();
        tracing::info!(changed = changed.join(", "), "configuration read again");
        Ok(())
    }

    fn tell_accounts(&self) {
        let notice = Notice::to(self.shared.clone(), self.postboxes.clone());
        self.roll.configure(&self.settings, &notice);
    }

    fn tell_settings(&self) {
        let count = self.postboxes.workers();
        let settings = engine_settings(&self.settings, count, self.roll.directory());
        let settings = Arc::new(settings);
        for worker in 0..count {
            // A worker that has ended serves nobody.
            let told = Mail::SettingsChanged(settings.clone());
            let _ended = self.postboxes.post(worker, told);
        }
    }
}

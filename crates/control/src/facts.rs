//! What the process knows besides the workers' reports. Whoever starts the workers fills it in.

use std::sync::Arc;

use engine::Shared;

use crate::credentials::AccountsStatus;
use crate::office::Office;

/// Name, meaning and value of something that the driver counts, over all workers, or the process. `/metrics` shows
/// it as `myriad_<name>_total`.
pub type DriverCount = (&'static str, &'static str, u64);

/// What `/metrics` and `/health` show besides the reports.
pub struct Facts {
    pub(crate) shared: Arc<Shared>,
    pub(crate) driver_counters: Box<dyn Fn() -> Vec<DriverCount> + Send + Sync>,
    pub(crate) driver_memory: Box<dyn Fn() -> Vec<(&'static str, u64)> + Send + Sync>,
    pub(crate) draining: Box<dyn Fn() -> bool + Send + Sync>,
    pub(crate) pin_reasons: Vec<&'static str>,
    pub(crate) office: Option<Arc<dyn Office>>,
    pub(crate) variables: Box<dyn Fn() -> Vec<(String, String)> + Send + Sync>,
    pub(crate) accounts: Option<Accounts>,
}

/// The accounts of the database, where they are read.
#[derive(Clone)]
pub(crate) struct Accounts {
    pub(crate) status: Arc<AccountsStatus>,
    /// Whether there are none besides, so that nobody can log in until they are read.
    pub(crate) are_all: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Facts {
    /// What the workers share, and how to read the counters of driver and process: once per scrape, and without
    /// waiting for anything. The names must differ from those of [`engine::Counters::each`].
    pub fn new(
        shared: Arc<Shared>,
        driver_counters: impl Fn() -> Vec<DriverCount> + Send + Sync + 'static,
    ) -> Self {
        Self {
            shared,
            driver_counters: Box::new(driver_counters),
            driver_memory: Box::new(Vec::new),
            draining: Box::new(|| false),
            pin_reasons: Vec::new(),
            office: None,
            variables: Box::new(Vec::new),
            accounts: None,
        }
    }

    /// How to learn what memory the driver takes, by kind, in bytes. Unless this is said, that is
    /// not shown.
    #[must_use]
    pub fn with_driver_memory(
        mut self,
        memory: impl Fn() -> Vec<(&'static str, u64)> + Send + Sync + 'static,
    ) -> Self {
        self.driver_memory = Box::new(memory);
        self
    }

    /// How to learn whether the process drains. Unless this is said, it never does.
    #[must_use]
    pub fn with_draining(mut self, draining: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.draining = Box::new(draining);
        self
    }

    /// Who changes limits. Unless this is said, nobody does.
    #[must_use]
    pub fn with_office(mut self, office: Arc<dyn Office>) -> Self {
        self.office = Some(office);
        self
    }

    /// How to learn what the configuration in force says, without passwords. Unless this is said,
    /// nothing.
    #[must_use]
    pub fn with_variables(
        mut self,
        variables: impl Fn() -> Vec<(String, String)> + Send + Sync + 'static,
    ) -> Self {
        self.variables = Box::new(variables);
        self
    }

    /// What became of reading the database's accounts, and whether there are no others. Unless this is said, none are
    /// read.
    #[must_use]
    pub fn with_accounts(
        mut self,
        status: Arc<AccountsStatus>,
        are_all: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        self.accounts = Some(Accounts {
            status,
            are_all: Arc::new(are_all),
        });
        self
    }

    /// The labels of the reasons for pins, in the order of the reports' arrays. Reasons beyond them
    /// are added up as `other`.
    #[must_use]
    pub fn with_pin_reasons(mut self, names: impl IntoIterator<Item = &'static str>) -> Self {
        self.pin_reasons = names.into_iter().collect();
        self
    }
}

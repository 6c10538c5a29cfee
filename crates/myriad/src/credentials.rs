//! The accounts of the database on their way to the workers: who asks for them, and who is told. What they
//! are and when they are read is the matter of `accounts` and of `control`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accounts::{Configured, Directory, Register, Requires};
use control::{AccountsStatus, Database, Orders, Succession, Successor};
use driver::Postboxes;
use engine::{AccountsOrder, Mail, Shared};
use tokio::sync::watch;
use zeroize::Zeroizing;

use crate::database_tls;
use crate::workers::Prepared;

/// Reads the accounts of the database.
pub(crate) struct Reader {
    roll: Roll,
    database: Database,
    orders: Arc<Orders>,
    notice: Notice,
}

/// All accounts, for whoever learns of others.
#[derive(Clone)]
pub(crate) struct Roll {
    register: Arc<Mutex<Register>>,
    succession: Arc<Succession>,
    status: Arc<AccountsStatus>,
}

impl Roll {
    /// The accounts before the database was asked.
    pub(crate) fn new(settings: &config::Settings) -> Self {
        let ours = settings.monitor.as_ref().map(login);
        let register = Register::new(configured(settings), ours);
        Self {
            register: Arc::new(Mutex::new(register)),
            succession: Arc::default(),
            status: Arc::default(),
        }
    }

    /// What became of reading the database's.
    pub(crate) fn status(&self) -> Arc<AccountsStatus> {
        self.status.clone()
    }

    /// Those that are known now.
    pub(crate) fn directory(&self) -> Arc<Directory> {
        self.open().directory()
    }

    /// Goes over to the accounts of these settings, beside the database's, which are read as these settings say
    /// as soon as that has succeeded once.
    pub(crate) fn configure(&self, settings: &config::Settings, notice: &Notice) {
        let mut register = self.open();
        let changed = register.configure(configured(settings));
        changed
            .into_iter()
            .for_each(|directory| control::Notice::changed(notice, directory));
        drop(register);
        if let Some(monitor) = &settings.monitor {
            self.succession.offer(Successor {
                database: database(settings, monitor),
                login: login(monitor),
            });
        }
    }

    /// Also if somebody failed while it was open: it is changed in one step.
    fn open(&self) -> MutexGuard<'_, Register> {
        self.register.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn configured(settings: &config::Settings) -> impl Iterator<Item = Configured> {
    settings.accounts.iter().map(|account| {
        let (user, password) = login(account);
        Configured {
            user,
            password,
            requires: match account.require {
                config::Require::None => Requires::Nothing,
                config::Require::Ssl => Requires::Ssl,
                config::Require::X509 => Requires::X509,
            },
        }
    })
}

fn login(account: &config::Account) -> (String, Zeroizing<String>) {
    let password = account.password.expose().to_owned();
    (account.user.clone(), password.into())
}

fn database(settings: &config::Settings, monitor: &config::Account) -> Database {
    let (user, password) = login(monitor);
    let database = match &settings.backend.address {
        config::Address::Unix(path) => {
            Database::over_unix(&path.to_string_lossy(), &user, password)
        }
        config::Address::Tcp { host, port } => Database::over_tcp(host, *port, &user, password),
    };
    database.with_tls(database_tls::of_backend(&settings.backend))
}

impl Reader {
    /// For workers that do not run yet; `None` if the settings name nobody to read them.
    pub(crate) fn new(
        settings: &config::Settings,
        workers: &Prepared,
        register: Roll,
    ) -> anyhow::Result<Option<Self>> {
        let Some(monitor) = &settings.monitor else {
            return Ok(None);
        };
        let orders = Orders::new(workers.postboxes.workers());
        let ordered = orders.clone();
        workers
            .shared
            .read_accounts_with(move |order| ordered.give(order));
        let passwords = crate::passwords::start(workers.postboxes.clone())?;
        workers.shared.check_passwords_with(passwords);
        Ok(Some(Self {
            roll: register,
            database: database(settings, monitor),
            orders,
            notice: Notice::to(workers.shared.clone(), workers.postboxes.clone()),
        }))
    }

    /// Reads them until `stopped` says so.
    pub(crate) async fn run(self, mut stopped: watch::Receiver<bool>) {
        let stop = async move {
            // An error means that the sender is gone: time to stop as well.
            let _gone = stopped.wait_for(|&stop| stop).await;
        };
        control::read_accounts(
            self.roll.register,
            self.database,
            (self.orders, self.roll.succession),
            self.roll.status,
            self.notice,
            stop,
        )
        .await;
    }
}

/// Tells the workers.
pub(crate) struct Notice {
    shared: Arc<Shared>,
    postboxes: Postboxes<Mail>,
}

impl Notice {
    /// Those that share this and are reached so.
    pub(crate) fn to(shared: Arc<Shared>, postboxes: Postboxes<Mail>) -> Self {
        Self { shared, postboxes }
    }
}

impl control::Notice for Notice {
    fn changed(&self, directory: Arc<Directory>) {
        tracing::debug!(version = directory.version(), "accounts have changed");
        self.shared.publish_accounts(directory);
        for worker in 0..self.postboxes.workers() {
            // A worker that has ended needs no accounts.
            let _ended = self.postboxes.post(worker, Mail::AccountsChanged);
        }
    }

    fn read(&self, order: AccountsOrder, read: bool) {
        let ticket = order.ticket;
        // If that worker has ended, so has whoever asked.
        let told = Mail::AccountsRead { ticket, read };
        let _ended = self.postboxes.post(order.worker, told);
    }
}

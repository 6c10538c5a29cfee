//! The worker threads: one engine on one driver each.

use std::net::ToSocketAddrs;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use accounts::Directory;
use anyhow::Context;
use compression::Compressed;
use doctor::{Host, Uring};
use driver::{
    Address, Clock, Driver, DriverCounters, DriverError, Listeners, Postboxes, Wanted, Worker,
};
use engine::{AuthPlugin, Engine, Mail, Shared};
use events::Span;
use tls::Secured;
use tokio::sync::{Semaphore, watch};

use crate::log;

use crate::assistants::Assistants;

/// What workers need before the first of them runs, so that whoever answers their questions can be named in time:
/// clients come as soon as there is a worker.
pub(crate) struct Prepared {
    /// The way to them.
    pub(crate) postboxes: Postboxes<Mail>,
    /// What they share.
    pub(crate) shared: Arc<Shared>,
    inboxes: Vec<driver::Inbox<Mail>>,
}

/// All workers, running.
pub(crate) struct Workers {
    /// The way to them.
    pub(crate) postboxes: Postboxes<Mail>,
    /// What they share.
    pub(crate) shared: Arc<Shared>,
    /// What their drivers count.
    pub(crate) counters: Vec<Arc<DriverCounters>>,
    threads: Vec<JoinHandle<Result<(), DriverError>>>,
    /// One permit for each worker that has ended.
    ended: Arc<Semaphore>,
    /// The number of the last worker that has failed.
    failure: watch::Receiver<Option<usize>>,
}

impl Prepared {
    /// With the limits of `rules` in force.
    pub(crate) fn new(
        settings: &config::Settings,
        rules: admission::Rules,
    ) -> anyhow::Result<Self> {
        let count = worker_count(settings);
        let (inboxes, postboxes) = driver::mailboxes(count)?;
        let shared = Shared::new(count, settings.backend.max_connections as usize);
        shared.admission.set_rules(rules);
        shared.prepare_commands_with(Assistants::start(count, &postboxes)?);
        Ok(Self {
            postboxes,
            shared,
            inboxes,
        })
    }

    /// Starts the workers, with these accounts known.
    pub(crate) fn start(
        self,
        settings: &config::Settings,
        listeners: &Listeners,
        accounts: Arc<Directory>,
        parties: &tls::Parties,
    ) -> anyhow::Result<Workers> {
        let Self {
            postboxes,
            shared,
            inboxes,
        } = self;
        let backend: Arc<[Address]> = resolve(&settings.backend.address)?.into();
        let engine_settings = Arc::new(engine_settings(settings, inboxes.len(), accounts));
        let driver = Driver::choose(wanted(settings.server.driver))?;
        let clock = Clock::start();
        let ended = Arc::new(Semaphore::new(0));
        let (fail, failure) = watch::channel(None);
        let (mut threads, mut counters) = (Vec::new(), Vec::new());
        for (number, inbox) in inboxes.into_iter().enumerate() {
            let seed = driver::seed().context("the kernel has no random bytes to give")?;
            let engine = Engine::new(engine_settings.clone(), shared.clone(), number, seed);
            let engine = Secured::new(Compressed::new(engine), parties.clone());
            let worker = Worker {
                inbox,
                postboxes: postboxes.clone(),
                listeners: listeners.clone(),
                backend: backend.clone(),
                sources: driver::Sources::default(),
                clock,
                driver,
                counters: Arc::default(),
            };
            counters.push(worker.counters.clone());
            let thread = std::thread::Builder::new().name(format!("{}{number}", log::WORKER));
            let (ended, fail) = (ended.clone(), fail.clone());
            threads.push(thread.spawn(move || {
                // The engine's panics are caught within; this is for those of the driver.
                let run = AssertUnwindSafe(|| driver::run(engine, worker).map(drop));
                let result = catch_unwind(run).unwrap_or(Err(DriverError::Panicked));
                if let Err(error) = &result {
                    tracing::error!(worker = number, %error, "a worker has ended, and its clients with it");
                    fail.send_replace(Some(number));
                }
                ended.add_permits(1);
                result
            })?);
        }
        Ok(Workers {
            postboxes,
            shared,
            counters,
            threads,
            ended,
            failure,
        })
    }
}

impl Workers {
    /// Returns when all have ended.
    pub(crate) async fn finished(&self) {
        // The semaphore is never closed, so this cannot fail.
        let _permits = self.ended.acquire_many(self.threads.len() as u32).await;
    }

    /// Returns the number of a worker that has ended although nobody asked it to, once there is one.
    pub(crate) async fn failure(&self) -> usize {
        let mut failure = self.failure.clone();
        match failure.wait_for(Option::is_some).await {
            Ok(number) => number.unwrap_or_default(),
            // All have ended well.
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits until all have ended.
    pub(crate) fn join(self) -> anyhow::Result<()> {
        for thread in self.threads {
            match thread.join() {
                Ok(result) => result.context("a worker failed")?,
                Err(_) => anyhow::bail!("a worker panicked; report this as a defect"),
            }
        }
        Ok(())
    }
}

/// Tells all workers to take no new clients and to finish within `span`.
pub(crate) fn drain(postboxes: &Postboxes<Mail>, span: Span) {
    for worker in 0..postboxes.workers() {
        // A worker that has ended already has nothing to finish.
        let _ended = postboxes.post(worker, Mail::Drain(span));
    }
}

/// How many workers there are with this configuration on this machine.
pub(crate) fn worker_count(settings: &config::Settings) -> usize {
    let processors = std::thread::available_parallelism();
    settings.workers(processors.unwrap_or(NonZero::<usize>::MIN))
}

fn wanted(driver: config::Driver) -> Wanted {
    match driver {
        config::Driver::Auto => Wanted::Auto,
        config::Driver::Epoll => Wanted::Epoll,
        config::Driver::IoUring => Wanted::IoUring,
    }
}

fn resolve(address: &config::Address) -> anyhow::Result<Vec<Address>> {
    match address {
        config::Address::Unix(path) => Ok(vec![Address::Unix(path.clone())]),
        config::Address::Tcp { host, port } => {
            let found = (host.as_str(), *port).to_socket_addrs().with_context(|| {
                format!("backend.address: the host name {host} does not resolve")
            })?;
            Ok(found.map(Address::Tcp).collect())
        }
    }
}

/// The settings as the engine has them.
pub(crate) fn engine_settings(
    settings: &config::Settings,
    workers: usize,
    accounts: Arc<Directory>,
) -> engine::Settings {
    let (server, backend) = (&settings.server, &settings.backend);
    let memory = Host::here(Uring::Works).memory_limit();
    let default = engine::Settings::default();
    engine::Settings {
        accounts,
        max_connections: server.max_connections as usize,
        max_logins: server.logins_max() as usize,
        // Whoever only begins to log in must not take connections from those who have.
        max_relays: (backend.max_connections as usize / 8).max(1),
        max_relayed_per_account: backend.max_relayed_per_account as usize,
        max_connect_errors: server.max_connect_errors.map(std::num::NonZero::get),
        connect_errors_exempt: networks(&server.connect_errors_exempt),
        proxy_networks: networks(&settings.proxy_protocol.networks),
        default_auth_plugin: server.default_authentication_plugin.map(auth_plugin),
        login_timeout: server.login_timeout.into(),
        idle_transaction_timeout: server.idle_transaction_timeout.map(Into::into),
        wait_timeout: server.wait_timeout.map(Into::into),
        client_write_timeout: server.client_write_timeout.into(),
        client_read_timeout: server.client_read_timeout.into(),
        command_buffer_total: server.command_buffer(memory),
        session_memory: server.session_buffer(memory) / workers,
        answer_buffer: server.answer_buffer,
        answer_buffer_total: server.answer_buffer_total / workers,
        max_allowed_packet: server.max_allowed_packet,
        compression: server.compression,
        tls: match settings.tls.mode {
            config::TlsMode::Off => engine::TlsMode::Off,
            config::TlsMode::Offer => engine::TlsMode::Offer,
            config::TlsMode::Require => engine::TlsMode::Require,
        },
        backend_tls: crate::certificates::backend_host(settings).is_some(),
        connect_timeout: backend.connect_timeout.into(),
        backend_on_unix_socket: matches!(backend.address, config::Address::Unix(_)),
        queue_timeout: backend.queue_timeout.into(),
        max_pinned: backend.pinned_max() as usize,
        max_pinned_per_account: backend
            .max_pinned_per_account
            .map_or(usize::MAX, |max| max.get() as usize),
        max_prepared_statements: backend.max_prepared_statements as usize,
        min_connections: backend.min_connections as usize,
        busy_at_first: None,
        backend_idle_timeout: backend.idle_timeout.map(Into::into),
        backend_max_age: backend.max_age.map(Into::into),
        lane_stall: backend.lane_stall.map(Into::into),
        preference: match backend.restless {
            true => engine::Preference::Foreign,
            false => engine::Preference::Fitting,
        },
        server_version: backend
            .server_version
            .clone()
            .unwrap_or(default.server_version),
        on_disconnect: match server.on_disconnect {
            config::OnDisconnect::KillReads => engine::OnDisconnect::KillReads,
            config::OnDisconnect::KillAll => engine::OnDisconnect::KillAll,
            config::OnDisconnect::Finish => engine::OnDisconnect::Finish,
        },
        address: public_address(&server.listen),
    }
}

fn networks(networks: &[config::Network]) -> Vec<engine::Network> {
    let network = |network: &config::Network| match *network {
        config::Network::Ip(ip, bits) => engine::Network::Ip(ip, bits),
        config::Network::Unix => engine::Network::Unix,
    };
    networks.iter().map(network).collect()
}

fn auth_plugin(plugin: config::AuthPlugin) -> AuthPlugin {
    match plugin {
        config::AuthPlugin::NativePassword => AuthPlugin::NativePassword,
        config::AuthPlugin::CachingSha2Password => AuthPlugin::CachingSha2Password,
    }
}

/// Where clients are told that they are: the first of each kind of address.
fn public_address(listen: &[config::Listen]) -> engine::PublicAddress {
    let mut public = engine::PublicAddress {
        hostname: rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned(),
        ..engine::PublicAddress::default()
    };
    for listen in listen.iter().rev() {
        match listen {
            config::Listen::Tcp(address) => {
                public.port = Some(address.port()).filter(|&port| port != 0);
                public.bind_address = address.ip().to_string();
            }
            config::Listen::Unix(path) => public.socket = path.to_string_lossy().into_owned(),
        }
    }
    public
}

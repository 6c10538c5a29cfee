//! What is wanted: from flags, from the configuration, or by default.

use std::path::PathBuf;

use clap::ValueEnum;
use doctor::{Finding, Host, Need, Ours};

use super::backend::Backend;

/// What so many connections are wanted for.
#[derive(clap::Args)]
pub(super) struct Wanted {
    /// How many connections; server.max_connections of --config, or else 100000.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    connections: Option<u64>,
    /// The configuration that Myriad is to run with.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The database behind: mysql://user:password@host:port or user:password@unix:/path; that of
    /// --config, as its first account, if not given.
    #[arg(long, value_name = "WHERE")]
    backend: Option<Backend>,
    /// Which ends of the connections are on this machine; server with --config, or else both.
    #[arg(long, value_enum)]
    role: Option<Role>,
    /// Who serves them.
    #[arg(long, value_enum, default_value_t = Serving::Myriad)]
    serving: Serving,
    /// Which driver Myriad and the load generator use.
    #[arg(long, value_enum)]
    driver: Option<Driver>,
    /// How many workers Myriad has.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    workers: Option<u64>,
    /// How many connections to the database it has.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    backends: Option<u64>,
    /// How many addresses clients connect to.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    targets: Option<u64>,
    /// How many addresses of this machine they connect from; as many as needed on the loopback network.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    sources: Option<u64>,
    /// How often per second clients connect anew.
    #[arg(long, value_name = "PER_SECOND", default_value_t = 0)]
    reconnects: u64,
    /// Look at the limits of this process instead of one's own, such as those of a running service.
    #[arg(long)]
    pid: Option<u32>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Role {
    /// Clients connect to here.
    Server,
    /// Clients connect from here.
    Clients,
    /// Both, over loopback.
    Both,
}

#[derive(Clone, Copy, ValueEnum)]
enum Serving {
    /// Myriad.
    Myriad,
    /// A database with a thread for each connection.
    ThreadPerConnection,
    /// A database with a thread pool.
    ThreadPool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Driver {
    /// io_uring where the kernel allows it.
    Auto,
    /// epoll.
    Epoll,
    /// io_uring.
    #[value(name = "io_uring")]
    IoUring,
}

impl Wanted {
    /// What is needed.
    pub(super) fn need(&self) -> anyhow::Result<Need> {
        let mut need = match &self.config {
            Some(file) => need_of(&config::load(file)?),
            None => Need::new(100_000),
        };
        need.connections = self.connections.unwrap_or(need.connections);
        need.workers = self.workers.unwrap_or(need.workers);
        need.backends = self.backends.unwrap_or(need.backends);
        need.targets = self.targets.unwrap_or(need.targets);
        need.sources = self.sources;
        need.reconnects_per_s = self.reconnects;
        need.serving = match self.serving {
            Serving::Myriad => doctor::Serving::Myriad,
            Serving::ThreadPerConnection => doctor::Serving::ThreadPerConnection,
            Serving::ThreadPool => doctor::Serving::ThreadPool,
        };
        if let Some(role) = self.role {
            need.role = match role {
                Role::Server => doctor::Role::Server,
                Role::Clients => doctor::Role::Clients,
                Role::Both => doctor::Role::Both,
            };
        }
        if let Some(driver) = self.driver {
            need.driver = match driver {
                Driver::Auto => doctor::Driver::Auto,
                Driver::Epoll => doctor::Driver::Epoll,
                Driver::IoUring => doctor::Driver::IoUring,
            };
        }
        // Over loopback the load generator finds addresses; elsewhere there is one unless told.
        if need.role == doctor::Role::Clients && need.sources.is_none() {
            need.sources = Some(1);
        }
        Ok(need)
    }

    /// What the database says, if one is known.
    pub(super) fn examine_database(
        &self,
        host: &Host,
        need: &Need,
    ) -> anyhow::Result<Vec<Finding>> {
        let settings = match &self.config {
            Some(file) => config::load(file)?,
            None => config::Settings::default(),
        };
        let backend = self.backend.clone().or_else(|| Backend::of(&settings));
        let Some(backend) = backend else {
            return Ok(Vec::new());
        };
        let idle_timeout = settings.backend.idle_timeout;
        let ours = Ours {
            max_allowed_packet: settings.server.max_allowed_packet as u64,
            idle_timeout_s: idle_timeout.map(|timeout| timeout.as_secs()),
            local_memory_bytes: host.memory_bytes(),
        };
        backend.examine(need, ours)
    }

    /// The machine, as the process that is asked about may use it.
    pub(super) fn host(&self, host: Host) -> Host {
        match self.pid {
            Some(pid) => host.of_process(pid),
            None => host,
        }
    }
}

/// What Myriad needs with this configuration.
pub(super) fn need_of(settings: &config::Settings) -> Need {
    let (server, backend) = (&settings.server, &settings.backend);
    let default = Need::new(u64::from(server.max_connections));
    let is_tcp = |listen: &&config::Listen| matches!(listen, config::Listen::Tcp(_));
    Need {
        role: doctor::Role::Server,
        workers: crate::workers::worker_count(settings) as u64,
        backends: backend.max_connections.into(),
        backends_over_tcp: matches!(backend.address, config::Address::Tcp { .. }),
        driver: match server.driver {
            config::Driver::Auto => doctor::Driver::Auto,
            config::Driver::Epoll => doctor::Driver::Epoll,
            config::Driver::IoUring => doctor::Driver::IoUring,
        },
        targets: server.listen.iter().filter(is_tcp).count().max(1) as u64,
        ..default
    }
}

//! What is wanted: how many connections, by whom they are held, over which driver.

use serde::Serialize;

/// What so many connections are wanted for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Need {
    /// Connections of clients, all open at the same time.
    pub connections: u64,
    /// Which end of them is on this machine.
    pub role: Role,
    /// Who serves them.
    pub serving: Serving,
    /// How many worker threads the front door has.
    pub workers: u64,
    /// How many connections it keeps to the database.
    pub backends: u64,
    /// Whether these are TCP connections that begin here; a unix socket takes no port.
    pub backends_over_tcp: bool,
    /// Which driver is to be used.
    pub driver: Driver,
    /// How many addresses clients can connect to.
    pub targets: u64,
    /// How many addresses of this machine the load generator connects from. `None`: it finds enough of
    /// them itself on the loopback network.
    pub sources: Option<u64>,
    /// How often per second clients connect anew.
    pub reconnects_per_s: u64,
}

/// Which end of the connections is on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Clients connect to here.
    Server,
    /// Clients connect from here.
    Clients,
    /// Both, over loopback.
    Both,
}

/// Who serves the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Serving {
    /// Myriad.
    Myriad,
    /// A database, with a thread for each connection.
    ThreadPerConnection,
    /// A database with a thread pool.
    ThreadPool,
}

/// Which driver Myriad and the load generator use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Driver {
    /// io_uring where the kernel allows it.
    Auto,
    /// epoll.
    Epoll,
    /// io_uring.
    IoUring,
}

impl Need {
    /// So many connections, both ends on this machine, through Myriad with what its configuration
    /// says by default.
    pub fn new(connections: u64) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            connections,
            role: Role::Both,
            serving: Serving::Myriad,
            // The database has the others.
            workers: (cores / 2).max(1) as u64,
            backends: 32,
            backends_over_tcp: true,
            driver: Driver::Auto,
            targets: 1,
            sources: None,
            reconnects_per_s: 0,
        }
    }

    /// How many ends of each connection are on this machine.
    pub(crate) fn ends(&self) -> u64 {
        match self.role {
            Role::Server | Role::Clients => 1,
            Role::Both => 2,
        }
    }

    /// Whether the connections are served here.
    pub(crate) fn serves(&self) -> bool {
        self.role != Role::Clients
    }

    /// Whether the connections are made here.
    pub(crate) fn connects(&self) -> bool {
        self.role != Role::Server
    }
}

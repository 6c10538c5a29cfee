//! Flags that several commands share: where to connect, as whom, and which tables.

use std::net::ToSocketAddrs;
use std::path::PathBuf;

use anyhow::Context;
use driver::Address;

/// Where to connect.
#[derive(clap::Args)]
pub(super) struct Where {
    /// The host to connect to; several, separated by commas, take turns.
    #[arg(long, default_value = "127.0.0.1", value_delimiter = ',')]
    host: Vec<String>,
    /// Its TCP port.
    #[arg(long, default_value_t = 3306)]
    port: u16,
    /// Connect to this unix socket instead of a host.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["host", "port"])]
    socket: Option<PathBuf>,
}

/// As whom to connect.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Who {
    /// The user name.
    #[arg(long, default_value = "sbtest")]
    pub(super) user: String,
    /// The password; empty for none.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(super) password: String,
    /// The default schema; empty for none.
    #[arg(long, default_value = "sbtest")]
    pub(super) database: String,
}

/// Which tables.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Tables {
    /// How many tables there are: sbtest1 and so on, as sysbench makes them.
    #[arg(long, default_value_t = 10)]
    pub(super) tables: u32,
    /// How many rows each of them has.
    #[arg(long, default_value_t = 100_000)]
    pub(super) table_size: u32,
}

impl Where {
    /// The addresses; those of one host are to be tried in their order, of several hosts the first
    /// of each takes its turn.
    pub(super) fn addresses(&self) -> anyhow::Result<Vec<Address>> {
        if let Some(path) = &self.socket {
            return Ok(vec![Address::Unix(path.clone())]);
        }
        let mut addresses = Vec::new();
        for host in &self.host {
            let found = resolve(host, self.port)?;
            let count = if self.takes_turns() { 1 } else { usize::MAX };
            addresses.extend(found.into_iter().take(count));
        }
        Ok(addresses)
    }

    /// Whether there are several hosts.
    pub(super) fn takes_turns(&self) -> bool {
        self.host.len() > 1
    }
}

impl Who {
    pub(super) fn account(&self) -> load::Account {
        load::Account {
            user: self.user.clone(),
            password: self.password.clone(),
            schema: self.database.clone(),
            tls: false,
        }
    }
}

fn resolve(host: &str, port: u16) -> anyhow::Result<Vec<Address>> {
    let host = host.trim().trim_matches(['[', ']']);
    let found = (host, port)
        .to_socket_addrs()
        .with_context(|| format!("the host name {host} does not resolve; check --host"))?;
    Ok(found.map(Address::Tcp).collect())
}

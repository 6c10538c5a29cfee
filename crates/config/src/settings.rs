//! The whole of the settings, and what must hold between sections.
//!
//! Owns no key: each section reads and checks its own.

use std::num::NonZero;

use toml::de::DeTable;

use crate::account::{self, Account};
use crate::address::{Address, Listen};
use crate::error::Wrong;
use crate::password::Surroundings;
use crate::quota::{self, Quota, Schema};
use crate::report::Report;
use crate::section::Section;
use crate::{Admin, Backend, ConfigErrors, Log, ProxyProtocol, Server, Tls};

/// Everything a configuration says, checked. The default is what an empty file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `[server]`: what faces the clients.
    pub server: Server,
    /// `[tls]`: TLS towards clients.
    pub tls: Tls,
    /// `[proxy_protocol]`: load balancers that are believed.
    pub proxy_protocol: ProxyProtocol,
    /// `[backend]`: the database behind.
    pub backend: Backend,
    /// `[monitor]`: the account that reads the database's; `None` = nobody does.
    pub monitor: Option<Account>,
    /// `[[account]]`: who may log in; no user name occurs twice.
    pub accounts: Vec<Account>,
    /// `[[quota]]`: limits of accounts; none is for an account that has one.
    pub quotas: Vec<Quota>,
    /// `[[schema]]`: limits of schemas; no name occurs twice.
    pub schemas: Vec<Schema>,
    /// `[admin]`: metrics, health, and statements of administrators.
    pub admin: Admin,
    /// `[log]`: what is logged, and how.
    pub log: Log,
}

impl Settings {
    /// Whether nobody can log in: there is no account, and none is read from the database.
    pub fn has_no_accounts(&self) -> bool {
        self.accounts.is_empty() && self.monitor.is_none()
    }

    /// How many workers share the work on a machine with so many processors. Unless the configuration
    /// says it: one for each, or for every second if the database has to live on the same processors.
    pub fn workers(&self, processors: NonZero<usize>) -> usize {
        let processors = processors.get();
        match self.server.workers {
            Some(workers) => workers.get() as usize,
            None if self.backend.address.is_local() => (processors / 2).max(1),
            None => processors,
        }
    }
}

/// Reads `text` from `origin`; see [`crate::parse`].
pub(crate) fn read(
    text: &str,
    origin: &str,
    surroundings: &Surroundings,
) -> Result<Settings, ConfigErrors> {
    let mut report = Report::new(text);
    let settings = match DeTable::parse(text) {
        Ok(root) => read_sections(root.get_ref(), surroundings, &mut report),
        Err(error) => {
            report.blame_syntax(&error);
            Settings::default()
        }
    };
    report.verdict(settings, origin)
}

fn read_sections(root: &DeTable<'_>, surroundings: &Surroundings, report: &mut Report) -> Settings {
    let mut root = Section::root(root, report);
    let settings = Settings {
        server: root.section("server", Server::read),
        tls: root.section("tls", |section| Tls::read(section, surroundings)),
        proxy_protocol: root.section("proxy_protocol", ProxyProtocol::read),
        backend: root.section("backend", |section| Backend::read(section, surroundings)),
        monitor: root.section("monitor", |section| {
            account::read_optional(section, surroundings)
        }),
        accounts: account::read_all(&mut root, surroundings),
        quotas: quota::read_all(&mut root),
        schemas: quota::read_schemas(&mut root),
        admin: root.section("admin", |section| Admin::read(section, surroundings)),
        log: root.section("log", Log::read),
    };
    root.finish();
    check_admin_beside_listen(&settings, report);
    check_backend_is_not_us(&settings, report);
    settings
}

fn check_admin_beside_listen(settings: &Settings, report: &mut Report) {
    let Admin { http, sql, .. } = &settings.admin;
    for (key, address) in [("admin.http", http), ("admin.sql", sql)] {
        let Some(address) = address.filter(|address| address.port() != 0) else {
            continue;
        };
        if settings.server.listen.contains(&Listen::Tcp(address)) {
            let what = format!("\"{address}\" is also in server.listen");
            report.blame_written(key, Wrong::new(what, "write another port"));
        } else if key == "admin.sql" && *http == Some(address) {
            let what = format!("\"{address}\" is also admin.http");
            report.blame_written(key, Wrong::new(what, "write another port"));
        }
    }
}

fn check_backend_is_not_us(settings: &Settings, report: &mut Report) {
    let address = &settings.backend.address;
    if settings
        .server
        .listen
        .iter()
        .any(|listen| is_same(address, listen))
    {
        let wrong = Wrong::new(
            format!("the backend's address \"{address}\" is also in server.listen"),
            "write the address of the database, or listen elsewhere",
        );
        let written = report.place("backend.address").is_some();
        report.blame_written(
            if written {
                "backend.address"
            } else {
                "server.listen"
            },
            wrong,
        );
    }
}

fn is_same(address: &Address, listen: &Listen) -> bool {
    match (address, listen) {
        (Address::Tcp { host, port }, Listen::Tcp(socket)) => {
            host.parse() == Ok(socket.ip()) && *port == socket.port()
        }
        (Address::Unix(backend), Listen::Unix(ours)) => backend == ours,
        _ => false,
    }
}

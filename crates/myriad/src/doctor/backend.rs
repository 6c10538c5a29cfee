//! Asking the database behind what it says about itself. What that means is `doctor`'s part.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;
use doctor::{Facts, Finding, Need, Ours, Tracking};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};
use session::statement::{Flavor, unseen_question};

use super::tracker::{self, Place, Target};
use crate::database_tls;

/// How long the database may take to answer everything.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where a database is and as whom it is asked.
#[derive(Clone)]
pub(super) struct Backend {
    opts: Opts,
    is_local: bool,
}

/// Whether its session tracker tells what it should, as far as that can be found out.
fn tracking(opts: &Opts) -> Tracking {
    if opts.ssl_opts().is_some() {
        return Tracking::Unknown("it is not probed over TLS".into());
    }
    let place = match opts.socket() {
        Some(path) => Place::Unix(path.into()),
        None => Place::Tcp(opts.ip_or_hostname().to_owned(), opts.tcp_port()),
    };
    let target = Target {
        place,
        user: opts.user().unwrap_or_default().to_owned(),
        password: opts.pass().unwrap_or_default().to_owned(),
    };
    match tracker::untold(&target) {
        Ok(Some(untold)) => Tracking::Untold(untold),
        Ok(None) => Tracking::Never,
        Err(error) => Tracking::Unknown(format!("it was not probed: {error:#}")),
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = "write mysql://user:password@host:port, or user:password@unix:/path";
        if let Some((account, path)) = text.split_once("unix:") {
            let account = account.trim_end_matches('@');
            let (user, password) = account.split_once(':').unwrap_or((account, ""));
            let user = if user.is_empty() { "root" } else { user };
            return Ok(Self::over_unix(path, user, password));
        }
        let opts = Opts::from_url(text).map_err(|_| form.to_owned())?;
        let is_local = is_local(opts.ip_or_hostname());
        let opts = OptsBuilder::from_opts(opts).prefer_socket(false).into();
        Ok(Self { opts, is_local })
    }
}

impl Backend {
    /// The database of a configuration, as the first of its accounts, or else as the one that reads accounts.
    pub(super) fn of(settings: &config::Settings) -> Option<Self> {
        let account = settings.accounts.first().or(settings.monitor.as_ref())?;
        let (user, password) = (account.user.as_str(), account.password.expose());
        Some(match &settings.backend.address {
            config::Address::Unix(path) => Self::over_unix(&path.to_string_lossy(), user, password),
            config::Address::Tcp { host, port } => {
                let opts = OptsBuilder::default()
                    .ip_or_hostname(host)
                    .tcp_port(*port)
                    .user(Some(user))
                    .pass(Some(password))
                    .ssl_opts(database_tls::of_backend(&settings.backend))
                    .prefer_socket(false);
                Self {
                    opts: opts.into(),
                    is_local: is_local(host),
                }
            }
        })
    }

    fn over_unix(path: &str, user: &str, password: &str) -> Self {
        let opts = OptsBuilder::default()
            .socket(Some(path))
            .user(Some(user))
            .pass(Some(password));
        Self {
            opts: opts.into(),
            is_local: true,
        }
    }

    /// Asks it, and checks what it says. A database that cannot be asked is a finding, too.
    pub(super) fn examine(&self, need: &Need, ours: Ours) -> anyhow::Result<Vec<Finding>> {
        let memory = ours.local_memory_bytes.filter(|_| self.is_local);
        let ours = Ours {
            local_memory_bytes: memory,
            ..ours
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let asked = runtime.block_on(async {
            let asking = ask(self.opts.clone());
            let asked = tokio::time::timeout(PATIENCE, asking).await;
            asked.context("no answer within 10 s")?
        });
        Ok(match asked {
            Ok(facts) => {
                let facts = facts.with_tracking(tracking(&self.opts));
                doctor::examine_database(&facts, need, &ours)
            }
            Err(error) => vec![doctor::unreachable_database(&format!("{error:#}"))],
        })
    }
}

async fn ask(opts: Opts) -> anyhow::Result<Facts> {
    let mut connection = Conn::new(opts).await?;
    let version: Option<String> = connection.query_first("SELECT VERSION()").await?;
    let variables: Vec<(String, String)> = connection.query("SHOW GLOBAL VARIABLES").await?;
    let status: Vec<(String, String)> = connection.query("SHOW GLOBAL STATUS").await?;
    let version = version.unwrap_or_default();
    let leaving = ask_for_leaving(&mut connection, &version).await;
    connection.disconnect().await?;
    let facts = Facts::new(version, variables, status);
    Ok(match leaving {
        Ok(names) => facts.with_leaving(names),
        // Servers of before recursive queries.
        Err(error) => {
            tracing::debug!(%error, "triggers and views cannot be read");
            facts
        }
    })
}

/// The tables and views that leave something in a session which nothing reports.
async fn ask_for_leaving(
    connection: &mut Conn,
    version: &str,
) -> Result<Vec<String>, mysql_async::Error> {
    let flavor = match version.contains("MariaDB") {
        true => Flavor::MariaDb,
        false => Flavor::MySql,
    };
    let rows: Vec<(String, String, String, String)> =
        connection.query(unseen_question(flavor)).await?;
    let leaving = rows.into_iter().filter(|(what, ..)| what == "U");
    let text = |hex: &str| {
        let pairs = hex.as_bytes().chunks(2);
        let byte = |pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Vec<_> = pairs.filter_map(byte).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let name =
        |(_, _, schema, name): (_, _, String, String)| format!("{}.{}", text(&schema), text(&name));
    Ok(leaving.map(name).collect())
}

fn is_local(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_backend_are_understood() {
        let tcp: Backend = "mysql://app:secret@127.0.0.1:3307".parse().unwrap();
        assert_eq!((tcp.opts.tcp_port(), tcp.is_local), (3307, true));
        assert_eq!(tcp.opts.pass(), Some("secret"));
        let far: Backend = "mysql://app@db.example:3306".parse().unwrap();
        assert!(!far.is_local);
        let unix: Backend = "app:secret@unix:/run/db.sock".parse().unwrap();
        assert_eq!(
            (unix.opts.socket(), unix.opts.user()),
            (Some("/run/db.sock"), Some("app"))
        );
        let root: Backend = "unix:/run/db.sock".parse().unwrap();
        assert_eq!(root.opts.user(), Some("root"));
        let error = "db.example:3306".parse::<Backend>().err().unwrap();
        assert!(error.starts_with("write mysql://"), "{error}");
    }
}

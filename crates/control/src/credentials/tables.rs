//! The connection to the database, and its tables of accounts: a checksum of them each time, and all that
//! is in them when that has changed.

use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use accounts::Reading;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, Row, SslOpts};
use tokio::time::Instant;
use zeroize::Zeroizing;

use super::facts::Facts;
use super::rows::text;
use super::status::Unread;
use super::sums::Sums;
use super::{mariadb, mysql};

/// Passwords expire without a change in any table.
const READ_ANYWAY: Duration = Duration::from_secs(60);

/// Errors of a table that is not there, or not open to the account: no such table, SELECT denied.
const MISSING: [u16; 2] = [1146, 1142];

/// A database whose accounts are read.
pub struct Database {
    address: Address,
    user: String,
    password: Zeroizing<String>,
    tls: Option<SslOpts>,
    connection: Option<Connected>,
}

enum Address {
    Unix(String),
    Tcp(String, u16),
}

struct Connected {
    connection: Conn,
    is_mariadb: bool,
    /// What the server says of its version.
    version: String,
    /// Of the tables, when they were read last, and when that was.
    seen: Option<(Vec<Option<String>>, Instant)>,
}

impl Database {
    /// One that is reached over a unix socket.
    pub fn over_unix(path: &str, user: &str, password: Zeroizing<String>) -> Self {
        Self::at(Address::Unix(path.to_owned()), user, password)
    }

    /// One that is reached over TCP.
    pub fn over_tcp(host: &str, port: u16, user: &str, password: Zeroizing<String>) -> Self {
        Self::at(Address::Tcp(host.to_owned(), port), user, password)
    }

    fn at(address: Address, user: &str, password: Zeroizing<String>) -> Self {
        Self {
            address,
            user: user.to_owned(),
            password,
            tls: None,
            connection: None,
        }
    }

    /// The same, speaking TLS like that over TCP.
    #[must_use]
    pub fn with_tls(self, tls: Option<SslOpts>) -> Self {
        Self { tls, ..self }
    }

    /// All of its accounts, or `None` if nothing has changed since they were read last.
    ///
    /// # Errors
    ///
    /// Why it cannot be read; [`Database::forget`] is due then.
    pub(super) async fn read(&mut self) -> Result<Option<Reading>, Unread> {
        if self.connection.is_none() {
            self.connection = Some(Connected::new(self.options()).await?);
        }
        let our_address = self.address.ours();
        let Some(connected) = &mut self.connection else {
            return Ok(None);
        };
        let read = connected.read(our_address).await;
        read.map_err(|error| connected.explain(error))
    }

    /// The connection may be in any state.
    pub(super) fn forget(&mut self) {
        self.connection = None;
    }

    /// Ends the connection as the database wants to see it ended.
    pub(super) async fn leave(&mut self) {
        if let Some(connected) = self.connection.take() {
            let _lost_already = connected.connection.disconnect().await;
        }
    }

    fn options(&self) -> Opts {
        let options = OptsBuilder::default()
            .user(Some(&self.user))
            .pass(Some(self.password.as_str()))
            .prefer_socket(false);
        let options = match &self.address {
            Address::Unix(path) => options.socket(Some(path)),
            Address::Tcp(host, port) => options
                .ip_or_hostname(host)
                .tcp_port(*port)
                .ssl_opts(self.tls.clone()),
        };
        options.into()
    }
}

impl Address {
    /// The address from which this machine reaches it, if that is not a unix socket.
    fn ours(&self) -> Option<IpAddr> {
        let Self::Tcp(host, port) = self else {
            return None;
        };
        // Nothing is sent: the kernel only chooses the way.
        let way = |local: &str| {
            let socket = UdpSocket::bind((local, 0)).ok()?;
            socket.connect((host.as_str(), *port)).ok()?;
            Some(socket.local_addr().ok()?.ip())
        };
        way("0.0.0.0").or_else(|| way("::"))
    }
}

impl Connected {
    async fn new(options: Opts) -> mysql_async::Result<Self> {
        let mut connection = Conn::new(options).await?;
        // The version is whatever `--version` says.
        let found: Option<(u64, String)> = connection.query_first(mariadb::IS_MARIADB).await?;
        let (found, version) = found.unwrap_or_default();
        Ok(Self {
            connection,
            is_mariadb: found > 0,
            version,
            seen: None,
        })
    }

    async fn read(&mut self, our_address: Option<IpAddr>) -> mysql_async::Result<Option<Reading>> {
        let (users, grants) = match self.is_mariadb {
            true => (mariadb::USERS, &mariadb::GRANTS[..]),
            false => (mysql::USERS, &mysql::GRANTS[..]),
        };
        let sums = self.checksums(users, grants).await?;
        let unchanged =
            |(seen, at): &(Vec<_>, Instant)| *seen == sums && at.elapsed() < READ_ANYWAY;
        if self.seen.as_ref().is_some_and(unchanged) {
            return Ok(None);
        }
        let at = Instant::now();
        let mut privileges = Sums::default();
        for &table in grants {
            let rows: Vec<Row> = self
                .connection
                .query(format!("SELECT * FROM mysql.{table}"))
                .await?;
            rows.iter().for_each(|row| privileges.add(table, row));
        }
        let facts = Facts::ask(&mut self.connection).await?;
        let accounts = if self.is_mariadb {
            let rows: Vec<Row> = self.connection.query(mariadb::ROWS).await?;
            mariadb::accounts(&rows, &facts, &mut privileges)
        } else {
            let rows: Vec<Row> = self.connection.query(mysql::ROWS).await?;
            mysql::accounts(&rows, &facts, &mut privileges)
        };
        let roles = privileges.of_roles();
        self.seen = Some((sums, at));
        Ok(Some(Reading {
            accounts,
            view: facts.view(our_address, roles),
        }))
    }

    /// What a refusal means: which grant is missing, or that the server is too old to have such a table.
    fn explain(&self, error: mysql_async::Error) -> Unread {
        let missing =
            matches!(&error, mysql_async::Error::Server(error) if MISSING.contains(&error.code));
        let mut unread = Unread::from(error);
        if missing {
            let oldest = match self.is_mariadb {
                true => "MariaDB 10.4",
                false => "MySQL 8.0",
            };
            unread.error = format!(
                "{}; [monitor] needs {oldest} or newer, and SELECT on the tables that docs/ACCOUNTS.md lists; this \
                 server is {}",
                unread.error, self.version,
            );
        }
        unread
    }

    /// Of each table, and last the variables that [`Facts`] has of the server.
    async fn checksums(
        &mut self,
        users: &str,
        grants: &[&str],
    ) -> mysql_async::Result<Vec<Option<String>>> {
        let tables: Vec<String> = std::iter::once(&users)
            .chain(grants)
            .map(|table| format!("mysql.{table}"))
            .collect();
        let sums = format!("CHECKSUM TABLE {}", tables.join(","));
        let rows: Vec<Row> = self.connection.query(sums).await?;
        let sums = rows.iter().map(|row| text(row, "Checksum"));
        let variables = self.connection.query_first(Facts::VARIABLES).await?;
        Ok(sums.chain([variables]).collect())
    }
}

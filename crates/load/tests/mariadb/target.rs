//! A MariaDB of its own for each test, and runs that are too short to bore.

use std::time::Duration;

use driver::Address;
use load::{Account, Group, Pacing, Plan, Tables, Workload};
use localdb::{LocalDb, Options};

/// How many connections a run has.
pub(crate) const CONNECTIONS: u32 = 200;

const SCHEMA: &str = "
    CREATE DATABASE sbtest; USE sbtest;
    CREATE USER sbtest@localhost;
    CREATE USER locked@localhost IDENTIFIED BY 'secret';
    CREATE USER everywhere@'127.%';
    GRANT ALL ON sbtest.* TO sbtest@localhost, locked@localhost, everywhere@'127.%';";

/// A database; it ends, and its folder goes, with the value.
pub(crate) struct Target {
    pub(crate) database: LocalDb,
    _folder: tempfile::TempDir,
}

impl Target {
    /// A database with two tables of 1,000 rows.
    pub(crate) fn start() -> Self {
        Self::on_port(0)
    }

    /// The same on a TCP port, too, unless that is 0.
    pub(crate) fn on_port(port: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::in_folder(folder.path()).port(port);
        let options = options.server_arg("--max-connections=600");
        let database = LocalDb::start(options).unwrap();
        database.execute(SCHEMA).unwrap();
        let target = Self {
            database,
            _folder: folder,
        };
        target.tables(2, 1_000).prepare(|_| {}).unwrap();
        target
    }

    /// Tables in it.
    pub(crate) fn tables(&self, tables: u32, rows: u32) -> Tables {
        Tables {
            target: vec![Address::Unix(self.database.socket().to_owned())],
            account: account("sbtest", ""),
            tables,
            rows,
            connections: 2,
        }
    }

    /// A run of a second.
    pub(crate) fn plan(&self, workload: Workload) -> Plan {
        Plan {
            target: vec![Address::Unix(self.database.socket().to_owned())],
            driver: driver::Driver::Epoll,
            spread: false,
            sources: Vec::new(),
            groups: vec![Group {
                name: "all".to_owned(),
                account: account("sbtest", ""),
                connections: CONNECTIONS,
                workload,
                prepared: false,
                pacing: Pacing::Closed {
                    think_time: Duration::ZERO,
                },
                patience: None,
            }],
            connect_concurrency: 20,
            threads: 2,
            ramp: Duration::ZERO,
            login_timeout: Duration::from_secs(20),
            warmup: Duration::from_millis(200),
            duration: Duration::from_secs(1),
            answer_timeout: Duration::from_secs(10),
            resumes_tls: false,
            report_interval: Duration::from_millis(300),
            watched: self.database.pid().into_iter().collect(),
        }
    }
}

/// Whoever logs in like this.
pub(crate) fn account(user: &str, password: &str) -> Account {
    Account {
        user: user.to_owned(),
        password: password.to_owned(),
        schema: "sbtest".to_owned(),
        tls: false,
    }
}

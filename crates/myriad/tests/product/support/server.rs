//! Which server the tests run on, and what the tests must know about its family.

use std::path::PathBuf;

use localdb::{Family, LocalDb, Options};

/// Names the server; MariaDB if it is not set.
const VARIABLE: &str = "MYRIAD_TEST_SERVER";

/// The lengths of the sequences that tests select from, the longest last.
const SEQUENCES: [u32; 7] = [5, 6, 100, 200, 1000, 3000, 70000];

/// A server that the tests can run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    MariaDb,
    MySql,
    /// With the plugin `thread_pool`.
    MySqlThreadPool,
}

impl Server {
    /// The one that the environment names.
    pub(crate) fn chosen() -> Self {
        match std::env::var(VARIABLE).as_deref() {
            Ok("mysql") => Self::MySql,
            Ok("mysql-thread-pool") => Self::MySqlThreadPool,
            Ok("mariadb") | Err(_) => Self::MariaDb,
            Ok(other) => panic!("{VARIABLE}={other}; use mariadb, mysql or mysql-thread-pool"),
        }
    }

    /// True for MariaDB; for tests of what MySQL has not, or has otherwise.
    pub(crate) fn is_mariadb() -> bool {
        Self::chosen() == Self::MariaDb
    }

    pub(crate) fn family(self) -> Family {
        match self {
            Self::MariaDb => Family::MariaDb,
            Self::MySql | Self::MySqlThreadPool => Family::MySql,
        }
    }

    /// A statement in the words of the server's family.
    pub(crate) fn words(text: &str) -> String {
        match Self::is_mariadb() {
            true => text.to_owned(),
            false => text
                .replace("@@tx_isolation", "@@transaction_isolation")
                .replace("max_statement_time = 0.05", "max_execution_time = 50")
                .replace("max_statement_time", "max_execution_time"),
        }
    }

    /// What clients are told that were silent for too long, before the connection is closed.
    pub(crate) fn words_to_the_silent() -> Vec<u8> {
        let text = "The client was disconnected by the server because of inactivity. See wait_timeout and \
                    interactive_timeout for configuring this behavior.";
        let payload = [
            &[0xFF],
            &4031_u16.to_le_bytes()[..],
            b"#HY000",
            text.as_bytes(),
        ]
        .concat();
        match Self::is_mariadb() {
            true => Vec::new(),
            false => [&[payload.len() as u8, 0, 0, 0], &payload[..]].concat(),
        }
    }

    /// What the server is started with besides what all are.
    pub(crate) fn arrange(self, options: Options) -> Options {
        let options = options.family(self.family());
        let longest = SEQUENCES[SEQUENCES.len() - 1];
        match self {
            Self::MariaDb => match server_file("plugin") {
                Some(folder) => options.server_arg(format!("--plugin-dir={}", folder.display())),
                None => options,
            },
            // Nothing that the tests store must outlive the machine.
            Self::MySql => options
                .server_arg("--innodb-flush-method=nosync")
                .server_arg(format!("--cte-max-recursion-depth={longest}")),
            Self::MySqlThreadPool => Self::MySql
                .arrange(options)
                .server_arg("--plugin-load-add=thread_pool.so"),
        }
    }

    /// Has MySQL tell statements what their query attributes are.
    pub(crate) fn add_components(self, database: &LocalDb) {
        if self != Self::MariaDb {
            database
                .execute("INSTALL COMPONENT 'file://component_query_attributes'")
                .unwrap();
        }
    }

    /// Gives MySQL the tables `seq_1_to_…` of the schema `shop`, which MariaDB has in any schema.
    pub(crate) fn add_sequences(self, database: &LocalDb) {
        if self == Self::MariaDb {
            return;
        }
        for length in SEQUENCES {
            let table = format!("shop.seq_1_to_{length}");
            let rows = "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number";
            database
                .execute(&format!(
                    "CREATE TABLE {table} (seq BIGINT UNSIGNED NOT NULL PRIMARY KEY);
                     INSERT INTO {table} {rows} WHERE n < {length}) SELECT n FROM number"
                ))
                .unwrap();
        }
    }
}

/// A file or folder that `scripts/setup clients` has unpacked from MariaDB's server, if it could.
pub(crate) fn server_file(name: &str) -> Option<PathBuf> {
    let folder = cached("mariadb-server")?;
    let complete = folder.join(".version").is_file();
    complete.then(|| folder.join(name))
}

/// A folder of this name where `scripts/setup` keeps what tests need.
pub(crate) fn cached(name: &str) -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let of_home = || Some(PathBuf::from(variable("HOME")?).join(".cache"));
    let cache = variable("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(of_home)?;
    Some(cache.join("myriad").join(name))
}

/// A program that comes with the server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tool {
    Client,
    Dump,
}

impl Tool {
    pub(crate) fn name(self, family: Family) -> &'static str {
        match (self, family) {
            (Self::Client, Family::MariaDb) => "mariadb",
            (Self::Client, Family::MySql) => "mysql",
            (Self::Dump, Family::MariaDb) => "mariadb-dump",
            (Self::Dump, Family::MySql) => "mysqldump",
        }
    }
}

//! Which server the tests run on, and what the tests must know about its family and its version.

use std::path::PathBuf;
use std::sync::OnceLock;

use localdb::{Family, Installation, LocalDb, Options};

/// Names the server; MariaDB if it is not set.
const VARIABLE: &str = "MYRIAD_TEST_SERVER";

/// The lengths of the sequences that tests select from, the longest last.
const SEQUENCES: [u32; 7] = [5, 6, 100, 200, 1000, 3000, 70000];

/// A server that the tests can run on, and what it has that others of its family lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// As [`VARIABLE`] has it.
    name: &'static str,
    /// As `localdb` calls what is run.
    installation: &'static str,
    /// It came with the plugins and components of its version.
    has_plugins: bool,
    has_thread_pool: bool,
}

/// All of them, and all that differs between versions: tests ask, and do not know versions.
const SERVERS: [Server; 8] = [
    Server::with_plugins("mariadb"),
    Server::with_plugins("mariadb-11.8"),
    Server::without_plugins("mariadb-11.4"),
    Server::without_plugins("mariadb-10.11.5"),
    Server::with_plugins("mariadb-10.5"),
    Server::with_plugins("mysql"),
    Server {
        name: "mysql-thread-pool",
        has_thread_pool: true,
        ..Server::with_plugins("mysql")
    },
    Server::without_plugins("mysql-8.0"),
];

impl Server {
    const fn with_plugins(name: &'static str) -> Self {
        Self {
            name,
            installation: name,
            has_plugins: true,
            has_thread_pool: false,
        }
    }

    const fn without_plugins(name: &'static str) -> Self {
        Self {
            has_plugins: false,
            ..Self::with_plugins(name)
        }
    }

    /// The one that the environment names.
    pub(crate) fn chosen() -> Self {
        let name = std::env::var(VARIABLE).unwrap_or_else(|_| "mariadb".into());
        let chosen = SERVERS.into_iter().find(|server| server.name == name);
        chosen.unwrap_or_else(|| {
            let names = SERVERS.map(|server| server.name).join(", ");
            panic!("{VARIABLE}={name}; use one of {names}")
        })
    }

    /// True for MariaDB; for tests of what MySQL has not, or has otherwise.
    pub(crate) fn is_mariadb() -> bool {
        Self::chosen().family() == Family::MariaDb
    }

    /// Where its programs lie.
    pub(crate) fn installation(self) -> Installation {
        Installation::named(self.installation).unwrap()
    }

    pub(crate) fn family(self) -> Family {
        self.installation().family()
    }

    /// Where this family's client programs lie: the server's own, if it is of this family.
    pub(crate) fn with_clients_of(family: Family) -> Installation {
        let own = Self::chosen().installation();
        match own.family() == family {
            true => own,
            false => Installation::usual(family),
        }
    }

    /// MySQL with the plugin `thread_pool`.
    pub(crate) fn has_thread_pool(self) -> bool {
        self.has_thread_pool
    }

    /// It came with the plugins and components of its version.
    pub(crate) fn has_plugins(self) -> bool {
        self.has_plugins
    }

    /// A write in a transaction fails if somebody has changed its row since the transaction's first read.
    pub(crate) fn refuses_changed_rows(self) -> bool {
        self.is_mariadb_from(110_602)
    }

    /// Its tracker tells which flags a statement has set, and no others.
    pub(crate) fn tells_flags(self) -> bool {
        !self.is_mariadb_from(110_400)
    }

    /// What keeps `app`, which has all privileges on a schema, from seeing what the routines in it are made of.
    pub(crate) fn hiding_routines(self, schema: &str) -> String {
        match self.is_mariadb_from(110_301) {
            true => format!("REVOKE SHOW CREATE ROUTINE ON {schema}.* FROM app@localhost"),
            // Seeing them is no privilege on a schema.
            false => "DO 0".to_owned(),
        }
    }

    /// True if it is MariaDB of this version or a newer one; 110_602 is 11.6.2.
    fn is_mariadb_from(self, wanted: u32) -> bool {
        static VERSION: OnceLock<u32> = OnceLock::new();
        let version = VERSION.get_or_init(|| {
            let version = self.installation().version().unwrap();
            let mut numbers = version.split(|letter: char| !letter.is_ascii_digit());
            let mut next = || numbers.next().and_then(|number| number.parse::<u32>().ok());
            let parts = [next(), next(), next()].map(Option::unwrap_or_default);
            parts
                .into_iter()
                .fold(0, |version, part| version * 100 + part)
        });
        self.family() == Family::MariaDb && *version >= wanted
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
        let options = options.installation(self.installation());
        match self.family() {
            Family::MariaDb => match self.own_plugins() {
                Some(folder) => options.server_arg(format!("--plugin-dir={}", folder.display())),
                None => options,
            },
            Family::MySql => {
                let longest = SEQUENCES[SEQUENCES.len() - 1];
                // Nothing that the tests store must outlive the machine.
                let options = options
                    .server_arg("--innodb-flush-method=nosync")
                    .server_arg(format!("--cte-max-recursion-depth={longest}"));
                match self.has_thread_pool {
                    true => options.server_arg("--plugin-load-add=thread_pool.so"),
                    false => options,
                }
            }
        }
    }

    /// Where plugins of this machine's MariaDB were unpacked to; others lie with their server.
    fn own_plugins(self) -> Option<PathBuf> {
        let is_own = self.installation() == Installation::default();
        is_own.then(|| server_file("plugin"))?
    }

    /// Has MySQL tell statements what their query attributes are.
    pub(crate) fn add_components(self, database: &LocalDb) {
        if self.family() == Family::MySql && self.has_plugins {
            database
                .execute("INSTALL COMPONENT 'file://component_query_attributes'")
                .unwrap();
        }
    }

    /// Gives MySQL the tables `seq_1_to_…` of the schema `shop`, which MariaDB has in any schema.
    pub(crate) fn add_sequences(self, database: &LocalDb) {
        if self.family() == Family::MariaDb {
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
fn server_file(name: &str) -> Option<PathBuf> {
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

//! The private database of a challenge: its settings for so many connections, its account, its tables.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use localdb::{LocalDb, Options};

use crate::child::Child;
use crate::error::ChallengeError;
use crate::kernel::number_behind;
use crate::{Plan, Stop, Way};

/// Its own schema, so that tables of others stay as they are.
pub(crate) const SCHEMA: &str = "challenge";
pub(crate) const USER: &str = "challenge";
/// An account that misbehaves; it has the same password.
pub(crate) const OTHER_USER: &str = "misbehaving";
pub(crate) const PASSWORD: &str = "hundred-thousand";
pub(crate) const TABLES: u32 = 10;

/// Connections besides those of the run: those that look after it.
const SPARE_CONNECTIONS: u32 = 20;
/// MariaDB takes no more.
const CONNECTIONS_MAX: u32 = 100_000;
/// The original experiment's settings of the logs. The redo log has room for whole runs: where it fills, the
/// server stops for a second now and then to write pages, and that is all that could be seen.
const DURABLE: &[&str] = &[
    "--innodb-log-file-size=2G",
    "--innodb-flush-log-at-trx-commit=1",
    "--log-bin=challenge-bin",
    "--sync-binlog=1",
    "--max-binlog-size=256M",
];
const PREPARE_LOOK: Duration = Duration::from_millis(20);
/// How often a database at rest is looked at, for how long at most, and how much may be left to remove.
const REST_LOOK: Duration = Duration::from_millis(100);
const REST_LIMIT: Duration = Duration::from_secs(10);
const HISTORY_MAX: u64 = 100;

/// The database, running.
pub(crate) struct Database {
    local: LocalDb,
}

/// How the database is to be set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Which way the clients go.
    pub(crate) way: Way,
    /// Connections that come to it.
    pub(crate) connections: u32,
    /// Whether each commit is written to the disk, with a binary log.
    pub(crate) is_durable: bool,
}

/// What it is started with, besides where its files lie.
pub(crate) fn arguments(wanted: Wanted) -> Vec<String> {
    let most = wanted.connections.saturating_add(SPARE_CONNECTIONS);
    let mut arguments = vec![
        format!("--max-connections={}", most.min(CONNECTIONS_MAX)),
        "--back-log=4096".to_owned(),
        format!("--innodb-buffer-pool-size={}M", buffer_pool_mib()),
    ];
    let logs = if wanted.is_durable {
        DURABLE
    } else {
        &["--innodb-flush-log-at-trx-commit=2"]
    };
    arguments.extend(logs.iter().map(|&argument| argument.to_owned()));
    if wanted.way == Way::ThreadPool {
        arguments.push("--thread-handling=pool-of-threads".to_owned());
    }
    arguments
}

impl Database {
    /// Starts it for so many connections, on a TCP port that nobody uses.
    pub(crate) fn start(plan: &Plan, wanted: Wanted) -> Result<Self, ChallengeError> {
        let options = Options::in_folder(&plan.database).port(free_port()?);
        let arguments = arguments(wanted).into_iter();
        let options = arguments.fold(options, Options::server_arg);
        let local = LocalDb::start(options)?;
        if wanted.is_durable {
            // What earlier runs logged would only fill the disk.
            local.execute("RESET MASTER")?;
        }
        Ok(Self { local })
    }

    /// Runs statements as its administrator, and returns what they say.
    pub(crate) fn execute(&self, statements: &str) -> Result<String, ChallengeError> {
        Ok(self.local.execute(statements)?)
    }

    /// Its name and version.
    pub(crate) fn version(&self) -> Result<String, ChallengeError> {
        let text = self.local.execute("SELECT VERSION()")?;
        // Behind it stand the name once more and the package's version.
        let version = text.trim().split('-').next().unwrap_or_default();
        Ok(format!("MariaDB {version}"))
    }

    /// Its process; 0 once it has ended.
    pub(crate) fn pid(&self) -> u32 {
        self.local.pid().unwrap_or(0)
    }

    /// Its port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.local.port()
    }

    /// Its socket.
    pub(crate) fn socket(&self) -> String {
        self.local.socket().display().to_string()
    }

    /// Makes account and tables, unless they are there already. Says whether they were.
    pub(crate) fn load_tables(&self, plan: &Plan, stop: &Stop) -> Result<bool, ChallengeError> {
        self.local.execute(&accounts())?;
        let wanted = format!("{TABLES}\t{}", plan.table_size);
        let loaded = format!(
            "CREATE TABLE IF NOT EXISTS {SCHEMA}.loaded (tables INT NOT NULL, size INT NOT NULL);
             SELECT tables, size FROM {SCHEMA}.loaded"
        );
        if self.local.execute(&loaded)?.trim() == wanted {
            return Ok(true);
        }
        self.local
            .execute(&format!("DELETE FROM {SCHEMA}.loaded"))?;
        for command in ["cleanup", "prepare"] {
            self.run_load(plan, command, stop)?;
        }
        let size = plan.table_size;
        self.local.execute(&format!(
            "INSERT INTO {SCHEMA}.loaded VALUES ({TABLES}, {size})"
        ))?;
        Ok(false)
    }

    /// Reads all rows once, so that the memory they take is not taken for that of connections.
    pub(crate) fn warm_up(&self) -> Result<(), ChallengeError> {
        let scan = |number| format!("SELECT SUM(LENGTH(pad)) FROM {SCHEMA}.sbtest{number};");
        let scans: String = (1..=TABLES).map(scan).collect();
        Ok(self.local.execute(&scans).map(drop)?)
    }

    /// Waits until it has removed what earlier updates left behind, which takes its time from the next run: not
    /// for ever.
    pub(crate) fn rest(&self, stop: &Stop) -> Result<(), ChallengeError> {
        let deadline = Instant::now() + REST_LIMIT;
        while self.history()? > HISTORY_MAX && Instant::now() < deadline {
            stop.check()?;
            std::thread::sleep(REST_LOOK);
        }
        Ok(())
    }

    /// How many transactions left versions of rows behind that were not removed yet.
    fn history(&self) -> Result<u64, ChallengeError> {
        let sql = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS \
                   WHERE VARIABLE_NAME = 'INNODB_HISTORY_LIST_LENGTH'";
        // A server that does not say has nothing to wait for.
        Ok(self.local.execute(sql)?.trim().parse().unwrap_or_default())
    }

    fn run_load(&self, plan: &Plan, command: &str, stop: &Stop) -> Result<(), ChallengeError> {
        let mut arguments = vec!["load".to_owned(), command.to_owned()];
        arguments.extend(target(self.port()));
        arguments.extend(tables(plan));
        let log = plan.out.join(format!("{command}.log"));
        let mut child = Child::start("myriad load", &plan.program, &arguments, &log)?;
        loop {
            stop.check()?;
            match child.ended()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(child.error(format!("{command} ended with {status}"))),
                None => std::thread::sleep(PREPARE_LOOK),
            }
        }
    }
}

/// The flags of `myriad load` that say where to connect, and as whom.
pub(crate) fn target(port: u16) -> Vec<String> {
    vec![
        "--host=127.0.0.1".to_owned(),
        format!("--port={port}"),
        format!("--user={USER}"),
        format!("--password={PASSWORD}"),
        format!("--database={SCHEMA}"),
    ]
}

/// Those that say which tables there are.
pub(crate) fn tables(plan: &Plan) -> Vec<String> {
    let size = plan.table_size;
    vec![format!("--tables={TABLES}"), format!("--table-size={size}")]
}

/// A TCP port on 127.0.0.1 that nobody uses at present.
pub(crate) fn free_port() -> Result<u16, ChallengeError> {
    let address = std::path::Path::new("a port of 127.0.0.1");
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    Ok(listener
        .map_err(ChallengeError::system("use", address))?
        .port())
}

/// From all addresses of the loopback network, and over the unix socket.
fn accounts() -> String {
    let account = |user: &str, host: &str| {
        format!(
            "CREATE USER IF NOT EXISTS '{user}'@'{host}' IDENTIFIED BY '{PASSWORD}';
             GRANT ALL ON {SCHEMA}.* TO '{user}'@'{host}';"
        )
    };
    let schema = format!("CREATE DATABASE IF NOT EXISTS {SCHEMA};");
    let both = [USER, OTHER_USER].map(|user| account(user, "127.%") + &account(user, "localhost"));
    schema + &both.concat()
}

/// An eighth of the machine's memory, but not more than the tables need.
fn buffer_pool_mib() -> u64 {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory_mib = number_behind(&meminfo, "MemTotal:").map_or(1_024, |kib| kib >> 10);
    (memory_mib / 8).clamp(128, 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_told_how_many_connections_come() {
        let wanted = |way, connections| Wanted {
            way,
            connections,
            is_durable: false,
        };
        let alone = arguments(wanted(Way::Alone, 10_000));
        assert!(alone.contains(&"--max-connections=10020".to_owned()));
        assert!(!alone.iter().any(|argument| argument.contains("pool-of")));
        let pool = arguments(wanted(Way::ThreadPool, 100_000));
        assert!(pool.contains(&"--max-connections=100000".to_owned()));
        assert!(pool.contains(&"--thread-handling=pool-of-threads".to_owned()));
        assert!(!pool.iter().any(|argument| argument.contains("log-bin")));
    }

    #[test]
    fn commits_are_durable_where_that_is_wanted() {
        let durable = arguments(Wanted {
            way: Way::Alone,
            connections: 8,
            is_durable: true,
        });
        for argument in DURABLE {
            assert!(durable.iter().any(|found| found == argument), "{argument}");
        }
        let flush = "--innodb-flush-log-at-trx-commit=2".to_owned();
        assert!(!durable.contains(&flush));
    }
}

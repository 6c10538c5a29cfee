//! A database and a front door before it, as clean before each file as the servers' own test driver leaves it.

use std::fmt::Write;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::crowd;
use super::files::{File, Files, Played};
use crate::support::{Address, Database, FrontDoor, Server, folder};

/// As the servers' own test driver starts them, as far as files depend on it.
const MARIADB: &[&str] = &[
    "--character-set-server=latin1",
    "--collation-server=latin1_swedish_ci",
    "--sql-mode=STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION",
    "--log-bin-trust-function-creators=1",
    "--local-infile",
    "--event-scheduler=OFF",
    "--default-storage-engine=MyISAM",
    "--key-buffer-size=1M",
    "--sort-buffer-size=256K",
    "--max-allowed-packet=16M",
    "--innodb-stats-persistent=ON",
];
const MYSQL: &[&str] = &[
    "--log-bin-trust-function-creators=1",
    "--local-infile=ON",
    "--max-allowed-packet=64M",
    "--innodb-stats-persistent=ON",
];

/// Connections are used by the crowd and the file's sessions in turn, and those that nobody needs end soon, as files
/// wait for that. No time of the front door's own runs out before the database's.
const SETTINGS: [&str; 9] = [
    "backend.restless = \"on\"",
    "backend.max_connections = 40",
    "backend.min_connections = 2",
    "backend.idle_timeout = \"1s\"",
    "server.max_allowed_packet = \"128MiB\"",
    "backend.connect_timeout = \"1m\"",
    "server.login_timeout = \"1m\"",
    "server.idle_transaction_timeout = \"1h\"",
    "monitor.user = \"admin\"\nmonitor.password = \"all\"",
];

/// Accounts and databases that are not the files'.
const ACCOUNTS: &str = "'root', 'mariadb.sys', 'mysql.sys', 'mysql.session', 'mysql.infoschema', 'app', 'admin', 'load'";
const DATABASES: &str = "'mysql', 'sys', 'performance_schema', 'information_schema'";

/// What came of playing a file directly and through.
pub(super) enum Compared {
    Same,
    FailsDirectly {
        why: String,
    },
    /// Played directly twice, it was not the same.
    Unstable,
    /// It was the same the second time.
    NowAndThen {
        direct: String,
        through: String,
    },
    Different {
        direct: String,
        through: String,
    },
}

/// Where files are played, one after the other.
pub(super) struct Ground<'a> {
    files: &'a Files,
    /// The door ends before its database, and that before its folder is gone.
    door: FrontDoor,
    database: Database,
    /// Where files may write. They find the database's own files in it.
    vardir: TempDir,
    /// Global variables as they were at the beginning.
    variables: String,
    /// What the database was started with besides.
    options: Vec<String>,
}

impl<'a> Ground<'a> {
    /// One for files without options.
    pub(super) fn new(files: &'a Files) -> Self {
        Self::with(files, None).unwrap()
    }

    /// One for a file; `None` if the server does not start with its options.
    fn with(files: &'a Files, file: Option<&File>) -> Option<Self> {
        let vardir = folder();
        std::fs::create_dir(vardir.path().join("tmp")).unwrap();
        symlink(files.data(), vardir.path().join("std_data")).unwrap();
        let usual = match Server::is_mariadb() {
            true => MARIADB,
            false => MYSQL,
        };
        let options = file.map(|file| files.options(file, vardir.path()));
        let usual = usual.iter().map(|&option| option.to_owned());
        let arguments = usual.chain(options.unwrap_or_default()).collect();
        // Files know where that is from there.
        let database = Database::private_in(&vardir.path().join("mysqld.1"), arguments)?;
        Some(Self {
            files,
            door: FrontDoor::start(database.address(), &SETTINGS),
            variables: variables(&database).ok()?,
            options: file.map(|file| file.options.clone()).unwrap_or_default(),
            database,
            vardir,
        })
    }

    /// Plays a file directly and through, and again if that differs.
    pub(super) fn compare(&mut self, file: &File) -> Compared {
        let compared = self.try_compare(file);
        compared.unwrap_or_else(|why| Compared::FailsDirectly { why })
    }

    /// Fails if there is no server to play it on.
    fn try_compare(&mut self, file: &File) -> Result<Compared, String> {
        if self.options != file.options {
            *self = Self::with(self.files, Some(file)).ok_or("its server does not start")?;
        }
        let direct = self.directly(file)?;
        if !direct.is_success {
            return Ok(Compared::FailsDirectly { why: direct.output });
        }
        let through = self.through(file)?;
        if through == direct {
            return Ok(Compared::Same);
        }
        if self.directly(file)? != direct {
            return Ok(Compared::Unstable);
        }
        let is_always = self.through(file)? != direct;
        let (direct, through) = (direct.output, through.output);
        Ok(match is_always {
            true => Compared::Different { direct, through },
            false => Compared::NowAndThen { direct, through },
        })
    }

    fn directly(&mut self, file: &File) -> Result<Played, String> {
        self.clean(file)?;
        Ok(self.amid_crowd(file, self.database.address()))
    }

    fn through(&mut self, file: &File) -> Result<Played, String> {
        self.clean(file)?;
        Ok(self.amid_crowd(file, &self.door.address()))
    }

    /// Directly, too, as files list the sessions that there are.
    fn amid_crowd(&self, file: &File, address: &Address) -> Played {
        let vardir = self.vardir.path();
        crowd::amid(self.files, (address, vardir), || {
            self.files.play(file, address, vardir)
        })
    }

    /// As at the beginning. What a file has left where that cannot be had, goes with its server.
    fn clean(&mut self, file: &File) -> Result<(), String> {
        if let Err(why) = self.cleaned() {
            println!("another database: {why}");
            *self = Self::with(self.files, Some(file)).ok_or("its server does not start")?;
            self.cleaned()?;
        }
        for folder in ["tmp", "log"] {
            let folder = self.vardir.path().join(folder);
            match std::fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != ErrorKind::NotFound => panic!("{error}"),
                _ => std::fs::create_dir(&folder).unwrap(),
            }
        }
        Ok(())
    }

    fn cleaned(&self) -> Result<(), String> {
        cleaned(&self.database)?;
        let changed = self.changed_variables()?;
        if changed.is_empty() {
            return Ok(());
        }
        self.database.try_execute(&changed)?;
        match self.changed_variables()? {
            still if still.is_empty() => Ok(()),
            still => Err(format!("global variables stay changed: {still}")),
        }
    }

    /// The statements that would set back what files have changed.
    fn changed_variables(&self) -> Result<String, String> {
        let now = variables(&self.database)?;
        let pairs = now.lines().zip(self.variables.lines());
        let then = pairs
            .filter(|(now, then)| now != then)
            .map(|(_, then)| then);
        let set = |then: &str| {
            let (name, value) = then.split_once('\t').unwrap_or((then, ""));
            match value.parse::<f64>() {
                Ok(_) => format!("SET GLOBAL {name} = {value};"),
                Err(_) => format!("SET GLOBAL {name} = '{value}';"),
            }
        };
        Ok(then.map(set).collect())
    }
}

/// Fails if the server is gone, or does not know root any more.
fn cleaned(database: &Database) -> Result<(), String> {
    let databases = format!(
        "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN ({DATABASES})"
    );
    let mut statements = String::new();
    for name in database.try_execute(&databases)?.lines() {
        writeln!(statements, "DROP DATABASE `{name}`;").unwrap();
    }
    statements += &accounts(database)?;
    let character_set = match Server::is_mariadb() {
        true => "latin1",
        false => "utf8mb4",
    };
    writeln!(
        statements,
        "CREATE DATABASE test CHARACTER SET {character_set}; CREATE DATABASE mtr; FLUSH TABLES;
         CREATE TABLE mtr.test_suppressions (pattern VARCHAR(255));
         CREATE PROCEDURE mtr.add_suppression(pattern VARCHAR(255)) INSERT INTO mtr.test_suppressions VALUES (pattern);"
    )
    .unwrap();
    statements += crowd::SCHEMA;
    database.try_execute(&statements).map(drop)
}

/// The statements that leave no account but those of tests.
fn accounts(database: &Database) -> Result<String, String> {
    if Server::is_mariadb() {
        let tables =
            "global_priv db tables_priv columns_priv procs_priv roles_mapping proxies_priv";
        let others = |table| format!("DELETE FROM mysql.{table} WHERE user NOT IN ({ACCOUNTS});");
        let deletes: String = tables.split(' ').map(others).collect();
        return Ok(deletes + "FLUSH PRIVILEGES;");
    }
    let others = format!(
        "SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user WHERE user NOT IN ({ACCOUNTS})"
    );
    let accounts = database.try_execute(&others)?;
    Ok(accounts
        .lines()
        .map(|account| format!("DROP USER {account};"))
        .collect())
}

/// Global variables that files may have changed.
fn variables(database: &Database) -> Result<String, String> {
    let all = database.try_execute("SHOW GLOBAL VARIABLES")?;
    let moves = |line: &&str| !line.contains("gtid");
    Ok(all.lines().filter(moves).collect::<Vec<_>>().join("\n"))
}

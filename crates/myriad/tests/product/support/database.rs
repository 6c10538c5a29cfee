//! The private database that the tests share, and where it is reached.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;

use localdb::{LocalDb, LocalDbError, Options};
use tempfile::TempDir;

use super::{Client, Login, Server, eventually};

/// Where a client connects.
#[derive(Clone, Debug)]
pub(crate) enum Address {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// Accounts besides the sample's `app`: one that may do everything, one for load.
const ACCOUNTS: &str = "
    CREATE USER 'admin'@'localhost' IDENTIFIED BY 'all';
    GRANT ALL ON *.* TO 'admin'@'localhost' WITH GRANT OPTION;
    CREATE USER 'load'@'localhost' IDENTIFIED BY 'much';
    GRANT ALL ON sbtest.* TO 'load'@'localhost'";

/// Databases are kept in memory if so many bytes of it are free for files: there are several at a time, of some
/// 200 MB each.
const MEMORY: u64 = 4 << 30;

/// The one that all tests share while any of them runs.
static SHARED: Mutex<Weak<Database>> = Mutex::new(Weak::new());

/// A server with the sample in it. The server ends with the thread that started it, so a thread
/// of its own keeps it.
pub(crate) struct Database {
    local: Arc<Mutex<LocalDb>>,
    address: Address,
    end: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Database {
    /// The shared one, started if nobody uses it at present.
    pub(crate) fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(database) = shared.upgrade() {
            return database;
        }
        let database = Arc::new(Self::start(&[]));
        *shared = Arc::downgrade(&database);
        database
    }

    /// One of the caller's own, for what is the same for a whole server.
    pub(crate) fn private() -> Self {
        Self::start(&[])
    }

    /// The same, started with more arguments.
    pub(crate) fn private_with(arguments: &'static [&str]) -> Self {
        Self::start(arguments)
    }

    fn start(arguments: &'static [&str]) -> Self {
        let folder = folder();
        let arguments = arguments.iter().map(|&argument| argument.to_owned());
        Self::start_in(folder.path().to_owned(), Some(folder), arguments.collect())
            .expect("the database did not start")
    }

    /// One of the caller's own in a folder that outlives it, started with more arguments; `None` if it does not start
    /// with them.
    pub(crate) fn private_in(folder: &Path, arguments: Vec<String>) -> Option<Self> {
        Self::start_in(folder.to_owned(), None, arguments)
    }

    fn start_in(path: PathBuf, folder: Option<TempDir>, arguments: Vec<String>) -> Option<Self> {
        let (ready, started) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let keeper = std::thread::spawn(move || {
            let _folder = folder;
            let local = Arc::new(Mutex::new(own_database_with(&path, &arguments)));
            ready.send(local.clone()).unwrap();
            // Nothing is ever sent: this returns when the other end is gone.
            let _gone = ended.recv();
            lock(&local).stop().unwrap();
        });
        // The keeper says why, if it does not.
        let local: Arc<Mutex<LocalDb>> = started.recv().ok()?;
        let address = Address::Unix(lock(&local).socket().to_owned());
        Some(Self {
            local,
            address,
            end: Some((end, keeper)),
        })
    }

    /// Where it is reached directly.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Runs statements as root, directly. Rows as the client prints them with `--batch`.
    pub(crate) fn execute(&self, sql: &str) -> String {
        // MySQL lists no processes while one of them runs a statement that is not in UTF-8, as those of other tests are.
        let is_unlisted = |error: &LocalDbError| error.to_string().contains("ERROR 3854");
        let told = eventually("an answer", || {
            let told = lock(&self.local).execute(sql);
            let unlisted = told.as_ref().is_err_and(is_unlisted);
            (!unlisted).then_some(told)
        });
        told.unwrap()
    }

    /// The same of statements that may fail, and then why.
    pub(crate) fn try_execute(&self, sql: &str) -> Result<String, String> {
        lock(&self.local)
            .execute(sql)
            .map_err(|error| error.to_string())
    }

    /// An empty schema of this name, open to `app`.
    pub(crate) fn schema(&self, name: &str) {
        self.execute(&format!(
            "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name} CHARACTER SET utf8mb4;
             GRANT ALL ON {name}.* TO 'app'@'localhost'"
        ));
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some((end, keeper)) = self.end.take() {
            drop(end);
            // It failed only if stopping failed, and has said so.
            let _failed = keeper.join();
        }
    }
}

/// A folder for a database's files: in memory if there is plenty, because every random session has its schema made anew,
/// twice, and a disk takes most of the time of that.
pub(crate) fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |memory| memory.f_bavail * memory.f_frsize);
    let folder = match free >= MEMORY {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    folder.unwrap()
}

/// A database of the caller's own, with the sample and the tests' accounts. It ends with the
/// calling thread.
pub(crate) fn own_database(folder: &TempDir) -> LocalDb {
    own_database_with(folder.path(), &[])
}

/// The same, started with more arguments.
fn own_database_with(folder: &Path, arguments: &[String]) -> LocalDb {
    let options = Options::in_folder(folder)
        .server_arg("--max-connections=500")
        .server_arg("--max-allowed-packet=128M")
        .server_arg("--innodb-flush-log-at-trx-commit=2")
        // Plans, and errors that depend on them, shall not depend on when a thread of the database has counted rows.
        .server_arg("--innodb-stats-persistent=OFF");
    let with = |options: Options, argument: &String| options.server_arg(argument.as_str());
    let options = arguments.iter().fold(options, with);
    let server = Server::chosen();
    let database = LocalDb::start(server.arrange(options)).unwrap();
    database.load_sample().unwrap();
    database.execute(ACCOUNTS).unwrap();
    server.add_sequences(&database);
    server.add_components(&database);
    let address = Address::Unix(database.socket().to_owned());
    for (user, password) in [("app", "secret"), ("admin", "all"), ("load", "much")] {
        let login = Login {
            user,
            password,
            ..Login::default()
        };
        // The first login of an account shows MySQL the password; all others have fewer packets.
        drop(Client::login(&address, &login).unwrap());
    }
    database
}

fn lock(local: &Mutex<LocalDb>) -> MutexGuard<'_, LocalDb> {
    local.lock().unwrap_or_else(PoisonError::into_inner)
}

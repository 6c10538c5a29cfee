//! What can go wrong with a local database, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a local database could not be started, used or stopped.
#[derive(Debug, thiserror::Error)]
pub enum LocalDbError {
    /// A program of MariaDB is not installed.
    #[error("{0} not found; run: apt-get install mariadb-server-core mariadb-client-core")]
    ProgramMissing(&'static str),
    /// A server that is not this machine's own has not been fetched.
    #[error("no complete server in {}; run: scripts/setup {group}", path.display())]
    NotFetched {
        /// Where it would lie.
        path: PathBuf,
        /// What `scripts/setup` calls it.
        group: &'static str,
    },
    /// Another owner runs a database in this folder.
    #[error("a local database already runs in {}; stop it or choose another folder", .0.display())]
    FolderInUse(PathBuf),
    /// Neither the folder nor the directory for temporary files gives a path short enough for a unix socket.
    #[error("{} is too long for a unix socket; choose a shorter folder or set TMPDIR", .0.display())]
    SocketPathTooLong(PathBuf),
    /// The data directory could not be filled; the text is the end of what it printed.
    #[error("cannot set up a fresh data directory, see what the installation says:\n{0}")]
    InstallFailed(String),
    /// The server ended before it answered; the text is the end of its log.
    #[error("the server ended while starting ({status}), see the end of its log:\n{log}")]
    EndedEarly {
        /// Exit code or signal, in words.
        status: String,
        /// The last lines of the log file.
        log: String,
    },
    /// The server runs but did not answer in time; the text is the end of its log.
    #[error("the server did not answer within {} s, see the end of its log:\n{log}", limit.as_secs())]
    NoAnswer {
        /// How long we waited.
        limit: Duration,
        /// The last lines of the log file.
        log: String,
    },
    /// Even after SIGKILL the process is still there (a hanging disk does this).
    #[error("the server (process {0}) does not end; look at its disk")]
    DoesNotEnd(u32),
    /// The client program reported an error; the text is its message.
    #[error("statement failed: {0}")]
    Statement(String),
    /// The operating system refused something.
    #[error("cannot {what}: {source}; check permissions and free space")]
    System {
        /// What was tried.
        what: String,
        /// What the operating system said.
        source: io::Error,
    },
}

impl LocalDbError {
    /// For `map_err`: names what was tried, and on which path.
    pub(crate) fn system<E: Into<io::Error>>(what: &str, path: &Path) -> impl FnOnce(E) -> Self {
        let what = format!("{what} {}", path.display());
        move |source| Self::System {
            what,
            source: source.into(),
        }
    }
}

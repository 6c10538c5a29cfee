//! The folder of one local database: its lock, and where data, socket and log lie.
//! Processes are not known here.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Family, LocalDbError};

/// Bytes of a unix socket's path, without the closing zero byte.
const SOCKET_PATH_BYTES_MAX: usize = 107;
/// Lines of the log that go into an error.
const LOG_LINES: usize = 20;

/// A folder held under an exclusive lock until dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) family: Family,
    root: PathBuf,
    socket: PathBuf,
    /// Keeps the socket's directory when `root` is too long for it.
    _short: Option<TempDir>,
    lock: File,
}

impl Folder {
    /// Creates the folder if need be and locks it; `FolderInUse` when somebody else holds it.
    pub(crate) fn claim(path: &Path, family: Family) -> Result<Self, LocalDbError> {
        std::fs::create_dir_all(path).map_err(LocalDbError::system("create", path))?;
        let root = path
            .canonicalize()
            .map_err(LocalDbError::system("find", path))?;
        let lock = lock(&root)?;
        private_directory(&root.join("run"))?;
        let (socket, short) = place_socket(&root, family.socket())?;
        Ok(Self {
            family,
            root,
            socket,
            _short: short,
            lock,
        })
    }

    /// The server's data; exists only once it is complete.
    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// Where a fresh data directory grows until it is complete.
    pub(crate) fn unfinished_data(&self) -> PathBuf {
        self.root.join("data.unfinished")
    }

    /// For short-lived files: pid file, temporary tables, and the socket if the path is short enough.
    pub(crate) fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.root.join(format!("{}.log", self.family.server()))
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Removes what a killed MySQL leaves beside its socket: it names a process, and while the system
    /// knows any process of that number, another server would not start.
    pub(crate) fn forget_old_server(&self) -> Result<(), LocalDbError> {
        let mut lock = self.socket.clone().into_os_string();
        lock.push(".lock");
        let lock = PathBuf::from(lock);
        match std::fs::remove_file(&lock) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(LocalDbError::system("remove", &lock)(error))
            }
            _ => Ok(()),
        }
    }

    /// Opens the log for appending.
    pub(crate) fn open_log(&self) -> Result<File, LocalDbError> {
        let log = self.log();
        let mut options = OpenOptions::new();
        options
            .create(true)
            .append(true)
            .open(&log)
            .map_err(LocalDbError::system("open", &log))
    }

    /// The last lines of the log, for an error.
    pub(crate) fn log_end(&self) -> String {
        last_lines(&std::fs::read(self.log()).unwrap_or_default())
    }
}

impl Drop for Folder {
    /// Unlocks by name: a child of another thread between fork and exec holds copies of our
    /// descriptors, so closing ours alone would leave the lock for a moment.
    fn drop(&mut self) {
        if let Err(error) = self.lock.unlock() {
            tracing::warn!(%error, folder = %self.root.display(), "cannot unlock the folder");
        }
    }
}

/// The last lines of a program's output.
pub(crate) fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

fn lock(root: &Path) -> Result<File, LocalDbError> {
    let path = root.join("lock");
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(LocalDbError::system("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LocalDbError::FolderInUse(root.to_path_buf())),
        Err(TryLockError::Error(source)) => Err(LocalDbError::system("lock", &path)(source)),
    }
}

/// Others must not enter: the server's root account has no password.
fn private_directory(path: &Path) -> Result<(), LocalDbError> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(path);
    created.map_err(LocalDbError::system("create", path))
}

fn place_socket(root: &Path, name: &str) -> Result<(PathBuf, Option<TempDir>), LocalDbError> {
    let socket = root.join("run").join(name);
    if fits(&socket) {
        return Ok((socket, None));
    }
    let temporary = std::env::temp_dir();
    let short = tempfile::Builder::new()
        .prefix("localdb-")
        .tempdir_in(&temporary);
    let short = short.map_err(LocalDbError::system("create a directory in", &temporary))?;
    let socket = short.path().join(name);
    if fits(&socket) {
        Ok((socket, Some(short)))
    } else {
        Err(LocalDbError::SocketPathTooLong(socket))
    }
}

fn fits(socket: &Path) -> bool {
    socket.as_os_str().as_bytes().len() <= SOCKET_PATH_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_owner_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let first = Folder::claim(directory.path(), Family::MariaDb).unwrap();
        let refused = Folder::claim(directory.path(), Family::MariaDb).unwrap_err();
        assert!(matches!(refused, LocalDbError::FolderInUse(_)), "{refused}");
        drop(first);
        Folder::claim(directory.path(), Family::MariaDb).unwrap();
    }

    #[test]
    fn a_long_path_moves_the_socket_only() {
        let directory = tempfile::tempdir().unwrap();
        let long = directory.path().join("x".repeat(SOCKET_PATH_BYTES_MAX));
        let folder = Folder::claim(&long, Family::MariaDb).unwrap();
        assert!(fits(folder.socket()));
        assert!(folder.log().starts_with(long.canonicalize().unwrap()));
        let socket_directory = folder.socket().parent().unwrap().to_path_buf();
        drop(folder);
        assert!(!socket_directory.exists());
    }

    #[test]
    fn only_the_end_of_a_log_is_quoted() {
        let log: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let end = last_lines(log.as_bytes());
        assert!(
            end.starts_with("line 80\n") && end.ends_with("line 99"),
            "{end}"
        );
        assert_eq!(last_lines(b""), "");
    }
}

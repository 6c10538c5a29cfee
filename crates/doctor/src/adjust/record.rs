//! The file with the old values of changed settings. Whoever has changed them holds a lock on it;
//! nobody holds it after a crash, and then it tells what is to be put back.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::{AdjustError, Change};

/// The file, locked.
#[derive(Debug)]
pub(super) struct Record {
    path: PathBuf,
    /// Keeps the lock.
    _file: File,
}

#[derive(Serialize, Deserialize)]
struct Content {
    boot: String,
    changes: Vec<Change>,
}

impl Record {
    /// Writes what is about to be changed, and makes sure that it is on the disk.
    pub(super) fn write(path: &Path, boot: &str, changes: &[Change]) -> Result<Self, AdjustError> {
        let failed = failed(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(&failed)?;
        }
        let mut file = open(path).map_err(&failed)?;
        lock(&file, path)?;
        let content = Content {
            boot: boot.to_owned(),
            changes: changes.to_vec(),
        };
        let text = serde_json::to_vec_pretty(&content).map_err(|e| failed(e.into()))?;
        file.set_len(0).map_err(&failed)?;
        file.write_all(&text).map_err(&failed)?;
        file.sync_all().map_err(&failed)?;
        Ok(Self {
            path: path.to_owned(),
            _file: file,
        })
    }

    /// What an earlier run has left: in which life of the machine, and what it has changed.
    pub(super) fn leftover(
        path: &Path,
    ) -> Result<Option<(Self, String, Vec<Change>)>, AdjustError> {
        let failed = failed(path);
        let mut file = match options().open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(&failed)?,
        };
        lock(&file, path)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(&failed)?;
        let record = Self {
            path: path.to_owned(),
            _file: file,
        };
        if text.is_empty() {
            // Its writer was killed before it changed anything.
            record.remove()?;
            return Ok(None);
        }
        let content: Content = serde_json::from_str(&text).map_err(|e| failed(e.into()))?;
        Ok(Some((record, content.boot, content.changes)))
    }

    /// Everything is put back.
    pub(super) fn remove(self) -> Result<(), AdjustError> {
        fs::remove_file(&self.path).map_err(failed(&self.path))
    }
}

fn open(path: &Path) -> io::Result<File> {
    options().create(true).truncate(false).open(path)
}

/// Links are not followed: the file is written as root.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = rustix::fs::OFlags::NOFOLLOW.bits();
    options.read(true).write(true).mode(0o600);
    options.custom_flags(flags as i32);
    options
}

fn lock(file: &File, path: &Path) -> Result<(), AdjustError> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(AdjustError::InUse {
            path: path.to_owned(),
        }),
        Err(errno) => Err(failed(path)(errno.into())),
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> AdjustError {
    |source| AdjustError::State {
        path: path.to_owned(),
        source,
    }
}

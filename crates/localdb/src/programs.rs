//! Finds the installed programs that a local database is made of.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, access};

use crate::LocalDbError;

/// Debian keeps servers here, and the PATH of an ordinary user leaves it out.
const SERVER_DIRECTORY: &str = "/usr/sbin";

/// Where everything that we run is installed.
#[derive(Debug)]
pub(crate) struct Programs {
    /// The server, `mariadbd`.
    pub(crate) server: PathBuf,
    /// Fills a fresh data directory.
    pub(crate) install: PathBuf,
    /// The command-line client.
    pub(crate) client: PathBuf,
    /// `setpriv`, if it can tie the server's life to ours.
    setpriv: Option<PathBuf>,
}

impl Programs {
    /// Looks through PATH and the servers' directory.
    pub(crate) fn find() -> Result<Self, LocalDbError> {
        Self::find_in(&std::env::var_os("PATH").unwrap_or_default())
    }

    fn find_in(path: &OsStr) -> Result<Self, LocalDbError> {
        let wanted = |name| look_up(name, path).ok_or(LocalDbError::ProgramMissing(name));
        Ok(Self {
            server: wanted("mariadbd")?,
            install: wanted("mariadb-install-db")?,
            client: wanted("mariadb")?,
            setpriv: look_up("setpriv", path).filter(|setpriv| knows_pdeathsig(setpriv)),
        })
    }

    /// A command for the server that, where `setpriv` allows it, dies by SIGKILL together with the
    /// thread that spawns it.
    pub(crate) fn server_command(&self) -> Command {
        let Some(setpriv) = &self.setpriv else {
            return Command::new(&self.server);
        };
        let mut command = Command::new(setpriv);
        command
            .args(["--pdeathsig", "KILL", "--"])
            .arg(&self.server);
        command
    }
}

fn look_up(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .chain([PathBuf::from(SERVER_DIRECTORY)])
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file() && access(candidate, Access::EXEC_OK).is_ok())
}

/// Small systems have a `setpriv` without this option, so it is tried rather than assumed.
fn knows_pdeathsig(setpriv: &Path) -> bool {
    Command::new(setpriv)
        .args(["--pdeathsig", "KILL", "--", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_found_although_path_lacks_their_directory() {
        assert_eq!(
            look_up("mariadbd", OsStr::new("/nowhere")),
            Some("/usr/sbin/mariadbd".into())
        );
    }

    #[test]
    fn a_missing_program_says_what_to_install() {
        let error = Programs::find_in(OsStr::new("/nowhere"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("mariadb-install-db not found"), "{error}");
        assert!(error.contains("apt-get install"), "{error}");
    }
}

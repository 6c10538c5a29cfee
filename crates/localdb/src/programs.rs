//! Finds the installed programs that a local database is made of.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, access};

use crate::tree::Tree;
use crate::{Family, LocalDbError};

/// Debian keeps servers here, and the PATH of an ordinary user leaves it out.
const SERVER_DIRECTORY: &str = "/usr/sbin";

/// A command that runs a client program of this family, such as `mariadb-dump` or `mysqldump`, and
/// has been told to read no settings of this machine.
///
/// # Errors
/// The program is not installed.
pub fn client_command(family: Family, name: &'static str) -> Result<Command, LocalDbError> {
    let mut command = Source::of(family)?.find(name)?.command();
    command.args(family.no_settings());
    Ok(command)
}

/// A command that runs a program of this family which lies elsewhere than the family's others, yet
/// without arguments.
///
/// # Errors
/// MySQL, whose libraries it needs, has not been fetched.
pub fn command_of(family: Family, path: &Path) -> Result<Command, LocalDbError> {
    let tree = match family {
        Family::MariaDb => None,
        Family::MySql => Some(Tree::find()?),
    };
    let path = path.to_owned();
    Ok(Program { path, tree }.command())
}

/// Where everything that we run is installed.
#[derive(Debug)]
pub(crate) struct Programs {
    /// The server, `mariadbd` or `mysqld`.
    pub(crate) server: Program,
    /// Fills a fresh data directory. MySQL's server does so itself.
    pub(crate) install: Program,
    /// The command-line client.
    pub(crate) client: Program,
    /// `setpriv`, if it can tie the server's life to ours.
    setpriv: Option<PathBuf>,
}

impl Programs {
    /// Looks where programs of this family lie.
    pub(crate) fn find(family: Family) -> Result<Self, LocalDbError> {
        Self::find_in(family, &Source::of(family)?)
    }

    fn find_in(family: Family, source: &Source) -> Result<Self, LocalDbError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let install = match family {
            Family::MariaDb => "mariadb-install-db",
            Family::MySql => family.server(),
        };
        Ok(Self {
            server: source.find(family.server())?,
            install: source.find(install)?,
            client: source.find(family.client())?,
            setpriv: look_up("setpriv", &path).filter(|setpriv| knows_pdeathsig(setpriv)),
        })
    }

    /// A command for the server that, where `setpriv` allows it, dies by SIGKILL together with the
    /// thread that spawns it.
    pub(crate) fn server_command(&self) -> Command {
        let server = self.server.command();
        let Some(setpriv) = &self.setpriv else {
            return server;
        };
        let mut command = Command::new(setpriv);
        command
            .args(["--pdeathsig", "KILL", "--"])
            .arg(server.get_program())
            .args(server.get_args());
        command
    }
}

/// One program, and how it is run.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// The folder that it lies in, if it needs that folder's loader.
    tree: Option<Tree>,
}

impl Program {
    /// A command for it, yet without arguments.
    pub(crate) fn command(&self) -> Command {
        let Some(tree) = &self.tree else {
            return Command::new(&self.path);
        };
        let mut command = Command::new(&tree.loader);
        command
            .arg("--library-path")
            .arg(&tree.libraries)
            .arg(&self.path);
        command
    }
}

/// Where to look for programs.
enum Source {
    /// This machine's directories of programs, as PATH has them.
    Path(OsString),
    Tree(Tree),
}

impl Source {
    fn of(family: Family) -> Result<Self, LocalDbError> {
        Ok(match family {
            Family::MariaDb => Self::Path(std::env::var_os("PATH").unwrap_or_default()),
            Family::MySql => Self::Tree(Tree::find()?),
        })
    }

    fn find(&self, name: &'static str) -> Result<Program, LocalDbError> {
        match self {
            Self::Path(path) => {
                let path = look_up(name, path).ok_or(LocalDbError::ProgramMissing(name))?;
                Ok(Program { path, tree: None })
            }
            Self::Tree(tree) => {
                let directories = ["usr/sbin", "usr/bin"].map(|below| tree.root.join(below));
                let path = first_in(directories, name)
                    .ok_or_else(|| LocalDbError::MySqlMissing(tree.root.clone()))?;
                let tree = Some(tree.clone());
                Ok(Program { path, tree })
            }
        }
    }
}

fn look_up(name: &str, path: &OsStr) -> Option<PathBuf> {
    first_in(
        std::env::split_paths(path).chain([PathBuf::from(SERVER_DIRECTORY)]),
        name,
    )
}

fn first_in(directories: impl IntoIterator<Item = PathBuf>, name: &str) -> Option<PathBuf> {
    directories
        .into_iter()
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
        let error = Programs::find_in(Family::MariaDb, &Source::Path("/nowhere".into()))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("mariadb-install-db not found"), "{error}");
        assert!(error.contains("apt-get install"), "{error}");
    }
}

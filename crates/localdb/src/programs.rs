//! Finds the programs that a local database is made of, and how each is run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, access};

use crate::family::system_tables;
use crate::installation::Found;
use crate::tree::{Loader, Tree};
use crate::{Family, Installation, LocalDbError};

/// Debian keeps servers here, and the PATH of an ordinary user leaves it out.
const SERVER_DIRECTORY: &str = "/usr/sbin";

/// A command that runs a client program of this installation, such as `mariadb-dump` or `mysqldump`, and
/// has been told to read no settings of this machine.
///
/// # Errors
/// The program is not installed.
pub fn client_command(
    installation: Installation,
    name: &'static str,
) -> Result<Command, LocalDbError> {
    Ok(client(installation, name)?.command())
}

/// A command that runs a program which was built for this installation but lies elsewhere, yet without
/// arguments.
///
/// # Errors
/// The installation, whose libraries the program needs, has not been fetched.
pub fn command_of(installation: Installation, path: &Path) -> Result<Command, LocalDbError> {
    let program = Program {
        path: path.to_owned(),
        loader: installation.tree()?.and_then(|tree| tree.loader),
        arguments: Vec::new(),
    };
    Ok(program.command())
}

/// Everything that we run.
#[derive(Debug)]
pub(crate) struct Programs {
    /// The server, `mariadbd` or `mysqld`.
    pub(crate) server: Program,
    /// Fills a fresh data directory.
    pub(crate) install: Install,
    /// The command-line client.
    pub(crate) client: Program,
    /// `setpriv`, if it can tie the server's life to ours.
    setpriv: Option<PathBuf>,
}

/// What fills a fresh data directory.
#[derive(Debug)]
pub(crate) enum Install {
    /// MariaDB's script, which looks for the server of this machine.
    Script(Program),
    /// MariaDB's server, which is given these statements.
    Bootstrap(Vec<PathBuf>),
    /// MySQL's server, which has the statements in itself.
    Initialize,
}

impl Programs {
    /// Looks where the programs of this installation lie.
    pub(crate) fn find(installation: Installation) -> Result<Self, LocalDbError> {
        let family = installation.family();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let server = installation.find(family.server())?;
        let install = match (family, &server.tree) {
            (Family::MySql, _) => Install::Initialize,
            (Family::MariaDb, Some(tree)) => Install::Bootstrap(system_tables(&tree.share())),
            (Family::MariaDb, None) => {
                let script = installation.find("mariadb-install-db")?;
                Install::Script(Program::of(script, &["--no-defaults"], |_| Vec::new()))
            }
        };
        Ok(Self {
            server: Program::of(server, &["--no-defaults"], |tree| {
                family.server_places(tree)
            }),
            install,
            client: client(installation, family.client())?,
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

fn client(installation: Installation, name: &'static str) -> Result<Program, LocalDbError> {
    let family = installation.family();
    let found = installation.find_client(name)?;
    Ok(Program::of(found, family.no_settings(), |tree| {
        family.client_places(tree)
    }))
}

/// One program, and how it is run.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// `None` if this machine's own loads it.
    loader: Option<Loader>,
    /// Come before all others: it must read no settings of this machine, and find the files of its tree.
    arguments: Vec<OsString>,
}

impl Program {
    fn of(found: Found, no_settings: &[&str], places: impl FnOnce(&Tree) -> Vec<OsString>) -> Self {
        let places = found.tree.as_ref().map(places).unwrap_or_default();
        let no_settings = no_settings.iter().map(OsString::from);
        Self {
            path: found.path,
            arguments: no_settings.chain(places).collect(),
            loader: found.tree.and_then(|tree| tree.loader),
        }
    }

    /// A command for it, yet without further arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = match &self.loader {
            None => Command::new(&self.path),
            Some(loader) => {
                let mut command = Command::new(&loader.path);
                command.arg("--library-path").arg(&loader.libraries);
                command.arg(&self.path);
                command
            }
        };
        command.args(&self.arguments);
        command
    }
}

/// A program of this machine, in the directories of `path` or where servers lie.
pub(crate) fn look_up(name: &str, path: &OsStr) -> Option<PathBuf> {
    first_in(
        std::env::split_paths(path).chain([PathBuf::from(SERVER_DIRECTORY)]),
        name,
    )
}

/// The first program of this name in these directories.
pub(crate) fn first_in(
    directories: impl IntoIterator<Item = PathBuf>,
    name: &str,
) -> Option<PathBuf> {
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
}

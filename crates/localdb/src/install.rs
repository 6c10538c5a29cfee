//! Fills a fresh data directory with the system tables. A running server is not known here.

use std::process::{Command, Stdio};

use rustix::process::geteuid;

use crate::folder::{Folder, last_lines};
use crate::programs::Programs;
use crate::{Family, LocalDbError};

/// MariaDB's installation also makes `root` accounts for TCP, without a password: only the socket's stays.
const ONLY_LOCAL_ROOT: &str =
    "DELETE FROM mysql.global_priv WHERE User = 'root' AND Host <> 'localhost';\n";

/// Makes sure that the data directory exists; an interrupted installation is begun anew.
pub(crate) fn ensure_installed(programs: &Programs, folder: &Folder) -> Result<(), LocalDbError> {
    let (data, unfinished) = (folder.data(), folder.unfinished_data());
    if data.exists() {
        return Ok(());
    }
    if unfinished.exists() {
        let removed = std::fs::remove_dir_all(&unfinished);
        removed.map_err(LocalDbError::system("remove", &unfinished))?;
    }
    tracing::info!(data = %data.display(), "setting up a fresh data directory");
    install(programs, folder)?;
    std::fs::rename(&unfinished, &data).map_err(LocalDbError::system("rename", &unfinished))
}

/// The argument that root must give, as the server else refuses to run as root.
pub(crate) fn user_argument() -> Option<&'static str> {
    geteuid().is_root().then_some("--user=root")
}

fn install(programs: &Programs, folder: &Folder) -> Result<(), LocalDbError> {
    let mut command = programs.install.command();
    command.arg("--no-defaults");
    match folder.family {
        Family::MariaDb => mariadb_arguments(&mut command, folder)?,
        Family::MySql => {
            // Makes a root account for the socket only, without a password.
            command.arg("--initialize-insecure");
        }
    }
    let output = command
        .args(folder.family.server_arguments())
        .args(user_argument())
        .arg(format!("--datadir={}", folder.unfinished_data().display()))
        .arg(format!("--tmpdir={}", folder.run().display()))
        .stdin(Stdio::null())
        .output()
        .map_err(LocalDbError::system("run", &programs.install.path))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(LocalDbError::InstallFailed(last_lines(&said)))
}

fn mariadb_arguments(command: &mut Command, folder: &Folder) -> Result<(), LocalDbError> {
    let extra = folder.run().join("install.sql");
    std::fs::write(&extra, ONLY_LOCAL_ROOT).map_err(LocalDbError::system("write", &extra))?;
    command
        .args([
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--skip-name-resolve",
        ])
        .arg(format!("--extra-file={}", extra.display()));
    Ok(())
}

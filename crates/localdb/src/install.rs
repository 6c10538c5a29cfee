//! Fills a fresh data directory with the system tables. A running server is not known here.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::geteuid;

use crate::LocalDbError;
use crate::client::input;
use crate::folder::{Folder, last_lines};
use crate::programs::{Install, Program, Programs};

/// Root gets no plugin for its socket. The server reads one statement a line.
const BEFORE_SYSTEM_TABLES: &str =
    "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n";

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
    let mut command = match &programs.install {
        Install::Script(script) => script_command(script, folder)?,
        Install::Bootstrap(files) => bootstrap_command(&programs.server, files, folder)?,
        Install::Initialize => {
            // Makes a root account for the socket only, without a password.
            let mut command = programs.server.command();
            command.arg("--initialize-insecure").stdin(Stdio::null());
            command
        }
    };
    let output = command
        .args(folder.family.server_arguments())
        .args(user_argument())
        .arg(format!("--datadir={}", folder.unfinished_data().display()))
        .arg(format!("--tmpdir={}", folder.run().display()))
        .output()
        .map_err(LocalDbError::system(
            "run",
            Path::new(command.get_program()),
        ))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(LocalDbError::InstallFailed(last_lines(&said)))
}

fn script_command(script: &Program, folder: &Folder) -> Result<Command, LocalDbError> {
    let extra = folder.run().join("install.sql");
    std::fs::write(&extra, ONLY_LOCAL_ROOT).map_err(LocalDbError::system("write", &extra))?;
    let mut command = script.command();
    command
        .args([
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--skip-name-resolve",
        ])
        .arg(format!("--extra-file={}", extra.display()))
        .stdin(Stdio::null());
    Ok(command)
}

/// Does what the script does.
fn bootstrap_command(
    server: &Program,
    files: &[PathBuf],
    folder: &Folder,
) -> Result<Command, LocalDbError> {
    let mut statements = BEFORE_SYSTEM_TABLES.as_bytes().to_vec();
    for file in files {
        let text = std::fs::read(file).map_err(LocalDbError::system("read", file))?;
        statements.extend(text);
    }
    statements.extend(ONLY_LOCAL_ROOT.as_bytes());
    let data = folder.unfinished_data();
    std::fs::create_dir(&data).map_err(LocalDbError::system("create", &data))?;
    let mut command = server.command();
    command
        .args(["--bootstrap", "--max-allowed-packet=8M"])
        .stdin(input(&folder.run(), &statements)?);
    Ok(command)
}

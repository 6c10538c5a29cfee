//! Sends statements through the command-line client: root, over the socket, in batch mode.

use std::io::{Seek, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::LocalDbError;
use crate::programs::Program;

/// Host settings that must not reach the client; its first arguments cover only files.
const FOREIGN_ENVIRONMENT: [&str; 4] = [
    "MYSQL_HOST",
    "MYSQL_PWD",
    "MYSQL_TCP_PORT",
    "MYSQL_UNIX_PORT",
];

/// The client program, aimed at one server.
#[derive(Debug)]
pub(crate) struct Client<'a> {
    pub(crate) program: &'a Program,
    pub(crate) socket: &'a Path,
    /// Where the statements' text may lie while the client reads it.
    pub(crate) scratch: &'a Path,
}

impl Client<'_> {
    /// Runs the statements; rows end with a line feed, columns are parted by tabs, without names.
    /// The first failing statement ends the batch and becomes the error.
    pub(crate) fn execute(&self, sql: &str) -> Result<String, LocalDbError> {
        let mut command = self.command();
        command.stdin(input(self.scratch, sql.as_bytes())?);
        let output = command
            .output()
            .map_err(LocalDbError::system("run", &self.program.path))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let message = String::from_utf8_lossy(&output.stderr).trim().to_string();
        Err(LocalDbError::Statement(message))
    }

    fn command(&self) -> Command {
        let mut command = self.program.command();
        command
            .args(["--batch", "--skip-column-names", "--skip-reconnect"])
            .args([
                "--user=root",
                "--protocol=socket",
                "--default-character-set=utf8mb4",
            ])
            .args(["--connect-timeout=5", "--socket"])
            .arg(self.socket);
        for name in FOREIGN_ENVIRONMENT {
            command.env_remove(name);
        }
        command
    }
}

/// A file rather than a pipe: with a pipe, a long batch with long answers blocks both sides.
pub(crate) fn input(scratch: &Path, sql: &[u8]) -> Result<Stdio, LocalDbError> {
    let mut file = tempfile::tempfile_in(scratch)
        .map_err(LocalDbError::system("create a file in", scratch))?;
    file.write_all(sql)
        .and_then(|()| file.rewind())
        .map_err(LocalDbError::system("write a file in", scratch))?;
    Ok(Stdio::from(file))
}

//! The local database as its owner sees it: start, use, kill, restart, stop.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::client::Client;
use crate::folder::Folder;
use crate::install::{ensure_installed, user_argument};
use crate::leftover::{argument, end_leftovers};
use crate::process::Process;
use crate::programs::Programs;
use crate::{LocalDbError, Options};

const START_LIMIT: Duration = Duration::from_secs(60);
const START_POLL: Duration = Duration::from_millis(50);
const STOP_LIMIT: Duration = Duration::from_secs(30);
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// A server that belongs to this process and ends with it.
///
/// Dropping it stops the server. When the owner is killed without a chance to drop, the server is
/// killed too if the system has `setpriv --pdeathsig` (util-linux); otherwise the next
/// [`LocalDb::start`] in the same folder ends what was left. Ctrl-C in a terminal reaches the owner
/// only: the server runs in a process group of its own.
#[derive(Debug)]
pub struct LocalDb {
    options: Options,
    programs: Programs,
    server: Option<Process>,
    log: PathBuf,
    /// Last, so that the folder is unlocked after everything else is gone.
    folder: Folder,
}

impl LocalDb {
    /// Installs the data directory if it is fresh, starts the server and waits until it answers.
    ///
    /// # Errors
    /// Programs are missing, the folder is in use, or the server does not come up within 60 s.
    pub fn start(options: Options) -> Result<Self, LocalDbError> {
        let programs = Programs::find(options.installation)?;
        let folder = Folder::claim(&options.folder, options.installation.family())?;
        end_leftovers(&[folder.data(), folder.unfinished_data()])?;
        ensure_installed(&programs, &folder)?;
        let mut database = Self {
            options,
            programs,
            server: None,
            log: folder.log(),
            folder,
        };
        database.launch()?;
        Ok(database)
    }

    /// The unix socket; its directory is open to the current user only.
    pub fn socket(&self) -> &Path {
        self.folder.socket()
    }

    /// The TCP port on 127.0.0.1; 0 if there is none.
    pub fn port(&self) -> u16 {
        self.options.port
    }

    /// The server's process id; `None` after [`LocalDb::stop`] or [`LocalDb::kill`].
    pub fn pid(&self) -> Option<u32> {
        self.server.as_ref().map(Process::pid)
    }

    /// What the server logs, over all its starts.
    pub fn log_file(&self) -> &Path {
        &self.log
    }

    /// Runs statements as root through the command-line client and waits for them. Rows end with a
    /// line feed, columns are parted by tabs, names are left out.
    ///
    /// # Errors
    /// The first failing statement's message; those after it did not run.
    pub fn execute(&self, sql: &str) -> Result<String, LocalDbError> {
        let scratch = self.folder.run();
        let (program, socket) = (&self.programs.client, self.socket());
        Client {
            program,
            socket,
            scratch: &scratch,
        }
        .execute(sql)
    }

    /// Creates the sample: the database `shop`, an empty database `sbtest`, and the account `app`
    /// with the password `secret`. What is there already stays as it is.
    ///
    /// # Errors
    /// The message of the statement that failed.
    pub fn load_sample(&self) -> Result<(), LocalDbError> {
        self.execute(include_str!("sample.sql")).map(drop)
    }

    /// Asks the server to end, and kills it if it has not within 30 s. Stopping twice is fine.
    ///
    /// # Errors
    /// The process could not be signalled or does not end even when killed.
    pub fn stop(&mut self) -> Result<(), LocalDbError> {
        if let Some(server) = &self.server {
            signal(server, Signal::TERM)?;
            if server.wait(STOP_LIMIT).is_none() {
                tracing::warn!(
                    pid = server.pid(),
                    "the local database does not stop, killing it"
                );
                return self.kill();
            }
            tracing::info!(pid = server.pid(), "local database stopped");
            self.server = None;
        }
        Ok(())
    }

    /// Ends the server at once, as a crash would.
    ///
    /// # Errors
    /// As for [`LocalDb::stop`].
    pub fn kill(&mut self) -> Result<(), LocalDbError> {
        if let Some(server) = &self.server {
            signal(server, Signal::KILL)?;
            if server.wait(KILL_LIMIT).is_none() {
                return Err(LocalDbError::DoesNotEnd(server.pid()));
            }
            self.server = None;
        }
        Ok(())
    }

    /// Stops the server if it runs and starts it again on the same data, socket and port.
    ///
    /// # Errors
    /// As for [`LocalDb::stop`] and [`LocalDb::start`].
    pub fn restart(&mut self) -> Result<(), LocalDbError> {
        self.stop()?;
        self.launch()
    }

    fn launch(&mut self) -> Result<(), LocalDbError> {
        self.folder.forget_old_server()?;
        let command = self.server_command()?;
        let spawned = Process::spawn(command);
        let server = spawned.map_err(LocalDbError::system("run", &self.programs.server.path))?;
        let pid = server.pid();
        self.server = Some(server);
        self.await_answer()?;
        tracing::info!(pid, socket = %self.socket().display(), "local database started");
        Ok(())
    }

    fn server_command(&self) -> Result<Command, LocalDbError> {
        let (log, run) = (self.folder.open_log()?, self.folder.run());
        let log_too = log
            .try_clone()
            .map_err(LocalDbError::system("open", &self.log))?;
        let mut command = self.programs.server_command();
        command
            .arg(argument(&self.folder.data()))
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--pid-file={}", run.join("server.pid").display()))
            .arg(format!("--tmpdir={}", run.display()))
            .arg("--skip-name-resolve")
            .args(network_arguments(self.options.port))
            .args(self.folder.family.server_arguments())
            .args(user_argument())
            .args(&self.options.server_args)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(log_too);
        Ok(command)
    }

    fn await_answer(&mut self) -> Result<(), LocalDbError> {
        let deadline = Instant::now() + START_LIMIT;
        while Instant::now() < deadline {
            if let Some(status) = self
                .server
                .as_ref()
                .and_then(|server| server.wait(START_POLL))
            {
                self.server = None;
                return Err(LocalDbError::EndedEarly {
                    status,
                    log: self.folder.log_end(),
                });
            }
            if self.execute("SELECT 1").is_ok() {
                return Ok(());
            }
        }
        self.kill()?;
        Err(LocalDbError::NoAnswer {
            limit: START_LIMIT,
            log: self.folder.log_end(),
        })
    }
}

impl Drop for LocalDb {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            tracing::warn!(%error, "cannot stop the local database");
        }
    }
}

fn signal(server: &Process, signal: Signal) -> Result<(), LocalDbError> {
    let target = server.pid().to_string();
    server
        .signal(signal)
        .map_err(LocalDbError::system("signal process", Path::new(&target)))
}

fn network_arguments(port: u16) -> Vec<String> {
    match port {
        0 => vec!["--skip-networking".into()],
        port => vec!["--bind-address=127.0.0.1".into(), format!("--port={port}")],
    }
}

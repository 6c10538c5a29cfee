//! Commands of this program, each a process of its own that ends with this one.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child as Process, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::ChallengeError;

const END_LIMIT: Duration = Duration::from_secs(10);
const END_LOOK: Duration = Duration::from_millis(10);
/// Bytes of a log that go into an error.
const SAID_BYTES: usize = 1_000;

/// A running command. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Child {
    name: &'static str,
    process: Process,
    log: PathBuf,
}

impl Child {
    /// Starts a command of `program`. What it says goes into `log`.
    pub(crate) fn start(
        name: &'static str,
        program: &Path,
        arguments: &[String],
        log: &Path,
    ) -> Result<Self, ChallengeError> {
        let mut command = command(program, arguments);
        command.stdout(create(log)?);
        Self::spawn(name, command, log)
    }

    /// The same, but whoever starts it hears its standard output.
    pub(crate) fn start_heard(
        name: &'static str,
        program: &Path,
        arguments: &[String],
        log: &Path,
    ) -> Result<(Self, ChildStdout), ChallengeError> {
        create(log)?;
        let mut command = command(program, arguments);
        command.stdout(Stdio::piped());
        let mut child = Self::spawn(name, command, log)?;
        match child.process.stdout.take() {
            Some(output) => Ok((child, output)),
            None => Err(child.error("has no standard output")),
        }
    }

    fn spawn(name: &'static str, mut command: Command, log: &Path) -> Result<Self, ChallengeError> {
        let errors = File::options().append(true).open(log);
        command.stderr(errors.map_err(ChallengeError::system("write", log))?);
        let program = Path::new(command.get_program()).to_owned();
        let process = command
            .spawn()
            .map_err(ChallengeError::system("run", &program))?;
        Ok(Self {
            name,
            process,
            log: log.to_owned(),
        })
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Whether it has ended, and how.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>, ChallengeError> {
        let ended = self.process.try_wait();
        ended.map_err(ChallengeError::system("wait for", Path::new(self.name)))
    }

    /// The error that it did `what`, with the end of what it said.
    pub(crate) fn error(&self, what: impl Into<String>) -> ChallengeError {
        ChallengeError::Child {
            name: self.name,
            what: what.into(),
            said: said(&self.log),
        }
    }

    /// Asks it to end, and kills it if it has not within 10 s.
    fn end(&mut self) -> Result<(), ChallengeError> {
        let asked = Pid::from_raw(self.process.id().cast_signed())
            .filter(|_| matches!(self.process.try_wait(), Ok(None)));
        if let Some(pid) = asked {
            // It may have ended by now.
            let _gone = kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + END_LIMIT;
        while self.ended()?.is_none() && Instant::now() < deadline {
            std::thread::sleep(END_LOOK);
        }
        let killed = self.process.kill().and_then(|()| self.process.wait());
        killed
            .map(drop)
            .map_err(ChallengeError::system("end", Path::new(self.name)))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // What cannot even be killed is left to the kernel, which ends it with this process.
        let _left = self.end();
    }
}

fn command(program: &Path, arguments: &[String]) -> Command {
    let mut command = Command::new(program);
    // Ctrl-C in a terminal is for this process alone, which then ends the others in order.
    command
        .arg(format!("--end-with={}", std::process::id()))
        .args(arguments)
        .process_group(0)
        .stdin(Stdio::null());
    command
}

/// An empty log, which several may append to.
fn create(log: &Path) -> Result<File, ChallengeError> {
    let removed = match std::fs::remove_file(log) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => File::options().create(true).append(true).open(log),
    };
    removed.map_err(ChallengeError::system("write", log))
}

/// The reason with which a command of our own ended, or else the end of its log, in one line.
fn said(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let end = &text[text.len().saturating_sub(SAID_BYTES)..];
    let end = String::from_utf8_lossy(end);
    let lines: Vec<&str> = end.lines().map(str::trim).collect();
    let reason = lines.last().and_then(|line| line.strip_prefix("myriad: "));
    if let Some(reason) = reason {
        return reason.to_owned();
    }
    match lines.concat().is_empty() {
        true => format!("nothing in {}", log.display()),
        false => lines.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        std::fs::write(&log, format!("{}\nfirst\n  second\n", "x".repeat(2_000))).unwrap();
        let text = said(&log);
        assert!(
            text.ends_with(" first second") && text.len() < 1_100,
            "{text}"
        );
        assert!(said(&folder.path().join("none")).starts_with("nothing in"));
        std::fs::write(&log, "INFO of before\nmyriad: no memory; add some\n").unwrap();
        assert_eq!(said(&log), "no memory; add some");
    }

    #[test]
    fn a_dropped_command_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        // A shell that takes the flag as its name, and would wait for ever.
        let script = folder.path().join("program");
        std::fs::write(&script, "#!/bin/sh\nexec sleep 600\n").unwrap();
        let mut permissions = std::fs::metadata(&script).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        std::fs::set_permissions(&script, permissions).unwrap();
        let mut child = Child::start("it", &script, &[], &folder.path().join("log")).unwrap();
        assert!(child.ended().unwrap().is_none());
        let entry = PathBuf::from(format!("/proc/{}", child.pid()));
        assert!(entry.exists());
        drop(child);
        assert!(!entry.exists());
    }
}

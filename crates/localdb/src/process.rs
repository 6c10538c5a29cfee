//! One server process: spawned, signalled, waited for. What it serves is not known here.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A child process with a thread of its own that spawns it and reaps it.
///
/// `setpriv --pdeathsig` means the spawning *thread*, not the process: a caller's thread may end
/// long before the server should. Signals go through a descriptor, so they cannot hit a stranger
/// that got the number of a process already reaped.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    descriptor: OwnedFd,
    end: Receiver<io::Result<ExitStatus>>,
}

impl Process {
    /// Starts the command.
    pub(crate) fn spawn(command: Command) -> io::Result<Self> {
        let (started_sender, started) = mpsc::channel();
        let (end_sender, end) = mpsc::channel();
        let keeper = thread::Builder::new().name("localdb-keeper".into());
        keeper.spawn(move || keep(command, &started_sender, &end_sender))?;
        let (pid, descriptor) = started.recv().map_err(io::Error::other)??;
        Ok(Self {
            pid,
            descriptor,
            end,
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal; a process that has ended already is no error.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(&self.descriptor, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for the end, which it puts into words; `None` if the process still runs after `limit`.
    pub(crate) fn wait(&self, limit: Duration) -> Option<String> {
        match self.end.recv_timeout(limit) {
            Ok(Ok(status)) => Some(status.to_string()),
            Ok(Err(error)) => Some(error.to_string()),
            Err(RecvTimeoutError::Disconnected) => Some("ended before".into()),
            Err(RecvTimeoutError::Timeout) => None,
        }
    }
}

type Started = io::Result<(u32, OwnedFd)>;

fn keep(mut command: Command, started: &Sender<Started>, end: &Sender<io::Result<ExitStatus>>) {
    let spawned = command.spawn().and_then(|child| Ok((open(&child)?, child)));
    let (descriptor, mut child) = match spawned {
        Ok(spawned) => spawned,
        Err(error) => return report(started, Err(error)),
    };
    report(started, Ok((child.id(), descriptor)));
    report(end, child.wait());
}

/// The child is not yet reaped, so its number is still its own.
fn open(child: &Child) -> io::Result<OwnedFd> {
    Ok(pidfd_open(Pid::from_child(child), PidfdFlags::empty())?)
}

/// Nobody listens any more when the owner is gone, and that is fine.
fn report<T>(to: &Sender<T>, what: T) {
    drop(to.send(what));
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn signals_end_a_process_and_its_end_is_told() {
        let mut command = Command::new("sleep");
        command.arg("600");
        let process = Process::spawn(command).unwrap();
        assert_eq!(process.wait(Duration::ZERO), None);
        process.signal(Signal::TERM).unwrap();
        assert!(process.wait(LONG).unwrap().contains("15"));
        process.signal(Signal::TERM).unwrap();
    }

    #[test]
    fn a_command_that_cannot_start_is_an_error() {
        let error = Process::spawn(Command::new("/nowhere/mariadbd")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}

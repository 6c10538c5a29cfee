//! Ends servers that outlived an owner who was killed.
//!
//! Usually none is left, as the server dies with its owner; but `setpriv` may be missing, or the
//! server may still be dying. The caller holds the folder's lock, so nobody else owns what is found.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::LocalDbError;

const END_LIMIT: Duration = Duration::from_secs(10);

/// Kills every process that was started on one of these data directories, and waits for its end.
pub(crate) fn end_leftovers(data_directories: &[PathBuf]) -> Result<(), LocalDbError> {
    let arguments: Vec<OsString> = data_directories.iter().map(|data| argument(data)).collect();
    let proc = Path::new("/proc");
    let entries = std::fs::read_dir(proc).map_err(LocalDbError::system("list", proc))?;
    for entry in entries.flatten() {
        if let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        {
            end_if_ours(pid, &arguments)?;
        }
    }
    Ok(())
}

/// The argument by which a server of this data directory is recognized.
pub(crate) fn argument(data: &Path) -> OsString {
    let mut argument = OsString::from("--datadir=");
    argument.push(data);
    argument
}

fn end_if_ours(raw: i32, arguments: &[OsString]) -> Result<(), LocalDbError> {
    if !is_ours(raw, arguments) {
        return Ok(());
    }
    let failed = |error: Errno| {
        LocalDbError::system("end the leftover server", Path::new(&raw.to_string()))(error)
    };
    let Some(pid) = Pid::from_raw(raw) else {
        return Ok(());
    };
    let pidfd = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        Err(Errno::SRCH) => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    // The number may have gone to another process before the descriptor was open.
    if !is_ours(raw, arguments) {
        return Ok(());
    }
    tracing::warn!(pid = raw, "ending a server that its owner left behind");
    match pidfd_send_signal(&pidfd, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => return Err(failed(error)),
    }
    let limit = Timespec {
        tv_sec: END_LIMIT.as_secs().cast_signed(),
        tv_nsec: 0,
    };
    match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&limit)).map_err(failed)? {
        0 => Err(LocalDbError::DoesNotEnd(raw.cast_unsigned())),
        _ => Ok(()),
    }
}

fn is_ours(pid: i32, arguments: &[OsString]) -> bool {
    let command_line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    names_one_of(&command_line, arguments)
}

/// Whole arguments only: a folder's name may be the beginning of another one's.
fn names_one_of(command_line: &[u8], arguments: &[OsString]) -> bool {
    let mut given = command_line.split(|byte| *byte == 0);
    given.any(|given| {
        arguments
            .iter()
            .any(|argument| argument.as_bytes() == given)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_same_data_directory_counts() {
        let ours = [argument(Path::new("/x/data"))];
        assert!(names_one_of(
            b"mariadbd\0--datadir=/x/data\0--port=1\0",
            &ours
        ));
        assert!(!names_one_of(b"mariadbd\0--datadir=/x/data2\0", &ours));
        assert!(!names_one_of(b"grep\0-- --datadir=/x/data\0", &ours));
        assert!(!names_one_of(b"", &ours));
    }
}

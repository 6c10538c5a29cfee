//! How a worker can fail, and what to do about it.

use std::io;

use rustix::io::Errno;

/// Why a worker could not start or go on: the operating system's fault or a defect, never a connection's.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The event loop or a mailbox could not be set up.
    #[error("cannot set up {what}: {source}; check the limit of open files")]
    Setup {
        /// What was being set up.
        what: &'static str,
        /// What the operating system says.
        source: io::Error,
    },
    /// io_uring, which is wanted, is not to be had.
    #[error("io_uring is refused: {cause}; {remedy}, or choose another driver")]
    Refused {
        /// What the operating system says.
        cause: io::Error,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The handler has panicked, and what it knows could not be brought into order; or the loop itself has.
    #[error("it has panicked; report this as a defect, with the log")]
    Panicked,
    /// Waiting for events failed.
    #[error("cannot wait for events: {0}; report this as a defect")]
    Wait(io::Error),
}

impl DriverError {
    pub(crate) fn refused(cause: io::Error) -> Self {
        let remedy = remedy(&cause);
        Self::Refused { cause, remedy }
    }

    pub(crate) fn setup(what: &'static str) -> impl FnOnce(Errno) -> Self {
        move |errno| Self::Setup {
            what,
            source: errno.into(),
        }
    }
}

/// What to do so that io_uring is not refused any more.
pub(crate) fn remedy(error: &io::Error) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::PERM | Errno::ACCESS) => {
            "allow io_uring (seccomp profile of the container, sysctl kernel.io_uring_disabled)"
        }
        Some(Errno::NOMEM) => "raise the limit of locked memory (`ulimit -l`)",
        Some(Errno::MFILE | Errno::NFILE) => "raise the limit of open files (`ulimit -n`)",
        _ => "run Linux 6.8 or later with io_uring built in",
    }
}

//! Which event loop runs: asked of the kernel, not guessed from its version.

use std::fmt;
use std::io;

use rustix::process::{Resource, getrlimit};

use crate::uring;

/// An event loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Driver {
    /// Readiness by epoll; a connection is an open file.
    Epoll,
    /// Completions by io_uring; a connection is no open file, so their limit does not matter.
    IoUring,
}

/// Which one is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wanted {
    /// io_uring where the kernel allows it.
    #[default]
    Auto,
    /// epoll.
    Epoll,
    /// io_uring; epoll where it is refused.
    IoUring,
}

impl Driver {
    /// Finds out what can run, and logs what will, why, and how many connections it can hold.
    pub fn choose(wanted: Wanted) -> Self {
        let probed = match wanted {
            Wanted::Epoll => None,
            Wanted::Auto | Wanted::IoUring => Some(uring::probe()),
        };
        let open_files = getrlimit(Resource::Nofile).current;
        match probed {
            None => {
                tracing::info!(
                    driver = %Self::Epoll,
                    open_files_max = open_files,
                    "the driver is as configured; clients and backends together cannot be more than \
                     the limit of open files"
                );
                Self::Epoll
            }
            Some(Ok(())) => {
                let why = match wanted {
                    Wanted::Auto => "the kernel has all that io_uring needs",
                    Wanted::Epoll | Wanted::IoUring => "as configured",
                };
                tracing::info!(
                    driver = %Self::IoUring,
                    why,
                    "connections are no open files, so their limit does not matter"
                );
                Self::IoUring
            }
            Some(Err(error)) => {
                tracing::warn!(
                    driver = %Self::Epoll,
                    %error,
                    open_files_max = open_files,
                    "io_uring is refused; clients and backends together cannot be more than the \
                     limit of open files: raise it, or allow io_uring (container seccomp profile, \
                     sysctl kernel.io_uring_disabled)"
                );
                Self::Epoll
            }
        }
    }

    /// Whether it can run here; the error says why not.
    pub fn probe(self) -> io::Result<()> {
        match self {
            Self::Epoll => Ok(()),
            Self::IoUring => uring::probe(),
        }
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        })
    }
}

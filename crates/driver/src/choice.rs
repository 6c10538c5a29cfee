//! Which event loop runs: asked of the kernel, not guessed from its version.

use std::fmt;
use std::io;

use rustix::process::{Resource, getrlimit};

use crate::error::{DriverError, remedy};
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
    /// io_uring, and nothing else.
    IoUring,
}

/// Descriptors that are no connections: standard streams, log, listeners, event loops, mailboxes
/// and the administrator's connections.
const OTHER_FILES: u64 = 64;

impl Driver {
    /// Finds out what can run, and logs what will, why, and how many connections it can hold. Fails
    /// only if nothing but io_uring is wanted and that is refused.
    pub fn choose(wanted: Wanted) -> Result<Self, DriverError> {
        let why = match wanted {
            Wanted::Epoll => {
                tracing::info!(
                    driver = %Self::Epoll,
                    connections_max = open_connections_max(),
                    "the driver is as configured; clients and backends are open files, so their \
                     limit bounds them"
                );
                return Ok(Self::Epoll);
            }
            Wanted::Auto => "the kernel has all that io_uring needs",
            Wanted::IoUring => "as configured",
        };
        match uring::probe() {
            Ok(()) => {
                tracing::info!(
                    driver = %Self::IoUring,
                    why,
                    "connections are no open files, so their limit does not matter"
                );
                Ok(Self::IoUring)
            }
            Err(error) if wanted == Wanted::Auto => {
                tracing::warn!(
                    driver = %Self::Epoll,
                    connections_max = open_connections_max(),
                    %error,
                    "io_uring is refused, so clients and backends are open files, and their limit \
                     bounds them: raise it, or {}",
                    remedy(&error)
                );
                Ok(Self::Epoll)
            }
            Err(error) => Err(DriverError::refused(error)),
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

/// How many connections there can be where each is an open file.
fn open_connections_max() -> Option<u64> {
    let open_files = getrlimit(Resource::Nofile).current?;
    Some(open_files.saturating_sub(OTHER_FILES))
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        })
    }
}

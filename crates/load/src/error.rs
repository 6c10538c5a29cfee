//! Why a run ends without a result, in words that say what to do.

use std::io;

use driver::{Address, DriverError};
use events::ConnectError;

/// A run that could not be done. Errors of single statements and connections are no such thing:
/// those are counted.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A number that must not be zero.
    #[error("{0} must not be zero; choose at least 1")]
    Zero(&'static str),
    /// All source ports to the target are in use.
    #[error(
        "no source port is left for {target} after {open} connections; one source address reaches \
         one target address about 28,000 times: use a unix socket, or let several processes \
         connect to different target addresses"
    )]
    NoPort {
        /// Where the connection would have led.
        target: String,
        /// Connections of the worker that gave up.
        open: usize,
    },
    /// The process may not open more files.
    #[error(
        "too many open files with {open} connections in one of the threads; raise the limit \
         (`ulimit -n`), or spread the connections over several processes of at most its size"
    )]
    NoDescriptor {
        /// Connections of the worker that gave up.
        open: usize,
    },
    /// Nobody answers at the target, from the first connection on.
    #[error("cannot connect to {target}: {cause}; check the address, and that somebody listens")]
    Connect {
        /// Where the connection would have led.
        target: String,
        /// What the operating system says.
        cause: io::Error,
    },
    /// The account or its schema is refused.
    #[error("the login is refused: {number} {message}; check user, password and database")]
    Refused {
        /// The error number.
        number: u16,
        /// The text that came with it.
        message: String,
    },
    /// The account uses an authentication plugin that is not spoken here.
    #[error(
        "the login wants the authentication plugin {plugin}; use an account with \
         caching_sha2_password or mysql_native_password"
    )]
    Plugin {
        /// The plugin asked for.
        plugin: String,
    },
    /// `caching_sha2_password` has not seen the account since the server started.
    #[error(
        "the target must see the password itself before it takes a proof of it; log in once \
         with another client, such as mysql over TLS or a unix socket"
    )]
    FullAuthentication,
    /// The other side does not follow the protocol at login.
    #[error("the target does not speak the MySQL protocol: {0}; check the address")]
    Protocol(String),
    /// Connections stopped coming.
    #[error(
        "only {open} of {wanted} connections are logged in and no more came for a while; {last}; \
         check the limits of the target, such as max_connections"
    )]
    Stalled {
        /// Connections logged in.
        open: usize,
        /// Connections wanted.
        wanted: u32,
        /// The errors met so far.
        last: String,
    },
    /// A process to be watched is not there.
    #[error("cannot watch process {pid}: {cause}; check its number")]
    Watch {
        /// Its process id.
        pid: u32,
        /// What the operating system says.
        cause: io::Error,
    },
    /// The table of latencies could not be made.
    #[error("cannot keep latencies: {0}; report this as a defect")]
    Latencies(#[from] hdrhistogram::CreationError),
    /// A worker's event loop failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}; lower the number of threads")]
    Thread(io::Error),
    /// A worker ended although nobody asked it to.
    #[error("a worker ended early; report this as a defect")]
    Ended,
}

const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
const EADDRNOTAVAIL: i32 = 99;

impl LoadError {
    /// The error of a connection that could not be made, if there is no use in trying again.
    /// `open`: how many connections there are; `ever`: whether one ever could be made.
    pub(crate) fn of_connect(
        error: ConnectError,
        target: &[Address],
        open: usize,
        ever: bool,
    ) -> Option<Self> {
        let addresses: Vec<String> = target.iter().map(Address::to_string).collect();
        let target = addresses.join(", ");
        let cause = match error {
            ConnectError::Os(ENFILE | EMFILE) => return Some(Self::NoDescriptor { open }),
            ConnectError::Os(EADDRNOTAVAIL) => return Some(Self::NoPort { target, open }),
            ConnectError::Os(_) if ever => return None,
            ConnectError::Os(errno) => io::Error::from_raw_os_error(errno),
            ConnectError::Address => io::Error::from(io::ErrorKind::InvalidInput),
        };
        Some(Self::Connect { target, cause })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(errno: i32, ever: bool) -> Option<String> {
        let target = [Address::Tcp("127.0.0.1:3306".parse().unwrap())];
        LoadError::of_connect(ConnectError::Os(errno), &target, 9, ever).map(|e| e.to_string())
    }

    #[test]
    fn limits_of_this_side_end_the_run_and_say_what_to_do() {
        assert!(text(EMFILE, true).unwrap().contains("ulimit -n"));
        let ports = text(EADDRNOTAVAIL, true).unwrap();
        assert!(ports.contains("127.0.0.1:3306 after 9"), "{ports}");
    }

    #[test]
    fn a_target_that_once_answered_may_come_back() {
        assert!(text(111, false).unwrap().contains("Connection refused"));
        assert_eq!(text(111, true), None);
    }
}

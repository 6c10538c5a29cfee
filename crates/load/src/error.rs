//! Why a run ends without a result, in words that say what to do.

use std::io;
use std::net::IpAddr;

use driver::{Address, Driver, DriverError};
use events::ConnectError;

use crate::plan::Plan;
use crate::script::ScriptError;

/// A run that could not be done. Errors of single statements and connections are no such thing:
/// those are counted.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A number that must not be zero.
    #[error("{0} must not be zero; choose at least 1")]
    Zero(&'static str),
    /// All source ports to the target are in use.
    #[error(
        "no source port is left for {target} after {open} connections in one of the threads \
         (errno 99); give more source addresses with --source or more target addresses with \
         --host, use a unix socket, or widen net.ipv4.ip_local_port_range"
    )]
    NoPort {
        /// Where the connection would have led.
        target: String,
        /// Connections of the worker that gave up.
        open: usize,
    },
    /// The process may not open more files.
    #[error("too many open files with {open} connections in one of the threads (errno 24); {fix}")]
    NoDescriptor {
        /// Connections of the worker that gave up.
        open: usize,
        /// What to do, which depends on the driver.
        fix: &'static str,
    },
    /// A source address is not one of this machine.
    #[error(
        "cannot connect from {sources}: no such address here (errno 99); give addresses of this \
         machine with --source"
    )]
    NoSource {
        /// The source addresses asked for.
        sources: String,
    },
    /// The kernel has no memory for another socket.
    #[error(
        "the kernel has no memory for another connection after {open} in one of the threads (errno \
         {errno}); raise net.ipv4.tcp_mem (over io_uring also `ulimit -l`), or use fewer connections"
    )]
    NoMemory {
        /// Connections of the worker that gave up.
        open: usize,
        /// What `connect` said.
        errno: i32,
    },
    /// A script cannot be read.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// A connection would have to prepare too many statements.
    #[error(
        "each connection would prepare {variants} statements, one for each table; use fewer \
         tables, or leave out --prepared"
    )]
    Variants {
        /// How many.
        variants: u32,
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
    /// A statement that must not fail did.
    #[error("{number} {message} ({statement} …); {fix}")]
    Statement {
        /// The error number.
        number: u16,
        /// The text that came with it.
        message: String,
        /// The statement's beginning.
        statement: String,
        /// What to do.
        fix: &'static str,
    },
    /// A connection that must not be lost was.
    #[error("the connection was lost: {0}; look into the log of the target")]
    Lost(io::Error),
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
    /// TLS was asked for, and the target does not offer it.
    #[error("the target offers no TLS; leave out --tls, or turn TLS on there")]
    NoTls,
    /// TLS cannot be spoken.
    #[error("TLS cannot be spoken: {0}")]
    Tls(#[from] tls::TlsError),
    /// The other side does not follow the protocol at login.
    #[error("the target does not speak the MySQL protocol: {0}; check the address")]
    Protocol(String),
    /// Connections stopped coming.
    #[error(
        "only {open} of {wanted} connections are logged in and no more came for a while: {last}"
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
    /// Whoever follows the progress has ended the run.
    #[error("the run was ended early")]
    Stopped,
    /// A worker ended although nobody asked it to.
    #[error("a worker ended early; report this as a defect")]
    Ended,
}

const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
const ENOMEM: i32 = 12;
const EADDRNOTAVAIL: i32 = 99;
const ENOBUFS: i32 = 105;

impl LoadError {
    /// The error of a connection that could not be made, if there is no use in trying again.
    /// `open`: how many connections there are; `ever`: whether one ever could be made.
    pub(crate) fn of_connect(
        error: ConnectError,
        plan: &Plan,
        open: usize,
        ever: bool,
    ) -> Option<Self> {
        let target = list(&plan.target);
        let cause = match error {
            ConnectError::Os(ENFILE | EMFILE) => {
                let fix = fewer_files(plan.driver);
                return Some(Self::NoDescriptor { open, fix });
            }
            ConnectError::Os(errno @ (ENOMEM | ENOBUFS)) => {
                return Some(Self::NoMemory { open, errno });
            }
            ConnectError::Os(EADDRNOTAVAIL) if !ever && !plan.sources.is_empty() => {
                let sources: Vec<String> = plan.sources.iter().map(IpAddr::to_string).collect();
                let sources = sources.join(", ");
                return Some(Self::NoSource { sources });
            }
            ConnectError::Os(EADDRNOTAVAIL) => return Some(Self::NoPort { target, open }),
            ConnectError::Os(_) if ever => return None,
            ConnectError::Os(errno) => io::Error::from_raw_os_error(errno),
            ConnectError::Address => io::Error::from(io::ErrorKind::InvalidInput),
        };
        Some(Self::Connect { target, cause })
    }
}

/// What to do when no descriptor is left.
fn fewer_files(driver: Driver) -> &'static str {
    match driver {
        Driver::Epoll => {
            "raise the limit (`ulimit -n`), spread the connections over several processes of at \
             most its size, or use --driver io_uring"
        }
        Driver::IoUring => {
            "over io_uring only connections that are being made are open files: lower \
             --connect-concurrency, or raise the limit (`ulimit -n`)"
        }
    }
}

/// The addresses in one line.
pub(crate) fn list(target: &[Address]) -> String {
    let addresses: Vec<String> = target.iter().map(Address::to_string).collect();
    addresses.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(errno: i32, ever: bool) -> Option<String> {
        text_over(Driver::Epoll, errno, ever)
    }

    fn text_over(driver: Driver, errno: i32, ever: bool) -> Option<String> {
        let mut plan = crate::generator::tests::plan(crate::workload::Workload::Idle, 1, 1);
        plan.target = vec![Address::Tcp("127.0.0.1:3306".parse().unwrap())];
        plan.driver = driver;
        LoadError::of_connect(ConnectError::Os(errno), &plan, 9, ever).map(|e| e.to_string())
    }

    #[test]
    fn limits_of_this_side_end_the_run_and_say_what_to_do() {
        assert!(text(EMFILE, true).unwrap().contains("ulimit -n"));
        let over_io_uring = text_over(Driver::IoUring, EMFILE, true).unwrap();
        assert!(
            over_io_uring.contains("--connect-concurrency"),
            "{over_io_uring}"
        );
        let ports = text(EADDRNOTAVAIL, true).unwrap();
        assert!(ports.contains("127.0.0.1:3306 after 9"), "{ports}");
        assert!(text(ENOMEM, true).unwrap().contains("tcp_mem"));
    }

    #[test]
    fn a_target_that_once_answered_may_come_back() {
        assert!(text(111, false).unwrap().contains("Connection refused"));
        assert_eq!(text(111, true), None);
    }
}

//! Where to listen and where to connect: resolved addresses. Resolving names is not done here.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A resolved address of a stream socket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// TCP over IPv4 or IPv6.
    Tcp(SocketAddr),
    /// A unix socket, by the path of its file.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

//! Stream sockets as this driver wants them: non-blocking, closed on exec, and with options that
//! find a dead peer within about a minute.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with, sockopt};

use crate::address::Address;

/// Flags of every socket of a worker.
pub(crate) const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 3;
const USER_TIMEOUT_MS: u32 = 60_000;

/// A socket of the address' family, not connected and not bound. TCP options are set; what a
/// listener has, the connections accepted from it inherit.
pub(crate) fn open(address: &Address) -> Result<OwnedFd, Errno> {
    let family = match address {
        Address::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
        Address::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        Address::Unix(_) => AddressFamily::UNIX,
    };
    let fd = socket_with(family, SocketType::STREAM, FLAGS, None)?;
    if matches!(address, Address::Tcp(_)) {
        set_tcp_options(&fd)?;
    }
    Ok(fd)
}

/// Begins to connect. `INPROGRESS` means that it goes on by itself.
pub(crate) fn connect(fd: &OwnedFd, address: &Address) -> Result<(), Errno> {
    match address {
        Address::Tcp(address) => rustix::net::connect(fd, address),
        Address::Unix(path) => rustix::net::connect(fd, &SocketAddrUnix::new(path)?),
    }
}

/// Binds.
pub(crate) fn bind(fd: &OwnedFd, address: &Address) -> Result<(), Errno> {
    match address {
        Address::Tcp(address) => rustix::net::bind(fd, address),
        Address::Unix(path) => rustix::net::bind(fd, &SocketAddrUnix::new(path)?),
    }
}

/// Has the kernel give up a peer that takes no bytes after `limit`, if that is longer than usual.
pub(crate) fn keep_slow_peer(fd: &OwnedFd, limit: Duration) -> Result<(), Errno> {
    let limit = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(fd, limit.max(USER_TIMEOUT_MS))
}

fn set_tcp_options(fd: impl AsFd) -> Result<(), Errno> {
    let fd = fd.as_fd();
    sockopt::set_tcp_nodelay(fd, true)?;
    sockopt::set_socket_keepalive(fd, true)?;
    sockopt::set_tcp_keepidle(fd, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(fd, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(fd, KEEPALIVE_PROBES)?;
    sockopt::set_tcp_user_timeout(fd, USER_TIMEOUT_MS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{acceptfrom_with, getsockname, listen};

    #[test]
    fn accepted_connections_inherit_the_options() {
        let address = Address::Tcp("127.0.0.1:0".parse().unwrap());
        let listener = open(&address).unwrap();
        bind(&listener, &address).unwrap();
        listen(&listener, 1).unwrap();
        keep_slow_peer(&listener, Duration::from_secs(1)).unwrap();
        let target = SocketAddr::try_from(getsockname(&listener).unwrap()).unwrap();
        let client = std::net::TcpStream::connect(target).unwrap();
        let (accepted, peer) = acceptfrom_with(&listener, FLAGS).unwrap();
        assert_eq!(
            SocketAddr::try_from(peer.unwrap()).unwrap(),
            client.local_addr().unwrap()
        );
        assert!(sockopt::tcp_nodelay(&accepted).unwrap());
        assert!(sockopt::socket_keepalive(&accepted).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&accepted).unwrap(), KEEPALIVE_IDLE);
        assert_eq!(
            sockopt::tcp_keepintvl(&accepted).unwrap(),
            KEEPALIVE_INTERVAL
        );
        assert_eq!(sockopt::tcp_keepcnt(&accepted).unwrap(), KEEPALIVE_PROBES);
        assert_eq!(
            sockopt::tcp_user_timeout(&accepted).unwrap(),
            USER_TIMEOUT_MS
        );
        keep_slow_peer(&listener, Duration::from_secs(300)).unwrap();
        let _slow = std::net::TcpStream::connect(target).unwrap();
        let (accepted, _) = acceptfrom_with(&listener, FLAGS).unwrap();
        assert_eq!(sockopt::tcp_user_timeout(&accepted).unwrap(), 300_000);
    }
}

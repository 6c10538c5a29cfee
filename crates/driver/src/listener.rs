//! The sockets on which clients are accepted: bound once, before any worker starts, and shared
//! by all of them. Accepting is done by the event loop.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use events::Peer;
use rustix::io::Errno;
use rustix::net::{acceptfrom_with, getsockname, sockopt};

use crate::address::Address;
use crate::socket;

/// Bound listening sockets. Clones share them; they are closed, and the files of unix sockets
/// removed, with the last clone.
#[derive(Clone, Default)]
pub struct Listeners {
    sockets: Arc<[Listener]>,
}

/// Why an address cannot be listened on: the configuration's or the host's fault.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody listens there.
    #[error("cannot listen on {address}: in use; stop who listens there or choose another address")]
    InUse {
        /// The address asked for.
        address: Address,
    },
    /// There is a file, but it is no socket, so it is not ours to remove.
    #[error("cannot listen on {address}: the file is no socket; remove it or choose another path")]
    NotSocket {
        /// The address asked for.
        address: Address,
    },
    /// The operating system refuses for another reason.
    #[error("cannot listen on {address}: {source}; check the address and the permissions")]
    System {
        /// The address asked for.
        address: Address,
        /// What the operating system says.
        source: io::Error,
    },
}

impl Listeners {
    /// Binds all addresses. IPv6 addresses take no IPv4 connections; the file of a unix socket is
    /// open to every user of the host, and replaced if nobody answers on it. `backlog` is how many
    /// connections may wait to be accepted, per address. All or nothing.
    pub fn bind(addresses: &[Address], backlog: i32) -> Result<Self, BindError> {
        let sockets: Result<Vec<_>, _> = addresses
            .iter()
            .map(|address| Listener::bind(address, backlog))
            .collect();
        Ok(Self {
            sockets: sockets?.into(),
        })
    }

    /// Has the kernel keep clients that take no bytes for at least so long. Without this it gives them up after a minute.
    /// Counts for connections that are accepted from now on.
    pub fn keep_slow_clients(&self, limit: Duration) -> Result<(), BindError> {
        for listener in &*self.sockets {
            let kept = match listener.address {
                Address::Tcp(_) => socket::keep_slow_peer(&listener.fd, limit),
                Address::Unix(_) => Ok(()),
            };
            kept.map_err(|errno| BindError::System {
                address: listener.address.clone(),
                source: errno.into(),
            })?;
        }
        Ok(())
    }

    /// The addresses as bound, in the order of the call: a port 0 has become a real one.
    pub fn local_addresses(&self) -> Vec<Address> {
        self.sockets
            .iter()
            .map(|listener| listener.address.clone())
            .collect()
    }

    pub(crate) fn sockets(&self) -> &[Listener] {
        &self.sockets
    }
}

/// One listening socket.
pub(crate) struct Listener {
    fd: OwnedFd,
    address: Address,
    /// Removes the file when dropped.
    _file: Option<SocketFile>,
}

impl Listener {
    fn bind(address: &Address, backlog: i32) -> Result<Self, BindError> {
        let failed = |source: io::Error| BindError::System {
            address: address.clone(),
            source,
        };
        let fd = bound_socket(address)?;
        let file = match address {
            Address::Tcp(_) => None,
            Address::Unix(path) => Some(SocketFile::adopt(path).map_err(failed)?),
        };
        rustix::net::listen(&fd, backlog).map_err(|errno| match errno {
            Errno::ADDRINUSE => BindError::InUse {
                address: address.clone(),
            },
            errno => failed(errno.into()),
        })?;
        let address = match address {
            Address::Tcp(_) => Address::Tcp(local_address(&fd).map_err(|e| failed(e.into()))?),
            Address::Unix(_) => address.clone(),
        };
        Ok(Self {
            fd,
            address,
            _file: file,
        })
    }

    /// The next waiting connection; `AGAIN` if there is none.
    pub(crate) fn accept(&self) -> Result<(OwnedFd, Peer), Errno> {
        let (fd, address) = acceptfrom_with(&self.fd, socket::FLAGS)?;
        let peer = match (&self.address, address) {
            (Address::Tcp(_), Some(address)) => Peer::Tcp(SocketAddr::try_from(address)?),
            (Address::Tcp(_), None) => return Err(Errno::CONNABORTED),
            (Address::Unix(_), _) => Peer::Unix,
        };
        Ok((fd, peer))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn bound_socket(address: &Address) -> Result<OwnedFd, BindError> {
    let failed = |errno: Errno| match errno {
        Errno::ADDRINUSE => BindError::InUse {
            address: address.clone(),
        },
        errno => BindError::System {
            address: address.clone(),
            source: errno.into(),
        },
    };
    let fd = socket::open(address).map_err(failed)?;
    match address {
        Address::Tcp(tcp) => {
            sockopt::set_socket_reuseaddr(&fd, true).map_err(failed)?;
            if tcp.is_ipv6() {
                sockopt::set_ipv6_v6only(&fd, true).map_err(failed)?;
            }
            socket::bind(&fd, address).map_err(failed)?;
        }
        Address::Unix(path) => match socket::bind(&fd, address) {
            Err(Errno::ADDRINUSE) => {
                remove_stale(path, address)?;
                socket::bind(&fd, address).map_err(failed)?;
            }
            bound => bound.map_err(failed)?,
        },
    }
    Ok(fd)
}

fn local_address(fd: &OwnedFd) -> Result<SocketAddr, Errno> {
    SocketAddr::try_from(getsockname(fd)?)
}

/// Removes a socket file on which nobody listens any more; any other file is left alone.
fn remove_stale(path: &Path, address: &Address) -> Result<(), BindError> {
    let failed = |source| BindError::System {
        address: address.clone(),
        source,
    };
    let file = fs::symlink_metadata(path).map_err(failed)?;
    if !file.file_type().is_socket() {
        return Err(BindError::NotSocket {
            address: address.clone(),
        });
    }
    let probe = socket::open(address).map_err(|errno| failed(errno.into()))?;
    match socket::connect(&probe, address) {
        Err(Errno::CONNREFUSED) => fs::remove_file(path).map_err(failed),
        _ => Err(BindError::InUse {
            address: address.clone(),
        }),
    }
}

/// The file of a bound unix socket, recognised by its identity so that a successor's file under
/// the same name is not removed.
struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    fn adopt(path: &Path) -> io::Result<Self> {
        let file = fs::symlink_metadata(path)?;
        let file = Self {
            path: path.to_owned(),
            device: file.dev(),
            inode: file.ino(),
        };
        fs::set_permissions(path, fs::Permissions::from_mode(0o777))?;
        Ok(file)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|file| (file.dev(), file.ino()) == (self.device, self.inode));
        if ours && let Err(error) = fs::remove_file(&self.path) {
            let path = self.path.display();
            tracing::warn!(%path, %error, "cannot remove the socket file; remove it by hand");
        }
    }
}

#[cfg(test)]
mod tests;

//! Addresses: where clients come in, and where the backend is.
//!
//! Owns how they are written. Nothing is resolved or bound here.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::error::Wrong;

/// The longest path that fits `sockaddr_un` with its final NUL, in bytes.
const UNIX_PATH_BYTES_MAX: usize = 107;
/// The longest host name, in bytes.
const HOST_BYTES_MAX: usize = 253;

const LISTEN_FIX: &str = "write an ip address and a port, such as \"127.0.0.1:6033\" or \"[::1]:6033\", or \"unix:/path\"";
const ADDRESS_FIX: &str = "write a host and a port, such as \"127.0.0.1:3306\", \
     \"db.example:3306\" or \"[::1]:3306\", or \"unix:/path\"";

/// Where clients come in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Listen {
    /// An IP address and a port; port 0 lets the system choose.
    Tcp(SocketAddr),
    /// The absolute path of a unix socket.
    Unix(PathBuf),
}

/// Where the backend is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// A host and a port.
    Tcp {
        /// A host name, not resolved, or an IP address (IPv6 without brackets).
        host: String,
        /// The port, never 0.
        port: u16,
    },
    /// The absolute path of a unix socket.
    Unix(PathBuf),
}

impl Address {
    /// True if the database is on this machine for certain: over a unix socket, or by an address or
    /// name of the loopback.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp { host, .. } => {
                let ip = host.parse::<IpAddr>();
                ip.map_or(host.eq_ignore_ascii_case("localhost"), |ip| {
                    ip.is_loopback()
                })
            }
        }
    }
}

impl Listen {
    pub(crate) fn parse(written: &str) -> Result<Self, Wrong> {
        if let Some(path) = unix_path(written)? {
            return Ok(Self::Unix(path));
        }
        written
            .parse()
            .map(Self::Tcp)
            .map_err(|_| match written.parse() {
                Ok(ip) => bare_ip(written, ip, 6033, LISTEN_FIX),
                Err(_) => Wrong::new(
                    format!("{written:?} is no address to listen on"),
                    LISTEN_FIX,
                ),
            })
    }
}

impl Address {
    pub(crate) fn parse(written: &str) -> Result<Self, Wrong> {
        if let Some(path) = unix_path(written)? {
            return Ok(Self::Unix(path));
        }
        if let Ok(ip) = written.parse::<IpAddr>() {
            return Err(bare_ip(written, ip, 3306, ADDRESS_FIX));
        }
        if written.contains("://") || written.contains('@') {
            // Not shown: it may hold a password.
            return Err(Wrong::new("found a url or a user name", ADDRESS_FIX));
        }
        let not_one = || Wrong::new(format!("{written:?} is no address"), ADDRESS_FIX);
        let Some((host, port)) = written.rsplit_once(':') else {
            return Err(if is_host(written) {
                no_port(written, 3306)
            } else {
                not_one()
            });
        };
        let bracketed = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let is_sound = match bracketed {
            Some(ip) => ip.parse().is_ok_and(|ip: IpAddr| ip.is_ipv6()),
            None => is_host(host),
        };
        match tcp_port(port) {
            Some(port) if is_sound => Ok(Self::Tcp {
                host: bracketed.unwrap_or(host).to_owned(),
                port,
            }),
            _ => Err(not_one()),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

fn no_port(written: &str, port: u16) -> Wrong {
    Wrong::new(
        format!("{written:?} has no port"),
        format!("write \"{written}:{port}\""),
    )
}

/// An IP address alone. Of IPv6 nobody can tell whether its end was meant as a port.
fn bare_ip(written: &str, ip: IpAddr, port: u16, fix: &str) -> Wrong {
    if ip.is_ipv4() {
        return no_port(written, port);
    }
    Wrong::new(
        format!("{written:?} has no brackets around its ipv6 address"),
        fix,
    )
}

/// The path of a unix socket, or `None` if the address is of another kind.
fn unix_path(written: &str) -> Result<Option<PathBuf>, Wrong> {
    if written.starts_with('/') {
        let what = format!("{written:?} lacks its kind");
        return Err(Wrong::new(
            what,
            format!("write {:?}", format!("unix:{written}")),
        ));
    }
    let Some(path) = written.strip_prefix("unix:") else {
        return Ok(None);
    };
    if !path.starts_with('/') || path.contains('\0') {
        let what = format!("{written:?} is no absolute path");
        return Err(Wrong::new(
            what,
            "write a path from the root, such as \"unix:/run/myriad.sock\"",
        ));
    }
    if path.len() > UNIX_PATH_BYTES_MAX {
        let what = format!("the path has {} bytes", path.len());
        return Err(Wrong::new(
            what,
            format!("write one of at most {UNIX_PATH_BYTES_MAX}"),
        ));
    }
    Ok(Some(PathBuf::from(path)))
}

/// A port to connect to: digits alone, and not 0.
fn tcp_port(written: &str) -> Option<u16> {
    let is_digits = written.bytes().all(|b| b.is_ascii_digit());
    written.parse().ok().filter(|port| is_digits && *port != 0)
}

/// Whether this is a host name or an IPv4 address.
fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        let mut bytes = label.bytes();
        !label.is_empty() && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    // Only an IPv4 address ends in a label of digits: "256.0.0.1" is no name.
    let name = host.strip_suffix('.').unwrap_or(host);
    let ends_in_digits = name
        .rsplit('.')
        .next()
        .is_some_and(|label| label.bytes().all(|b| b.is_ascii_digit()));
    if ends_in_digits {
        return host.parse::<Ipv4Addr>().is_ok();
    }
    name.len() <= HOST_BYTES_MAX && name.split('.').all(is_label)
}

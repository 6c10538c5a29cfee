//! Where the connections that a worker makes come from, and how they are spread over source and
//! target addresses.
//!
//! One source address reaches one target address only as often as there are ports, and long before
//! that the kernel searches for a free one. Whoever makes very many connections takes turns.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use nix::sys::socket::{setsockopt, sockopt};
use rustix::io::Errno;

use crate::address::Address;

/// The source addresses of a worker's connections; none by default, and then the kernel chooses.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    addresses: Arc<[IpAddr]>,
    /// Whether target addresses take turns; otherwise the first that takes a connection is used.
    spread: bool,
    turn: usize,
}

impl Sources {
    /// Source and target addresses take turns. `turn` is where to begin: another number for each
    /// worker spreads the first connections, too. No addresses: the kernel chooses.
    pub fn taking_turns(addresses: Vec<IpAddr>, turn: usize) -> Self {
        Self {
            addresses: addresses.into(),
            spread: true,
            turn,
        }
    }

    /// Begins with another connection. Returns the number of the target address, of so many, that
    /// is tried first.
    pub(crate) fn begin(&mut self, targets: usize) -> u16 {
        if !self.spread || targets == 0 {
            return 0;
        }
        self.turn = self.turn.wrapping_add(1);
        u16::try_from(self.turn % targets).unwrap_or(0)
    }

    /// Binds the socket of the connection that was begun last, if it has a source of the target's
    /// kind. The port is chosen only when it connects: one port then serves many targets.
    pub(crate) fn bind(&self, fd: &OwnedFd, target: &Address, targets: usize) -> Result<(), Errno> {
        let (Some(source), Address::Tcp(target)) = (self.source(targets), target) else {
            return Ok(());
        };
        if source.is_ipv4() != target.is_ipv4() {
            return Ok(());
        }
        setsockopt(fd, sockopt::IpBindAddressNoPort, &true)
            .map_err(|errno| Errno::from_raw_os_error(errno as i32))?;
        rustix::net::bind(fd, &SocketAddr::new(source, 0))
    }

    /// Changes once all target addresses have had their turn.
    fn source(&self, targets: usize) -> Option<IpAddr> {
        let turn = self.turn / targets.max(1);
        let number = turn.checked_rem(self.addresses.len())?;
        self.addresses.get(number).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn all_pairs_are_used_alike() {
        let addresses: Vec<IpAddr> = (2..5).map(|n| IpAddr::from([127, 0, 0, n])).collect();
        let mut sources = Sources::taking_turns(addresses, 1);
        let mut used = BTreeMap::new();
        for _ in 0..60 {
            let target = sources.begin(2);
            *used.entry((target, sources.source(2))).or_insert(0) += 1;
        }
        assert_eq!(used.len(), 6);
        assert!(used.values().all(|count| *count == 10), "{used:?}");
    }

    #[test]
    fn without_turns_the_first_target_is_tried_first() {
        let mut sources = Sources::default();
        assert_eq!((sources.begin(3), sources.begin(3)), (0, 0));
        assert_eq!(sources.source(3), None);
    }

    #[test]
    fn a_bound_socket_has_no_port_until_it_connects() {
        let target = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Address::Tcp(target.local_addr().unwrap());
        let sources = Sources::taking_turns(vec![IpAddr::from([127, 0, 0, 9])], 0);
        let fd = crate::socket::open(&target).unwrap();
        sources.bind(&fd, &target, 1).unwrap();
        let local = SocketAddr::try_from(rustix::net::getsockname(&fd).unwrap()).unwrap();
        assert_eq!(local, "127.0.0.9:0".parse().unwrap());
    }
}

//! A client at the end of a cable that can be pulled: a network namespace and a pair of virtual
//! network devices, one end in it. Only root can have one.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::installed;

/// The far end of a cable. Dropping it removes the namespace and both devices.
pub(crate) struct FarPeer {
    name: String,
    near: IpAddr,
}

impl FarPeer {
    /// Lays a cable to a new namespace; `number` is one of the caller's own, below 63. `None`, and
    /// the reason printed, where that cannot be done.
    pub(crate) fn new(number: u8) -> Option<Self> {
        if !rustix::process::geteuid().is_root() || !installed("ip") {
            eprintln!("skipped: a network namespace needs root and iproute2");
            return None;
        }
        let process = std::process::id();
        // 198.18.0.0/15 is set aside for tests. Device names have at most 15 bytes.
        let third = u8::try_from(process % 250).unwrap_or(0);
        let peer = Self {
            name: format!("my{process}x{number}"),
            near: Ipv4Addr::new(198, 18, third, 4 * number + 1).into(),
        };
        let laid = peer.lay(Ipv4Addr::new(198, 18, third, 4 * number + 2));
        if !laid {
            eprintln!("skipped: this machine gives no network namespaces");
        }
        laid.then_some(peer)
    }

    fn lay(&self, far: Ipv4Addr) -> bool {
        let (name, near) = (&self.name, self.near);
        [
            format!("netns add {name}"),
            format!("link add {name} type veth peer name far netns {name}"),
            format!("addr add {near}/30 dev {name}"),
            format!("link set {name} up"),
            format!("-n {name} addr add {far}/30 dev far"),
            format!("-n {name} link set far up"),
        ]
        .iter()
        .all(|arguments| ip(arguments))
    }

    /// The IP address of the near end, where a front door listens.
    pub(crate) fn near(&self) -> IpAddr {
        self.near
    }

    /// Does something within the namespace. Sockets that are opened there stay there.
    pub(crate) fn within<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(format!("/var/run/netns/{}", self.name)).unwrap();
        let inside = move || {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(namespace.as_fd(), network).unwrap();
            act()
        };
        // A thread of its own, which ends in there.
        std::thread::scope(|scope| scope.spawn(inside).join().unwrap())
    }

    /// Pulls the cable: from now on nothing arrives at either end, no FIN and no RST.
    pub(crate) fn vanish(&self) {
        assert!(ip(&format!("-n {} link set far down", self.name)));
    }
}

impl Drop for FarPeer {
    fn drop(&mut self) {
        // The namespace takes its device along, once no socket is left in it; this one takes both.
        ip(&format!("link del {}", self.name));
        ip(&format!("netns del {}", self.name));
    }
}

/// Runs `ip`; true if it worked.
fn ip(arguments: &str) -> bool {
    let mut command = Command::new("ip");
    command.args(arguments.split(' ')).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

//! What a connection costs in memory and in descriptors: figures that were measured, each with how.
//! docs/DOCTOR.md tells the same; tests of the product compare them with what is used.

use crate::host::{Host, Uring};
use crate::need::{Driver, Need, Serving};

/// Kernel memory of one end of a TCP connection: socket, inode, dentry, file. Measured as the growth
/// of slabs with 10,000 to 1,000,000 connections.
const SOCKET_BYTES: u64 = 3_700;

/// Kernel memory beyond the socket of a connection that is received from over io_uring.
const URING_BYTES: u64 = 864;

/// The same over epoll.
const EPOLL_BYTES: u64 = 208;

/// One packet that waits at one end: a small one takes that much with its bookkeeping.
const PACKET_BYTES: u64 = 1_280;

/// Resident memory of Myriad for a connection that executes statements: 0.4 KiB was measured, and
/// twice as much while answers of others wait.
const MYRIAD_BYTES: u64 = 1_024;

/// Resident memory of the load generator for a connection.
const GENERATOR_BYTES: u64 = 512;

/// Resident memory of MariaDB 10.11 for a connection of its own: 89 to 100 KiB were measured.
const DATABASE_BYTES: u64 = 100 * 1_024;

/// How many connections one ring holds at most, and how many rings a worker has.
pub(super) const RING_SLOTS: u64 = 32_768;
/// See [`RING_SLOTS`].
pub(super) const RINGS: u64 = 512;

/// Bytes for each connection, by whom they are used.
pub(super) struct Cost {
    /// Kernel memory of all ends here.
    pub(super) kernel: u64,
    /// Memory of the process that serves.
    pub(super) serving: u64,
    /// Memory of the load generator.
    pub(super) generator: u64,
}

impl Cost {
    /// What each connection costs on this machine.
    pub(super) fn of(host: &Host, need: &Need) -> Self {
        let end = SOCKET_BYTES
            + PACKET_BYTES
            + if uring(host, need) {
                URING_BYTES
            } else {
                EPOLL_BYTES
            };
        let serving = match need.serving {
            Serving::Myriad => MYRIAD_BYTES,
            Serving::ThreadPerConnection | Serving::ThreadPool => DATABASE_BYTES,
        };
        Self {
            kernel: end * need.ends(),
            serving: if need.serves() { serving } else { 0 },
            generator: if need.connects() { GENERATOR_BYTES } else { 0 },
        }
    }

    /// All of it.
    pub(super) fn total(&self) -> u64 {
        self.kernel + self.serving + self.generator
    }
}

/// Whether Myriad and the load generator will use io_uring.
pub(super) fn uring(host: &Host, need: &Need) -> bool {
    need.driver != Driver::Epoll && *host.uring() == Uring::Works
}

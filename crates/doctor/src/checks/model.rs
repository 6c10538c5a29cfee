//! What a connection costs in memory and in descriptors: figures that were measured, each with how.
//! docs/DOCTOR.md tells the same; tests of the product compare them with what is used.

use crate::host::{Host, Uring};
use crate::need::{Driver, Need, Serving};

/// Kernel memory of one end of a TCP connection: socket, inode, dentry, file. Measured as the growth
/// of slabs with 10,000 to 1,000,000 connections.
const SOCKET_BYTES: u64 = 3_700;

/// Kernel memory beyond the socket of a connection that a server receives from over io_uring.
const URING_BYTES: u64 = 864;

/// The same over epoll.
const EPOLL_BYTES: u64 = 208;

/// A statement that waits to be read, with its bookkeeping. All of the kernel's together was
/// 9.4 KB for both ends of each of 100,000 executing connections over io_uring.
const PACKET_BYTES: u64 = 1_000;

/// Resident memory of Myriad for a connection: 0.4 KiB idle, 587 bytes executing.
const MYRIAD_BYTES: u64 = 600;

/// Resident memory of the load generator for a connection. In control groups of 40 and 64 MiB one end
/// took 4.0 KB, kernel and process together.
const GENERATOR_BYTES: u64 = 300;

/// Resident memory of MariaDB 10.11 for a connection of its own: 89 to 100 KiB were measured.
const DATABASE_BYTES: u64 = 100 * 1_024;

/// What a process takes without any connection.
const MYRIAD_FIXED: u64 = 8 << 20;
/// See [`MYRIAD_FIXED`].
const GENERATOR_FIXED: u64 = 10 << 20;
/// See [`MYRIAD_FIXED`]; with a buffer pool of the usual size.
const DATABASE_FIXED: u64 = 256 << 20;

/// How many connections one ring holds at most, and how many rings a worker has.
pub(super) const RING_SLOTS: u64 = 32_768;
/// See [`RING_SLOTS`].
pub(super) const RINGS: u64 = 512;

/// Bytes, by whom they are used.
pub(super) struct Cost {
    /// Kernel memory of all ends here, for each connection.
    pub(super) kernel: u64,
    /// Memory of the process that serves, for each connection.
    pub(super) serving: u64,
    /// Memory of the load generator, for each connection.
    pub(super) generator: u64,
    /// Memory of the processes without any connection.
    pub(super) fixed: u64,
}

impl Cost {
    /// What connections cost on this machine.
    pub(super) fn of(host: &Host, need: &Need) -> Self {
        let is_myriad = need.serving == Serving::Myriad;
        let loop_bytes = if is_myriad && uring(host, need) {
            URING_BYTES
        } else {
            EPOLL_BYTES
        };
        let (serving, serving_fixed) = if is_myriad {
            (MYRIAD_BYTES, MYRIAD_FIXED)
        } else {
            (DATABASE_BYTES, DATABASE_FIXED)
        };
        let mut cost = Self {
            kernel: SOCKET_BYTES * need.ends(),
            serving: 0,
            generator: 0,
            fixed: 0,
        };
        if need.serves() {
            cost.kernel += loop_bytes + PACKET_BYTES;
            cost.serving = serving;
            cost.fixed += serving_fixed;
        }
        if need.connects() {
            cost.generator = GENERATOR_BYTES;
            cost.fixed += GENERATOR_FIXED;
        }
        cost
    }

    /// For each connection.
    pub(super) fn each(&self) -> u64 {
        self.kernel + self.serving + self.generator
    }

    /// For so many connections.
    pub(super) fn total(&self, connections: u64) -> u64 {
        connections * self.each() + self.fixed
    }

    /// How many connections so much memory is enough for.
    pub(super) fn connections(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.fixed) / self.each().max(1)
    }
}

/// Whether Myriad and the load generator will use io_uring.
pub(super) fn uring(host: &Host, need: &Need) -> bool {
    need.driver != Driver::Epoll && *host.uring() == Uring::Works
}

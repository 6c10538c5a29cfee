//! How many bytes the kernel keeps for the peer of a socket.

use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, ioctl};

/// SIOCOUTQ, which has the number of TIOCOUTQ. Source: tcp(7) and unix(7).
const OUTPUT_QUEUE: Opcode = 0x5411;

/// Bytes that were sent and that the peer's kernel has not acknowledged; of a unix socket, memory for bytes
/// that the peer has not read.
pub(crate) fn queued(socket: impl AsFd) -> Result<usize, Errno> {
    // SAFETY: the kernel writes one int for this request, which is the room that it is given.
    let bytes = unsafe { ioctl(socket, Getter::<OUTPUT_QUEUE, i32>::new()) }?;
    Ok(usize::try_from(bytes).unwrap_or_default())
}

//! The kernel's side of io_uring, and a question about sockets that has no safe interface elsewhere, behind a safe
//! interface: the only unsafe code of the project.
//!
//! What makes it safe is ownership: memory that the kernel may read or write belongs to the
//! [`Ring`], from the submission of an operation until its completion has been taken. Descriptors
//! may be closed at any time: the kernel keeps what its operations work on.

#[expect(
    unsafe_code,
    reason = "the kernel reads the list of buffers and writes into them"
)]
mod buffers;
mod flights;
#[expect(
    unsafe_code,
    reason = "the kernel writes its answer into memory that this file gives it"
)]
mod queued;
#[expect(
    unsafe_code,
    reason = "operations name memory, and completions name descriptors, that only this file knows \
              to be valid"
)]
mod ring;

pub(super) use buffers::{Filled, TOTAL as BUFFER_BYTES};
pub(crate) use queued::queued;
pub(super) use ring::{Completion, Ring};

#[cfg(test)]
mod tests;

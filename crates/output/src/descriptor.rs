//! One write to a descriptor. Others may have made it non-blocking, as some parent processes do with the pipes that
//! they hand on: then this waits until it takes more, as a blocking one does.

use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// A descriptor to write to. It has no buffer, so there is nothing to flush.
pub struct Descriptor<F>(pub F);

impl<F: AsFd> Write for Descriptor<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(&self.0, bytes) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait()?,
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<F: AsFd> Descriptor<F> {
    fn wait(&self) -> io::Result<()> {
        let mut waiting = [PollFd::new(&self.0, PollFlags::OUT)];
        match poll(&mut waiting, None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

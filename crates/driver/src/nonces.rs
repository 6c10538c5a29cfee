//! Fresh random bytes for accepted connections, fetched from the kernel in blocks.

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

const BLOCK: usize = 4096;
const NONCE: usize = 32;

/// A block of random bytes that is handed out piece by piece, each byte once.
pub(crate) struct Nonces {
    block: Box<[u8]>,
    used: usize,
}

impl Nonces {
    pub(crate) fn new() -> Self {
        Self {
            block: vec![0; BLOCK].into(),
            used: BLOCK,
        }
    }

    /// The next 32 bytes. Fails if the kernel has no randomness to give.
    pub(crate) fn next(&mut self) -> Result<[u8; NONCE], Errno> {
        if self.used + NONCE > self.block.len() {
            self.refill()?;
        }
        let mut nonce = [0; NONCE];
        nonce.copy_from_slice(&self.block[self.used..self.used + NONCE]);
        self.used += NONCE;
        Ok(nonce)
    }

    fn refill(&mut self) -> Result<(), Errno> {
        let mut filled = 0;
        while filled < self.block.len() {
            match getrandom(&mut self.block[filled..], GetRandomFlags::empty()) {
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        self.used = 0;
        Ok(())
    }
}

/// Fresh random bytes, to begin a generator with. Fails if the kernel has no randomness to give.
pub fn seed() -> std::io::Result<[u8; NONCE]> {
    Ok(Nonces::new().next()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_nonce_comes_twice() {
        let mut nonces = Nonces::new();
        let drawn: HashSet<_> = (0..1_000).map(|_| nonces.next().unwrap()).collect();
        assert_eq!(drawn.len(), 1_000);
    }
}

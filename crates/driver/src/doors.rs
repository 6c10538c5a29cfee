//! Where connections come in, and the pause when the process can hold no more. Being told of them
//! is the event loop's.

use std::os::fd::OwnedFd;

use events::{Peer, Span, Timestamp};
use rustix::io::Errno;

use crate::listener::{Listener, Listeners};
use crate::nonces::Nonces;

/// How many connections a listener may bring in a turn that follows one with this many events.
///
/// A storm of them must not starve those that are executing statements. Connecting costs about
/// three statements and is some four events itself, as is a statement; so with a sixteenth,
/// connecting takes no more of a busy worker than statements do. A worker that is not busy turns
/// often, so that a small share is many all the same. One that is `behind` has events left from the
/// turn before, mostly of those that it let in a moment ago: it deals with them first, or else
/// statements would wait behind all of them.
pub(crate) fn batch(events: u64, behind: bool) -> usize {
    if behind {
        return BATCH_BEHIND;
    }
    usize::try_from(events / 16).map_or(BATCH_MAX, |batch| batch.clamp(BATCH_MIN, BATCH_MAX))
}

const BATCH_BEHIND: usize = 1;
const BATCH_MIN: usize = 4;
const BATCH_MAX: usize = 32;
/// How long nothing is accepted after it failed.
const RETRY: Span = Span::from_ms(100);
/// How often failures are logged at most.
const WARN_INTERVAL: Span = Span::from_secs(1);

/// What to do about it. Also where connections are no open files, each is one for a moment.
fn remedy(errno: Errno) -> &'static str {
    match errno {
        Errno::MFILE | Errno::NFILE => {
            "raise the limit of open files (`ulimit -n`), or lower the number of connections"
        }
        Errno::NOMEM | Errno::NOBUFS => {
            "raise net.ipv4.tcp_mem and the limit of locked memory (`ulimit -l`), or lower the \
             number of connections"
        }
        _ => "lower the number of connections, or start another process",
    }
}

/// The listeners of a worker that accepts.
pub(crate) struct Doors {
    listeners: Listeners,
    nonces: Nonces,
    suspended_until: Option<Timestamp>,
    warned_at: Option<Timestamp>,
    errors_unlogged: u64,
}

impl Doors {
    pub(crate) fn new(listeners: Listeners) -> Self {
        Self {
            listeners,
            nonces: Nonces::new(),
            suspended_until: None,
            warned_at: None,
            errors_unlogged: 0,
        }
    }

    /// The listening sockets; their places are their numbers.
    pub(crate) fn sockets(&self) -> &[Listener] {
        self.listeners.sockets()
    }

    /// When accepting goes on after a failure.
    pub(crate) fn resume_at(&self) -> Option<Timestamp> {
        self.suspended_until
    }

    /// The next connection that waits at a listener; `AGAIN` if there is none, or a pause.
    pub(crate) fn accept(&self, number: usize) -> Result<(OwnedFd, Peer), Errno> {
        match self.sockets().get(number) {
            Some(listener) if self.suspended_until.is_none() => listener.accept(),
            _ => Err(Errno::AGAIN),
        }
    }

    /// Fresh random bytes for an accepted connection.
    pub(crate) fn nonce(&mut self) -> Result<[u8; 32], Errno> {
        self.nonces.next()
    }

    /// Accepts nothing for a while and says why, though not each time.
    pub(crate) fn suspend(&mut self, errno: Errno, now: Timestamp) {
        self.suspended_until = Some(now + RETRY);
        self.errors_unlogged += 1;
        if self
            .warned_at
            .is_none_or(|at| now.since(at) >= WARN_INTERVAL)
        {
            tracing::warn!(
                error = %errno,
                errors = self.errors_unlogged,
                "cannot accept connections for now; {}",
                remedy(errno)
            );
            self.warned_at = Some(now);
            self.errors_unlogged = 0;
        }
    }

    /// True if a pause is over now; it is ended.
    pub(crate) fn resume(&mut self, now: Timestamp) -> bool {
        let over = self.suspended_until.is_some_and(|until| until <= now);
        if over {
            self.suspended_until = None;
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busier_the_worker_the_more_come_in_but_never_many() {
        let batches = [0, 1, 64, 80, 256, 100_000, u64::MAX].map(|events| batch(events, false));
        assert_eq!(batches, [4, 4, 4, 5, 16, 32, 32]);
        assert!(
            [0, 256, u64::MAX]
                .iter()
                .all(|&events| batch(events, true) == 1)
        );
    }
}

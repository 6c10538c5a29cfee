//! The rings of one worker. A ring's table holds no more sockets than the process may have open
//! files, so a worker has as many rings as it needs; all but the first wake it through that one.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::kernel::{BUFFER_BYTES, Completion, Ring};
use super::seat::Seat;
use super::token::{Op, PLACES};

/// A ring's table is never larger: it costs memory also where it is empty.
const SLOTS_MAX: u64 = 32 * 1024;
/// More could not be told apart in a completion.
const RINGS_MAX: usize = (PLACES / 2) as usize / SLOTS_MAX as usize;

/// The rings, the first of which always exists.
pub(super) struct Rings {
    rings: Vec<Ring>,
    /// The ring that was last found to have room.
    roomy: usize,
    /// The ring that was last looked at.
    next: usize,
    slots: u32,
    /// Taken already, in the order of arrival.
    taken: VecDeque<(usize, Completion)>,
    /// Calls of the kernel so far.
    pub(super) enters: u64,
}

/// How many sockets the table of one ring can hold.
pub(super) fn slots() -> u32 {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(SLOTS_MAX);
    limit.min(SLOTS_MAX) as u32
}

impl Rings {
    pub(super) fn new() -> io::Result<Self> {
        let slots = slots();
        Ok(Self {
            rings: vec![Ring::new(slots)?],
            roomy: 0,
            next: 0,
            slots,
            taken: VecDeque::new(),
            enters: 0,
        })
    }

    /// The first ring, which also carries what is not a connection.
    pub(super) fn first(&mut self) -> &mut Ring {
        &mut self.rings[0]
    }

    /// The ring of a seated socket.
    pub(super) fn of(&mut self, seat: &Seat) -> &mut Ring {
        &mut self.rings[usize::from(seat.ring)]
    }

    /// A ring by its number.
    pub(super) fn ring(&mut self, number: usize) -> &mut Ring {
        &mut self.rings[number]
    }

    /// How many bytes of a seat's flight the kernel has not taken.
    pub(super) fn unsent(&self, seat: &Seat) -> usize {
        self.rings[usize::from(seat.ring)].unsent(seat.flight)
    }

    /// Moves a socket into a table; a ring is made if all are full.
    pub(super) fn seat(&mut self, socket: &OwnedFd) -> Result<Seat, Errno> {
        let number = self.find_room()?;
        let slot = self.rings[number].seat(socket)?;
        Ok(Seat::taken(number as u16, slot))
    }

    /// Fails if no socket can be seated.
    pub(super) fn find_room(&mut self) -> Result<usize, Errno> {
        if !self.rings[self.roomy].has_room() {
            self.roomy = match self.rings.iter().position(Ring::has_room) {
                Some(number) => number,
                None => self.add_ring()?,
            };
        }
        Ok(self.roomy)
    }

    fn add_ring(&mut self) -> Result<usize, Errno> {
        let number = self.rings.len();
        if number >= RINGS_MAX {
            return Err(Errno::USERS);
        }
        let errno = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        let mut ring = Ring::new(self.slots).map_err(errno)?;
        ring.make_signal().map_err(errno)?;
        self.rings.push(ring);
        self.watch_ring(number);
        tracing::debug!(rings = number + 1, "another ring holds connections");
        Ok(number)
    }

    /// Watches for another ring again.
    pub(super) fn watch_ring(&mut self, number: usize) {
        if let Some((first, others)) = self.rings.split_first_mut()
            && let Some(other) = number.checked_sub(1).and_then(|n| others.get(n))
            && let Some(signal) = other.signal()
        {
            first.watch(signal, Op::Ring, number as u32);
        }
    }

    /// Watches for mail.
    pub(super) fn watch_mail(&mut self, wake: BorrowedFd<'_>) {
        self.rings[0].watch(wake, Op::Wake, 0);
    }

    /// How much memory the buffers of all rings take, in bytes.
    pub(super) fn buffer_bytes(&self) -> usize {
        self.rings.len() * BUFFER_BYTES
    }

    /// Submits what is noted; waits for a completion, at most for `timeout`, if there is none.
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        for number in 1..self.rings.len() {
            self.enter_if_due(number)?;
        }
        let idle = self.taken.is_empty() && !self.rings.iter_mut().any(Ring::has_told);
        if idle && timeout != Some(Duration::ZERO) {
            self.enters += 1;
            self.rings[0].enter(1, timeout)?;
            // One of them may have been what there was to wait for.
            return self.submit();
        }
        self.enter_if_due(0)
    }

    /// Submits what is noted, waiting for nothing.
    pub(super) fn submit(&mut self) -> io::Result<()> {
        (0..self.rings.len()).try_for_each(|number| self.enter_if_due(number))
    }

    fn enter_if_due(&mut self, number: usize) -> io::Result<()> {
        if !self.rings[number].is_due() {
            return Ok(());
        }
        self.enters += 1;
        self.rings[number].enter(0, None)
    }

    /// The next completion, with the number of its ring.
    pub(super) fn take(&mut self) -> Option<(usize, Completion)> {
        self.taken.pop_front().or_else(|| self.take_new())
    }

    /// The same, without those that were put back.
    pub(super) fn take_new(&mut self) -> Option<(usize, Completion)> {
        let count = self.rings.len();
        for _ in 0..count {
            // One of each in turn, so that none starves behind a busy one.
            self.next = (self.next + 1) % count;
            if let Some(completion) = self.rings[self.next].take() {
                return Some((self.next, completion));
            }
        }
        None
    }

    /// Puts a completion back, behind others that were.
    pub(super) fn put_back(&mut self, number: usize, completion: Completion) {
        self.taken.push_back((number, completion));
    }

    /// Whether a completion was put back.
    pub(super) fn has_put_back(&self) -> bool {
        !self.taken.is_empty()
    }

    /// Whether there is a completion to be taken.
    pub(super) fn have_told(&mut self) -> bool {
        !self.taken.is_empty() || self.rings.iter_mut().any(Ring::has_told)
    }
}

//! One ring: its operations, its table of sockets and its completions.

use std::collections::VecDeque;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use events::Handle;
use io_uring::types::{CancelBuilder, Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, cqueue, opcode, squeue};
use rustix::event::{EventfdFlags, PollFlags, eventfd};
use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::outbox::Outbox;
use crate::uring::token::{Op, Token};

use super::buffers::{Buffers, Filled, GROUP};
use super::flights::{Flight, Flights};

/// How many operations can be noted before they are submitted.
const SUBMISSIONS: u32 = 512;
/// How many completions can wait in memory that the kernel shares. It also says into how many
/// chains the kernel puts what can be cancelled; with fewer, cancelling takes longer.
const COMPLETIONS: u32 = 8192;
/// Wakes one of those who wait for the same event instead of all (EPOLLEXCLUSIVE).
const EXCLUSIVE: u32 = 1 << 28;
/// How long the end of a ring waits for what is in flight.
const END_MAX: Timespec = Timespec::new().sec(1);
/// How often the kernel is asked to do what it put off, when a ring ends; it does some each time.
const DEFERRALS_MAX: u32 = 100_000;

/// A ring with its memory. Operations are noted and leave with the next [`Ring::enter`].
pub(crate) struct Ring {
    ring: IoUring,
    /// Leaked if the kernel does not give it back.
    memory: ManuallyDrop<Memory>,
    /// Slots of the table without a socket.
    free: Vec<u32>,
    /// Operations that found no place.
    overdue: VecDeque<squeue::Entry>,
    /// Signalled when there is something to be taken.
    signal: Option<OwnedFd>,
    /// The kernel does a part of what it put off at a time, and signals no more for the rest.
    unfinished: bool,
}

/// What the kernel may read or write at any time.
struct Memory {
    buffers: Buffers,
    flights: Flights,
}

/// What the kernel has done.
pub(crate) enum Completion {
    /// Bytes arrived, or what ended the receiving (no error: the peer's end). With `more` it goes on.
    Received {
        handle: Handle,
        outcome: Result<Option<Filled>, Errno>,
        more: bool,
    },
    /// The awaited readiness.
    Polled {
        handle: Handle,
        outcome: Result<PollFlags, Errno>,
    },
    /// An outbox comes back, with how many of its bytes were taken.
    Sent {
        handle: Handle,
        outbox: Box<Outbox>,
        outcome: Result<usize, Errno>,
    },
    /// Something was cancelled, or was not found.
    Cancelled { handle: Handle, op: Op, found: bool },
    /// A descriptor for a connection's socket.
    Installed {
        handle: Handle,
        outcome: Result<OwnedFd, Errno>,
    },
    /// A descriptor for a connection's socket, to ask the kernel about it.
    Lent {
        handle: Handle,
        outcome: Result<OwnedFd, Errno>,
    },
    /// Something that is not a connection's: mail, a client, another ring. With `more` it goes on.
    Signal { op: Op, number: u32, more: bool },
    /// Nothing to be told.
    Nothing,
}

impl Ring {
    /// A ring for at most `slots` sockets. Fails where the kernel lacks or refuses what is needed.
    pub(crate) fn new(slots: u32) -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_cqsize(COMPLETIONS)
            .build(SUBMISSIONS)?;
        require(&ring)?;
        ring.submitter().register_files_sparse(slots)?;
        let buffers = Buffers::register(&ring.submitter())?;
        Ok(Self {
            ring,
            memory: ManuallyDrop::new(Memory {
                buffers,
                flights: Flights::default(),
            }),
            free: (0..slots).rev().collect(),
            overdue: VecDeque::new(),
            signal: None,
            unfinished: false,
        })
    }

    /// Makes the descriptor that becomes readable, as an edge, when the ring has something to be
    /// taken.
    pub(crate) fn make_signal(&mut self) -> io::Result<()> {
        let signal = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        self.ring.submitter().register_eventfd(signal.as_raw_fd())?;
        self.signal = Some(signal);
        Ok(())
    }

    /// That descriptor, once it is made.
    pub(crate) fn signal(&self) -> Option<BorrowedFd<'_>> {
        self.signal.as_ref().map(AsFd::as_fd)
    }

    /// Whether another socket can be seated.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Moves a socket into the table: it keeps no descriptor.
    pub(crate) fn seat(&mut self, socket: &OwnedFd) -> Result<u32, Errno> {
        let slot = self.free.pop().ok_or(Errno::MFILE)?;
        let ring = self.ring.submitter();
        match ring.register_files_update(slot, &[socket.as_raw_fd()]) {
            Ok(_) => Ok(slot),
            Err(error) => {
                self.free.push(slot);
                Err(Errno::from_io_error(&error).unwrap_or(Errno::IO))
            }
        }
    }

    /// Closes a socket of the table.
    pub(crate) fn close(&mut self, slot: u32) {
        let entry = opcode::Close::new(Fixed(slot)).build();
        self.push(entry, Token::numbered(Op::Close, slot));
    }

    /// Receives from a socket of the table until it ends or is cancelled.
    pub(crate) fn receive(&mut self, slot: u32, handle: Handle) {
        let entry = opcode::RecvMulti::new(Fixed(slot), GROUP).build();
        self.push(entry, Token::of(Op::Receive, handle));
    }

    /// Receives once from a socket of the table.
    pub(crate) fn receive_once(&mut self, slot: u32, handle: Handle) {
        let into = opcode::Recv::new(Fixed(slot), std::ptr::null_mut(), 0);
        let entry = into.buf_group(GROUP).build();
        let entry = entry.flags(squeue::Flags::BUFFER_SELECT);
        self.push(entry, Token::of(Op::Receive, handle));
    }

    /// Tells once that the peer of a socket of the table has ended, or that it failed.
    pub(crate) fn poll_end(&mut self, slot: u32, handle: Handle) {
        let flags = u32::from(PollFlags::RDHUP.bits());
        let entry = opcode::PollAdd::new(Fixed(slot), flags).build();
        self.push(entry, Token::of(Op::Poll, handle));
    }

    /// Tells once that a socket of the table has something to be received, or that its peer has
    /// ended, or that it failed.
    pub(crate) fn poll_input(&mut self, slot: u32, handle: Handle) {
        let flags = u32::from((PollFlags::IN | PollFlags::RDHUP).bits());
        let entry = opcode::PollAdd::new(Fixed(slot), flags).build();
        self.push(entry, Token::of(Op::Poll, handle));
    }

    /// Tells once that a socket, which has a descriptor, is connected or has failed to be.
    pub(crate) fn poll_connected(&mut self, socket: BorrowedFd<'_>, handle: Handle) {
        let flags = u32::from(PollFlags::OUT.bits());
        let entry = opcode::PollAdd::new(Fd(socket.as_raw_fd()), flags).build();
        self.push(entry, Token::of(Op::Poll, handle));
    }

    /// Tells once, to one of the rings that ask, that a client waits.
    pub(crate) fn poll_listener(&mut self, listener: BorrowedFd<'_>, number: u32) {
        let flags = u32::from(PollFlags::IN.bits()) | EXCLUSIVE;
        let entry = opcode::PollAdd::new(Fd(listener.as_raw_fd()), flags).build();
        self.push(entry, Token::numbered(Op::Listener, number));
    }

    /// Tells each time that an event descriptor is signalled.
    pub(crate) fn watch(&mut self, fd: BorrowedFd<'_>, op: Op, number: u32) {
        let flags = u32::from(PollFlags::IN.bits());
        let entry = opcode::PollAdd::new(Fd(fd.as_raw_fd()), flags).multi(true);
        self.push(entry.build(), Token::numbered(op, number));
    }

    /// Sends the unsent bytes of an outbox, which comes back when they, or some, are taken.
    /// Returns the number of the flight.
    pub(crate) fn send(&mut self, slot: u32, handle: Handle, outbox: Box<Outbox>) -> u32 {
        let bytes = outbox.unsent_bytes();
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let entry = opcode::Send::new(Fixed(slot), bytes.as_ptr(), length)
            .flags(SendFlags::NOSIGNAL.bits() as i32);
        let flight = self.memory.flights.begin(Flight { handle, outbox });
        self.push(entry.build(), Token::numbered(Op::Send, flight));
        flight
    }

    /// How many bytes of a flight the kernel has not taken, as far as it has told.
    pub(crate) fn unsent(&self, flight: u32) -> usize {
        let flight = self.memory.flights.get(flight);
        flight.map_or(0, |flight| flight.outbox.unsent())
    }

    /// The bytes of a flight are nobody's concern any more. Returns how many were counted.
    pub(crate) fn disown(&mut self, flight: u32) -> usize {
        let flight = self.memory.flights.get_mut(flight);
        flight.map_or(0, |flight| std::mem::take(&mut flight.outbox.counted))
    }

    /// Ends what a connection receives.
    pub(crate) fn cancel_receive(&mut self, handle: Handle) {
        self.cancel(Token::of(Op::Receive, handle), Op::CancelReceive, handle);
    }

    /// Ends what a connection polls for.
    pub(crate) fn cancel_poll(&mut self, handle: Handle) {
        self.cancel(Token::of(Op::Poll, handle), Op::CancelPoll, handle);
    }

    /// Ends what a connection sends.
    pub(crate) fn cancel_send(&mut self, flight: u32, handle: Handle) {
        self.cancel(Token::numbered(Op::Send, flight), Op::CancelSend, handle);
    }

    /// Lets go of a listener before it returns.
    pub(crate) fn release_listener(&mut self, number: u32) {
        // What is noted but not submitted could not be found.
        let _ = self.enter(0, None);
        let token = Token::numbered(Op::Listener, number);
        // It may have told already, and then there is nothing to let go of.
        let ring = self.ring.submitter();
        let _ = ring.register_sync_cancel(Some(END_MAX), CancelBuilder::user_data(token.0));
        // Only now does the kernel drop its reference.
        self.run_deferred();
    }

    /// Gives the socket a descriptor, too.
    pub(crate) fn install(&mut self, slot: u32, handle: Handle) {
        let entry = opcode::FixedFdInstall::new(Fixed(slot), 0).build();
        self.push(entry, Token::of(Op::Install, handle));
    }

    /// Gives the socket a descriptor for a moment.
    pub(crate) fn lend(&mut self, slot: u32, handle: Handle) {
        let entry = opcode::FixedFdInstall::new(Fixed(slot), 0).build();
        self.push(entry, Token::of(Op::Lend, handle));
    }

    /// Lends a buffer to the kernel again.
    pub(crate) fn give_back(&mut self, filled: Filled) {
        self.memory.buffers.give_back(filled);
    }

    /// Whether [`Ring::enter`] has something to do without waiting.
    pub(crate) fn is_due(&mut self) -> bool {
        if self.unfinished {
            return true;
        }
        let queue = self.ring.submission();
        !queue.is_empty() || queue.taskrun() || queue.cq_overflow() || !self.overdue.is_empty()
    }

    /// Whether there is a completion to be taken.
    pub(crate) fn has_told(&mut self) -> bool {
        !self.ring.completion().is_empty()
    }

    /// Submits what is noted and waits for `want` completions, at most for `timeout`.
    pub(crate) fn enter(&mut self, want: usize, timeout: Option<Duration>) -> io::Result<()> {
        let (want, timeout) = match want {
            // Only who waits has the kernel go on with what it put off.
            0 if self.unfinished => (1, Some(Duration::ZERO)),
            want => (want, timeout),
        };
        let ring = self.ring.submitter();
        let entered = match timeout {
            Some(timeout) if want > 0 => {
                let timeout = Timespec::from(timeout);
                ring.submit_with_args(want, &SubmitArgs::new().timespec(&timeout))
            }
            _ => ring.submit_and_wait(want),
        };
        let entered = match entered.map_err(|error| (Errno::from_io_error(&error), error)) {
            Ok(_) => Ok(()),
            // Time is up, a signal came, or completions must be taken before there can be more.
            Err((Some(Errno::TIME | Errno::INTR | Errno::BUSY | Errno::AGAIN), _)) => Ok(()),
            Err((_, error)) => Err(error),
        };
        // The first ring is asked whenever the worker sleeps.
        self.unfinished = self.signal.is_some() && !self.ring.completion().is_empty();
        while let Some(entry) = self.overdue.pop_front() {
            if !self.try_push(&entry) {
                self.overdue.push_front(entry);
                break;
            }
        }
        entered
    }

    /// The next completion.
    pub(crate) fn take(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        Some(self.completion(&entry))
    }

    fn completion(&mut self, entry: &cqueue::Entry) -> Completion {
        let token = Token(entry.user_data());
        let (handle, more) = (token.handle(), cqueue::more(entry.flags()));
        let outcome = match entry.result() {
            result if result < 0 => Err(Errno::from_raw_os_error(-result)),
            result => Ok(result as u32),
        };
        let Some(op) = token.op() else {
            return Completion::Nothing;
        };
        match op {
            Op::Receive => Completion::Received {
                handle,
                outcome: outcome.map(|length| self.filled(entry.flags(), length as usize)),
                more,
            },
            Op::Poll => Completion::Polled {
                handle,
                outcome: outcome.map(|flags| PollFlags::from_bits_retain(flags as u16)),
            },
            Op::Send => self.landed(token, outcome),
            Op::CancelReceive | Op::CancelPoll | Op::CancelSend => Completion::Cancelled {
                handle,
                op,
                found: outcome.is_ok(),
            },
            Op::Install | Op::Lend => {
                // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
                let outcome = outcome.map(|fd| unsafe { OwnedFd::from_raw_fd(fd as i32) });
                match op {
                    Op::Lend => Completion::Lent { handle, outcome },
                    _ => Completion::Installed { handle, outcome },
                }
            }
            Op::Close => {
                self.free.push(token.number());
                Completion::Nothing
            }
            Op::Wake | Op::Listener | Op::Ring => Completion::Signal {
                op,
                number: token.number(),
                more,
            },
        }
    }

    /// The buffer that a completion names; there is none at the peer's end.
    fn filled(&mut self, flags: u32, length: usize) -> Option<Filled> {
        let filled = self
            .memory
            .buffers
            .take(cqueue::buffer_select(flags)?, length)?;
        if length > 0 {
            return Some(filled);
        }
        self.give_back(filled);
        None
    }

    fn landed(&mut self, token: Token, outcome: Result<u32, Errno>) -> Completion {
        match self.memory.flights.end(token.number()) {
            Some(Flight { handle, outbox }) => Completion::Sent {
                handle,
                outbox,
                outcome: outcome.map(|count| count as usize),
            },
            None => Completion::Nothing,
        }
    }

    /// Has the kernel bring to its end what it put off.
    fn run_deferred(&mut self) {
        for _ in 0..DEFERRALS_MAX {
            if !self.ring.submission().taskrun() || self.enter(0, None).is_err() {
                return;
            }
        }
    }

    fn cancel(&mut self, target: Token, op: Op, handle: Handle) {
        let entry = opcode::AsyncCancel::new(target.0).build();
        self.push(entry, Token::of(op, handle));
    }

    fn push(&mut self, entry: squeue::Entry, token: Token) {
        let entry = entry.user_data(token.0);
        if !self.overdue.is_empty() || !self.try_push(&entry) {
            // Errors show themselves when the loop enters the next time.
            let _ = self.enter(0, None);
            if !self.overdue.is_empty() || !self.try_push(&entry) {
                self.overdue.push_back(entry);
            }
        }
    }

    fn try_push(&mut self, entry: &squeue::Entry) -> bool {
        // SAFETY: no operation but `send` names memory of ours, and what that names is kept in
        // `memory` until its completion. Buffers to receive into are lent by `Buffers`.
        unsafe { self.ring.submission().push(entry) }.is_ok()
    }
}

impl Drop for Ring {
    /// Ends what is in flight, so that neither listeners nor memory outlive the ring.
    fn drop(&mut self) {
        let ring = self.ring.submitter();
        let ended = match ring.register_sync_cancel(Some(END_MAX), CancelBuilder::any().all()) {
            Ok(()) => true,
            Err(error) => Errno::from_io_error(&error) == Some(Errno::NOENT),
        };
        self.run_deferred();
        let ring = self.ring.submitter();
        if ended && self.memory.buffers.unregister(&ring).is_ok() {
            // SAFETY: dropped once, here. Nothing is in flight and no buffer is lent, so the
            // kernel touches none of it any more.
            unsafe { ManuallyDrop::drop(&mut self.memory) };
        }
    }
}

/// Fails if an operation is missing. The newest of them came with Linux 6.8, after everything else
/// that is used.
fn require(ring: &IoUring) -> io::Result<()> {
    let mut probe = Probe::default();
    ring.submitter().register_probe(&mut probe)?;
    let needed = [
        opcode::AsyncCancel::CODE,
        opcode::Close::CODE,
        opcode::FixedFdInstall::CODE,
        opcode::PollAdd::CODE,
        opcode::Recv::CODE,
        opcode::RecvMulti::CODE,
        opcode::Send::CODE,
    ];
    match needed.iter().all(|&code| probe.is_supported(code)) {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the kernel is older than Linux 6.8",
        )),
    }
}

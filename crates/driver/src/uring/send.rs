//! Outboxes on their way into the kernel: noted at the end of the turn and submitted together, or
//! at once when one grows large. An outbox in flight is the ring's; what is written meanwhile
//! collects in another.

use events::{Handle, Handler};
use rustix::io::Errno;

use crate::connection::{Marks, Phase};
use crate::event_loop::Loop;
use crate::outbox::Outbox;

use super::completions::{Completions, Effects};
use super::kernel::{Completion, queued};
use super::seat::Armed;

impl<M> Effects<M> {
    /// Sends the large ones at once, and takes in what of that has ended.
    pub(super) fn flush_large(&mut self) {
        while let Some(handle) = self.outgoing.large.pop() {
            self.flush(handle);
        }
        // An error shows itself when the loop waits.
        let _ = self.multiplexer.rings.submit();
        while let Some((ring, completion)) = self.multiplexer.rings.take_new() {
            match completion {
                Completion::Sent {
                    handle,
                    outbox,
                    outcome,
                } => self.sent(handle, outbox, outcome),
                other => self.multiplexer.rings.put_back(ring, other),
            }
        }
    }

    /// Has the kernel send what is in the outbox, unless it sends already.
    pub(super) fn flush(&mut self, handle: Handle) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        if connection.marks.contains(Marks::BLOCKED) {
            return;
        }
        match connection.outbox.take() {
            Some(outbox) if outbox.unsent() > 0 => self.launch(handle, outbox),
            Some(outbox) => {
                self.outgoing.give_back(outbox);
                self.emptied(handle);
            }
            None => self.emptied(handle),
        }
    }

    fn launch(&mut self, handle: Handle, outbox: Box<Outbox>) {
        let seated = self.table.get_mut(handle);
        let seated = seated.and_then(|connection| Some((connection.socket.slot()?, connection)));
        let Some((slot, connection)) = seated else {
            return self.outgoing.give_back(outbox);
        };
        let ring = self.multiplexer.rings.of(&connection.socket);
        connection.socket.flight = ring.send(slot, handle, outbox);
        connection.socket.armed.insert(Armed::SEND);
        connection.marks.insert(Marks::BLOCKED);
    }

    /// An outbox came back.
    pub(super) fn sent(
        &mut self,
        handle: Handle,
        mut outbox: Box<Outbox>,
        outcome: Result<usize, Errno>,
    ) {
        let Some(connection) = self.table.get_mut(handle) else {
            return self.outgoing.give_back(outbox);
        };
        connection.socket.armed.remove(Armed::SEND);
        connection.marks.remove(Marks::BLOCKED);
        let leaving = connection.phase == Phase::Leaving;
        if let Ok(count) = outcome {
            self.counts.bytes_sent += count as u64;
            self.outgoing.unsent_total -= count.min(outbox.counted);
            outbox.taken(count);
        }
        match outcome {
            _ if leaving => {
                self.outgoing.give_back(outbox);
                self.leave(handle);
            }
            Ok(_) if outbox.unsent() == 0 => {
                self.outgoing.give_back(outbox);
                self.flush(handle);
            }
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => self.launch(handle, outbox),
            Err(errno) => {
                self.outgoing.give_back(outbox);
                self.broke(handle, errno);
            }
        }
    }

    /// Bytes that the kernel keeps for the peer. It tells that of a descriptor only, which it gives at once.
    pub(super) fn queued(&mut self, handle: Handle) -> usize {
        let slot = self.table.get(handle).and_then(|c| c.socket.slot());
        let (Some(connection), Some(slot)) = (self.table.get(handle), slot) else {
            return 0;
        };
        let rings = &mut self.multiplexer.rings;
        rings.of(&connection.socket).lend(slot, handle);
        // An error shows itself when the loop waits.
        let _ = rings.submit();
        let mut bytes = 0;
        let mut others = Vec::new();
        while let Some((ring, completion)) = rings.take_new() {
            match completion {
                Completion::Lent {
                    handle: of,
                    outcome,
                } if of == handle => bytes = outcome.and_then(queued).unwrap_or_default(),
                other => others.push((ring, other)),
            }
        }
        for (ring, completion) in others {
            rings.put_back(ring, completion);
        }
        bytes
    }

    /// Has a connection that cannot send find the end of its input behind what is there.
    pub(super) fn end_input(&mut self, handle: Handle) {
        let Some(connection) = self.table.get_mut(handle) else {
            return;
        };
        let armed = connection.socket.armed;
        let told = armed.intersects(Armed::RECEIVE | Armed::INPUT);
        if told && !connection.marks.contains(Marks::PAUSED) {
            self.receive(handle);
            // To end the input behind what is there already.
            self.install(handle);
        } else {
            connection.marks.insert(Marks::ENDING);
            self.make_ready(handle);
        }
    }
}

impl<H: Handler> Loop<H, Completions> {
    /// Takes in the sends that have ended; true if that is all there is to do.
    pub(super) fn only_sent(&mut self) -> bool {
        if self.io.multiplexer.rings.has_put_back() {
            return false;
        }
        while let Some((ring, completion)) = self.io.multiplexer.rings.take_new() {
            match completion {
                Completion::Sent {
                    handle,
                    outbox,
                    outcome,
                } => self.io.sent(handle, outbox, outcome),
                Completion::Nothing => {}
                other => {
                    self.io.multiplexer.rings.put_back(ring, other);
                    return false;
                }
            }
        }
        !self.io.has_work()
    }
}

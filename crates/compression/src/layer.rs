//! The handler in front of the handler: events of connections that are compressed are told with what was
//! unpacked, all others as they come.
//!
//! Unpacking and packing take time in proportion to what clients send and ask for, and all sessions of the worker share
//! that time. So each turn does a bounded part of it, and the rest waits for the next one.

use std::collections::HashSet;

use events::{Handle, Handler, HangUp, Io, Tag, Timestamp, tell_on};

use crate::codec::{Opened, Packer, Unpacker};
use crate::connections::{Connection, Connections};
use crate::effects::{Effects, flush};
use crate::packet::{HEADER_LEN, Header};

/// `errno` of a peer that does not follow the protocol.
const EPROTO: i32 = 71;

/// Bytes that are unpacked in a turn, over all connections, and the same of packing: a fraction of a millisecond's work.
const PER_TURN: usize = 256 << 10;

/// Packets up to this length, with up to so much in them, wait until they have come in whole. Others are unpacked as they
/// come.
const SMALL_PACKED: usize = 4 << 10;
const SMALL_PLAIN: usize = 16 << 10;

/// The handler need not know of less that is held back.
const FLOOR: usize = 4 << 10;

/// A handler whose clients may compress.
pub struct Compressed<H> {
    inner: Inner<H>,
    unpacker: Unpacker,
    /// The connection whose input is taken out of its record.
    at_hand: Option<Handle>,
    /// Bytes that may still be unpacked in this turn.
    may_unpack: usize,
    /// Bytes that may still be packed in it.
    may_pack: usize,
}

struct Inner<H> {
    handler: H,
    connections: Connections,
    packer: Packer,
}

/// What can be done with the bytes at hand.
enum Next {
    /// More must come first, or the handler does not want to hear of it.
    Waits,
    /// This turn has done enough.
    Behind,
    /// The packet that was opened goes on.
    GoesOn(Box<Opened>),
    /// A packet begins, with this many bytes in it.
    Begins(Box<Opened>, usize),
    /// The packet is not the next.
    OutOfOrder,
    /// Its content cannot be what it says.
    Broken,
}

impl<H> Compressed<H> {
    /// In front of this handler.
    pub fn new(handler: H) -> Self {
        let inner = Inner {
            handler,
            connections: Connections::default(),
            packer: Packer::default(),
        };
        Self {
            inner,
            unpacker: Unpacker::default(),
            at_hand: None,
            may_unpack: PER_TURN,
            may_pack: PER_TURN,
        }
    }

    /// The handler.
    pub fn into_inner(self) -> H {
        self.inner.handler
    }
}

impl<H: Handler> Inner<H> {
    fn tell<I: Io<H::Mail>, T>(
        &mut self,
        io: &mut I,
        event: impl FnOnce(&mut H, &mut Effects<'_, I>) -> T,
    ) -> T {
        let mut effects = Effects {
            io,
            connections: &mut self.connections,
            packer: &mut self.packer,
        };
        event(&mut self.handler, &mut effects)
    }
}

impl<H: Handler> Compressed<H> {
    /// Has the handler deal with an event, and sends what that leads to.
    fn tell<I: Io<H::Mail>, T>(
        &mut self,
        (io, now): (&mut I, Timestamp),
        event: impl FnOnce(&mut H, &mut Effects<'_, I>) -> T,
    ) -> T {
        let told = self.inner.tell(io, event);
        if !self.inner.connections.is_empty() {
            self.goes_on(io, now);
        }
        told
    }

    fn handler(&self) -> &H {
        &self.inner.handler
    }

    /// What is due after each event.
    fn goes_on<I: Io<H::Mail>>(&mut self, io: &mut I, now: Timestamp) {
        while let Some(tag) = self.inner.connections.resumed.pop() {
            self.unpack(io, (tag, &[]), now);
        }
        self.pack(io);
    }

    fn pack<I: Io<H::Mail>>(&mut self, io: &mut I) {
        let Inner {
            connections,
            packer,
            ..
        } = &mut self.inner;
        flush(io, connections, packer, &mut self.may_pack);
    }

    /// True if work waits for the next turn.
    fn is_behind(&self) -> bool {
        let connections = &self.inner.connections;
        !connections.behind.is_empty() || !connections.waiting.is_empty()
    }

    /// Those that are behind go on, the first first, as far as this turn allows.
    fn catches_up<I: Io<H::Mail>>(&mut self, io: &mut I, now: Timestamp) {
        // While they are out of the list nobody else is ahead of them.
        let mut behind = std::mem::take(&mut self.inner.connections.behind);
        while self.may_unpack > 0 {
            let Some(tag) = behind.pop_front() else {
                break;
            };
            let Some(connection) = self.inner.connections.get_mut(tag) else {
                continue;
            };
            connection.behind = false;
            self.unpack(io, (tag, &[]), now);
            let connection = self.inner.connections.get_mut(tag);
            if let Some(connection) = connection.filter(|connection| !connection.is_held()) {
                io.resume_receive(connection.handle);
            }
        }
        behind.append(&mut self.inner.connections.behind);
        self.inner.connections.behind = behind;
        self.goes_on(io, now);
    }

    /// Tells what is in the packets at hand, as long as the handler wants to hear it and this turn allows.
    fn unpack<I: Io<H::Mail>>(&mut self, io: &mut I, (tag, bytes): (Tag, &[u8]), now: Timestamp) {
        let Some(connection) = self.inner.connections.get_mut(tag) else {
            return;
        };
        self.at_hand = Some(connection.handle);
        let mut inbox = std::mem::take(&mut connection.inbox);
        let kept = !inbox.is_empty();
        if kept {
            inbox.extend_from_slice(bytes);
        }
        let input = if kept { &inbox } else { bytes };
        let mut at = 0;
        while self.step(io, (tag, input), &mut at, now) {}
        self.at_hand = None;
        let Some(connection) = self.inner.connections.get_mut(tag) else {
            return;
        };
        connection.inbox = match kept && at == 0 {
            true => inbox,
            false => input[at..].to_vec(),
        };
        self.tell_withheld(io, tag, now);
    }

    /// Tells the next part of what is at this place. False if there is none for now.
    fn step<I: Io<H::Mail>>(
        &mut self,
        io: &mut I,
        (tag, input): (Tag, &[u8]),
        at: &mut usize,
        now: Timestamp,
    ) -> bool {
        // Whoever is behind comes first.
        let may_unpack = match self.inner.connections.behind.is_empty() {
            true => self.may_unpack,
            false => 0,
        };
        let Some(connection) = self.inner.connections.get_mut(tag) else {
            return false;
        };
        match connection.next(&input[*at..], may_unpack) {
            Next::Waits => false,
            Next::Behind => {
                if !connection.is_held() {
                    io.pause_receive(connection.handle);
                }
                connection.behind = true;
                self.inner.connections.behind.push_back(tag);
                false
            }
            Next::GoesOn(opened) => self.part(io, (tag, opened), (&input[*at..], at), now),
            Next::Begins(opened, plain) if plain <= connection.withheld.max(SMALL_PLAIN) => {
                let header = &input[*at..*at + HEADER_LEN];
                connection.sequence_id = header[3].wrapping_add(1);
                *at += HEADER_LEN;
                self.part(io, (tag, opened), (&input[*at..], at), now)
            }
            Next::Begins(_, plain) => {
                let came = input.len() - *at;
                self.withhold(io, (tag, came + plain), now);
                true
            }
            Next::OutOfOrder => self.give_up(io, (tag, HangUp::OutOfOrder), now),
            Next::Broken => self.give_up(io, (tag, HangUp::Failed(EPROTO)), now),
        }
    }

    /// Tells the next part of a packet. False if more must come first.
    fn part<I: Io<H::Mail>>(
        &mut self,
        io: &mut I,
        (tag, mut opened): (Tag, Box<Opened>),
        (packed, at): (&[u8], &mut usize),
        now: Timestamp,
    ) -> bool {
        let Ok(part) = self.unpacker.part(&mut opened, packed) else {
            return self.give_up(io, (tag, HangUp::Failed(EPROTO)), now);
        };
        *at += part.consumed;
        self.may_unpack = self.may_unpack.saturating_sub(part.plain.len());
        let done = opened.is_done();
        let goes_on = done || !part.plain.is_empty();
        if let Some(connection) = self.inner.connections.get_mut(tag) {
            connection.opened = (!done).then_some(opened);
        }
        if !part.plain.is_empty() {
            let plain = part.plain;
            self.inner.tell(io, |handler, effects| {
                handler.received(effects, tag, plain, now);
            });
        }
        goes_on
    }

    fn give_up<I: Io<H::Mail>>(
        &mut self,
        io: &mut I,
        (tag, how): (Tag, HangUp),
        now: Timestamp,
    ) -> bool {
        tracing::debug!(?how, "a client does not follow the compressed protocol");
        self.inner.tell(io, |handler, effects| {
            handler.hung_up(effects, tag, how, now);
        });
        false
    }

    /// Tells the handler how much it has not heard of, if that is more than it knows, or little again.
    fn tell_withheld<I: Io<H::Mail>>(&mut self, io: &mut I, tag: Tag, now: Timestamp) {
        let Some(connection) = self.inner.connections.get_mut(tag) else {
            return;
        };
        let bytes = connection.holds_back();
        if bytes > FLOOR.max(connection.withheld) || bytes <= FLOOR && connection.withheld > 0 {
            self.withhold(io, (tag, bytes), now);
        }
    }

    fn withhold<I: Io<H::Mail>>(&mut self, io: &mut I, (tag, bytes): (Tag, usize), now: Timestamp) {
        let Some(connection) = self.inner.connections.get_mut(tag) else {
            return;
        };
        connection.withheld = if bytes > FLOOR { bytes } else { 0 };
        let all = connection.withheld + connection.withheld_before;
        self.inner.tell(io, |handler, effects| {
            handler.withheld(effects, tag, all, now);
        });
    }
}

impl Header {
    /// True of a packet that is unpacked as it comes.
    fn is_large(self) -> bool {
        self.len > SMALL_PACKED || self.plain_len > SMALL_PLAIN
    }
}

impl Connection {
    /// What to do with the bytes at hand, if so many may still be unpacked in this turn.
    fn next(&mut self, input: &[u8], may_unpack: usize) -> Next {
        if self.paused {
            return Next::Waits;
        }
        if let Some(opened) = self.opened.take() {
            if may_unpack == 0 {
                self.opened = Some(opened);
                return Next::Behind;
            }
            return Next::GoesOn(opened);
        }
        let Some(header) = Header::parse(input) else {
            return Next::Waits;
        };
        // Each command begins with 0.
        if header.sequence_id != self.sequence_id && header.sequence_id != 0 {
            return Next::OutOfOrder;
        }
        let Ok(opened) = Opened::new(self.method, header) else {
            return Next::Broken;
        };
        let plain = opened.plain_left();
        if header.is_large() {
            return match may_unpack {
                0 => Next::Behind,
                _ => Next::Begins(Box::new(opened), plain),
            };
        }
        match input.len() < HEADER_LEN + header.len {
            true => Next::Waits,
            false => Next::Begins(Box::new(opened), plain),
        }
    }

    /// Bytes that came, or are about to, and that the handler has not heard of.
    fn holds_back(&self) -> usize {
        let plain = match (&self.opened, Header::parse(&self.inbox)) {
            (Some(opened), _) => opened.plain_left(),
            (None, Some(header)) if header.is_large() => header.plain_len.max(header.len),
            _ => 0,
        };
        self.inbox.len() + plain
    }
}

impl<H: Handler> Handler for Compressed<H> {
    type Mail = H::Mail;

    tell_on!(
        accepted,
        connected,
        connect_failed,
        tls_established,
        drained,
        hung_up,
        mail,
        finished
    );

    fn recover<I: Io<Self::Mail>>(
        &mut self,
        io: &mut I,
        suspects: &mut Vec<Handle>,
        now: Timestamp,
    ) -> Option<HashSet<Handle>> {
        let Inner {
            connections,
            packer,
            ..
        } = &mut self.inner;
        suspects.extend(self.at_hand.take());
        suspects.extend(connections.take_staged());
        *packer = Packer::default();
        self.unpacker = Unpacker::default();
        let kept = self.inner.tell(io, |handler, effects| {
            handler.recover(effects, suspects, now)
        });
        let kept = kept?;
        self.inner.connections.retain(&kept);
        self.goes_on(io, now);
        Some(kept)
    }

    fn received<I: Io<Self::Mail>>(&mut self, io: &mut I, tag: Tag, bytes: &[u8], now: Timestamp) {
        let Some(connection) = self.inner.connections.get_mut(tag) else {
            return self.tell((io, now), |handler, effects| {
                handler.received(effects, tag, bytes, now);
            });
        };
        if connection.is_held() {
            // On its way before the driver was told.
            connection.inbox.extend_from_slice(bytes);
            return self.tell_withheld(io, tag, now);
        }
        self.unpack(io, (tag, bytes), now);
        self.goes_on(io, now);
    }

    fn withheld<I: Io<Self::Mail>>(&mut self, io: &mut I, tag: Tag, bytes: usize, now: Timestamp) {
        let mut all = bytes;
        if let Some(connection) = self.inner.connections.get_mut(tag) {
            connection.withheld_before = bytes;
            all += connection.withheld;
        }
        self.tell((io, now), |handler, effects| {
            handler.withheld(effects, tag, all, now);
        });
    }

    fn timer<I: Io<Self::Mail>>(&mut self, io: &mut I, now: Timestamp) {
        if self.handler().next_timer().is_some_and(|at| at <= now) {
            self.tell((io, now), |handler, effects| handler.timer(effects, now));
        }
        if self.is_behind() {
            self.catches_up(io, now);
        }
    }

    fn next_timer(&self) -> Option<Timestamp> {
        match self.is_behind() {
            true => Some(Timestamp::ZERO),
            false => self.handler().next_timer(),
        }
    }

    fn turn_ended<I: Io<Self::Mail>>(&mut self, io: &mut I, now: Timestamp) {
        self.tell((io, now), |handler, effects| {
            handler.turn_ended(effects, now);
        });
        (self.may_unpack, self.may_pack) = (PER_TURN, PER_TURN);
    }
}

#[cfg(test)]
mod tests;

//! The handler in front of the handler: events of connections that are compressed are told with what was
//! unpacked, all others as they come.

use events::{Handle, Handler, HangUp, Io, Tag, Timestamp, tell_on_all_but_received};

use crate::codec::{Packer, Unpacked, Unpacker};
use crate::connections::Connections;
use crate::effects::{Effects, flush};

/// `errno` of a peer that does not follow the protocol.
const EPROTO: i32 = 71;

/// A handler whose clients may compress.
pub struct Compressed<H> {
    inner: Inner<H>,
    unpacker: Unpacker,
    /// The connection whose input is taken out of its record.
    at_hand: Option<Handle>,
}

struct Inner<H> {
    handler: H,
    connections: Connections,
    packer: Packer,
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
        let Inner {
            connections,
            packer,
            ..
        } = &mut self.inner;
        flush(io, connections, packer);
    }

    /// Tells what is in the packets that are complete, for as long as the handler wants to hear it.
    fn unpack<I: Io<H::Mail>>(&mut self, io: &mut I, (tag, bytes): (Tag, &[u8]), now: Timestamp) {
        let Some(connection) = self.inner.connections.get_mut(tag) else {
            return;
        };
        self.at_hand = Some(connection.handle);
        let mut inbox = std::mem::take(&mut connection.inbox);
        if !inbox.is_empty() {
            inbox.extend_from_slice(bytes);
        }
        let input = if inbox.is_empty() { bytes } else { &inbox };
        let mut at = 0;
        while self.unpack_one(io, (tag, input), &mut at, now) {}
        self.unpacker.forget();
        if let Some(connection) = self.inner.connections.get_mut(tag) {
            connection.inbox = input.get(at..).unwrap_or_default().to_vec();
        }
        self.at_hand = None;
    }

    /// Tells what is in the packet at this place. False if that is to wait.
    fn unpack_one<I: Io<H::Mail>>(
        &mut self,
        io: &mut I,
        (tag, input): (Tag, &[u8]),
        at: &mut usize,
        now: Timestamp,
    ) -> bool {
        let connection = self.inner.connections.get_mut(tag);
        let Some(connection) = connection.filter(|connection| !connection.paused) else {
            return false;
        };
        match self.unpacker.unpack(connection.method, &input[*at..]) {
            Ok(Unpacked::Incomplete) => false,
            Ok(Unpacked::Packet {
                plain,
                sequence_id,
                consumed,
            }) => {
                *at += consumed;
                connection.sequence_id = sequence_id.wrapping_add(1);
                let told = |handler: &mut H, effects: &mut Effects<'_, I>| {
                    handler.received(effects, tag, plain, now);
                };
                self.inner.tell(io, told);
                true
            }
            Err(error) => {
                tracing::debug!(%error, "a client is closed");
                let how = HangUp::Failed(EPROTO);
                self.inner.tell(io, |handler, effects| {
                    handler.hung_up(effects, tag, how, now);
                });
                false
            }
        }
    }
}

impl<H: Handler> Handler for Compressed<H> {
    type Mail = H::Mail;

    tell_on_all_but_received!();

    fn recover<I: Io<Self::Mail>>(
        &mut self,
        io: &mut I,
        suspects: &mut Vec<Handle>,
        now: Timestamp,
    ) -> bool {
        let Inner {
            connections,
            packer,
            ..
        } = &mut self.inner;
        suspects.extend(self.at_hand.take());
        suspects.extend(connections.take_staged());
        *packer = Packer::default();
        self.unpacker = Unpacker::default();
        let recovered = self.inner.tell(io, |handler, effects| {
            handler.recover(effects, suspects, now)
        });
        for handle in suspects {
            self.inner.connections.remove(*handle);
        }
        self.goes_on(io, now);
        recovered
    }

    fn received<I: Io<Self::Mail>>(&mut self, io: &mut I, tag: Tag, bytes: &[u8], now: Timestamp) {
        if self.inner.connections.get_mut(tag).is_some() {
            self.unpack(io, (tag, bytes), now);
            return self.goes_on(io, now);
        }
        self.tell((io, now), |handler, effects| {
            handler.received(effects, tag, bytes, now);
        });
    }
}

#[cfg(test)]
mod tests;

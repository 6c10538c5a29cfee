//! The handler in front of the handler: events of connections that speak TLS are told with what was decrypted, all
//! others as they come.

use std::collections::HashSet;
use std::sync::Arc;

use events::{Handle, Handler, HangUp, Io, Tag, Timestamp, TlsFacts, tell_on};

use crate::client::Client;
use crate::connections::Phase;
use crate::effects::{Desk, Effects};
use crate::server::Server;
use crate::session::Reached;

/// `errno` of a peer that does not follow the protocol.
const EPROTO: i32 = 71;

/// Buffers that became larger are given back.
const BUFFER_MAX: usize = 256 << 10;

/// Our ends: who has none on one side cannot speak TLS there.
#[derive(Clone, Default)]
pub struct Parties {
    /// Towards clients.
    pub server: Option<Arc<Server>>,
    /// Towards backends.
    pub client: Option<Arc<Client>>,
}

/// A handler whose connections may speak TLS.
pub struct Secured<H> {
    handler: H,
    desk: Desk,
    /// What came, followed by what is decrypted in place.
    input: Vec<u8>,
    plain: Vec<u8>,
    /// What the session says of itself.
    sealed: Vec<u8>,
    /// The connection whose input is taken out of its record.
    at_hand: Option<Handle>,
}

/// What came of input.
struct Came {
    established: Option<TlsFacts>,
    reached: Reached,
}

impl<H> Secured<H> {
    /// In front of this handler.
    pub fn new(handler: H, parties: Parties) -> Self {
        let desk = Desk {
            parties,
            ..Desk::default()
        };
        Self {
            handler,
            desk,
            input: Vec::new(),
            plain: Vec::new(),
            sealed: Vec::new(),
            at_hand: None,
        }
    }

    /// The handler.
    pub fn into_inner(self) -> H {
        self.handler
    }
}

impl<H: Handler> Secured<H> {
    /// Has the handler deal with an event, and encrypts what that leads to.
    fn tell<I: Io<H::Mail>, T>(
        &mut self,
        (io, now): (&mut I, Timestamp),
        event: impl FnOnce(&mut H, &mut Effects<'_, I>) -> T,
    ) -> T {
        let told = self.tell_only(io, event);
        if self.desk.has_work() {
            self.goes_on(io, now);
        }
        told
    }

    fn handler(&self) -> &H {
        &self.handler
    }

    fn tell_only<I: Io<H::Mail>, T>(
        &mut self,
        io: &mut I,
        event: impl FnOnce(&mut H, &mut Effects<'_, I>) -> T,
    ) -> T {
        let mut effects = Effects {
            io,
            desk: &mut self.desk,
        };
        event(&mut self.handler, &mut effects)
    }

    /// What is due after each event.
    fn goes_on<I: Io<H::Mail>>(&mut self, io: &mut I, now: Timestamp) {
        loop {
            self.desk.seal_all(io);
            if let Some(tag) = self.desk.refused.pop() {
                self.fail(io, tag, now);
            } else if let Some(tag) = self.desk.connections.due.pop() {
                self.advance(io, (tag, &[]), now);
            } else {
                break;
            }
        }
    }

    fn fail<I: Io<H::Mail>>(&mut self, io: &mut I, tag: Tag, now: Timestamp) {
        self.tell_only(io, |handler, effects| {
            handler.hung_up(effects, tag, HangUp::Failed(EPROTO), now);
        });
    }

    /// Tells what came over one connection.
    fn advance<I: Io<H::Mail>>(&mut self, io: &mut I, (tag, bytes): (Tag, &[u8]), now: Timestamp) {
        let Some(handle) = self.desk.connections.handle(tag) else {
            return;
        };
        self.at_hand = Some(handle);
        let Some(came) = self.decrypt(io, handle, bytes) else {
            self.at_hand = None;
            return self.fail(io, tag, now);
        };
        if let Some(facts) = came.established {
            self.desk.established(handle);
            self.tell_only(io, |handler, effects| {
                handler.tls_established(effects, tag, facts, now);
            });
        }
        let plain = std::mem::take(&mut self.plain);
        if !plain.is_empty() && self.desk.connections.get(handle).is_some() {
            self.tell_only(io, |handler, effects| {
                handler.received(effects, tag, &plain, now);
            });
        }
        self.plain = plain;
        self.forget();
        self.at_hand = None;
        let Some(connection) = self.desk.connections.get_mut(handle) else {
            return;
        };
        if let Some(bytes) = connection.withheld() {
            self.tell_only(io, |handler, effects| {
                handler.withheld(effects, tag, bytes, now);
            });
        }
        let Some(connection) = self.desk.connections.get_mut(handle) else {
            return;
        };
        match came.reached {
            Reached::End => {}
            Reached::PeerEnded => self.tell_only(io, |handler, effects| {
                handler.hung_up(effects, tag, HangUp::Closed, now);
            }),
            Reached::Failed(error) => {
                tracing::debug!(%error, "a connection that was to be secure is closed");
                connection.phase = Phase::Failed;
                self.fail(io, tag, now);
            }
        }
    }

    /// Decrypts what came. `None` if the connection has failed before.
    fn decrypt<I: Io<H::Mail>>(
        &mut self,
        io: &mut I,
        handle: Handle,
        bytes: &[u8],
    ) -> Option<Came> {
        let connection = self.desk.connections.get_mut(handle)?;
        if connection.phase == Phase::Failed {
            return None;
        }
        self.input.clear();
        self.input.append(&mut connection.inbox);
        connection.inbox = Vec::new();
        self.input.extend_from_slice(bytes);
        self.plain.clear();
        let (used, reached) =
            connection
                .session
                .advance(&mut self.input, &mut self.plain, &mut self.sealed);
        // Most of what comes needs no answer of the session's own.
        if !self.sealed.is_empty() {
            io.outbox(handle).append(&mut self.sealed);
        }
        connection.inbox = self.input[used..].to_vec();
        let agreed = connection.phase == Phase::Handshake && !connection.session.is_handshaking();
        let failed = matches!(reached, Reached::Failed(_));
        Some(Came {
            established: (agreed && !failed).then(|| connection.session.facts()),
            reached,
        })
    }

    fn forget(&mut self) {
        for buffer in [&mut self.input, &mut self.plain, &mut self.sealed] {
            buffer.clear();
            buffer.shrink_to(BUFFER_MAX);
        }
    }
}

impl<H: Handler> Handler for Secured<H> {
    type Mail = H::Mail;

    tell_on!(
        accepted,
        connected,
        connect_failed,
        drained,
        hung_up,
        mail,
        timer,
        next_timer,
        turn_ended,
        finished
    );

    fn recover<I: Io<Self::Mail>>(
        &mut self,
        io: &mut I,
        suspects: &mut Vec<Handle>,
        now: Timestamp,
    ) -> Option<HashSet<Handle>> {
        suspects.extend(self.at_hand.take());
        // What was staged for these nobody will complete.
        suspects.append(&mut self.desk.connections.staged);
        let kept = self.tell_only(io, |handler, effects| {
            handler.recover(effects, suspects, now)
        });
        let kept = kept?;
        self.desk.connections.retain(&kept);
        self.forget();
        self.goes_on(io, now);
        Some(kept)
    }

    fn received<I: Io<Self::Mail>>(&mut self, io: &mut I, tag: Tag, bytes: &[u8], now: Timestamp) {
        if self.desk.connections.handle(tag).is_some() {
            self.advance(io, (tag, bytes), now);
            return self.goes_on(io, now);
        }
        self.tell((io, now), |handler, effects| {
            handler.received(effects, tag, bytes, now);
        });
    }
}

#[cfg(test)]
mod tests;

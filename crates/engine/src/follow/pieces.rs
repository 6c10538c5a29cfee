//! Large commands, sent piece by piece as the backend takes them.

use events::Io;
use membership::Key;

use crate::record::backend::Backend;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    /// True if a command of the client was sent in part, and its buffer is to go with it.
    pub(crate) fn awaits_buffer(&self, client: Key) -> bool {
        let backend = self.clients.get(client).and_then(|client| client.backend);
        let rest = backend.and_then(|key| self.pool.get(key)?.rest.as_ref());
        rest.is_some_and(|rest| rest.awaits_buffer())
    }

    /// Of what is in `inbox`, `used` bytes were dealt with. If the last of them are a command that was sent in part, its
    /// buffer goes with it. Returns what is left.
    pub(crate) fn hand_over<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        mut inbox: Vec<u8>,
        used: usize,
    ) -> Vec<u8> {
        let backend = self.clients.get(client).and_then(|client| client.backend);
        let backend = backend.and_then(|key| self.pool.get_mut(key));
        let awaited = backend.and_then(|backend| Some((backend.handle, backend.rest.as_mut()?)));
        let Some((handle, rest)) = awaited.filter(|(_, rest)| rest.awaits_buffer()) else {
            inbox.drain(..used);
            return inbox;
        };
        let left = inbox[used..].to_vec();
        inbox.truncate(used);
        rest.begin = used.saturating_sub(rest.len);
        rest.buffer = inbox;
        rest.reservation = self.buffering.take_reservation(client);
        turn.io.notify_drained(handle);
        left
    }

    /// The backend took what there was of a command: it gets the next piece. False if there is none.
    pub(crate) fn send_next_piece<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
    ) -> bool {
        let Some(backend) = self.pool.get_mut(key) else {
            return false;
        };
        let handle = backend.handle;
        if backend.is_cut_off() {
            return false;
        }
        let Some(rest) = &mut backend.rest else {
            return false;
        };
        rest.put_next(turn.io.outbox(handle));
        match rest.is_sent {
            true => backend.rest = None,
            false => turn.io.notify_drained(handle),
        }
        true
    }
}

impl Backend {
    /// True if the command was answered that has not been sent completely. Nothing else may follow it on the connection,
    /// and a server that answers so closes it.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.rest.is_some() && self.exchanges.is_empty()
    }
}

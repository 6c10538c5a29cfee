//! Prepared statements of the binary protocol. They live on one backend, so they pin: until the last
//! of them is closed.

use events::Io;
use membership::Key;
use session::statement::{PinReason, Statement};
use wire::Command;

use crate::client::{Client, State};
use crate::commands::{Packet, Taken};
use crate::errors::ClientError;
use crate::kill::Victim;
use crate::{Engine, Mail, Turn};

/// Stands for the statement that was prepared last (MariaDB), so that clients need not wait for its id.
const LAST: u32 = u32::MAX;

/// Any of these flags asks for a cursor. Source: "COM_STMT_EXECUTE" in the MySQL manual.
const CURSOR_FLAGS: u8 = 0x07;

/// What is remembered of a prepared statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prepared {
    /// The backend's name for it.
    pub id: u32,
    /// What running it does.
    pub statement: Statement,
    /// Running it empties the list of warnings.
    pub clears_warnings: bool,
    /// The client of ours that it ends: the server does not know that one.
    pub kills: Option<Victim>,
}

/// The id in a command that names a prepared statement.
pub(crate) fn statement_id(payload: &[u8]) -> Option<u32> {
    payload
        .get(1..5)?
        .first_chunk()
        .copied()
        .map(u32::from_le_bytes)
}

/// True for a COM_STMT_EXECUTE that asks for a cursor.
pub(crate) fn asks_for_cursor(payload: &[u8]) -> bool {
    let execute = payload.first() == Some(&(Command::StmtExecute as u8));
    execute
        && payload
            .get(5)
            .is_some_and(|flags| flags & CURSOR_FLAGS != 0)
}

impl Client {
    /// What a prepared statement is.
    pub(crate) fn prepared(&self, id: u32) -> Option<Prepared> {
        let holdings = self.holdings.as_ref()?;
        let id = match id {
            LAST => holdings.last_prepared?,
            id => id,
        };
        let mut prepared = holdings.prepared.iter();
        prepared.find(|prepared| prepared.id == id).copied()
    }

    /// A prepared statement is no more.
    fn close_prepared(&mut self, id: u32) {
        let Some(holdings) = &mut self.holdings else {
            return;
        };
        holdings.prepared.retain(|prepared| prepared.id != id);
        if holdings.last_prepared == Some(id) {
            holdings.last_prepared = None;
        }
        if holdings.prepared.is_empty() {
            self.pins.remove(PinReason::Prepared);
        }
        if self.pins.is_empty() {
            self.unpin();
        }
    }
}

impl Engine {
    /// A command that names a prepared statement.
    pub(crate) fn prepared_command<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (command, packet): (Command, Packet<'_>),
    ) -> Taken {
        let id = statement_id(packet.payload);
        let prepared = id
            .zip(self.clients.get(key))
            .and_then(|(id, client)| client.prepared(id));
        let kills = prepared.and_then(|prepared| prepared.kills);
        if let (Command::StmtExecute, Some(victim)) = (command, kills) {
            self.order_kill(turn, key, victim);
            return Taken::Now;
        }
        match (command, prepared) {
            // These two have no response, whatever comes of them.
            (Command::StmtClose | Command::StmtSendLongData, None) => {}
            (Command::StmtSendLongData, _) => self.pass_on(turn, key, packet.raw),
            (Command::StmtClose, Some(prepared)) => {
                self.pass_on(turn, key, packet.raw);
                self.close_statement(turn, key, prepared.id);
            }
            (_, Some(_)) => return self.attach_and_send(turn, key, packet),
            (_, None) => {
                let flavor = self.flavor();
                let error = ClientError::unknown_statement(id.unwrap_or_default(), command, flavor);
                self.answer_err(turn, key, &error);
            }
        }
        self.touch(key, turn.now);
        Taken::Now
    }

    /// Sends a command that has no response.
    fn pass_on<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, raw: &[u8]) {
        let backend = self.clients.get(key).and_then(|client| client.backend);
        if let Some(backend) = backend.and_then(|key| self.pool.get(key)) {
            turn.io.outbox(backend.handle).extend_from_slice(raw);
        }
    }

    fn close_statement<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, id: u32) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        client.close_prepared(id);
        let backend = client.backend.filter(|_| !client.holds_backend());
        if let Some(backend) = backend {
            self.counters.pins_ended += 1;
            self.clients.move_to(key, State::Active, turn.now);
            self.settle(turn, backend);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_cursors_are_read_from_the_payload() {
        let execute = |flags| [0x17, 7, 0, 0, 0, flags, 1, 0, 0, 0];
        assert_eq!(statement_id(&execute(0)), Some(7));
        assert!(!asks_for_cursor(&execute(0)));
        assert!(!asks_for_cursor(&execute(8)));
        assert!(asks_for_cursor(&execute(1)));
        assert_eq!(statement_id(b"\x19\x07\0"), None);
    }
}

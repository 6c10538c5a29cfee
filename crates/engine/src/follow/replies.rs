//! Answers of Myriad's own to a client.

use carry::errors::ClientError;
use events::{Io, Timestamp};
use membership::Key;
use session::statement::Flavor;
use wire::{Capabilities, ErrPacket, OkPacket};

use crate::record::client::State;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Records {
    pub(crate) fn collation_after_reset(&self, key: Key) -> u8 {
        let collation = self
            .clients
            .get(key)
            .map_or(0, |c| c.origin.asked_collation);
        let facts = self.known.facts.as_ref();
        facts.map_or(collation, |facts| facts.collation_after_reset(collation))
    }

    pub(crate) fn uploads(&self, key: Key) -> bool {
        self.clients.get(key).is_some_and(|client| client.uploading)
    }

    pub(crate) fn holds(&self, key: Key) -> bool {
        self.clients
            .get(key)
            .is_some_and(|client| client.backend.is_some())
    }

    /// Sets `ROW_COUNT()` of a session.
    pub(crate) fn counts_rows(&mut self, key: Key, rows: i64) {
        if let Some(client) = self.clients.get_mut(key) {
            client.capture.row_count = rows;
        }
    }

    /// Answers a command that is no statement with OK: it has changed no rows.
    pub(crate) fn answer_without_rows<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        self.counts_rows(key, 0);
        self.answer_ok(turn, key);
    }

    /// Answers a command with OK, as the server would that has nothing to say. MySQL tells with what is no statement how
    /// many warnings the statement before had; nobody asks for that.
    pub(crate) fn answer_ok<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let mut block = Vec::new();
        let flavor = self.known.flavor();
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        client.put_untold_alone(flavor, &mut block);
        let ok = OkPacket {
            status: client.status,
            state_changes: &block,
            ..OkPacket::default()
        };
        ok.encode(turn.io.outbox(client.handle), client.answer_begins, 0x00);
        self.counters.local_answers += 1;
        self.touch(key, turn.now);
    }

    /// Answers a statement with ERR.
    pub(crate) fn answer_err<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &ClientError,
    ) {
        self.put_err(turn, key, error);
        self.keep_refusal(key, error, true);
    }

    /// Answers a command with ERR that is no statement, or does not get as far as that.
    pub(crate) fn refuse_command<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &ClientError,
    ) {
        self.put_err(turn, key, error);
        self.keep_refusal(key, error, false);
    }

    fn put_err<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, error: &ClientError) {
        let Some(client) = self.clients.get(key) else {
            return;
        };
        let login = client.login.as_ref();
        let sequence_id = login.map_or(client.answer_begins, |login| login.sequence_id);
        let outbox = turn.io.outbox(client.handle);
        error
            .packet()
            .encode(outbox, sequence_id, wire::Capabilities::PROTOCOL_41);
        self.counters.local_answers += 1;
    }

    /// The session can ask about an ERR of the front door's own as about any. MySQL adds that of a command which is
    /// no statement to what there is.
    fn keep_refusal(&mut self, key: Key, error: &ClientError, is_statement: bool) {
        let adds = !is_statement && self.known.flavor() == Flavor::MySql;
        let client = self.clients.get_mut(key);
        if let Some(client) = client.filter(|client| client.login.is_none()) {
            client.capture.row_count = -1;
            client.capture.conditions.refused(error.clone(), adds);
        }
    }

    /// Tells a client an error that answers nothing: the servers do so before they close.
    pub(crate) fn tell_unasked<I: Io<Mail>>(
        &self,
        turn: &mut Turn<'_, I>,
        key: Key,
        error: &ErrPacket<'_>,
    ) {
        if let Some(client) = self.clients.get(key) {
            let outbox = turn.io.outbox(client.handle);
            error.encode(outbox, 0, Capabilities::PROTOCOL_41);
        }
    }

    /// The client was heard of: its silence begins anew.
    pub(crate) fn touch(&mut self, key: Key, now: Timestamp) {
        if let Some(state @ (State::Idle | State::Held)) = self.clients.state(key) {
            self.clients.renew(key, state, now);
        }
    }
}

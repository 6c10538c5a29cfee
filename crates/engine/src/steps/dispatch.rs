//! Before a command is sent: what must be cleaned, read back or restored first, and which pins it needs.

use carry::errors::ClientError;
use carry::packet::Packet;
use carry::prepared::named::executes;
use carry::prepared::templates::Template;
use carry::retrack::retracks;
use carry::routines::search::Hidden;
use carry::routines::{ReadRoutine, pins_for_routines};
use events::Io;
use membership::Key;
use session::statement::{Flavor, Kind, Known, Mention, Statement, Traits};
use session::{Restore, SessionState};
use wire::ServerStatus;

use crate::follow::routines::question;
use crate::record::ask::Ask;
use crate::record::backend::Due;
use crate::record::records::Records;
use crate::record::shared::{Mail, PinLimits};
use crate::record::turn::Turn;

impl Records {
    /// The backend has what others have left, and the statement would see it: that is cleaned, and the command looked
    /// at anew. This comes before anything is prepared, which may fail for what is in a variable.
    pub(crate) fn cleans_first<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        statement: &Statement,
        mentions: &[Mention],
    ) -> bool {
        let cleans = self.attached(client).is_some_and(|pair| {
            pair.sees_foreign_sequences(statement)
                || pair.sees_foreign_variables(statement, mentions)
        });
        if cleans {
            self.clean_attached(turn, client);
        }
        cleans
    }

    /// A statement asks for the list of conditions that its backend has, where that must first be brought to a state in
    /// which it would be lost, or for a count that is told by value, which is known to the backend alone: that is read,
    /// and the command looked at anew, as one that can be answered here.
    pub(crate) fn reads_list_first<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> bool {
        let counted = self
            .clients
            .get(key)
            .and_then(|client| client.counted(packet.payload, statement));
        if counted == Some(Known::FoundRows) && self.reads_rows_first(turn, key) {
            return true;
        }
        let counts = counted.is_some();
        if !statement.traits.intersects(Traits::NEEDS_CONDITIONS) {
            return false;
        }
        let Some(client) = self.clients.get(key) else {
            return false;
        };
        if !client.capture.conditions.needs_backend() {
            return false;
        }
        let Some(backend) = client.backend else {
            return false;
        };
        let missing = self.missing(key, packet);
        let bound = self.bound(key, (packet, statement), missing.as_deref());
        let moves = counts
            || missing.is_some()
            || !self.restore(key, bound.as_ref()).is_empty()
            || self.attached(key).is_some_and(|mut pair| {
                pair.needs_user_variables(turn.now, packet, statement)
                    || pair.lacks_insert_id(turn.now, packet, statement)
            });
        if !moves || !self.read_warnings(turn, backend) {
            return false;
        }
        self.clients.set_active(key, turn.now);
        true
    }

    /// Reads `FOUND_ROWS()` back, if the statement asks for it and only the backend knows it; then the command is looked at
    /// anew.
    fn reads_rows_first<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let backend = self.clients.get(key).and_then(|client| client.backend);
        if !backend.is_some_and(|backend| self.read_found_rows(turn, backend)) {
            return false;
        }
        self.clients.set_active(key, turn.now);
        true
    }

    /// A backend is about to be brought to the state of its session, or to track what that asked for, which may empty the
    /// list of conditions, or have it tell of what is deprecated.
    pub(crate) fn note_restore<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        restore: &Restore,
        statement: &Statement,
    ) {
        if restore.is_empty() && !retracks(statement) {
            return;
        }
        self.counters.restores += u64::from(!restore.is_empty());
        let backend = self.clients.get(client).and_then(|client| client.backend);
        if let Some(backend) = backend {
            self.read_warnings(turn, backend);
        }
    }

    /// The command at the front of the client's inbox goes on when all that was sent before it was answered.
    pub(crate) fn await_answers(&mut self, backend: Key) {
        if let Some(backend) = self.pool.get_mut(backend) {
            backend.due |= Due::COMMAND;
        }
    }

    /// Refuses a statement that asks for what only a backend knows, and not the one that the session holds. Comes before
    /// a backend is attached. False if the statement can go on.
    pub(crate) fn refuses_elsewhere<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> bool {
        let asks = statement.traits.contains(Traits::TELLS_SEQUENCE);
        let attached = self.attached(key);
        let has_drawn = attached.is_some_and(|pair| asks && pair.has_drawn(packet, statement));
        let client = self.clients.get(key);
        let error = if asks && !has_drawn {
            ClientError::last_value_elsewhere()
        } else if client.is_some_and(|client| client.gets_elsewhere(statement)) {
            ClientError::diagnostics_elsewhere()
        } else {
            return false;
        };
        self.answer_err(turn, key, &error);
        self.touch(key, turn.now);
        true
    }

    /// The state in which a statement must be prepared that the client's backend lacks, or runs, if that is another
    /// one than its session's.
    pub(crate) fn bound(
        &mut self,
        client: Key,
        (packet, statement): (Packet<'_>, &Statement),
        missing: Option<&Template>,
    ) -> Option<SessionState> {
        let Some(missing) = missing else {
            return self.while_running(client, packet, statement);
        };
        let client = self.clients.get(client)?;
        let mut state = missing
            .binding
            .over(&client.session, &mut self.known.interner);
        if !client.status.contains(ServerStatus::IN_TRANS) {
            state.let_next_write();
        }
        Some(state)
    }

    /// The state in which a statement runs that was prepared in another schema. MySQL would select that schema
    /// by itself, but then says that the session has changed, as if a trigger had set a variable.
    fn while_running(
        &self,
        client: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> Option<SessionState> {
        let switches = self.known.flavor() == Flavor::MySql && statement.kind != Kind::Use;
        if !switches || !executes(packet.payload) {
            return None;
        }
        let client = self.clients.get(client)?;
        let prepared = client.statement(packet.payload)?;
        // A schema that is selected here cannot be given up, but by another backend.
        if client.holds_backend() && client.session.schema.is_none() {
            return None;
        }
        prepared.template.binding.while_running(&client.session)
    }

    /// Takes the right to be pinned, if the statement needs it and the session does not have it. `Err` holds
    /// how many others do.
    pub(crate) fn takes_pin(&mut self, client: Key, statement: &Statement) -> Result<(), usize> {
        if statement.pins.is_empty() {
            return Ok(());
        }
        let Some(client) = self.clients.get_mut(client) else {
            return Ok(());
        };
        if client.pin_slot.is_none() {
            let limits = PinLimits {
                of_all: self.settings.max_pinned,
                of_account: self.settings.max_pinned_per_account,
            };
            let account = self.accounts.account(client.account).ok_or(0_usize)?;
            client.pin_slot = Some(self.shared.pin(&account.pinned, limits)?);
        }
        Ok(())
    }

    /// Asks the client's backend for the body of a routine that is called. False if all are known, or the session
    /// is pinned already.
    pub(crate) fn ask_for_routine<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> bool {
        if !pins_for_routines(statement) {
            return false;
        }
        let Some(client) = self.clients.get(key) else {
            return false;
        };
        if !client.pins.is_empty() {
            return false;
        }
        let Some(place) = client.backend else {
            return false;
        };
        let within = client.status.contains(ServerStatus::IN_TRANS);
        let begins = !within && !client.status.contains(ServerStatus::AUTOCOMMIT);
        let searched = self
            .known
            .search(turn.now, client, (packet, statement), None);
        let Err(Hidden::Unasked(unasked)) = searched else {
            return false;
        };
        let question = question(&unasked);
        let read = Box::new(ReadRoutine {
            hash: unasked.hash,
            schema: unasked.schema.into(),
            is_function: unasked.called.is_function,
            // Else it may be one of a package.
            may_be_missing: !unasked.called.is_function
                && (self.known.flavor() == Flavor::MySql || unasked.called.schema.is_none()),
            epoch: self.known.routines.epoch,
        });
        let reads_first = within
            && self.attached(key).is_some_and(|mut pair| {
                let outbox = turn.io.outbox(pair.backend.handle);
                pair.saves_first(outbox)
            });
        let Some(backend) = self.pool.get_mut(place) else {
            return false;
        };
        if !reads_first {
            if begins && backend.session.next_transaction().is_some() {
                // The question would use up what only the next transaction is to have.
                return false;
            }
            let outbox = turn.io.outbox(backend.handle);
            backend.ask(outbox, Ask::Routine(read), &question);
            if begins {
                // It has begun a transaction.
                backend.roll_back(outbox);
            }
            self.counters.read_backs += 1;
        }
        backend.due |= Due::COMMAND;
        self.clients.set_active(key, turn.now);
        true
    }
}

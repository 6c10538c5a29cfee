//! The prepared statements of a session: looked up, refused, and noted from answers.

pub(crate) mod backend_statements;
mod by_name;
pub(crate) mod counting;
pub(crate) mod named;
mod on_demand;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use carry::effect::Act;
use carry::ending::Ending;
use carry::errors::ClientError;
use carry::packet::{Packet, Taken};
use carry::prepared::Preparing;
use carry::prepared::client_statements::{ClientStatement, LongData, Refused, STATEMENTS_MAX};
use carry::prepared::named::executes;
use carry::prepared::templates::Template;
use events::Io;
use membership::Key;
use session::statement::Flavor;
use wire::{
    BULK_EXECUTE_HEADER_LEN, Command, ExtendedCapabilities, PrepareOk, ServerStatus, code,
    long_data_parameter, statement_id,
};

use crate::record::backend::ClientCommand;
use crate::record::client::Client;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// So many bytes of texts are kept for the sessions of a worker.
const TEXTS_MAX: usize = 256 << 20;

/// So many bytes of long data wait for executions, over the sessions of a worker.
const LONG_DATA_MAX: usize = 256 << 20;

impl Client {
    /// Puts the client's own name for the statement into the answer to a COM_STMT_PREPARE.
    pub(crate) fn name_statement(&self, told: &mut [u8]) {
        let statements = self.statements.as_ref();
        let next = statements.map_or(1, |statements| statements.next_id());
        if let Some(place) = told.get_mut(PrepareOk::ID) {
            place.copy_from_slice(&next.to_le_bytes());
        }
    }

    /// The prepared statement that a command names.
    pub(crate) fn statement(&self, payload: &[u8]) -> Option<&ClientStatement> {
        self.statements.as_ref()?.get(statement_id(payload)?)
    }

    /// The prepared statement that a command names, to be changed.
    pub(crate) fn statement_mut(&mut self, payload: &[u8]) -> Option<&mut ClientStatement> {
        self.statements.as_mut()?.get_mut(statement_id(payload)?)
    }

    /// True if a statement has an open cursor.
    pub(crate) fn has_cursor(&self, id: u32) -> bool {
        let holdings = self.holdings.as_ref();
        holdings.is_some_and(|holdings| holdings.cursors.contains(&id))
    }

    /// Drops the long data of a statement after a COM_STMT_EXECUTE, whatever its answer, or a COM_STMT_RESET. Long data that
    /// was refused stays until a COM_STMT_RESET.
    pub(crate) fn drop_long_data(&mut self, payload: &[u8]) {
        let resets = payload.first() == Some(&(Command::StmtReset as u8));
        if self.statements.is_some()
            && (resets || executes(payload))
            && let Some(statement) = self.statement_mut(payload)
        {
            let stays = |long: &LongData| !resets && long.refused.is_some();
            statement.long = statement.long.take().filter(|long| stays(long));
        }
    }
}

impl Records {
    /// The template of a text that a session in the same state has prepared, if the text means the same for each session.
    pub(crate) fn known_template(&self, client: Key, text: &[u8]) -> Option<Arc<Template>> {
        let session = &self.clients.get(client)?.session;
        self.known
            .templates
            .find(text, session, &self.dialect_of(client)?)
    }

    /// Refuses a COM_STMT_BULK_EXECUTE as the server does: MySQL knows none, and MariaDB takes it of those only that have
    /// said in their login that they send it. False if it does not.
    pub(crate) fn refuses_bulk<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
    ) -> bool {
        let client = self.clients.get(key);
        let sends = client.is_some_and(|client| {
            client
                .extended
                .contains(ExtendedCapabilities::STMT_BULK_OPERATIONS)
        });
        let error = match self.known.flavor() {
            Flavor::MySql => ClientError::unknown_command(),
            Flavor::MariaDb if packet.payload.len() < BULK_EXECUTE_HEADER_LEN => {
                ClientError::malformed_packet(Flavor::MariaDb)
            }
            Flavor::MariaDb if !sends => ClientError::no_bulk_operations(),
            Flavor::MariaDb => return false,
        };
        self.refuse_command(turn, key, &error);
        true
    }

    /// Refuses a command that names a prepared statement which the client does not have.
    pub(crate) fn unknown_statement<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        command: Command,
        packet: Packet<'_>,
    ) -> Taken {
        let id = statement_id(packet.payload);
        // These two have no response, whatever comes of them; but MySQL tells of what is cut off.
        let is_silent = matches!(command, Command::StmtClose | Command::StmtSendLongData);
        let error = match id {
            None => ClientError::malformed_packet(self.known.flavor()),
            Some(id) => ClientError::unknown_statement(id, command, self.known.flavor()),
        };
        if !is_silent || id.is_none() && self.known.flavor() == Flavor::MySql {
            self.refuse_command(turn, key, &error);
        }
        self.touch(key, turn.now);
        Taken::Now
    }

    /// Answers a COM_STMT_PREPARE that would be one too many. False if it is not.
    pub(crate) fn refuses_statement<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
    ) -> bool {
        let client = self.clients.get_mut(key);
        let statements = client.and_then(|client| client.statements.as_mut());
        let count = statements.map_or(0, |statements| {
            // An execution of "the last" is sent behind this one, and must not mean another.
            statements.forget_last();
            statements.count()
        });
        let has_room = count < STATEMENTS_MAX && self.known.templates.bytes() < TEXTS_MAX;
        if has_room && self.has_session_memory() {
            return false;
        }
        self.counters.prepares_refused += 1;
        self.refuse_command(turn, key, &ClientError::too_many_statements(count));
        true
    }

    /// Long data waits here for the execution that uses it, within bounds.
    pub(crate) fn keep_long_data(&mut self, key: Key, packet: Packet<'_>) {
        let most = self.settings.max_allowed_packet;
        let room = LONG_DATA_MAX.saturating_sub(self.long_data.load(Ordering::Relaxed));
        let statement = self.clients.get_mut(key);
        let statement = statement.and_then(|client| client.statement_mut(packet.payload));
        if let Some(statement) = statement {
            let long = statement
                .long
                .get_or_insert_with(|| Box::new(LongData::new(&self.long_data)));
            match long_data_parameter(packet.payload) {
                // The server takes no notice either.
                None => return,
                Some(number) if number >= statement.parameters => {
                    return long.refuse(Refused::NoParameter);
                }
                Some(_) => {}
            }
            let kept = long.keep(packet.raw, most, room);
            self.counters.long_data_refused += u64::from(!kept);
        }
    }

    /// Drops the long data of the statement that a command of the client names, if the command uses or resets it.
    pub(crate) fn drop_long_data(&mut self, key: Key, payload: &[u8]) {
        if let Some(client) = self.clients.get_mut(key) {
            client.drop_long_data(payload);
        }
    }

    /// The answer to a command about a prepared statement is complete.
    pub(crate) fn statement_answered(
        &mut self,
        backend: Key,
        command: &ClientCommand,
        ending: &Ending,
    ) {
        let Some(effect) = &command.effect else {
            return;
        };
        let failed = matches!(ending, Ending::Err(_));
        let status = self.pool.get(backend).map(|backend| backend.status);
        let says = |flag| !failed && status.is_some_and(|status| status.contains(flag));
        let (id, open) = match effect.act() {
            Act::Text(_) | Act::Lock(_) | Act::ByName(_) | Act::Retracks => {
                return;
            }
            Act::Prepares(preparing) => {
                let who = (backend, command.client);
                return self.statement_prepared(who, preparing, failed);
            }
            Act::Executes(id) if is_refused_unread(ending) && self.keeps_cursor(command, *id) => {
                return;
            }
            Act::Executes(id) => (*id, says(ServerStatus::CURSOR_EXISTS)),
            Act::Fetches(id) => (*id, !says(ServerStatus::LAST_ROW_SENT)),
            Act::Resets(id) => (*id, failed),
        };
        match open {
            true => self.cursor_opened(command.client, id),
            false => self.cursor_closed(backend, command.client, id),
        }
    }

    /// True if the statement has a cursor, of an execution before.
    fn keeps_cursor(&self, command: &ClientCommand, id: u32) -> bool {
        let client = command.client.and_then(|client| self.clients.get(client));
        client.is_some_and(|client| client.has_cursor(id))
    }

    fn cursor_opened(&mut self, client: Option<Key>, id: u32) {
        if let Some(client) = client.and_then(|client| self.clients.get_mut(client)) {
            let holdings = client.holdings.get_or_insert_default();
            if !holdings.cursors.contains(&id) {
                holdings.cursors.push(id);
            }
        }
    }

    /// Whoever has the statement next finds nothing of the cursor. After one, MySQL never ends its answer to
    /// an execution without: there the statement is closed.
    fn cursor_closed(&mut self, backend: Key, client: Option<Key>, id: u32) {
        let Some(client) = client.and_then(|client| self.clients.get_mut(client)) else {
            return;
        };
        if let Some(holdings) = &mut client.holdings {
            holdings.cursors.retain(|&cursor| cursor != id);
            if holdings.prepared.contains(&id) {
                return;
            }
        }
        let clean = self.known.flavor() == Flavor::MariaDb;
        if let Some(backend) = self.pool.get_mut(backend) {
            backend.statements.give_back(id, clean);
        }
    }

    /// A client's COM_STMT_PREPARE was answered.
    fn statement_prepared(
        &mut self,
        (backend_key, client): (Key, Option<Key>),
        preparing: &Preparing,
        failed: bool,
    ) {
        let client = client.and_then(|client| self.clients.get_mut(client));
        if failed {
            return;
        }
        let Some(told) = preparing.told else { return };
        let template = &preparing.template;
        let id = client.map(|client| {
            let statements = client.statements.get_or_insert_default();
            let id = statements.add(template.clone(), told.parameters);
            statements
                .kept
                .count(statements.bytes(), &self.session_memory);
            if let Some(statement) = statements.get_mut(id) {
                statement.definitions = preparing.definitions;
            }
            if preparing.stays {
                client.holdings.get_or_insert_default().prepared.push(id);
            }
            id
        });
        self.prepared_on(backend_key, preparing);
        let backend = self.pool.get_mut(backend_key);
        if preparing.stays
            && let (Some(id), Some(backend)) = (id, backend)
        {
            backend.statements.own(id, template.number);
        }
    }

    /// A backend has prepared a statement.
    pub(crate) fn prepared_on(&mut self, backend: Key, preparing: &Preparing) {
        let max = self.settings.max_prepared_statements;
        let (Some(backend), Some(told)) = (self.pool.get_mut(backend), preparing.told) else {
            return;
        };
        let evicted = backend.statements.add(&preparing.template, told.id, max);
        self.counters.prepares_evicted += evicted as u64;
    }
}

/// True of an execution whose packet the server has refused: it has done nothing yet, and a cursor that was open stays.
fn is_refused_unread(ending: &Ending) -> bool {
    const UNREAD: [u16; 3] = [
        code::WRONG_ARGUMENTS,
        code::MALFORMED_PACKET,
        code::UNSUPPORTED_PREPARED,
    ];
    ending.code().is_some_and(|code| UNREAD.contains(&code))
}

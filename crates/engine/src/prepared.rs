//! Prepared statements of the binary protocol, as commands of clients. A client's ids are its own: nothing
//! here pins, but for what only one backend can have (cursors, and the few statements that ask a backend
//! for what it knows of its own last statement).
//!
//! Owns the commands that need no backend, and what becomes of a session when they are answered. How a
//! backend comes to have a statement is in `on_demand`, what it is sent is in `named`.

pub(crate) mod backend_statements;
pub(crate) mod by_name;
pub(crate) mod client_statements;
pub(crate) mod counting;
pub(crate) mod named;
mod on_demand;
pub(crate) mod templates;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use events::Io;
use membership::Key;
use session::statement::{Flavor, Statement, Traits};
use wire::{
    BULK_EXECUTE_HEADER_LEN, Command, Definitions, ExtendedCapabilities, Fingerprint, Piece,
    PrepareOk, ServerStatus, asks_for_cursor, code, long_data_parameter, statement_id,
};

use crate::backend::ClientCommand;
use crate::carried::effect::Act;
use crate::client::{Client, State};
use crate::commands::answers::Ending;
use crate::commands::{Packet, Taken};
use crate::conditions::binary_rows::Form;
use crate::errors::ClientError;
use crate::prepared::client_statements::{ClientStatement, LongData, Refused, STATEMENTS_MAX};
use crate::prepared::named::executes;
use crate::prepared::templates::Template;
use crate::{Engine, Mail, Turn};

/// So many bytes of texts are kept for the sessions of a worker.
const TEXTS_MAX: usize = 256 << 20;

/// So many bytes of long data wait for executions, over the sessions of a worker.
const LONG_DATA_MAX: usize = 256 << 20;

/// A COM_STMT_PREPARE under way.
#[derive(Debug)]
pub(crate) struct Preparing {
    /// What is prepared.
    pub template: Arc<Template>,
    /// What the backend told.
    pub told: Option<PrepareOk>,
    /// It stays on this backend, and with it the session.
    pub stays: bool,
    /// The column definitions that the client was told.
    pub definitions: Option<Fingerprint>,
    /// Takes them; only for clients that keep them.
    pub keeps: Option<Box<Definitions>>,
}

impl Preparing {
    /// Nothing was told yet.
    pub(crate) fn new(template: Arc<Template>) -> Self {
        Self {
            template,
            told: None,
            stays: false,
            definitions: None,
            keeps: None,
        }
    }
}

impl Preparing {
    /// Takes note of a piece of the answer.
    pub(crate) fn note(&mut self, piece: &Piece<'_>) {
        if let Piece::PrepareOk(_) = piece {
            self.told = PrepareOk::parse(piece.payload()).ok();
        }
        if let Some(keeps) = &mut self.keeps {
            // Those of the parameters come first.
            self.definitions = keeps.piece(piece).or(self.definitions);
        }
    }
}

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

    /// The same, to be changed.
    pub(crate) fn statement_mut(&mut self, payload: &[u8]) -> Option<&mut ClientStatement> {
        self.statements.as_mut()?.get_mut(statement_id(payload)?)
    }

    /// True if a statement has an open cursor.
    pub(crate) fn has_cursor(&self, id: u32) -> bool {
        let holdings = self.holdings.as_ref();
        holdings.is_some_and(|holdings| holdings.cursors.contains(&id))
    }

    /// Long data of a statement is used up by an execution, whatever became of that, or given up. What is refused is
    /// only given up.
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

/// True for a statement that asks for what only its backend can tell, so that it stays there: the counts and
/// conditions of the statement before it.
pub(crate) fn stays(statement: &Statement) -> bool {
    let of_backend = Traits::READS_DIAGNOSTICS | Traits::READS_ROW_COUNTS;
    statement.traits.intersects(of_backend)
}

/// True for a text that may ask which schema there is. Prepared without one it is told so for ever, and no
/// backend that has a schema can give it up.
pub(crate) fn may_ask_for_schema(text: &[u8]) -> bool {
    let calls = |word: &[u8]| {
        let mut places = text.windows(word.len()).enumerate();
        places.any(|(at, part)| {
            let behind = text[at + word.len()..].trim_ascii_start().first();
            // A comment may come first.
            part.eq_ignore_ascii_case(word) && matches!(behind, Some(b'(' | b'/' | b'-' | b'#'))
        })
    };
    calls(b"database") || calls(b"schema")
}

/// Fewer bytes of a command are refused, whatever statement they name.
fn len_min(command: Command, flavor: Flavor) -> usize {
    match (command, flavor) {
        // The statement's id, flags, and how often.
        (Command::StmtExecute, _) => 10,
        // The id, and a number of rows, or of a parameter.
        (Command::StmtFetch, Flavor::MySql) => 9,
        (Command::StmtSendLongData, Flavor::MySql) => 7,
        _ => 0,
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
        let Some(client) = self.clients.get(key) else {
            return Taken::Now;
        };
        if packet.payload.len() < len_min(command, self.known.flavor()) {
            self.refuse_command(
                turn,
                key,
                &ClientError::malformed_packet(self.known.flavor()),
            );
            self.touch(key, turn.now);
            return Taken::Now;
        }
        let Some(statement) = client.statement(packet.payload) else {
            return self.unknown_statement(turn, key, (command, packet));
        };
        let (id, kills) = (statement.id, statement.template.meaning.kills);
        let refused = statement.long.as_ref().and_then(|long| long.refused);
        let cursor = client.has_cursor(id);
        let runs = executes(packet.payload);
        match command {
            Command::StmtClose => self.close_statement(turn, key, id),
            Command::StmtSendLongData => self.keep_long_data(key, packet),
            Command::StmtReset if !cursor => {
                self.drop_long_data(key, packet.payload);
                self.answer_without_rows(turn, key);
            }
            Command::StmtFetch if !cursor => {
                let error = ClientError::no_open_cursor(id, self.known.flavor());
                self.refuse_command(turn, key, &error);
            }
            Command::StmtExecute if self.executed_from_capture(turn, key, packet) => {}
            _ if runs && refused.is_some() => {
                let error = match refused {
                    Some(Refused::NoParameter) => {
                        ClientError::no_such_parameter(self.known.flavor())
                    }
                    _ => ClientError::too_much_long_data(),
                };
                self.refuse_command(turn, key, &error);
            }
            _ => {
                if let Some(victim) = kills.filter(|_| runs) {
                    self.order_kill(turn, key, victim);
                    return Taken::Now;
                }
                let taken = self.attach_and_send(turn, key, packet);
                if taken == Taken::Now {
                    self.drop_long_data(key, packet.payload);
                }
                return taken;
            }
        }
        self.touch(key, turn.now);
        Taken::Now
    }

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

    /// Answers an execution of SHOW WARNINGS or SHOW ERRORS from the capture. MySQL may open a cursor for it.
    fn executed_from_capture<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
    ) -> bool {
        let statement = self.clients.get(key);
        let statement = statement.and_then(|client| client.statement(packet.payload));
        let cursor = self.known.flavor() == Flavor::MySql && asks_for_cursor(packet.payload);
        let Some(template) = statement
            .map(|statement| statement.template.clone())
            .filter(|_| !cursor)
        else {
            return false;
        };
        self.answered_from_capture(turn, key, (&template.text, Form::Binary))
    }

    fn unknown_statement<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (command, packet): (Command, Packet<'_>),
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
            statements.len()
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
    fn keep_long_data(&mut self, key: Key, packet: Packet<'_>) {
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

    /// The same of a client.
    pub(crate) fn drop_long_data(&mut self, key: Key, payload: &[u8]) {
        if let Some(client) = self.clients.get_mut(key) {
            client.drop_long_data(payload);
        }
    }

    fn close_statement<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, id: u32) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        if let Some(statements) = &mut client.statements {
            statements.close(id);
        }
        let held = client.let_go_of_statement(id);
        let Some(backend_key) = client.backend.filter(|_| held) else {
            return;
        };
        let detaches = !client.holds_backend();
        if let Some(backend) = self.pool.get_mut(backend_key) {
            backend.statements.give_back(id, false);
            let outbox = turn.io.outbox(backend.handle);
            backend.statements.put_closes(outbox);
        }
        if detaches {
            self.counters.pins_ended += 1;
            self.clients.move_to(key, State::Active, turn.now);
            self.settle(turn, backend_key);
        }
    }

    /// The answer to a command about a prepared statement is complete.
    pub(crate) fn statement_answered(
        &mut self,
        backend: Key,
        (command, ending): (&ClientCommand, &Ending),
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
        let Some(told) = preparing.told.filter(|_| !failed) else {
            return;
        };
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
        if let (Some(id), Some(backend)) = (id.filter(|_| preparing.stays), backend) {
            backend.statements.own(id, template.number);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_for_the_schema() {
        for (text, asks) in [
            ("SELECT DATABASE()", true),
            ("SELECT schema ( )", true),
            ("SELECT Database/* now */()", true),
            ("CREATE DATABASE shop CHARACTER SET utf8mb4", false),
            ("SELECT * FROM information_schema.TABLES", false),
            ("SHOW DATABASES", false),
            ("SELECT 1", false),
            ("DATABASE", false),
        ] {
            assert_eq!(may_ask_for_schema(text.as_bytes()), asks, "{text}");
        }
    }
}

//! A command on its way to the backend: what the statement is, what must be restored first, and
//! what may share a write (rule 5).

use events::Io;
use membership::Key;
use session::statement::{
    Flavor, Kind, PinReason, PinReasons, Statement, Traits, classify, holding,
};
use session::{Restore, plan};
use wire::{
    Command, PacketWriter, ResponseWalk, ServerStatus, TextResultSet, Translation, write_packet,
};

use crate::backend::{Backend, ClientCommand, Due, Exchange, InsertId, Purpose, RestorePart};
use crate::client::State;
use crate::commands::{Packet, Taken};
use crate::diagnostics::{Counts, Warnings, clears_warnings};
use crate::errors::ClientError;
use crate::holdings::{self, Effect};
use crate::rewrite::{self, rewrite};
use crate::{Engine, Mail, Turn};

impl Engine {
    /// Sends an attached client's command, what it needs restored before it.
    pub(crate) fn dispatch<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        packet: Packet<'_>,
    ) -> Taken {
        let statement = self.judge(client, packet.payload);
        if !statement.pins.is_empty() && !self.may_be_pinned(client) {
            self.answer_err(
                turn,
                client,
                &ClientError::too_many_pinned(self.settings.max_pinned),
            );
            self.counters.pins_rejected += 1;
            self.attach_in_vain(turn, client);
            self.touch(client, turn.now);
            return Taken::Now;
        }
        if self.asks_in_vain(client, &statement) {
            self.answer_err(turn, client, &ClientError::diagnostics_elsewhere());
            self.attach_in_vain(turn, client);
            return Taken::Now;
        }
        let Some(record) = self.clients.get_mut(client) else {
            return Taken::Now;
        };
        let Some(backend_key) = record.backend else {
            return Taken::Now;
        };
        let Some(backend) = self.pool.get_mut(backend_key) else {
            return Taken::Now;
        };
        let mut restore = Restore::default();
        if !backend.session.matches(&record.session) {
            restore = plan(&backend.session, &record.session);
        }
        if statement.kind == Kind::Use {
            // It would be replaced at once; and if it is gone, this is the way out.
            restore.schema = None;
        }
        // A plain read could share the write (rule 5), but that its tables are no views with
        // side effects is more than a text can tell.
        let must_await = restore.can_fail && !restore.is_empty();
        self.counters.restores += u64::from(!restore.is_empty());
        let outbox = turn.io.outbox(backend.handle);
        put_restore(outbox, backend, &restore);
        if statement.kind != Kind::Use {
            backend.session.schema.clone_from(&record.session.schema);
        }
        backend
            .session
            .variables
            .clone_from(&record.session.variables);
        backend.session.charset.clone_from(&record.session.charset);
        if self.clients.state(client) != Some(State::Active) {
            self.clients.move_to(client, State::Active, turn.now);
        }
        if self.ask_for_views(turn, client, packet) {
            return Taken::Later;
        }
        if must_await {
            self.pool
                .get_mut(backend_key)
                .iter_mut()
                .for_each(|backend| backend.due |= Due::COMMAND);
            return Taken::Later;
        }
        self.send(turn, client, packet, statement);
        Taken::Now
    }

    /// Takes the right to be pinned, unless the session has it or too many others do.
    fn may_be_pinned(&mut self, client: Key) -> bool {
        let Some(client) = self.clients.get_mut(client) else {
            return false;
        };
        if client.pin_slot.is_none() {
            client.pin_slot = self.shared.pin(self.settings.max_pinned);
        }
        client.pin_slot.is_some()
    }

    /// What the statement is. Commands other than COM_QUERY are told apart here, too.
    fn judge(&self, client: Key, payload: &[u8]) -> Statement {
        let none = Statement {
            kind: Kind::Use,
            traits: Traits::empty(),
            pins: PinReasons::NONE,
        };
        let [command, text @ ..] = payload else {
            return none;
        };
        if *command != Command::Query as u8 {
            return none;
        }
        let (Some(client), Some(facts)) = (self.clients.get(client), &self.facts) else {
            return none;
        };
        match facts.dialect(&client.session) {
            Some(dialect) => classify(text, &dialect),
            None => Statement {
                kind: Kind::Unknown,
                traits: Traits::MAY_WRITE,
                pins: PinReason::Unknown.into(),
            },
        }
    }

    fn send<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client_key: Key,
        packet: Packet<'_>,
        statement: Statement,
    ) {
        let Some(client) = self.clients.get_mut(client_key) else {
            return;
        };
        let Some(backend) = client.backend.and_then(|key| self.pool.get_mut(key)) else {
            return;
        };
        let is_new = |&reason: &PinReason| !client.pins.contains(reason);
        let pins: PinReasons = statement.pins.iter().filter(is_new).collect();
        pins.iter().for_each(|reason| self.counters.pinned(reason));
        client.pins |= pins;
        let outbox = turn.io.outbox(backend.handle);
        let text = packet.payload.get(1..).unwrap_or_default();
        let live = backend.warnings == Warnings::OfClient;
        let special =
            rewrite::concerns(&statement) || holdings::concerns(&statement) || !pins.is_empty();
        let facts = self.facts.as_ref();
        let flavor = facts.map_or(Flavor::MySql, |facts| facts.flavor);
        let dialect = facts
            .filter(|_| special)
            .and_then(|facts| facts.dialect(&client.session));
        if let (false, Some(dialect)) = (pins.is_empty(), &dialect) {
            let account = self.settings.accounts.get(client.account as usize);
            let user = account.map_or("", |account| &account.user);
            self.pin_log.note(pins, user, (text, dialect));
        }
        let rewrite = dialect.as_ref().and_then(|dialect| {
            rewrite(&statement, (text, dialect), (client, live), &self.settings)
        });
        if rewrite.is_none() && statement.traits.contains(Traits::READS_DIAGNOSTICS) {
            backend.clear_warnings(outbox);
        }
        let insert_id = rewrite.as_ref().and_then(|rewrite| rewrite.insert_id);
        if let Some(value) = insert_id {
            if backend.insert_id == InsertId::OfClient {
                // The value that is about to be replaced is known to nobody else.
                put_query(outbox, b"SELECT LAST_INSERT_ID()");
                backend.expect(Purpose::ReadInsertId(TextResultSet::default()));
            }
            put_insert_id(outbox, backend, value);
        } else if needs_insert_id(&statement)
            && backend.insert_id != InsertId::OfClient
            && backend.insert_id != InsertId::Known(client.last_insert_id)
        {
            put_insert_id(outbox, backend, client.last_insert_id);
        }
        match &rewrite {
            Some(rewrite) => put_query(outbox, &rewrite.text),
            None => outbox.extend_from_slice(packet.raw),
        }
        backend.replay.clear();
        if rewrite.is_none() {
            backend.keep_for_retry((client, &statement), packet);
        }
        let holding = dialect
            .filter(|_| holdings::concerns(&statement))
            .and_then(|dialect| holding(text, &dialect));
        if holding.is_none() {
            client.holds_unseen(&statement);
        }
        self.counters.statements +=
            u64::from(packet.payload.first() == Some(&(Command::Query as u8)));
        let offset = client
            .login
            .as_ref()
            .map_or(0, |login| login.sequence_id.wrapping_sub(1));
        let command = ClientCommand {
            client: Some(client_key),
            translation: Translation::new(client.dialect(), offset),
            kind: statement.kind,
            traits: statement.traits,
            pins,
            counts: Counts::default(),
            clears_warnings: clears_warnings(&statement, text, flavor),
            in_transaction: client.status.contains(ServerStatus::IN_TRANS),
            holding: holding.map(|holding| Box::new(Effect::new(holding))),
            counts_all_rows: statement.pins.contains(PinReason::FoundRows),
            answered: false,
        };
        backend.exchanges.push_back(Exchange {
            walk: ResponseWalk::new(true, packet.sequence_id),
            purpose: Purpose::Command(command),
        });
    }
}

/// True if what the statement does depends on LAST_INSERT_ID(), or if it may leave that as it is:
/// an INSERT with an explicit id does, and is read back all the same.
fn needs_insert_id(statement: &Statement) -> bool {
    statement
        .traits
        .intersects(Traits::READS_LAST_INSERT_ID | Traits::UNKNOWN_CALL | Traits::GENERATES_ID)
        || matches!(statement.kind, Kind::Call | Kind::Multiple | Kind::Unknown)
}

/// Appends the commands of a restore and notes that their answers will come.
fn put_restore(outbox: &mut Vec<u8>, backend: &mut Backend, restore: &Restore) {
    if !restore.set.is_empty() {
        put_query(outbox, &restore.set);
        backend.expect(Purpose::Restore(RestorePart::Set));
    }
    if let Some(schema) = &restore.schema {
        put_command(outbox, Command::InitDb, schema);
        let previous = backend.session.schema.clone();
        backend.expect(Purpose::Restore(RestorePart::Schema(previous)));
    }
}

fn put_insert_id(outbox: &mut Vec<u8>, backend: &mut Backend, id: u64) {
    put_query(outbox, format!("SET last_insert_id={id}").as_bytes());
    backend.expect(Purpose::Restore(RestorePart::InsertId));
    backend.insert_id = InsertId::Known(id);
}

/// Appends a COM_QUERY of our own.
pub(crate) fn put_query(outbox: &mut Vec<u8>, text: &[u8]) {
    put_command(outbox, Command::Query, text);
}

/// Appends a command of our own.
pub(crate) fn put_command(outbox: &mut Vec<u8>, command: Command, argument: &[u8]) {
    if argument.len() < wire::MAX_PAYLOAD - 1 {
        let mut packet = PacketWriter::begin(outbox, 0);
        packet.payload().push(command as u8);
        packet.payload().extend_from_slice(argument);
        packet.finish();
    } else {
        write_packet(outbox, 0, &[&[command as u8], argument].concat());
    }
}

impl Backend {
    /// Notes that the answer to a command of ours will come.
    pub(crate) fn expect(&mut self, purpose: Purpose) {
        self.exchanges.push_back(Exchange {
            walk: ResponseWalk::new(true, 0),
            purpose,
        });
    }
}

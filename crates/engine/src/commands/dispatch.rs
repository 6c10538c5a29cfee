//! A command on its way to the backend: what the statement is, what must be restored first, and
//! what may share a write (rule 5).

use events::Io;
use membership::Key;
use session::statement::{Flavor, Kind, Known, Mention, Statement, Traits};
use session::{NARROW, Restore, SessionState, plan, set_client_charset};
use wire::{Command, NO_ATTRIBUTES, PacketWriter, ResponseWalk, ServerStatus, write_packet};

use crate::backend::Step;
use crate::backend::{Backend, Due, Purpose, RestorePart};
use crate::carried::retrack::retracks;
use crate::carried::roles::put_role;
use crate::commands::{Packet, Taken};
use crate::errors::ClientError;
use crate::prepared::named::executes;
use crate::prepared::templates::Template;
use crate::shared::PinLimits;
use crate::{Engine, Mail, Turn};

impl Engine {
    /// Sends an attached client's command, what it needs restored before it.
    pub(crate) fn dispatch<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        packet: Packet<'_>,
        mut statement: Statement,
    ) -> Taken {
        if self.ask_for_routine(turn, client, (packet, &statement)) {
            return Taken::Later;
        }
        if self.refuses_pin(turn, client, &statement) {
            return Taken::Now;
        }
        if self.reads_list_first(turn, client, (packet, &statement))
            || self.keeps_list_first(turn, client, (packet, &statement))
        {
            return Taken::Later;
        }
        let session = self.clients.get(client);
        let mentions = session.map_or_else(Vec::new, |session| {
            session.mentions(&self.known, turn.now, (packet, &statement))
        });
        if self.cleans_first(turn, client, (&statement, &mentions)) {
            return Taken::Later;
        }
        let logs = !mentions.is_empty() && self.logs_what_it_reads(client, packet, &statement);
        let missing = self.missing(client, packet);
        let bound = self.bound(client, (packet, &statement), missing.as_deref());
        let replaced = Replaced::by(&statement, missing.as_deref());
        let mut restore = self.restore(client, bound.as_ref());
        replaced.leave_out_of(&mut restore);
        if let Some(mut pair) = self.attached(client) {
            let command = (packet, &mut statement);
            pair.bring_user_variables(turn.now, command, (mentions, logs), &mut restore);
        }
        self.note_restore(turn, client, (&restore, &statement));
        let Some(record) = self.clients.get_mut(client) else {
            return Taken::Now;
        };
        let Some(backend_key) = record.backend else {
            return Taken::Now;
        };
        let Some(backend) = self.pool.get_mut(backend_key) else {
            return Taken::Now;
        };
        let wanted = bound.as_ref().unwrap_or(&record.session);
        // A plain read could share the write (rule 5), but that its tables are no views with
        // side effects is more than a text can tell.
        let must_await = restore.can_fail && !restore.is_empty();
        let outbox = turn.io.outbox(backend.handle);
        backend.statements.put_closes(outbox);
        put_restore(outbox, backend, &restore);
        replaced.bring(&mut backend.session, wanted);
        self.clients.set_active(client, turn.now);
        if let (Some(template), false) = (&missing, must_await) {
            self.prepare_on_demand(turn, backend_key, template.clone());
            return Taken::Later;
        }
        if missing.is_none()
            && (self.ask_for_views(turn, client, packet) || self.ask_for_right(turn, client))
        {
            return Taken::Later;
        }
        if must_await {
            self.await_answers(backend_key);
            return Taken::Later;
        }
        if let Some(mut pair) = self.attached(client) {
            pair.note_draws(packet, &statement);
        }
        self.forget_defined(turn, &statement);
        self.send(turn, client, packet, statement);
        Taken::Now
    }

    /// The backend has what others have left, and the statement would see it: that is cleaned, and the command looked
    /// at anew. This comes before anything is prepared, which may fail for what is in a variable.
    fn cleans_first<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        (statement, mentions): (&Statement, &[Mention]),
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
    fn reads_list_first<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (packet, statement): (Packet<'_>, &Statement),
    ) -> bool {
        let counted = self
            .clients
            .get(key)
            .and_then(|client| client.counted(packet.payload, statement));
        if counted == Some(Known::FoundRows) && self.reads_rows_first(turn, key) {
            return true;
        }
        let counts = counted.is_some();
        let asks = statement.traits.intersects(Traits::NEEDS_CONDITIONS);
        let Some(client) = self.clients.get(key).filter(|_| asks) else {
            return false;
        };
        let Some(backend) = client
            .backend
            .filter(|_| client.capture.conditions.needs_backend())
        else {
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

    /// The same of `FOUND_ROWS()`.
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
    fn note_restore<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        (restore, statement): (&Restore, &Statement),
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
    fn await_answers(&mut self, backend: Key) {
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

    /// Answers a statement that would pin one session too many. False if it does not.
    fn refuses_pin<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        statement: &Statement,
    ) -> bool {
        let Err(max) = self.takes_pin(client, statement) else {
            return false;
        };
        self.counters.pins_rejected += 1;
        self.answer_err(turn, client, &ClientError::too_many_pinned(max));
        self.attach_in_vain(turn, client);
        self.touch(client, turn.now);
        true
    }

    /// The state in which a statement must be prepared that the client's backend lacks, or runs, if that is another
    /// one than its session's.
    fn bound(
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
        let stays = client.holds_backend() && client.session.schema.is_none();
        let running = prepared.template.binding.while_running(&client.session);
        running.filter(|_| !stays)
    }

    /// What brings the client's backend to the state of its session, or another one, but for user variables.
    pub(crate) fn restore(&self, client: Key, bound: Option<&SessionState>) -> Restore {
        let Some(client) = self.clients.get(client) else {
            return Restore::default();
        };
        let wanted = bound.unwrap_or(&client.session);
        match client.backend.and_then(|key| self.pool.get(key)) {
            Some(backend) if !backend.session.matches(wanted) => plan(&backend.session, wanted),
            _ => Restore::default(),
        }
    }

    /// Takes the right to be pinned, if the statement needs it and the session does not have it. `Err` holds
    /// how many others do.
    fn takes_pin(&mut self, client: Key, statement: &Statement) -> Result<(), usize> {
        let client = self.clients.get_mut(client);
        let Some(client) = client.filter(|_| !statement.pins.is_empty()) else {
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
}

/// What a statement replaces. It is not restored before: it would be replaced at once, and if it is gone, this is
/// the way out.
#[derive(Clone, Copy, Default)]
struct Replaced {
    schema: bool,
    role: bool,
}

impl Replaced {
    fn by(statement: &Statement, missing: Option<&Template>) -> Self {
        if missing.is_some() {
            return Self::default();
        }
        Self {
            schema: leaves_schema(statement.kind, statement.traits),
            role: sets_role(statement.kind, statement.traits),
        }
    }

    fn leave_out_of(self, restore: &mut Restore) {
        if self.schema {
            restore.schema = None;
        }
        if self.role {
            restore.role = None;
        }
    }

    /// A backend is in the state `wanted`, but for what is replaced.
    fn bring(self, backend: &mut SessionState, wanted: &SessionState) {
        let role = backend.role().filter(|_| self.role).map(Box::<[u8]>::from);
        if !self.schema {
            backend.take_schema(wanted);
        }
        backend.take_all_but_schema(wanted);
        if self.role {
            backend.set_role(role.as_deref());
        }
    }
}

fn sets_role(kind: Kind, traits: Traits) -> bool {
    kind == Kind::Set && traits.contains(Traits::SETS_ROLE)
}

/// True of a statement before which the schema of its session is not selected: it selects one, or it may take the role
/// that it sets.
pub(crate) fn leaves_schema(kind: Kind, traits: Traits) -> bool {
    kind == Kind::Use || sets_role(kind, traits)
}

/// Appends the commands of a restore and notes that their answers will come.
pub(crate) fn put_restore(outbox: &mut Vec<u8>, backend: &mut Backend, restore: &Restore) {
    if restore.narrows {
        backend.put_query(outbox, NARROW);
        backend.expect(Step::Restore(RestorePart::Set));
    }
    if !restore.set.is_empty() {
        backend.put_query(outbox, &restore.set);
        let gives_up = restore.gives_up;
        backend.expect(Step::Restore(RestorePart::Variables { gives_up }));
    }
    if let Some(role) = &restore.role {
        put_role(outbox, backend, role);
    }
    if let Some(schema) = &restore.schema {
        let previous = backend.session.schema.clone();
        let part = Step::Restore(RestorePart::Schema(previous));
        backend.put_schema(outbox, (schema, restore.misread_in.as_deref()), part);
    }
    for statement in &restore.next {
        backend.put_query(outbox, statement);
        backend.expect(Step::Restore(RestorePart::Set));
    }
}

/// Appends a command of our own.
pub(crate) fn put_command(outbox: &mut Vec<u8>, command: Command, argument: &[u8]) {
    put_command_of(outbox, command, [b"", argument]);
}

/// The same with an argument of two parts. Returns the sequence id of its last packet.
pub(crate) fn put_command_of(outbox: &mut Vec<u8>, command: Command, argument: [&[u8]; 2]) -> u8 {
    let [first, second] = argument;
    let next = if first.len() + second.len() < wire::MAX_PAYLOAD - 1 {
        let mut packet = PacketWriter::begin(outbox, 0);
        packet.payload().push(command as u8);
        packet.payload().extend_from_slice(first);
        packet.payload().extend_from_slice(second);
        packet.finish()
    } else {
        write_packet(outbox, 0, &[&[command as u8], first, second].concat())
    };
    next.wrapping_sub(1)
}

/// A schema that everybody may select.
pub(crate) const LEFT_FOR: &[u8] = b"information_schema";

impl Backend {
    /// Appends what selects a schema, whose name is in UTF-8; `charset`: the `character_set_client` in which it would be
    /// read as another one.
    pub(crate) fn put_schema(
        &mut self,
        outbox: &mut Vec<u8>,
        (schema, charset): (&[u8], Option<&[u8]>),
        step: Step,
    ) {
        if charset.is_some() {
            self.put_client_charset(outbox, b"utf8mb4");
        }
        if self.session.is_to_reselect() {
            self.leave_schema(outbox);
        }
        put_command(outbox, Command::InitDb, schema);
        self.expect(step);
        if let Some(charset) = charset {
            self.put_client_charset(outbox, charset);
        }
    }

    /// Appends what selects a schema that everybody may select: of one that is selected again MariaDB keeps the character
    /// set that it had.
    pub(crate) fn leave_schema(&mut self, outbox: &mut Vec<u8>) {
        put_command(outbox, Command::InitDb, LEFT_FOR);
        self.expect(Step::Reselect);
    }

    fn put_client_charset(&mut self, outbox: &mut Vec<u8>, charset: &[u8]) {
        self.put_query(outbox, &set_client_charset(charset));
        self.expect(Step::Restore(RestorePart::Set));
    }

    /// Appends a COM_QUERY of our own.
    pub(crate) fn put_query(&self, outbox: &mut Vec<u8>, text: &[u8]) {
        let attributes = match self.attributes {
            true => NO_ATTRIBUTES,
            false => b"",
        };
        put_command_of(outbox, Command::Query, [attributes, text]);
    }

    /// Notes that the answer to a command of ours will come.
    pub(crate) fn expect(&mut self, purpose: impl Into<Purpose>) {
        self.owe(ResponseWalk::new(true, 0), purpose.into());
    }
}

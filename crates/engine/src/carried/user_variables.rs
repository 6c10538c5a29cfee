//! User variables (`@x`): carried from backend to backend. What a statement may have assigned is read
//! back before the session is detached, and set again on the next backend before a statement that
//! could see it: one that mentions a user variable, and one that may run a routine or a trigger.
//!
//! Bounded per session (`UserVariables::BYTES_MAX`); what is more, or cannot be read back, pins.

use events::Io;
use membership::Key;
use session::statement::{
    Kind, Mention, PinReason, Statement, Traits, carried_name, user_variables,
};
use session::{
    ColumnType, Restore, Told, UserValue, UserVariables, ask_for_user_variables,
    put_user_variables, same_user_variables,
};
use wire::{Command, ErrPacket, Piece, TextResultSet, WalkError, code};

use crate::backend::{Backend, ClientCommand, Due, Purpose};
use crate::client::Client;
use crate::commands::Packet;
use crate::commands::answers::Ending;
use crate::prepared::by_name::Prepared;
use crate::prepared::named::executes;
use crate::shared::PinLimits;
use crate::{Engine, Mail, Turn};

/// So many different names may wait to be read back.
const UNREAD_MAX: usize = 256;

/// So many variables of earlier sessions may be left as NULL before the backend is cleaned.
const CLEARED_MAX: usize = 64;

/// Bytes at the end of a column definition that hold its fixed part. Source: "Column Definition" in
/// the MySQL manual.
const FIXED_PART: usize = 12;

/// What a backend holds besides the state of its session.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    /// Variables that the attached session may have assigned and that were not read back.
    unread: Vec<Box<[u8]>>,
    /// Variables that are NULL because they were another session's. Whoever never set one is told
    /// NULL, but as a column of another type than if nobody had.
    cleared: Vec<Box<[u8]>>,
    /// What is prepared by name.
    pub(crate) prepared: Prepared,
}

/// A question about user variables, and its answer so far.
#[derive(Debug)]
pub(crate) struct ReadVariables {
    names: Vec<Box<[u8]>>,
    /// The end of the column definition at hand.
    definition: Vec<u8>,
    columns: Vec<ColumnType>,
    rows: TextResultSet,
}

impl ReadVariables {
    /// Takes in a piece of the answer.
    pub(crate) fn piece(&mut self, piece: &Piece<'_>) -> Result<(), WalkError> {
        match piece {
            Piece::Column(bytes) => {
                self.complete_column();
                self.definition.extend_from_slice(bytes);
            }
            Piece::Rest(bytes) if !self.definition.is_empty() => {
                self.definition.extend_from_slice(bytes);
            }
            Piece::ColumnsEnd(_) => self.complete_column(),
            _ => {}
        }
        Ok(self.rows.piece(piece)?)
    }

    fn complete_column(&mut self) {
        if let Some(fixed) = self.definition.last_chunk() {
            self.columns.push(column_type(fixed));
        }
        self.definition.clear();
    }

    /// What `user` becomes with these values. `None` if one of them cannot be carried.
    fn values(&self, mut user: UserVariables) -> Option<UserVariables> {
        let row = self.rows.rows().next()?;
        let told = self.columns.chunks_exact(4).zip(row.chunks_exact(4));
        for (name, (columns, values)) in self.names.iter().zip(told) {
            let [value, hex, charset, collation] = values else {
                return None;
            };
            let text = |value: &'_ Option<Vec<u8>>| value.clone().unwrap_or_default();
            let value = UserValue::told(&Told {
                column: *columns.first()?,
                value: value.as_deref(),
                hex: &text(hex),
                charset: &text(charset),
                collation: &text(collation),
            })?;
            user.set(name, value);
        }
        (user.bytes() <= UserVariables::BYTES_MAX).then_some(user)
    }
}

fn column_type(fixed: &[u8; FIXED_PART]) -> ColumnType {
    const DOUBLE: u8 = 5;
    const LONGLONG: u8 = 8;
    const NEWDECIMAL: u8 = 246;
    const UNSIGNED: u8 = 32;
    let [_, _, _, _, _, _, kind, flags, ..] = *fixed;
    match kind {
        LONGLONG if flags & UNSIGNED != 0 => ColumnType::Unsigned,
        LONGLONG => ColumnType::Integer,
        DOUBLE => ColumnType::Double,
        NEWDECIMAL => ColumnType::Decimal,
        _ => ColumnType::Text,
    }
}

/// True if the account is never told which variables there are: by the next connection's server neither. Other
/// errors, such as that of a KILL, concern this question alone.
fn hides_list(error: &[u8]) -> bool {
    const HIDES: [u16; 5] = [
        code::SCHEMA_ACCESS_DENIED,
        code::UNKNOWN_TABLE,
        code::TABLE_ACCESS_DENIED,
        code::COLUMN_ACCESS_DENIED,
        code::NO_SUCH_TABLE,
    ];
    ErrPacket::parse(error).is_ok_and(|error| HIDES.contains(&error.code))
}

/// A variable that the server lists, and whether it is NULL. `None` if it cannot be carried.
fn listed(row: &[Option<Vec<u8>>]) -> Option<(Box<[u8]>, bool)> {
    let [Some(name), Some(null)] = row else {
        return None;
    };
    let name = carried_name(name)?.to_ascii_lowercase();
    Some((name.into(), null == b"1"))
}

impl Leftovers {
    /// What the attached session has assigned is read back, or lost with it.
    pub(crate) fn is_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// The session is gone.
    pub(crate) fn forget_unread(&mut self) {
        self.unread.clear();
    }

    /// True if the attached session may have assigned the variable, and it was not read back.
    pub(crate) fn may_have(&self, name: &[u8]) -> bool {
        self.unread.iter().any(|unread| **unread == *name)
    }

    /// What the backend has in the variable does not count any more.
    fn overrules(&mut self, name: &[u8]) {
        self.unread.retain(|unread| **unread != *name);
    }

    /// The session may assign these from now on.
    fn assigns(&mut self, mentions: Vec<Mention>) {
        for Mention { name, .. } in mentions {
            self.cleared.retain(|cleared| *cleared != name);
            if !self.unread.contains(&name) {
                self.unread.push(name);
            }
        }
    }

    fn clears(&mut self, name: &[u8]) {
        if !self.cleared.iter().any(|cleared| **cleared == *name) {
            self.cleared.push(name.into());
        }
    }
}

impl Backend {
    /// Adds to a restore what the session's variables need.
    fn restore_user_variables(&mut self, client: &Client, restore: &mut Restore) {
        let (from, to) = (self.session.user.clone(), &client.session.user);
        let leftovers = &mut self.leftovers;
        put_user_variables(&mut restore.set, (from.as_ref(), to.as_ref()), |name| {
            leftovers.clears(name);
        });
        if let Some(own) = to {
            let is_own = |name: &[u8]| own.get(name).is_some();
            leftovers.cleared.retain(|name| !is_own(name));
        }
        self.dirty |= leftovers.cleared.len() > CLEARED_MAX;
        self.session.user.clone_from(to);
    }

    /// True if a variable that the session reads and never set is not as if nobody had set it.
    fn is_tainted(&self, client: &Client, mentions: &[Mention]) -> bool {
        let foreign =
            !same_user_variables(self.session.user.as_ref(), client.session.user.as_ref());
        mentions.iter().filter(|mention| mention.reads).any(|read| {
            let set = |user: Option<&std::sync::Arc<UserVariables>>| {
                user.is_some_and(|user| user.get(&read.name).is_some())
            };
            !set(client.session.user.as_ref())
                && (self.leftovers.cleared.contains(&read.name)
                    || foreign && set(self.session.user.as_ref()))
        })
    }
}

impl Engine {
    /// Adds to a restore what the statement needs of the session's variables. True if the backend must
    /// be cleaned first, after which the command is looked at again.
    pub(crate) fn bring_user_variables<I: Io<Mail>>(
        &mut self,
        turn: &Turn<'_, I>,
        key: Key,
        (packet, statement): (Packet<'_>, &Statement),
        restore: &mut Restore,
    ) -> bool {
        let mentions = self.mentions(key, packet, statement);
        // What type a variable has is told when a statement is prepared.
        let prepares = packet.payload.first() == Some(&(Command::StmtPrepare as u8));
        let needed = prepares && !mentions.is_empty()
            || self.needs_user_variables(turn, key, (packet, statement));
        let Some(client) = self.clients.get(key) else {
            return false;
        };
        let Some(backend) = client.backend.and_then(|key| self.pool.get_mut(key)) else {
            return false;
        };
        let may_clean = !client.holds_backend() && client.login.is_none();
        if may_clean && backend.is_tainted(client, &mentions) {
            return true;
        }
        if needed {
            backend.restore_user_variables(client, restore);
        }
        if statement.traits.contains(Traits::ASSIGNS_USER_VARIABLES) {
            backend.leftovers.assigns(mentions);
        }
        false
    }

    /// Cleans the backend of a session that has nothing on it yet; then its command goes on.
    pub(crate) fn clean_attached<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) {
        let backend = self.clients.get(client).and_then(|client| client.backend);
        let Some(key) = backend else { return };
        self.put_reset(turn, key);
        if let Some(backend) = self.pool.get_mut(key) {
            backend.due |= Due::COMMAND;
        }
    }

    /// The variables that a command mentions. Where that cannot be told the statement pins.
    fn mentions(&self, client: Key, packet: Packet<'_>, statement: &Statement) -> Vec<Mention> {
        let command = packet.payload.first().copied().and_then(Command::from_byte);
        let uses = match command {
            Some(Command::StmtPrepare) => packet.text().contains(&b'@'),
            _ => statement.traits.contains(Traits::USES_USER_VARIABLES),
        };
        if !uses {
            return Vec::new();
        }
        if executes(packet.payload) {
            let client = self.clients.get(client);
            let prepared = client.and_then(|client| client.statement(packet.payload));
            return prepared.map_or_else(Vec::new, |prepared| {
                prepared.template.meaning.mentions.to_vec()
            });
        }
        let mentions = self.mentions_of_text(client, packet.text());
        mentions.unwrap_or_default()
    }

    /// The variables that a text mentions; `None` if they cannot be told or carried.
    pub(crate) fn mentions_of_text(&self, client: Key, text: &[u8]) -> Option<Vec<Mention>> {
        let session = &self.clients.get(client)?.session;
        user_variables(text, &self.facts.as_ref()?.dialect(session)?)
    }

    /// True if the statement could see user variables.
    fn needs_user_variables<I: Io<Mail>>(
        &mut self,
        turn: &Turn<'_, I>,
        key: Key,
        (packet, statement): (Packet<'_>, &Statement),
    ) -> bool {
        let Some(client) = self.clients.get(key) else {
            return false;
        };
        let Some(backend) = client.backend.and_then(|key| self.pool.get(key)) else {
            return false;
        };
        if same_user_variables(backend.session.user.as_ref(), client.session.user.as_ref()) {
            return false;
        }
        let sees = Traits::USES_USER_VARIABLES | Traits::MAY_WRITE | Traits::UNKNOWN_CALL;
        if statement.traits.intersects(sees) {
            return true;
        }
        match statement.kind {
            // A view can call a function.
            Kind::Select => {
                let digest = self.digest(key, packet, statement);
                !self.digests.is_base(digest, turn.now)
            }
            Kind::Show => !statement.traits.contains(Traits::READS_DIAGNOSTICS),
            Kind::Explain | Kind::Set => true,
            _ => false,
        }
    }

    /// Asks the backend for what the session that is about to be detached may have assigned. False if
    /// that is nothing.
    pub(crate) fn read_user_variables<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
    ) -> bool {
        let Some(backend) = self.pool.get_mut(key) else {
            return false;
        };
        let names = std::mem::take(&mut backend.leftovers.unread);
        if names.is_empty() {
            return false;
        }
        let question = ask_for_user_variables(names.iter().map(|name| &**name));
        backend.put_query(turn.io.outbox(backend.handle), &question);
        backend.expect(Purpose::ReadUserVariables(Box::new(ReadVariables {
            names,
            definition: Vec::new(),
            columns: Vec::new(),
            rows: TextResultSet::default(),
        })));
        self.counters.read_backs += 1;
        true
    }

    /// The backend told the values.
    pub(crate) fn learn_user_variables(&mut self, key: Key, read: &ReadVariables, ending: &Ending) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let Some(client) = backend.client else {
            // Nobody knows what they are now.
            backend.dirty = true;
            return;
        };
        let Some(record) = self.clients.get_mut(client) else {
            return;
        };
        let before = record.session.user.as_deref().cloned().unwrap_or_default();
        let values = (*ending == Ending::Ok).then(|| read.values(before));
        let Some(values) = values.flatten() else {
            return self.pin_late(client, PinReason::UserVariable);
        };
        let values = self.interner.user_variables(values);
        let agreed =
            same_user_variables(backend.session.user.as_ref(), record.session.user.as_ref());
        record.session.user = Some(values.clone());
        backend.session.user = match agreed {
            true => Some(values),
            // It lacks what was set without it.
            false => {
                let own = backend.session.user.as_deref().cloned().unwrap_or_default();
                let own = read.values(own).unwrap_or_default();
                Some(self.interner.user_variables(own))
            }
        };
    }

    /// Sets variables of a session without a backend: one that is attached is told of them when a statement
    /// could see them. False if they are more than can be carried.
    pub(crate) fn set_user_variables(
        &mut self,
        client: Key,
        values: Vec<(Box<[u8]>, UserValue)>,
    ) -> bool {
        let Some(client) = self.clients.get_mut(client) else {
            return false;
        };
        let mut user = client.session.user.as_deref().cloned().unwrap_or_default();
        let names: Vec<_> = values.iter().map(|(name, _)| name.clone()).collect();
        for (name, value) in values {
            user.set(&name, value);
        }
        if user.bytes() > UserVariables::BYTES_MAX {
            return false;
        }
        client.session.user = Some(self.interner.user_variables(user));
        if let Some(backend) = client.backend.and_then(|key| self.pool.get_mut(key)) {
            let mut known = backend.session.user.as_deref().cloned().unwrap_or_default();
            for name in &names {
                backend.leftovers.overrules(name);
                known.remove(name);
            }
            backend.session.user = Some(self.interner.user_variables(known));
        }
        true
    }

    /// A statement was answered by which the server says that something of the session has changed,
    /// and the text does not say what: a trigger, or a function behind a view. The server is asked which
    /// variables there are, if it tells the account.
    pub(crate) fn changed_unseen(&mut self, key: Key, command: &ClientCommand, schema: bool) {
        let writes = matches!(
            command.kind,
            Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete | Kind::Load
        );
        let calls = command.traits.contains(Traits::RUNS_KNOWN_BODY);
        // What was prepared in another schema changes that for as long as it runs, and the server says so.
        let reads = command.kind == Kind::Select && !schema;
        let seen = Traits::ASSIGNS_USER_VARIABLES | Traits::UNKNOWN_CALL;
        if !calls && (!(writes || reads) || command.traits.intersects(seen)) {
            return;
        }
        let Some(client) = self.clients.get(key) else {
            return;
        };
        if client.pins.contains(PinReason::UserVariable) {
            return;
        }
        let hides = self.keys[client.key.0 as usize].hides_variables;
        let backend = client.backend.and_then(|key| self.pool.get_mut(key));
        match backend.filter(|_| !hides) {
            Some(backend) => backend.due |= Due::NAMES,
            None => self.pin_late(key, PinReason::UserVariable),
        }
    }

    /// The backend told which variables there are: those that may be the attached session's are read back.
    pub(crate) fn learn_names(&mut self, key: Key, answer: Result<&TextResultSet, &[u8]>) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let Some(client) = backend.client else {
            // Nobody knows what they are now.
            backend.dirty = true;
            return;
        };
        if answer.is_err_and(hides_list)
            && let Some(id) = self.pool.key_of(key)
        {
            self.keys[id.0 as usize].hides_variables = true;
        }
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let rows = answer.ok().map(TextResultSet::rows);
        let names: Option<Vec<_>> = rows.and_then(|rows| rows.map(listed).collect());
        let names = names.filter(|names| names.len() <= UNREAD_MAX);
        let Some(names) = names else {
            return self.pin_late(client, PinReason::UserVariable);
        };
        let cleared =
            |(name, null): &(Box<[u8]>, bool)| *null && backend.leftovers.cleared.contains(name);
        let own = names.into_iter().filter(|listed| !cleared(listed));
        let own = own.map(|(name, _)| Mention { name, reads: false });
        let own = own.collect();
        backend.leftovers.assigns(own);
    }

    /// Pins a session for what has happened already: there is no refusing it.
    pub(crate) fn pin_late(&mut self, key: Key, reason: PinReason) {
        let Some(client) = self.clients.get_mut(key) else {
            return;
        };
        if client.pins.contains(reason) {
            return;
        }
        client.pins.insert(reason);
        let account = self.accounts.account(client.account);
        client.pin_slot = client.pin_slot.take().or_else(|| {
            let pinned = self.shared.pin(&account?.pinned, PinLimits::NONE);
            pinned.ok()
        });
        self.counters.pinned(reason);
    }

    /// A session that keeps its backend for long must not gather names without end.
    pub(crate) fn bound_unread(&mut self, key: Key) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let pinned = |client: &Client| client.pins.contains(PinReason::UserVariable);
        let client = backend.client;
        let keeps = client
            .and_then(|client| self.clients.get(client))
            .is_some_and(pinned);
        if keeps {
            backend.leftovers.forget_unread();
        } else if let (true, Some(client)) = (backend.leftovers.unread.len() > UNREAD_MAX, client) {
            backend.leftovers.forget_unread();
            self.pin_late(client, PinReason::UserVariable);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lasts_hides_the_list_from_an_account() {
        for (code, hides) in [
            (1142, true),
            (1044, true),
            (1146, true),
            (1317, false),
            (1205, false),
        ] {
            let mut packet = Vec::new();
            let error = ErrPacket {
                code,
                sql_state: b"HY000",
                message: b"no",
            };
            error.encode(&mut packet, 1, wire::Capabilities::PROTOCOL_41);
            assert_eq!(hides_list(&packet[wire::HEADER_LEN..]), hides, "{code}");
        }
    }

    #[test]
    fn a_row_that_no_variable_has_is_none() {
        let value = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(
            listed(&[value("A"), value("1")]),
            Some((Box::from(*b"a"), true))
        );
        assert_eq!(listed(&[None, None]), None);
    }
}

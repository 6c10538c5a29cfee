//! What triggers, views and the routines behind them leave in their session without the server saying so. Once a minute,
//! and after what defines one, an account's connection is asked for those that may; statements that name what leads to
//! one pin. Owns the names, and when they are asked for; what leaves something is `session`'s to judge.
//!
//! Where there are none, which is nearly everywhere, a statement costs one look at an empty table.

mod names;
mod question;

use events::{Io, Span, Timestamp};
use membership::Key;
use pool::KeyId;
use session::statement::{Dialect, Flavor, Kind, PinReason, Statement, Traits};
use wire::{Command, ServerStatus};

use self::names::{Names, Reached};
pub(crate) use self::question::ReadStored;
use crate::backend::{Backend, ClientCommand, Due, Purpose};
use crate::client::{Client, First};
use crate::commands::Packet;
use crate::commands::dispatch::put_command;
use crate::conditions::may_name_tables;
use crate::prepared::named::executes;
use crate::{Engine, Mail, Turn};

/// Where the server tells them.
const SCHEMA: &[u8] = b"information_schema";

/// For so long they are what they were: somebody may define one without passing here.
const FRESH: Span = Span::from_secs(60);
/// Where the server takes long to tell, the pause is so many times as long as that took, up to a day.
const PAUSE: u64 = 1_000;
const PAUSE_MAX: Span = Span::from_secs(24 * 60 * 60);
/// The same behind what defines one, of what that took longer than it may.
const PAUSE_DEFINED: u64 = 20;
const QUICK: Span = Span::from_ms(250);
/// For so long an account's connections wait for the first answer to one of them; then they go without.
const PATIENCE: Span = Span::from_ms(1_000);

/// What is known for one key of the pool.
#[derive(Default)]
pub(crate) struct StoredObjects {
    /// What leads to what leaves something that nothing tells of.
    unseen: Names,
    /// What leads to what sets variables, which an error does not tell of.
    sets: Names,
    /// Something was defined since the last question was sent.
    defined: bool,
    /// Whom they are asked of.
    asked: Option<Key>,
    /// They were told, or are not to be had.
    known: bool,
    /// When the first of the questions was sent that led to them.
    since: Timestamp,
    /// Before that they are not asked for again, unless something was defined.
    ask_at: Timestamp,
    /// Nor before that even then.
    ask_defined_at: Timestamp,
}

impl StoredObjects {
    /// Something was defined, or taken away, which may be one. `stored`: what the server runs by itself.
    fn define(&mut self, stored: bool) {
        // Where there are none, what else is defined leads to none.
        let some = !self.unseen.is_empty() || !self.sets.is_empty();
        if stored || some {
            (self.defined, self.asked) = (true, None);
        }
    }

    /// True if it is time to ask: in a hurry for what may have been defined, else now and then.
    fn is_due(&self, now: Timestamp, hurry: bool) -> bool {
        match hurry {
            true => self.defined && now >= self.ask_defined_at,
            false => now >= self.ask_at,
        }
    }

    fn learn(&mut self, read: ReadStored, now: Timestamp) {
        let since = read.since;
        // Whoever has defined something asks beside another.
        if since >= self.since {
            (self.unseen, self.sets) = (read.unseen.names, read.sets.names);
            self.since = since;
        }
        self.pause((since, now));
    }

    fn pause(&mut self, (since, now): (Timestamp, Timestamp)) {
        let took = now.since(since);
        let pause = |took: Span, times| {
            let pause = Span::from_us(took.as_us().saturating_mul(times));
            pause.min(PAUSE_MAX)
        };
        (self.asked, self.known) = (None, true);
        self.ask_at = now + pause(took, PAUSE).max(FRESH);
        self.ask_defined_at = now + pause(took.saturating_sub(QUICK), PAUSE_DEFINED);
    }
}

impl Engine {
    /// A statement that leads to what leaves something behind is one that calls an unknown function.
    pub(crate) fn judge_stored(
        &self,
        client: Key,
        packet: Packet<'_>,
        mut statement: Statement,
    ) -> Statement {
        let Some(client) = self.clients.get(client) else {
            return statement;
        };
        let known = &self.keys[client.key.0 as usize].stored;
        if known.unseen.is_empty() && known.sets.is_empty() || !packet.is_statement() {
            return statement;
        }
        let Some(writes) = writes(&statement, packet.text()) else {
            return statement;
        };
        let least = if writes {
            Reached::Written
        } else {
            Reached::Named
        };
        let reaches = |names: &Names| {
            !names.is_empty() && client.reaches(packet, &statement, names) >= Some(least)
        };
        if reaches(&known.unseen) {
            statement.pins.insert(PinReason::StoredObject);
            statement.traits |= Traits::UNKNOWN_CALL | Traits::MAY_WRITE;
            statement.traits -= Traits::PURE_READ;
        } else if reaches(&known.sets) {
            statement.traits |= Traits::SETS_BEHIND;
            statement.traits -= Traits::PURE_READ;
        }
        statement
    }

    /// A statement failed behind which a trigger, or what it runs, may have set user variables.
    pub(crate) fn may_have_set_behind(&mut self, command: &ClientCommand) {
        let client = command.client.and_then(|key| self.clients.get(key));
        let follows = client.is_some_and(|client| !client.pins.contains(PinReason::UserVariable));
        if !command.traits.contains(Traits::SETS_BEHIND) {
            return;
        }
        if let Some(key) = command.client {
            self.may_have_set_unseen(key);
            if follows {
                self.ask_for_names(key);
            }
        }
    }

    /// What is known may be old. Told before what defines something runs, and behind it.
    pub(crate) fn stored_defined(&mut self, stored: bool) {
        self.keys
            .iter_mut()
            .for_each(|key| key.stored.define(stored));
    }

    /// Asks a backend that nobody has, if it is time. True if nobody is to get it yet: it was asked, or waits until
    /// the first answer of another one has come.
    pub(crate) fn ask_for_stored<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let Some(id) = self.pool.key_of(key) else {
            return false;
        };
        if self.stored_under_way(id) {
            let waits = !self.keys[id.0 as usize].stored.known;
            let until = turn.now + PATIENCE;
            self.parked.extend(Some((key, until)).filter(|_| waits));
            return waits;
        }
        let due = self.keys[id.0 as usize].stored.is_due(turn.now, false);
        due && self.put_stored_question(turn, key)
    }

    /// Those that have waited for the first answer to one of them go on: it came, takes too long, or whoever was asked is
    /// gone.
    pub(crate) fn unpark<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>) {
        let mut parked = std::mem::take(&mut self.parked);
        parked.retain(|&(key, until)| {
            let Some(id) = self.pool.key_of(key) else {
                return false;
            };
            let late = turn.now >= until;
            if self.stored_under_way(id) && !late {
                return true;
            }
            self.keys[id.0 as usize].stored.known |= late;
            self.goes_on(turn, key);
            false
        });
        self.parked.append(&mut parked);
    }

    /// When the first of them has waited for too long.
    pub(crate) fn parked_due(&self) -> Option<Timestamp> {
        self.parked.iter().map(|&(_, until)| until).min()
    }

    fn stored_under_way(&self, id: KeyId) -> bool {
        let asked = self.keys[id.0 as usize].stored.asked;
        let asked = asked.and_then(|key| self.pool.get(key));
        asked.is_some_and(|backend| backend.owes(|due| matches!(due, Purpose::ReadStored(_))))
    }

    /// The same of the backend that a statement is about to be sent to, if something was defined meanwhile. Where it
    /// cannot be asked, because the session holds it, a view may set LAST_INSERT_ID().
    pub(crate) fn ask_for_defined<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        client: Key,
        (packet, statement): (Packet<'_>, &mut Statement),
    ) -> bool {
        let Some(record) = self.clients.get(client) else {
            return false;
        };
        let known = &self.keys[record.key.0 as usize].stored;
        let within = record.holds_backend() || self.is_confined(record);
        // The first connection could not be asked before there was a session with a schema on it.
        let selects = self.pool.key(record.key).names_no_schema();
        let selectable = self.flavor() == Flavor::MariaDb && record.session.schema.is_some();
        let first = selects && selectable && !known.known;
        // Whoever has defined something need not wait until others may ask.
        let due = || (first || known.is_due(turn.now, true)) && !self.stored_under_way(record.key);
        if !record.first.contains(First::DEFINITIONS) && !due() || !may_reach(packet, statement) {
            return false;
        }
        if within {
            statement.traits |= Traits::SETS_LAST_INSERT_ID;
            if !record.pins.is_empty() && record.first.contains(First::DEFINITIONS) {
                // What it has defined since it is pinned is not known, and may outlast the reason of that.
                statement.pins.insert(PinReason::StoredObject);
            }
            return false;
        }
        let Some(backend) = record.backend else {
            return false;
        };
        // A question empties the list of conditions, and is one that counts rows.
        if !self.read_warnings(turn, backend) && !self.read_found_rows(turn, backend) {
            if !self.put_stored_question(turn, backend) {
                return false;
            }
            let record = self.clients.get_mut(client);
            record
                .into_iter()
                .for_each(|record| record.first -= First::DEFINITIONS);
            let backend = self.pool.get_mut(backend);
            backend
                .into_iter()
                .for_each(|backend| backend.due |= Due::COMMAND);
        }
        self.clients.set_active(client, turn.now);
        true
    }

    fn put_stored_question<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let Some(id) = self.pool.key_of(key) else {
            return false;
        };
        let of = self.pool.key(id);
        let asks = !self.accounts.is_ours(of.account) && !of.is_sandbox();
        let selects = of.names_no_schema();
        let flavor = self.flavor();
        // On MySQL not even the schema itself knows its tables then.
        let selectable = flavor == Flavor::MariaDb && self.selects_another(key);
        let asks = asks && (!selects || selectable);
        let backend = self.pool.get_mut(key).filter(|backend| {
            // The question would use up what only the next transaction is to have.
            asks && backend.session.next_transaction().is_none()
        });
        let Some(backend) = backend else {
            return false;
        };
        let mut read = Box::new(ReadStored::new(turn.now));
        let Some(question) = read.question(flavor) else {
            return false;
        };
        let outbox = turn.io.outbox(backend.handle);
        if selects {
            // Then these can name it, too.
            put_command(outbox, Command::InitDb, SCHEMA);
            backend.expect(Purpose::Reselect);
            backend.session.set_schema(SCHEMA, &mut self.interner);
        }
        backend.put_stored_question(outbox, (&question, read));
        let stored = &mut self.keys[id.0 as usize].stored;
        (stored.defined, stored.asked) = (false, Some(key));
        self.counters.read_backs += 1;
        true
    }

    /// True if another schema can be selected on the backend, because whoever comes next has one of its own: none can be
    /// given up.
    fn selects_another(&self, key: Key) -> bool {
        let backend = self.pool.get(key);
        let client = backend.and_then(|backend| self.clients.get(backend.client?));
        let sessions = [
            backend.map(|backend| &backend.session),
            client.map(|client| &client.session),
        ];
        let mut sessions = sessions.into_iter().flatten();
        sessions.any(|session| session.schema.is_some())
    }

    /// The backend told, or did not. What it told may lead to the next question.
    pub(crate) fn stored_told<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        (mut read, told): (Box<ReadStored>, bool),
    ) {
        let flavor = self.flavor();
        let dialect = self.facts.as_ref();
        let dialect = dialect.map(|facts| Dialect::new(facts.flavor, facts.version_number));
        let (Some(id), Some(dialect)) = (self.pool.key_of(key), dialect) else {
            return;
        };
        let times = (read.since, turn.now);
        if !told {
            return self.keys[id.0 as usize].stored.pause(times);
        }
        read.take_in(&dialect);
        let question = read.question(flavor);
        match (question, self.pool.get_mut(key)) {
            (Some(question), Some(backend)) => {
                backend.put_stored_question(turn.io.outbox(backend.handle), (&question, read));
                self.counters.read_backs += 1;
            }
            _ => {
                if read.is_cut {
                    tracing::warn!(
                        "more triggers, views and routines may leave something in sessions than are looked at"
                    );
                }
                self.keys[id.0 as usize].stored.learn(*read, turn.now);
            }
        }
    }
}

impl Backend {
    fn put_stored_question(
        &mut self,
        outbox: &mut Vec<u8>,
        (question, read): (&[u8], Box<ReadStored>),
    ) {
        self.put_query(outbox, question);
        self.expect(Purpose::ReadStored(read));
        // Tables that go while it looks at them leave errors in the list, which a CALL would not empty.
        self.clear_conditions(outbox);
        if !self.status.contains(ServerStatus::AUTOCOMMIT) {
            // It has begun a transaction.
            self.roll_back(outbox);
        }
    }
}

impl Client {
    /// How a command leads to one of these.
    fn reaches(&self, packet: Packet<'_>, statement: &Statement, names: &Names) -> Option<Reached> {
        let schema = self.session.schema.as_deref().unwrap_or_default();
        if executes(packet.payload) {
            let template = &self.statement(packet.payload)?.template;
            let then = template.binding.schema().unwrap_or_default();
            return names.reached(&template.text, &[schema, then]);
        }
        let by_name = statement.traits.contains(Traits::RUNS_PREPARED_TEXT);
        let texts = self.holdings.iter().filter(|_| by_name);
        let texts = texts.flat_map(|holdings| holdings.texts.harmless());
        let reached = texts.map(|(text, then)| names.reached(text, &[schema, then]));
        reached
            .max()
            .flatten()
            .max(names.reached(packet.text(), &[schema]))
    }
}

/// Whether a statement writes; `None` if it can neither fire a trigger nor read a view.
fn writes(statement: &Statement, text: &[u8]) -> Option<bool> {
    match statement.kind {
        Kind::Select | Kind::Do | Kind::Set => Some(statement.traits.contains(Traits::MAY_WRITE)),
        Kind::Insert
        | Kind::Replace
        | Kind::Update
        | Kind::Delete
        | Kind::Load
        | Kind::Call
        | Kind::Multiple
        | Kind::Unknown => Some(true),
        // What a table is filled from.
        Kind::Ddl if !statement.traits.contains(Traits::DEFINES_STORED) => {
            may_name_tables(text).then_some(false)
        }
        Kind::Explain => Some(statement.traits.contains(Traits::MAY_WRITE)),
        _ => None,
    }
}

/// True of what begins a transaction, or may name tables, or what leads to them.
fn may_reach(packet: Packet<'_>, statement: &Statement) -> bool {
    let asks = Traits::NEEDS_CONDITIONS | Traits::READS_ROW_COUNTS;
    if !packet.is_statement() || statement.traits.intersects(asks) {
        return false;
    }
    let is_text = packet.payload.first() == Some(&(Command::Query as u8));
    match statement.kind {
        Kind::Begin => true,
        Kind::Ddl => false,
        Kind::Select | Kind::Do | Kind::Set if is_text => {
            let runs = Traits::RUNS_PREPARED_TEXT | Traits::RUNS_KNOWN_BODY | Traits::UNKNOWN_CALL;
            statement.traits.intersects(runs) || may_name_tables(packet.text())
        }
        _ => writes(statement, packet.text()).is_some(),
    }
}

//! Statements that lead to triggers or views which change the session unseen, and the question for these.

use carry::conditions::may_name_tables;
use carry::packet::Packet;
use carry::prepared::named::executes;
use carry::stored_objects::names::{Names, Reached};
use events::{Io, Span, Timestamp};
use membership::Key;
use pool::{KeyId, State as BackendState};
use session::statement::{Kind, PinReason, Statement, Traits, unseen_question};
use wire::{ErrPacket, ServerStatus, TextResultSet};

use crate::record::ask::Ask;
use crate::record::backend::ClientCommand;
use crate::record::client::Client;
use crate::record::pair::Pair;
use crate::record::records::Records;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// Variables for which the server may refuse a question, or end it.
const LIMITS: [&[u8]; 6] = [
    b"max_join_size",
    b"sql_big_selects",
    b"max_execution_time",
    b"max_statement_time",
    b"cte_max_recursion_depth",
    b"max_recursive_iterations",
];

/// A question that is lost later than this is not asked again at once: it may be what the connection was lost for.
const SLOW: Span = Span::from_secs(10);

impl Pair<'_> {
    /// A statement failed behind which a trigger, or what it runs, may have set user variables.
    pub(crate) fn may_have_set_behind(&mut self, command: &ClientCommand) {
        if !command.traits.contains(Traits::SETS_BEHIND) {
            return;
        }
        let follows = !self.client.pins.contains(PinReason::UserVariable);
        self.may_have_set_unseen();
        if follows {
            self.ask_for_names();
        }
    }
}

impl Records {
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
        // What a pinned session has defined leaves something that may outlast the reason of its pin.
        let defined = client.has_defined() && !known.current;
        let doubts = known.in_doubt || defined;
        let is_empty = known.unseen.is_empty() && known.sets.is_empty();
        if is_empty && !doubts || !packet.is_statement() {
            return statement;
        }
        let Some(writes) = writes(&statement, packet.text()) else {
            return statement;
        };
        let least = match writes {
            true => Reached::Written,
            false => Reached::Named,
        };
        let reaches = |names: &Names| {
            !names.is_empty() && client.reaches(packet, &statement, names) >= Some(least)
        };
        if doubts && (writes || client.may_name_tables(packet)) || reaches(&known.unseen) {
            statement.pins.insert(PinReason::StoredObject);
            statement.traits |= Traits::UNKNOWN_CALL | Traits::MAY_WRITE;
            statement.traits -= Traits::PURE_READ;
        } else if reaches(&known.sets) {
            statement.traits |= Traits::SETS_BEHIND;
            statement.traits -= Traits::PURE_READ;
        }
        statement
    }

    /// A definition has run, on this worker or another one: what is known may be old.
    pub(crate) fn stored_defined(&mut self, stored: bool) {
        self.keys
            .iter_mut()
            .for_each(|key| key.stored.define(stored));
    }

    /// Asks a backend that no session has, if nobody knows yet, or not any more. True if it was asked.
    pub(crate) fn ask_for_stored<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let Some(id) = self.pool.key_of(key) else {
            return false;
        };
        let of = self.pool.key(id);
        let stored = &mut self.keys[id.0 as usize].stored;
        if stored.current || turn.now < stored.ask_at {
            return false;
        }
        if self.accounts.is_ours(of.account) || of.is_sandbox() {
            stored.current = true;
            return false;
        }
        if of.names_no_schema() {
            // Not even `information_schema` can be named there.
            stored.in_doubt = true;
            return false;
        }
        if self.is_asking_for_stored(turn.now, id) {
            return false;
        }
        let Some(backend) = self.pool.get_mut(key) else {
            return false;
        };
        // The question would use up what only the next transaction is to have.
        if backend.session.next_transaction().is_some() {
            return false;
        }
        // A session has set limits, for which it might be refused: it is asked once the backend is clean.
        let variables = &backend.session.variables;
        if LIMITS.iter().any(|limit| variables.get(limit).is_some()) {
            self.reset_backend(turn, key);
            return true;
        }
        let question = unseen_question(self.known.flavor());
        let outbox = turn.io.outbox(backend.handle);
        backend.ask(outbox, Ask::Stored, question.as_bytes());
        // Tables that go while it looks at them leave errors in the list, which a CALL would not empty.
        backend.clear_conditions(outbox);
        if !backend.status.contains(ServerStatus::AUTOCOMMIT) {
            // It has begun a transaction.
            backend.roll_back(outbox);
        }
        // Where it does not answer for long, it is closed.
        if self.pool.state(key) != Some(BackendState::Resetting) {
            self.pool.move_to(key, BackendState::Resetting, turn.now);
        }
        self.keys[id.0 as usize].stored.asked = Some((key, turn.now));
        self.counters.read_backs += 1;
        true
    }

    /// True if an idle backend is not lent yet: it is asked itself, or another one of its key is.
    pub(crate) fn is_held_for_stored<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
    ) -> bool {
        let id = self.pool.key_of(key);
        let id = id.filter(|id| !self.keys[id.0 as usize].stored.current);
        id.is_some_and(|id| {
            self.ask_for_stored(turn, key) || self.is_asking_for_stored(turn.now, id)
        })
    }

    fn is_asking_for_stored(&mut self, now: Timestamp, id: KeyId) -> bool {
        let stored = &mut self.keys[id.0 as usize].stored;
        let Some((asked, since)) = stored.asked else {
            return false;
        };
        let asked = self.pool.get(asked);
        if asked.is_some_and(|backend| backend.owes(|due| matches!(due.ask(), Some(Ask::Stored)))) {
            return true;
        }
        match now.since(since) > SLOW {
            true => self.learn_stored(now, id, None),
            false => stored.asked = None,
        }
        false
    }

    /// The backend answered, if nothing was defined meanwhile.
    pub(crate) fn stored_told(
        &mut self,
        now: Timestamp,
        key: Key,
        reply: Result<&TextResultSet, &[u8]>,
    ) {
        let Some(id) = self.pool.key_of(key) else {
            return;
        };
        let asked = self.keys[id.0 as usize].stored.asked;
        if asked.is_none_or(|(asked, _)| asked != key) {
            return;
        }
        if let Err(error) = reply {
            let error = ErrPacket::parse(error);
            let error = error.map(|error| String::from_utf8_lossy(error.message).into_owned());
            tracing::warn!(
                error = error.unwrap_or_default(),
                "triggers and views cannot be read"
            );
        }
        self.learn_stored(now, id, reply.ok());
    }

    fn learn_stored(&mut self, now: Timestamp, id: KeyId, rows: Option<&TextResultSet>) {
        let stored = &mut self.keys[id.0 as usize].stored;
        let in_doubt = stored.in_doubt;
        stored.learn(rows, now);
        if stored.in_doubt && !in_doubt {
            let account = self.accounts.account(self.pool.key(id).account);
            tracing::warn!(
                user = account.map_or("", |account| account.user()),
                "what its triggers and views leave in a session is not known; sessions that may come to one are pinned"
            );
        }
    }
}

impl Client {
    /// How a command leads to one of the `names`.
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

    /// True if a command may name a table or a view.
    fn may_name_tables(&self, packet: Packet<'_>) -> bool {
        let executed = executes(packet.payload).then(|| self.statement(packet.payload));
        match executed.flatten() {
            Some(executed) => may_name_tables(&executed.template.text),
            None => may_name_tables(packet.text()),
        }
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

//! What follows an answer: whether the session keeps its backend, and who
//! gets it next.

use events::Io;
use membership::Key;
use pool::State as BackendState;
use session::statement::{Flavor, Kind, PinReason, Traits};
use wire::{ErrPacket, ServerStatus, code};

use crate::backend::Step;
use crate::backend::{Backend, ClientCommand, Due, InsertId, PreparedXa, Purpose, RestorePart};
use crate::carried::refused::explained;
use crate::client::LoginStep;
use crate::commands::answers::Ending;
use crate::commands::mentions;
use crate::endings::retry::Retry;
use crate::errors::ClientError;
use crate::lanes::digests::Sample;
use crate::pair::Pair;
use crate::report::counters::DisconnectReason;
use crate::shared::SchemaChange;
use crate::{Engine, Mail, Turn};

impl Engine {
    /// The answer to the oldest command under way is complete.
    pub(crate) fn answered<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        ending: &Ending,
    ) {
        let lane = self.is_lane(key);
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let attached = backend.client;
        let Some(exchange) = backend.exchanges.pop_front() else {
            return;
        };
        let since = std::mem::replace(&mut backend.head_since, turn.now);
        backend.no_kill_survives();
        let service = turn.now.since(since).saturating_sub(turn.io.told_late());
        let bytes = exchange.bytes;
        if *ending != Ending::Ok
            && exchange.purpose.is_question()
            && let Some(pair) = self.pair(key)
        {
            // SHOW WARNINGS would tell of it.
            pair.client.capture.conditions.lose();
        }
        match (exchange.purpose, ending) {
            (Purpose::Command(mut command), _) if lane => {
                self.query_answered(turn, key, &mut command);
                let sample = Sample::new((service, bytes), &command, ending);
                self.lane_answered(turn, key, &command, sample);
            }
            (Purpose::Command(mut command), _) => {
                self.query_answered(turn, key, &mut command);
                let sample = Sample::new((service, bytes), &command, ending);
                self.learn_read(turn, key, &command, sample);
                self.answered_alone(turn, key);
                self.command_answered(turn, key, &command, ending);
                self.end_transaction(turn, key);
                let keeping = command.keeping.filter(|_| *ending == Ending::Ok);
                match (command.client, keeping) {
                    (Some(client), Some(keeping)) => self.keep_limits(turn, client, *keeping),
                    (None, Some(keeping)) => self.keep_limits_for_nobody(*keeping),
                    (_, None) => {}
                }
            }
            (Purpose::Own(Step::Kill(victim)), ending) => {
                return self.kill_told(turn, key, (victim, ending));
            }
            (Purpose::Own(step), ending) => {
                if !self.step_answered(turn, key, step, ending) {
                    return;
                }
            }
            (Purpose::Ask(question), ending) => {
                if !self.question_answered(turn, key, question, ending) {
                    return;
                }
            }
        }
        attached
            .into_iter()
            .for_each(|client| self.keep_pin(client));
        self.goes_on(turn, key);
    }

    /// A step of ours was answered. False if the backend is given up.
    fn step_answered<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        step: Step,
        ending: &Ending,
    ) -> bool {
        match (step, ending) {
            (Step::Restore(part), Ending::Err(error)) => {
                self.restore_failed(turn, key, &part, error);
            }
            (Step::Prepare(preparing), Ending::Ok) => self.prepared_on(key, &preparing),
            (Step::Prepare(_), Ending::Err(error)) => self.prepare_failed(turn, key, error),
            (Step::Restore(_) | Step::Reselect | Step::RollBack | Step::Retrack, Ending::Ok)
            | (Step::Repeat | Step::Kill(_), _) => {}
            (Step::Reselect, Ending::Err(_)) => self.lost_schema(key),
            (Step::RollBack, Ending::Err(error)) => self.rollback_refused(key, error),
            (Step::Probe(probe), ending) => {
                return self.probed(turn, key, (&probe, *ending != Ending::Ok));
            }
            // A KILL that came late hit the ping, as it should.
            (Step::Ping, Ending::Err(_)) => self.ping_again(key),
            (Step::Reset | Step::Setup(_) | Step::Retrack, Ending::Err(error)) => {
                self.backend_refuses_us(turn, key, error);
                return false;
            }
            (Step::Setup(false), Ending::Ok) if self.known.flavor() == Flavor::MariaDb => {
                self.backend_tracks_nothing(turn, key);
                return false;
            }
            (Step::Reset | Step::Setup(_), Ending::Ok) if self.awaits_clean(key) => {}
            (Step::Reset | Step::Setup(_) | Step::Ping, Ending::Ok) => self.ping_answered(key),
        }
        true
    }

    /// True if the backend is cleaned for a command that waits: what it says of its own session does
    /// not concern that of the client.
    fn awaits_clean(&self, key: Key) -> bool {
        let backend = self.pool.get(key);
        backend.is_some_and(|backend| backend.due.contains(Due::COMMAND))
    }

    /// The backend was asked to roll back, and refused: an XA transaction was prepared on it. One that was only begun
    /// refuses, too; a reset ends that.
    fn rollback_refused(&mut self, key: Key, error: &[u8]) {
        if let Some(backend) = self.pool.get_mut(key).filter(|_| !only_began_xa(error)) {
            backend.retired = true;
            backend.prepared_xa = PreparedXa::Certain;
        }
    }

    fn ping_again(&mut self, key: Key) {
        if let Some(backend) = self.pool.get_mut(key) {
            backend.due |= Due::PING;
        }
    }

    /// What is due once an answer was dealt with.
    pub(crate) fn goes_on<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        if self.has_kill_outstanding(key) {
            let id = self.pool.key_of(key);
            id.into_iter().for_each(|id| self.send_kills(turn, id));
        }
        // A login that was refused has let go of the backend already.
        if self.pool.state(key) != Some(BackendState::Idle)
            && self
                .pool
                .get(key)
                .is_some_and(|backend| !backend.is_working())
        {
            self.settle(turn, key);
        }
    }

    fn command_answered<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        command: &ClientCommand,
        ending: &Ending,
    ) {
        let flavor = self.known.flavor();
        let failed = matches!(ending, Ending::Err(_));
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        backend.note_command(command, ending, flavor);
        let releases = !failed && backend.releases(command);
        backend.retired |= releases;
        self.counters.statement_errors += u64::from(failed);
        match command.client.map(|client| self.pair_of(client, key)) {
            Some(Some(mut pair)) => pair.note(command, ending),
            Some(None) => {}
            None => {
                if let Some(backend) = self.pool.get_mut(key) {
                    backend.note_for_nobody(command);
                }
            }
        }
        self.statement_answered(key, (command, ending));
        let effect = command.effect.as_ref();
        if let Some(column) = effect.and_then(|effect| effect.of_lock()?.column()) {
            self.shared.locks.learn(column);
        }
        if let Some(client) = command.client {
            let locks = self.shared.locks.clone();
            if let Some(mut pair) = self.pair_of(client, key) {
                pair.end_pins(command, ending, &locks);
            }
            self.keep_pin(client);
        }
        if !failed {
            self.succeeded(turn, key, command);
        }
        if defines(command.kind, command.traits) {
            self.defined(turn, key, command);
        }
        if let Some(client) = command.client {
            self.login_answered(turn, client, ending);
            if releases {
                // As the server does.
                self.close_client(turn, client, DisconnectReason::Quit);
            }
        }
    }
}

impl Pair<'_> {
    /// What an answer says of the session that waited for it. Nothing of this may be noted of an answer that no session
    /// waits for: the next session of the backend would take it for its own.
    fn note(&mut self, command: &ClientCommand, ending: &Ending) {
        self.backend.note_unsaid(command, ending);
        self.backend.note_insert_id(command, ending);
        self.backend.note_found_rows(command, ending);
        self.note_untold(command);
        let (client, failed) = (&mut *self.client, *ending != Ending::Ok);
        let unrun = never_ran(command, ending);
        if unrun {
            let added = command.pins.iter();
            added.for_each(|reason| client.pins.remove(reason));
            if client.pins.is_empty() {
                client.pin_slot = None;
            }
        }
        client.capture.answered(command, failed);
        client.capture.note_conditions(command, ending);
        client.retry = Retry::Fresh;
        if failed && !unrun {
            self.may_have_set_behind(command);
            self.may_have_set_in_body(command);
        }
    }
}

impl Engine {
    /// What was known of tables, views and whatever runs by itself may have been defined as something else.
    fn defined<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, command: &ClientCommand) {
        let stored = command.traits.contains(Traits::DEFINES_STORED);
        self.forget_schemas(turn, SchemaChange { stored, done: true });
        if command.traits.contains(Traits::DEFINES_SCHEMA) {
            self.reselect_schemas(turn, key);
        }
        let client = command.client.and_then(|key| self.clients.get_mut(key));
        if let Some(client) = client.filter(|_| stored) {
            client.defined_pinned |= !client.pins.is_empty();
        }
        self.may_have_changed_accounts(turn, command.kind, command.traits);
    }

    /// A command has done what it was to do, which may concern more than its session's state.
    fn succeeded<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        command: &ClientCommand,
    ) {
        if command.traits.contains(Traits::SETS_GLOBAL) {
            self.globals_set(turn, key);
        }
        if command.traits.contains(Traits::FLUSHES_HOSTS) {
            self.shared.flush_hosts();
        }
        if command.traits.contains(Traits::FLUSHES_USER_VARIABLES) {
            self.of_session(key, |pair| pair.user_variables_flushed());
        }
        if command.kind == Kind::Account {
            self.account_changed(key, command);
        }
    }

    /// The command was the schema of a login, whose answer decides the login; or what is run behind it.
    fn login_answered<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, ending: &Ending) {
        let Some(login) = self.clients.login_mut(key) else {
            return;
        };
        let initiates = matches!(login.step, LoginStep::Initiating { .. });
        match ending {
            Ending::Ok if initiates => self.initiated(key),
            Ending::Err(_) if initiates => self.not_initiated(turn, key),
            Ending::Ok => {
                if self.may_use_schema(turn, key) {
                    self.welcome(turn, key);
                }
            }
            Ending::Err(payload) => match ErrPacket::parse(payload) {
                Ok(error) => {
                    let error = ClientError::told(&error);
                    self.refuse(turn, key, &error, DisconnectReason::LoginRefused);
                }
                Err(_) => self.close_client(turn, key, DisconnectReason::LoginRefused),
            },
        }
    }

    /// A restore was refused: that is the answer to the command it was for, which is not run, or
    /// whose answer is not told if it was a plain read (rule 5).
    fn restore_failed<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        part: &RestorePart,
        error: &[u8],
    ) {
        if self.goes_without(key, part) {
            return;
        }
        self.counters.restore_errors += 1;
        let backend = self.pool.get_mut(key);
        let for_list = backend.is_some_and(Backend::gives_up_list);
        // The command that waits has not been looked at for what it needs restored itself.
        let goes_on = for_list && matches!(part, RestorePart::Schema(_) | RestorePart::Role(_));
        let mut words = Vec::new();
        let told = explained(part, error, &mut words);
        if told.is_some()
            && !goes_on
            && let Some(pair) = self.pair(key)
        {
            pair.client.capture.failed();
        }
        let id = self.pool.key_of(key);
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        backend.stays_without(part);
        if goes_on {
            return;
        }
        let sent = backend
            .exchanges
            .iter_mut()
            .find_map(|exchange| match &mut exchange.purpose {
                Purpose::Command(command) => command.client.take(),
                _ => None,
            });
        // If two parts were refused, the first has been told already.
        let unsent = backend
            .client
            .filter(|_| backend.due.contains(Due::COMMAND));
        let Some(client_key) = sent.or(unsent) else {
            return;
        };
        backend.due -= Due::COMMAND;
        let Some(client) = self.clients.get_mut(client_key) else {
            return;
        };
        if let (Some(id), Some(schema)) = (id, &client.session.schema) {
            self.known.schemas.forget(id, schema);
        }
        if let (Some(told), Some(_)) = (&told, sent) {
            // The backend's list is that of the statement behind the restore, which is not told.
            let conditions = &mut client.capture.conditions;
            conditions.refused(ClientError::told(told), false);
        }
        if let Some(told) = told {
            told.encode(
                turn.io.outbox(client.handle),
                client.answer_begins,
                wire::Capabilities::PROTOCOL_41,
            );
        }
        if sent.is_none() {
            self.drop_first_command(client_key);
        }
    }

    pub(crate) fn ping_answered(&mut self, key: Key) {
        let Some(backend) = self.pool.get(key) else {
            return;
        };
        if let Some(client) = backend
            .client
            .and_then(|client| self.clients.get_mut(client))
        {
            client.status = backend.status - ServerStatus::OF_STATEMENT;
        }
    }
}

/// True if the statement may define what was known to be a table, or a schema, as something else, or
/// take it away.
pub(crate) fn defines(kind: Kind, traits: Traits) -> bool {
    match kind {
        Kind::Account => true,
        Kind::Ddl | Kind::Multiple | Kind::Unknown => traits.contains(Traits::IMPLICIT_COMMIT),
        _ => false,
    }
}

/// True if the server could not even parse the statement: it changed nothing. Of statements that run others it
/// may have been one of those.
pub(crate) fn never_ran(command: &ClientCommand, ending: &Ending) -> bool {
    let runs_others = matches!(command.kind, Kind::Call | Kind::Multiple | Kind::Prepared)
        || command.traits.contains(Traits::MULTIPLE);
    ending.code() == Some(code::PARSE_ERROR) && !runs_others
}

/// True if a ROLLBACK was refused in an XA transaction that is not prepared. Only the message tells its state, whose
/// name no `lc_messages` translates; in a character set with wide letters, too.
fn only_began_xa(error: &[u8]) -> bool {
    let Ok(error) = ErrPacket::parse(error) else {
        return false;
    };
    let mut message = error.message.to_vec();
    message.retain(|&byte| byte != 0);
    error.code == code::XA_WRONG_STATE && !mentions(&message, b"prepared")
}

impl Backend {
    /// Notes what the answer to a command says of the backend, whether or not a session waits for it.
    fn note_command(&mut self, command: &ClientCommand, ending: &Ending, flavor: Flavor) {
        let failed = matches!(ending, Ending::Err(_));
        self.statements.executed(failed);
        if failed && leaves_transaction_open(command.kind, self.status) {
            self.due |= Due::PING;
        }
        self.note_hidden(command, ending);
        self.note_locks(command.kind, ending, flavor);
    }

    /// No session waits for the answer to a command: its client hung up, or was answered otherwise. What the command has
    /// left behind is cleaned away before another session gets the backend.
    fn note_for_nobody(&mut self, command: &ClientCommand) {
        self.dirty |= !command.traits.contains(Traits::PURE_READ);
        self.counted_rows = false;
    }

    /// True if the server closes the connection behind a statement that succeeded.
    fn releases(&self, command: &ClientCommand) -> bool {
        let ends = matches!(command.kind, Kind::Commit | Kind::Rollback);
        let set = self.session.variables.get(b"completion_type");
        let by_itself = set.is_some_and(|value| matches!(value, b"RELEASE" | b"2"));
        let keeps = command.traits.contains(Traits::KEEPS_CONNECTION);
        ends && (by_itself && !keeps || command.traits.contains(Traits::RELEASES_CONNECTION))
    }

    /// Notes whether LAST_INSERT_ID() may have changed without a word in the answer.
    fn note_insert_id(&mut self, command: &ClientCommand, ending: &Ending) {
        let unsaid = Traits::SETS_LAST_INSERT_ID | Traits::UNKNOWN_CALL;
        if command.traits.intersects(unsaid)
            || matches!(command.kind, Kind::Call | Kind::Multiple | Kind::Unknown)
            || generated_unseen(command, ending)
        {
            self.insert_id = InsertId::OfClient;
        }
    }

    /// Notes what of the session must be read back, since no answer says it in full.
    fn note_unsaid(&mut self, command: &ClientCommand, ending: &Ending) {
        if command.traits.contains(Traits::SETS_CHARSET) && !refused_whole(command.kind, ending) {
            self.due |= Due::CHARSET;
        }
        if command.traits.contains(Traits::DRAWS_SEQUENCE) && *ending == Ending::Ok {
            self.leftovers.sequences.succeeded();
        }
        self.note_retracked(command);
        if may_have_set_role(command, *ending != Ending::Ok) {
            self.due |= Due::ROLE;
        }
        // An ERR does not say which variables were put back.
        let failed = *ending != Ending::Ok && !never_ran(command, ending);
        let untold = Traits::FOR_STATEMENT | Traits::HINTS_VARIABLES | Traits::SETS_BEHIND;
        if failed && command.traits.intersects(untold) {
            self.due |= Due::PUT_BACK;
        }
    }

    /// Notes that a statement may have prepared an XA transaction, which its answer does not say.
    fn note_hidden(&mut self, command: &ClientCommand, ending: &Ending) {
        let hidden =
            [PinReason::Call, PinReason::Unknown].map(|reason| command.pins.contains(reason));
        if hidden.contains(&true) && !never_ran(command, ending) {
            self.prepared_xa = self.prepared_xa.max(PreparedXa::Possible);
        }
    }

    /// Notes whether tables may be locked although the status flags tell of no transaction.
    fn note_locks(&mut self, kind: Kind, ending: &Ending, flavor: Flavor) {
        let ends =
            matches!(kind, Kind::Commit | Kind::Rollback | Kind::Ddl) && *ending == Ending::Ok;
        let off = !self.status.contains(ServerStatus::AUTOCOMMIT);
        self.keeps_locks = off && flavor == Flavor::MySql && !ends;
    }
}

/// True if an id may have been generated that the answer does not tell. That of LOAD never does.
fn generated_unseen(command: &ClientCommand, ending: &Ending) -> bool {
    let hidden = command.kind == Kind::Load || command.pins.contains(PinReason::Call);
    hidden || returned_rows(command) || failed_later(command, ending)
}

/// True of `INSERT … RETURNING`: what ends rows does not say which id was generated.
fn returned_rows(command: &ClientCommand) -> bool {
    command.traits.contains(Traits::GENERATES_ID) && command.counts.result_set
}

/// True of an INSERT of several rows that may have generated an id before it failed.
fn failed_later(command: &ClientCommand, ending: &Ending) -> bool {
    command.traits.contains(Traits::GENERATES_ID) && matches!(ending, Ending::Err(_))
}

/// Where a SET ROLE has failed the session has the role of before, which the backend need not have.
fn may_have_set_role(command: &ClientCommand, failed: bool) -> bool {
    command.traits.contains(Traits::SETS_ROLE) && !(failed && command.kind == Kind::Set)
}

/// True if a SET was refused for the name of a character set or collation: both servers look at all that it sets
/// before they set any of it, so it has changed nothing.
fn refused_whole(kind: Kind, ending: &Ending) -> bool {
    let unknown = matches!(
        ending.code(),
        Some(code::UNKNOWN_CHARSET | code::UNKNOWN_COLLATION)
    );
    unknown && kind == Kind::Set
}

/// True if an ERR leaves open whether there is a transaction: it has no status flags (rule 9).
fn leaves_transaction_open(kind: Kind, before: ServerStatus) -> bool {
    let within =
        before.contains(ServerStatus::IN_TRANS) || !before.contains(ServerStatus::AUTOCOMMIT);
    let single = matches!(
        kind,
        Kind::Select
            | Kind::Show
            | Kind::Explain
            | Kind::Insert
            | Kind::Replace
            | Kind::Update
            | Kind::Delete
            | Kind::Use
    );
    within || !single
}

//! After an answer: what it says of the session, what must be asked next, and who gets the backend then.

use carry::effect::{Act, Effect};
use carry::ending::Ending;
use carry::errors::ClientError;
use carry::holdings;
use carry::packet::{Packet, Taken, defines};
use carry::prepared::client_statements::Refused;
use carry::prepared::named::executes;
use carry::trust::{Probe, Tracker};
use events::Io;
use membership::Key;
use pool::State as BackendState;
use session::statement::{Dialect, Flavor, Holding, Kind, PinReason, Statement, Traits, holding};
use wire::{Capabilities, Command, ErrPacket, ServerStatus, code};

use crate::desk::Engine;
use crate::follow::refused::explained;
use crate::record::ask::{Ask, Question};
use crate::record::backend::{Backend, ClientCommand, Due, PreparedXa, Purpose, RestorePart, Step};
use crate::record::carried::Reply;
use crate::record::client::{LoginStep, State};
use crate::record::counters::DisconnectReason;
use crate::record::shared::{Mail, SchemaChange};
use crate::record::turn::Turn;
use crate::steps::timers::carried_timeout;

/// Reads the values that a session begins with, on a server whose session tracker is not sound (MariaDB).
const READ_BEGINNING: &[u8] =
    b"SELECT LOWER(VARIABLE_NAME),SESSION_VALUE FROM information_schema.SYSTEM_VARIABLES \
    WHERE VARIABLE_SCOPE LIKE 'SESSION%' AND READ_ONLY='NO' LIMIT 10000";

impl Engine {
    /// What the command will do to what the session holds, if that can be told.
    pub(crate) fn effect(
        &mut self,
        client: Key,
        packet: Packet<'_>,
        statement: &Statement,
        dialect: Option<&Dialect>,
    ) -> Option<Effect> {
        let act = match packet.payload.first().copied().and_then(Command::from_byte) {
            Some(Command::StmtPrepare) => {
                let stays = statement.pins.contains(PinReason::Prepared);
                self.records.preparing(client, packet.text(), stays)
            }
            Some(Command::Query) if statement.kind == Kind::Prepared => {
                self.records.act_by_name(client, packet)
            }
            _ => self
                .records
                .clients
                .get(client)
                .and_then(|client| client.retracking(packet, statement, dialect))
                .or_else(|| self.records.act_on_statement(client, packet.payload)),
        };
        if act.is_some() {
            return act.map(Effect::of_statement);
        }
        if !holdings::concerns(statement) {
            return None;
        }
        let dialect = dialect?;
        let runs = executes(packet.payload);
        let holding = match runs {
            false => holding(packet.text(), dialect)?,
            true => {
                let prepared = self
                    .records
                    .clients
                    .get(client)?
                    .statement(packet.payload)?;
                holding(&prepared.template.text, dialect)?
            }
        };
        match holding {
            Holding::Lock(call) => {
                let records = &mut self.records;
                let lock = self.matching.lock_effect(records, client, packet, call);
                Some(Effect::of_statement(Act::Lock(lock)))
            }
            // Its names of tables belong to the schema that was selected when it was prepared.
            _ if runs => None,
            holding => Some(Effect::of_text(holding)),
        }
    }

    /// A question was answered. False if the backend is given up.
    fn question_answered<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        Question { ask, rows }: Question,
        ending: &Ending,
    ) -> bool {
        let reply = match ending {
            Ending::Ok => Ok(&rows),
            Ending::Err(error) => Err(&error[..]),
        };
        self.records.counters.questions_refused += u64::from(reply.is_err());
        if let Err(error) = reply
            && ask.must_be_answered()
        {
            self.backend_refuses_us(turn, key, error);
            return false;
        }
        let told = reply.ok();
        match (ask, told) {
            (Ask::OfSession(thing, kept), _) => self.records.of_session(key, |pair| {
                let outbox = turn.io.outbox(pair.backend.handle);
                (thing.told)(pair, outbox, Reply { kept, rows: reply });
            }),
            (Ask::Facts, Some(facts)) => self.records.learn_session(key, facts),
            (Ask::Beginning, Some(rows)) => self.records.known.learn_beginning(rows),
            (Ask::Globals, Some(facts)) => self.records.learn_changed_globals(turn, facts.clone()),
            (Ask::Collations, Some(rows)) => self.records.learn_collations(rows),
            // Then it is not known; what is asked next, or changes unseen, goes by that.
            (Ask::Facts | Ask::Beginning | Ask::Globals | Ask::Collations, None) => {}
            (Ask::Privileges, told) => self.learn_privileges(turn, key, told),
            (Ask::Right, told) => self.learn_right(turn, key, told),
            (Ask::Views, told) => self.learn_views(turn, key, told),
            (Ask::Tables(read), told) => {
                self.records.known.digests.views_told(&read, told, turn.now);
            }
            (Ask::Stored, _) => self.records.stored_told(turn.now, key, reply),
            (Ask::Routine(read), told) => {
                self.records.known.learn_routine(&read, told, turn.now);
                if let Some(backend) = self.records.pool.get_mut(key)
                    && told.is_none()
                {
                    // A CALL may leave the error in the list of conditions.
                    backend.clear_conditions(turn.io.outbox(backend.handle));
                }
            }
        }
        true
    }

    /// A command goes on whose backend is at rest, after that was cleaned if it has to be.
    fn resume_command<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client: Key) {
        let backend = self
            .records
            .clients
            .get(client)
            .and_then(|client| client.backend);
        let backend = backend.and_then(|key| self.records.pool.get_mut(key));
        match backend.map(|backend| backend.due) {
            Some(due) if due.contains(Due::CLEAN) => self.records.clean_attached(turn, client),
            _ => self.send_from_inbox(turn, client),
        }
    }

    /// The backend has answered the probe of its session tracker, or refused it. False if its server tracks no variable at
    /// all: then the backend is given up, and so is the server.
    pub(crate) fn probed<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        probe: &Probe,
        refused: bool,
    ) -> bool {
        let Some(facts) = &mut self.records.known.facts else {
            return true;
        };
        if probe.untold.is_empty() {
            facts.tracker = Tracker::Sound;
            return true;
        }
        // Older MariaDB 11.4 names none of the variables, but reports for each that something was set.
        if !refused && !probe.tells_any {
            let version = String::from_utf8_lossy(&facts.version);
            let text = format!("{version} does not tell which variables its sessions set");
            self.server_unfit(turn, key, text);
            return false;
        }
        if let Tracker::Unknown | Tracker::Sound = facts.tracker {
            facts.tracker = Tracker::Unsound(None);
        }
        let version = String::from_utf8_lossy(&facts.version);
        if self.records.shared.tracker_is_news(&facts.version) {
            tracing::warn!(
                %version,
                untold = probe.untold.join(","),
                "the server does not tell rightly which variables its sessions set: what a SET names is asked for, \
                which costs a question each"
            );
        }
        let backend = self.records.pool.get_mut(key);
        if let (Flavor::MariaDb, Some(backend)) = (facts.flavor, backend) {
            let outbox = turn.io.outbox(backend.handle);
            backend.ask(outbox, Ask::Beginning, READ_BEGINNING);
        }
        true
    }

    /// Nothing is under way on this backend: does what is due, or lets go of it.
    pub(crate) fn settle<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        if self.awaits_kill(key) {
            return;
        }
        let cut_off = self.records.pool.get(key).is_some_and(Backend::is_cut_off);
        let answers = !cut_off && !self.records.is_in_sandbox(key);
        if answers && self.records.read_back(turn, key) {
            return;
        }
        self.matching.end_transaction(&mut self.records, turn, key);
        let Some(backend) = self.records.pool.get_mut(key) else {
            return;
        };
        let Some(client_key) = backend.client else {
            return self.free(turn, key);
        };
        if backend.due.contains(Due::COMMAND) {
            backend.due -= Due::COMMAND;
            return self.resume_command(turn, client_key);
        }
        let Some(client) = self.records.clients.get(client_key) else {
            return;
        };
        let holds = client.holds_backend();
        if cut_off && holds {
            // What the session has there ends with the connection. It was told the answer.
            self.records
                .clients
                .move_to(client_key, State::Held, turn.now);
            return self.backend_broken(turn, key);
        }
        let is_due = client.capture.conditions.has_more() || !holds;
        if is_due && answers && self.records.read_warnings(turn, key) {
            return;
        }
        if holds {
            self.records
                .clients
                .move_to(client_key, State::Held, turn.now);
            self.records.of_session(key, |pair| pair.bound_unread());
            self.records.keep_pin(client_key);
        } else if answers && self.records.read_last(turn, key) {
            return;
        } else {
            self.detach(turn, client_key, key);
        }
        if self.awaits_limits(turn, client_key) {
            return;
        }
        if self.draining.is_some() && self.records.clients.state(client_key) == Some(State::Idle) {
            return self.close_client(turn, client_key, DisconnectReason::Drain);
        }
        self.consume_inbox(turn, client_key);
    }

    fn detach<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, client_key: Key, key: Key) {
        if let Some(client) = self.records.clients.get_mut(client_key) {
            client.backend = None;
            client.capture.conditions.lose();
            // Also where the statement that would have pinned it was never sent.
            client.unpin();
        }
        if let Some(backend) = self.records.pool.get_mut(key) {
            backend.client = None;
        }
        self.records
            .clients
            .move_to(client_key, State::Idle, turn.now);
        self.records.rekey(client_key);
        if self.records.leave_sandbox(turn, client_key, key) {
            return;
        }
        self.free(turn, key);
    }

    /// No session is attached: the backend goes to the next one, clean (rule 3).
    pub(crate) fn free<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        let new = self.records.pool.state(key) == Some(BackendState::Resetting);
        let Some(backend) = self.records.pool.get_mut(key) else {
            return;
        };
        let too_old = self
            .records
            .settings
            .backend_max_age
            .is_some_and(|max| turn.now.since(backend.opened) > max);
        (backend.orphaned, backend.left_by) = (None, None);
        let retired = backend.retired || backend.is_cut_off();
        let id = self.records.pool.key_of(key);
        if retired || too_old && !id.is_some_and(|id| self.records.is_down_to_one(id)) {
            self.records.drop_backend(turn, key);
            return self.serve_all(turn);
        }
        let Some(backend) = self.records.pool.get_mut(key) else {
            return;
        };
        if std::mem::take(&mut backend.prepared_xa) == PreparedXa::Possible {
            return backend.roll_back(turn.io.outbox(backend.handle));
        }
        if backend.dirty || backend.status.contains(ServerStatus::IN_TRANS) {
            if new {
                tracing::warn!("a reset left a backend in a transaction; closed");
                return self.backend_broken(turn, key);
            }
            return self.records.reset_backend(turn, key);
        }
        if backend.keeps_locks || backend.keeps_characteristics {
            return backend.roll_back(turn.io.outbox(backend.handle));
        }
        if self.records.ask_for_stored(turn, key) {
            return;
        }
        let carried = self.records.pool.get(key).and_then(carried_timeout);
        self.rest(turn, key);
        self.close_before(carried.map(|timeout| turn.now + timeout));
        let Some(id) = self.records.pool.key_of(key) else {
            return;
        };
        if new {
            // Whoever it was opened for comes first: given away unused, it would only go round.
            self.serve(turn, id);
            self.admit_waiters(turn);
        }
        let idle = self.records.pool.state(key) == Some(BackendState::Idle);
        if idle && !self.give_way(turn, key, id) {
            self.serve(turn, id);
        }
    }

    /// A new connection is logged in for sessions whose password has expired. Nothing can be set or asked on it.
    pub(crate) fn sandbox_ready<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        if let Some(id) = self.records.pool.key_of(key) {
            let state = &mut self.records.keys[id.0 as usize];
            (state.failures, state.retry_at) = (0, None);
        }
        if let Some(backend) = self.records.pool.get_mut(key) {
            // Nobody has used it, and it has nothing of any session.
            backend.dirty = false;
        }
        self.free(turn, key);
    }

    /// The answer to the oldest command under way is complete.
    pub(crate) fn answered<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        ending: &Ending,
    ) {
        let lane = self.records.is_lane(key);
        let Some(backend) = self.records.pool.get_mut(key) else {
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
            && let Some(pair) = self.records.pair(key)
        {
            // SHOW WARNINGS would tell of it.
            pair.client.capture.conditions.lose();
        }
        match (exchange.purpose, ending) {
            (Purpose::Command(mut command), _) if lane => {
                self.matching
                    .query_answered(&mut self.records, turn, key, &mut command);
                let sample = command.sample(service, bytes, ending);
                self.lane_answered(turn, key, &command, sample);
            }
            (Purpose::Command(mut command), _) => {
                self.matching
                    .query_answered(&mut self.records, turn, key, &mut command);
                let sample = command.sample(service, bytes, ending);
                self.matching
                    .learn_read(&mut self.records, turn, key, &command, sample);
                self.matching.answered_alone(&mut self.records, turn, key);
                self.command_answered(turn, key, &command, ending);
                self.matching.end_transaction(&mut self.records, turn, key);
                if *ending == Ending::Ok
                    && let Some(keeping) = command.keeping
                {
                    match command.client {
                        Some(client) => self.keep_limits(turn, client, *keeping),
                        None => self.keep_limits_for_nobody(*keeping),
                    }
                }
            }
            (Purpose::Own(Step::Kill(victim)), ending) => {
                return self.kill_told(turn, key, victim, ending);
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
            .for_each(|client| self.records.keep_pin(client));
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
            (Step::Prepare(preparing), Ending::Ok) => self.records.prepared_on(key, &preparing),
            (Step::Prepare(_), Ending::Err(error)) => self.prepare_failed(turn, key, error),
            (Step::Restore(_) | Step::Reselect | Step::RollBack | Step::Retrack, Ending::Ok)
            | (Step::Repeat | Step::Kill(_), _) => {}
            (Step::Reselect, Ending::Err(_)) => self.records.lost_schema(key),
            (Step::RollBack, Ending::Err(error)) => self.records.rollback_refused(key, error),
            (Step::Probe(probe), ending) => {
                return self.probed(turn, key, &probe, *ending != Ending::Ok);
            }
            // A KILL that came late hit the ping, as it should.
            (Step::Ping, Ending::Err(_)) => self.records.ping_again(key),
            (Step::Reset | Step::Setup(_) | Step::Retrack, Ending::Err(error)) => {
                self.backend_refuses_us(turn, key, error);
                return false;
            }
            (Step::Setup(false), Ending::Ok) if self.records.known.flavor() == Flavor::MariaDb => {
                self.backend_tracks_nothing(turn, key);
                return false;
            }
            (Step::Reset | Step::Setup(_), Ending::Ok) if self.records.awaits_clean(key) => {}
            (Step::Reset | Step::Setup(_) | Step::Ping, Ending::Ok) => {
                self.records.ping_answered(key);
            }
        }
        true
    }

    /// What is due once an answer was dealt with.
    pub(crate) fn goes_on<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) {
        if self.records.has_kill_outstanding(key) {
            let id = self.records.pool.key_of(key);
            id.into_iter().for_each(|id| self.send_kills(turn, id));
        }
        // A login that was refused has let go of the backend already.
        if self.records.pool.state(key) != Some(BackendState::Idle)
            && self
                .records
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
        let flavor = self.records.known.flavor();
        let failed = matches!(ending, Ending::Err(_));
        let Some(backend) = self.records.pool.get_mut(key) else {
            return;
        };
        backend.note_command(command, ending, flavor);
        let releases = !failed && backend.releases(command);
        backend.retired |= releases;
        self.records.counters.statement_errors += u64::from(failed);
        match command
            .client
            .map(|client| self.records.pair_of(client, key))
        {
            Some(Some(mut pair)) => pair.note(command, ending),
            Some(None) => {}
            None => {
                if let Some(backend) = self.records.pool.get_mut(key) {
                    backend.note_for_nobody(command);
                }
            }
        }
        self.records.statement_answered(key, command, ending);
        let effect = command.effect.as_ref();
        if let Some(column) = effect.and_then(|effect| effect.of_lock()?.column()) {
            self.records.shared.locks.learn(column);
        }
        if let Some(client) = command.client {
            let locks = self.records.shared.locks.clone();
            if let Some(mut pair) = self.records.pair_of(client, key) {
                pair.end_pins(command, ending, &locks);
            }
            self.records.keep_pin(client);
        }
        if !failed {
            self.records.succeeded(turn, key, command);
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

    /// A command has defined tables, views, triggers or routines: what was known of them may not hold any more.
    fn defined<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, command: &ClientCommand) {
        let stored = command.traits.contains(Traits::DEFINES_STORED);
        self.records
            .forget_schemas(turn, SchemaChange { stored, done: true });
        if command.traits.contains(Traits::DEFINES_SCHEMA) {
            self.records.reselect_schemas(turn, key);
        }
        if stored
            && let Some(client) = command.client
            && let Some(client) = self.records.clients.get_mut(client)
        {
            client.note_definition();
        }
        self.may_have_changed_accounts(turn, command.kind, command.traits);
    }

    /// The answer to a command that belongs to a login: the choice of its schema, which decides the login, or
    /// `init_connect`.
    fn login_answered<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, ending: &Ending) {
        let Some(login) = self.records.clients.login_mut(key) else {
            return;
        };
        let initiates = matches!(login.step, LoginStep::Initiating { .. });
        match ending {
            Ending::Ok if initiates => self.records.initiated(key),
            Ending::Err(_) if initiates => self.not_initiated(turn, key),
            Ending::Ok => {
                if self.may_use_schema(turn, key) {
                    self.records.welcome(turn, key);
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
        if self.records.goes_without(key, part) {
            return;
        }
        self.records.counters.restore_errors += 1;
        let backend = self.records.pool.get_mut(key);
        let for_list = backend.is_some_and(Backend::gives_up_list);
        // The command that waits has not been looked at for what it needs restored itself.
        let goes_on = for_list && matches!(part, RestorePart::Schema(_) | RestorePart::Role(_));
        let mut words = Vec::new();
        let told = explained(part, error, &mut words);
        if told.is_some()
            && !goes_on
            && let Some(pair) = self.records.pair(key)
        {
            pair.client.capture.failed();
        }
        let id = self.records.pool.key_of(key);
        let Some(backend) = self.records.pool.get_mut(key) else {
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
        let unsent = match backend.due.contains(Due::COMMAND) {
            true => backend.client,
            false => None,
        };
        let Some(client_key) = sent.or(unsent) else {
            return;
        };
        backend.due -= Due::COMMAND;
        let Some(client) = self.records.clients.get_mut(client_key) else {
            return;
        };
        if let (Some(id), Some(schema)) = (id, &client.session.schema) {
            self.records.known.schemas.forget(id, schema);
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
                Capabilities::PROTOCOL_41,
            );
        }
        if sent.is_none() {
            self.drop_first_command(client_key);
        }
    }

    /// A command that names a prepared statement.
    pub(crate) fn prepared_command<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        command: Command,
        packet: Packet<'_>,
    ) -> Taken {
        let Some(client) = self.records.clients.get(key) else {
            return Taken::Now;
        };
        if packet.payload.len() < len_min(command, self.records.known.flavor()) {
            self.records.refuse_command(
                turn,
                key,
                &ClientError::malformed_packet(self.records.known.flavor()),
            );
            self.records.touch(key, turn.now);
            return Taken::Now;
        }
        let Some(statement) = client.statement(packet.payload) else {
            return self.records.unknown_statement(turn, key, command, packet);
        };
        let (id, kills) = (statement.id, statement.template.meaning.kills);
        let refused = statement.long.as_ref().and_then(|long| long.refused);
        let cursor = client.has_cursor(id);
        let runs = executes(packet.payload);
        match command {
            Command::StmtClose => self.close_statement(turn, key, id),
            Command::StmtSendLongData => self.records.keep_long_data(key, packet),
            Command::StmtReset if !cursor => {
                self.records.drop_long_data(key, packet.payload);
                self.records.answer_without_rows(turn, key);
            }
            Command::StmtFetch if !cursor => {
                let error = ClientError::no_open_cursor(id, self.records.known.flavor());
                self.records.refuse_command(turn, key, &error);
            }
            Command::StmtExecute if self.records.executed_from_capture(turn, key, packet) => {}
            _ if runs && refused.is_some() => {
                let error = match refused {
                    Some(Refused::NoParameter) => {
                        ClientError::no_such_parameter(self.records.known.flavor())
                    }
                    _ => ClientError::too_much_long_data(),
                };
                self.records.refuse_command(turn, key, &error);
            }
            _ => {
                if runs && let Some(victim) = kills {
                    self.order_kill(turn, key, victim);
                    return Taken::Now;
                }
                let taken = self.attach_and_send(turn, key, packet);
                if taken == Taken::Now {
                    self.records.drop_long_data(key, packet.payload);
                }
                return taken;
            }
        }
        self.records.touch(key, turn.now);
        Taken::Now
    }

    fn close_statement<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, id: u32) {
        let Some(client) = self.records.clients.get_mut(key) else {
            return;
        };
        if let Some(statements) = &mut client.statements {
            statements.close(id);
        }
        if !client.let_go_of_statement(id) {
            return;
        }
        let Some(backend_key) = client.backend else {
            return;
        };
        let detaches = !client.holds_backend();
        if let Some(backend) = self.records.pool.get_mut(backend_key) {
            backend.statements.give_back(id, false);
            let outbox = turn.io.outbox(backend.handle);
            backend.statements.put_closes(outbox);
        }
        if detaches {
            self.records.counters.pins_ended += 1;
            self.records.clients.move_to(key, State::Active, turn.now);
            self.settle(turn, backend_key);
        }
    }

    /// A backend could not prepare a statement: that is the answer to the command that executes it. If it was
    /// for want of room, what else it has is closed first.
    fn prepare_failed<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key, error: &[u8]) {
        self.records.counters.prepare_errors += 1;
        let Ok(error) = ErrPacket::parse(error) else {
            return;
        };
        let Some(backend) = self.records.pool.get_mut(key) else {
            return;
        };
        // A transaction may be gone.
        backend.due |= Due::PING;
        if !backend.due.contains(Due::COMMAND) {
            return;
        }
        let Some(client_key) = backend.client else {
            return;
        };
        if error.code == code::TOO_MANY_STATEMENTS && backend.statements.close_shared() {
            backend
                .statements
                .put_closes(turn.io.outbox(backend.handle));
            if let Some(client) = self.records.clients.get_mut(client_key) {
                client.capture.conditions.lose();
            }
            return;
        }
        backend.due -= Due::COMMAND;
        if let Some(client) = self.records.clients.get_mut(client_key) {
            client.capture.failed();
            let outbox = turn.io.outbox(client.handle);
            error.encode(outbox, client.answer_begins, Capabilities::PROTOCOL_41);
        }
        self.drop_first_command(client_key);
    }
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

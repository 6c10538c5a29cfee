//! What is read back from backends: what of a session only they know, before it is detached, and what
//! they say of the server.

use events::Io;
use membership::Key;
use session::statement::Flavor;
use wire::{Command, OkPacket, StateChange, TextResultSet};

use crate::ask::Ask;
use crate::ask::OfSession;
use crate::ask::Question;
use crate::backend::Step;
use crate::backend::setup::FACTS;
use crate::backend::setup::charset;
use crate::backend::{Backend, Due, InsertId, Purpose};
use crate::carried::retrack::READ_TRACKING;
use crate::carried::roles::{READ_ROLE, follow_next_transaction};
use crate::commands::answers::Ending;
use crate::commands::dispatch::put_command;
use crate::pair::Pair;
use crate::{Engine, Mail, Turn};

/// With a limit of its own, for a session may want to see no rows (`sql_select_limit`).
const READ_CHARSET: &[u8] =
    b"SELECT @@character_set_client,@@character_set_results,@@collation_connection LIMIT 1";

/// The same.
pub(crate) const READ_INSERT_ID: &[u8] = b"SELECT LAST_INSERT_ID() LIMIT 1";

/// Changes nothing, which is told all the same, and with it what is untold.
const READ_PUT_BACK: &[u8] = b"SET SESSION session_track_schema=@@session_track_schema";

/// Which variables there are, and whether they are NULL. More than can be carried need not be told. MariaDB also tells in a row without a name what else the same statement may have changed: whether the
/// session is tracked, and its role.
fn read_names(flavor: Flavor) -> &'static [u8] {
    match flavor {
        Flavor::MariaDb => {
            b"SELECT VARIABLE_NAME, VARIABLE_VALUE IS NULL \
            FROM information_schema.USER_VARIABLES \
            UNION ALL SELECT NULL, CONCAT_WS('/', @@session_track_system_variables='*' \
            AND @@session_track_schema AND @@session_track_state_change \
            AND @@session_track_transaction_info<>'OFF', CURRENT_ROLE()) LIMIT 257"
        }
        // Not everybody may. A thread that the performance schema does not know has no variables there: then it is
        // said by a row that no variable has.
        Flavor::MySql => {
            b"SELECT VARIABLE_NAME, VARIABLE_VALUE IS NULL \
            FROM performance_schema.user_variables_by_thread \
            WHERE THREAD_ID=PS_CURRENT_THREAD_ID() \
            UNION ALL SELECT NULL, NULL FROM DUAL WHERE PS_CURRENT_THREAD_ID() IS NULL LIMIT 257"
        }
    }
}

impl Engine {
    /// Asks the backend what must be known before anything else happens. False if nothing is due.
    pub(crate) fn read_back<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let flavor = self.known.flavor();
        let Some(due) = self.pool.get(key).map(|backend| backend.due) else {
            return true;
        };
        let asks = Due::CHARSET
            | Due::TABLES
            | Due::ROLE
            | Due::NAMES
            | Due::PUT_BACK
            | Due::TRACKING
            | Due::VARIABLES
            | Due::ALL_VARIABLES
            | Due::GLOBALS;
        let beginning = self.known.beginning();
        // A question of ours empties the list of conditions, and is one that counts rows.
        if !due.contains(Due::PING)
            && due.intersects(asks)
            && (self.read_warnings(turn, key) || self.read_found_rows(turn, key))
        {
            return true;
        }
        let Some(backend) = self.pool.get_mut(key) else {
            return true;
        };
        let outbox = turn.io.outbox(backend.handle);
        if backend.due.contains(Due::PING) {
            put_command(outbox, Command::Ping, b"");
            backend.expect(Step::Ping);
            backend.due -= Due::PING;
        } else if backend.due.contains(Due::TRACKING) {
            backend.ask_of_session(outbox, OfSession::Tracking, READ_TRACKING);
            backend.due -= Due::TRACKING;
        } else if backend.due.contains(Due::PUT_BACK) {
            backend.ask_of_session(outbox, OfSession::PutBack, READ_PUT_BACK);
            backend.due -= Due::PUT_BACK;
        } else if backend.due.contains(Due::CHARSET) {
            backend.ask_of_session(outbox, OfSession::Charset, READ_CHARSET);
            backend.due -= Due::CHARSET;
        } else if backend.due.intersects(Due::VARIABLES | Due::ALL_VARIABLES) {
            if !backend.ask_for_variables(outbox, beginning) {
                return false;
            }
        } else if backend.due.contains(Due::ROLE) {
            backend.ask_of_session(outbox, OfSession::Role, READ_ROLE);
            backend.due -= Due::ROLE;
        } else if backend.due.contains(Due::NAMES) {
            backend.ask_of_session(outbox, OfSession::Names, read_names(flavor));
            backend.due -= Due::NAMES;
        } else if backend.due.contains(Due::GLOBALS) {
            backend.ask(outbox, Ask::Globals, FACTS);
            backend.due -= Due::GLOBALS;
        } else if backend.due.contains(Due::TABLES) {
            backend.due -= Due::TABLES;
            if !self.ask_for_tables(turn, key) {
                return false;
            }
        } else {
            return false;
        }
        self.counters.read_backs += 1;
        true
    }

    /// Asks the backend for what only that knows of a session that is about to leave it. False if there is nothing.
    pub(crate) fn read_last<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let Some(backend) = self.pool.get_mut(key) else {
            return false;
        };
        let outbox = turn.io.outbox(backend.handle);
        let asks = backend.ask_for_found_rows(outbox)
            || backend.ask_for_insert_id(outbox)
            || backend.ask_for_values(outbox)
            || backend.ask_for_unsure(outbox, &mut self.known.digests, turn.now);
        self.counters.read_backs += u64::from(asks);
        asks
    }

    /// A question was answered. False if the backend is given up.
    pub(crate) fn question_answered<I: Io<Mail>>(
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
        self.counters.questions_refused += u64::from(reply.is_err());
        if let Err(error) = reply
            && ask.must_be_answered()
        {
            self.backend_refuses_us(turn, key, error);
            return false;
        }
        let told = reply.ok();
        match (ask, told) {
            (Ask::OfSession(ask), _) => self.of_session(key, |pair| {
                let outbox = turn.io.outbox(pair.backend.handle);
                pair.learned(outbox, ask, reply);
            }),
            (Ask::Facts, Some(facts)) => self.learn_session(key, facts),
            (Ask::Beginning, Some(rows)) => self.known.learn_beginning(rows),
            (Ask::Globals, Some(facts)) => self.learn_changed_globals(turn, facts.clone()),
            (Ask::Collations, Some(rows)) => self.learn_collations(rows),
            // Then it is not known; what is asked next, or changes unseen, goes by that.
            (Ask::Facts | Ask::Beginning | Ask::Globals | Ask::Collations, None) => {}
            (Ask::Privileges, told) => self.learn_privileges(turn, key, told),
            (Ask::Right, told) => self.learn_right(turn, key, told),
            (Ask::Views, told) => self.learn_views(turn, key, told),
            (Ask::Tables(read), told) => self.known.digests.views_told(&read, told, turn.now),
            (Ask::Stored, _) => self.stored_told(turn.now, key, reply),
            (Ask::Routine(read), told) => {
                self.known.learn_routine(&read, told, turn.now);
                if let Some(backend) = self.pool.get_mut(key)
                    && told.is_none()
                {
                    // A CALL may leave the error in the list of conditions.
                    backend.clear_conditions(turn.io.outbox(backend.handle));
                }
            }
        }
        true
    }

    /// What the answer to something of ours says of changes to the session.
    pub(crate) fn purpose_told(&mut self, key: Key, purpose: &mut Purpose, ok: &OkPacket<'_>) {
        let (of_backend, of_session) = match purpose {
            Purpose::Own(Step::Probe(probe)) => {
                probe.told(ok);
                (true, true)
            }
            Purpose::Own(Step::Setup(tells)) => {
                let is_variable = |change| matches!(change, StateChange::SystemVariable { .. });
                *tells |= ok.changes().any(is_variable);
                (false, false)
            }
            Purpose::Own(Step::Restore(_) | Step::Reset) => (false, false),
            Purpose::Ask(question) => (true, !question.ask.uses_up_next_transaction()),
            Purpose::Own(_) | Purpose::Command(_) => (true, true),
        };
        if ok.state_changes.is_empty() {
            return;
        }
        if let Some(mut pair) = self.pair(key) {
            pair.told_beside(purpose, ok);
            if of_session {
                follow_next_transaction(&mut pair.client.session, ok);
            }
        }
        if let Some(backend) = self.pool.get_mut(key)
            && of_backend
        {
            // MariaDB tells only with rows that an ERR before them has used up what was set for it.
            follow_next_transaction(&mut backend.session, ok);
        }
    }
}

impl Pair<'_> {
    /// The backend answered a question about its session.
    fn learned(
        &mut self,
        outbox: &mut Vec<u8>,
        ask: OfSession,
        reply: Result<&TextResultSet, &[u8]>,
    ) {
        match (ask, reply) {
            (OfSession::Variables(read), reply) => self.learn_variables(&read, reply.ok()),
            (OfSession::Names, reply) => self.learn_names(reply),
            (OfSession::UserVariables(read), reply) => {
                self.learn_user_variables(&read, reply.is_ok());
            }
            (OfSession::InsertId, Ok(rows)) => self.learn_insert_id(rows),
            (OfSession::FoundRows, Ok(rows)) => self.client.learn_found_rows(rows),
            (OfSession::Charset, Ok(rows)) => self.learn_charset(rows),
            (OfSession::Role, Ok(rows)) => self.learn_role(rows),
            (OfSession::Tracking, Ok(rows)) => self.learn_tracking(outbox, rows),
            (OfSession::Conditions(read), Ok(_)) => self.learn_warnings(*read),
            // It tells in the session-track block.
            (OfSession::PutBack, _) => {}
            (_, Err(_)) => debug_assert!(false, "it must be answered"),
        }
    }

    /// What the answer to something of ours tells of the session beside rows.
    fn told_beside(&mut self, purpose: &Purpose, ok: &OkPacket<'_>) {
        match purpose {
            Purpose::Ask(Question {
                ask: Ask::OfSession(OfSession::PutBack),
                ..
            }) => self.client.put_back_told(ok, &self.known.track_lists),
            Purpose::Own(Step::Retrack) => self.retrack_told(ok),
            _ => {}
        }
    }

    fn learn_insert_id(&mut self, rows: &TextResultSet) {
        let digits = rows.first(0).and_then(|value| str::from_utf8(value).ok());
        let Some(id) = digits.and_then(|digits| digits.parse().ok()) else {
            self.backend.insert_id = InsertId::Unknown;
            return;
        };
        // By now it may have been replaced by one of ours, which was sent behind the question.
        if self.backend.insert_id == InsertId::OfClient {
            self.backend.insert_id = InsertId::Known(id);
        }
        self.client.last_insert_id = id;
    }

    fn learn_charset(&mut self, rows: &TextResultSet) {
        let here = &mut self.backend.session;
        let charset = charset(rows, here.charset.as_deref(), self.known.facts.as_ref());
        here.charset = charset.map(|charset| self.known.interner.charset(charset));
        self.client.session.charset.clone_from(&here.charset);
    }
}

impl Backend {
    /// Asks for LAST_INSERT_ID() if that is known here alone. True if so.
    fn ask_for_insert_id(&mut self, outbox: &mut Vec<u8>) -> bool {
        if self.insert_id != InsertId::OfClient {
            return false;
        }
        self.ask_of_session(outbox, OfSession::InsertId, READ_INSERT_ID);
        true
    }
}

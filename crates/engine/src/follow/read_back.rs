//! Asks a backend what only it knows of its session, and learns the answers.

use carry::outbound::put_command;
use carry::retrack::READ_TRACKING;
use carry::roles::{READ_ROLE, follow_next_transaction};
use events::Io;
use membership::Key;
use session::statement::Flavor;
use wire::{Command, OkPacket, StateChange, TextResultSet};

use crate::record::ask::{Ask, OfSession, Question, READ_INSERT_ID};
use crate::record::backend::{Backend, Due, InsertId, Purpose, Step};
use crate::record::pair::Pair;
use crate::record::records::Records;
use crate::record::setup::{FACTS, charset};
use crate::record::shared::Mail;
use crate::record::turn::Turn;

/// With a limit of its own, for a session may want to see no rows (`sql_select_limit`).
const READ_CHARSET: &[u8] =
    b"SELECT @@character_set_client,@@character_set_results,@@collation_connection LIMIT 1";

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

impl Records {
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
    pub(crate) fn learned(
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

//! What is read back from backends: what of a session only they know, before it is detached, and what
//! they say of the server.

use events::Io;
use membership::Key;
use session::statement::Flavor;
use wire::{Command, OkPacket, StateChange, TextResultSet};

use crate::backend::setup::FACTS;
use crate::backend::setup::charset;
use crate::backend::{Due, InsertId, Purpose};
use crate::carried::retrack::READ_TRACKING;
use crate::carried::roles::READ_ROLE;
use crate::commands::dispatch::put_command;
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
        let flavor = self.flavor();
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
        if backend.due.contains(Due::PING) {
            put_command(turn.io.outbox(backend.handle), Command::Ping, b"");
            backend.expect(Purpose::Ping);
            backend.due -= Due::PING;
        } else if backend.due.contains(Due::TRACKING) {
            backend.put_query(turn.io.outbox(backend.handle), READ_TRACKING);
            backend.expect(Purpose::ReadTracking(TextResultSet::default()));
            backend.due -= Due::TRACKING;
        } else if backend.due.contains(Due::PUT_BACK) {
            backend.put_query(turn.io.outbox(backend.handle), READ_PUT_BACK);
            backend.expect(Purpose::ReadPutBack);
            backend.due -= Due::PUT_BACK;
        } else if backend.due.contains(Due::CHARSET) {
            let rows = TextResultSet::default();
            backend.put_query(turn.io.outbox(backend.handle), READ_CHARSET);
            backend.expect(Purpose::ReadCharset(rows));
            backend.due -= Due::CHARSET;
        } else if backend.due.intersects(Due::VARIABLES | Due::ALL_VARIABLES) {
            if !self.ask_for_variables(turn, key) {
                return false;
            }
        } else if backend.due.contains(Due::ROLE) {
            backend.put_query(turn.io.outbox(backend.handle), READ_ROLE);
            backend.expect(Purpose::ReadRole(TextResultSet::default()));
            backend.due -= Due::ROLE;
        } else if backend.due.contains(Due::NAMES) {
            backend.put_query(turn.io.outbox(backend.handle), read_names(flavor));
            backend.expect(Purpose::ReadNames(TextResultSet::default()));
            backend.due -= Due::NAMES;
        } else if backend.due.contains(Due::GLOBALS) {
            backend.put_query(turn.io.outbox(backend.handle), FACTS);
            backend.expect(Purpose::ReadGlobals(TextResultSet::default()));
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

    /// Asks for LAST_INSERT_ID() if only the backend knows it.
    pub(crate) fn read_insert_id<I: Io<Mail>>(&mut self, turn: &mut Turn<'_, I>, key: Key) -> bool {
        let Some(backend) = self.pool.get_mut(key) else {
            return false;
        };
        if backend.insert_id != InsertId::OfClient {
            return false;
        }
        backend.put_query(turn.io.outbox(backend.handle), READ_INSERT_ID);
        backend.expect(Purpose::ReadInsertId(TextResultSet::default()));
        self.counters.read_backs += 1;
        true
    }

    /// The backend answered a command of ours.
    pub(crate) fn learned<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        purpose: Purpose,
    ) {
        match purpose {
            Purpose::ReadFacts(facts) => self.learn_session(key, &facts),
            Purpose::ReadPrivileges(rows) => self.learn_privileges(turn, key, Some(&rows)),
            Purpose::ReadRight(rows) => self.learn_right(turn, key, Some(&rows)),
            Purpose::ReadInsertId(rows) => self.learn_insert_id(key, &rows),
            Purpose::ReadFoundRows(rows) => self.learn_found_rows(key, &rows),
            Purpose::ReadCharset(rows) => self.learn_charset(key, &rows),
            Purpose::ReadBeginning(rows) => self.learn_beginning(&rows),
            Purpose::ReadVariables(read) => self.learn_variables(key, Some(&read)),
            Purpose::ReadRole(rows) => self.learn_role(key, &rows),
            Purpose::ReadGlobals(facts) => self.learn_changed_globals(turn, facts),
            Purpose::ReadTracking(rows) => self.learn_tracking(turn, key, &rows),
            Purpose::ReadNames(rows) => self.learn_names(key, Ok(&rows)),
            Purpose::ReadWarnings(read) => self.learn_warnings(key, *read),
            Purpose::ReadCollations(rows) => self.learn_collations(&rows),
            Purpose::ReadViews(rows) => self.learn_views(turn, key, Some(&rows)),
            Purpose::Reset | Purpose::Setup(_) if self.awaits_clean(key) => {}
            Purpose::Reset | Purpose::Setup(_) | Purpose::Ping => self.ping_answered(key),
            Purpose::Command(_)
            | Purpose::ReadPutBack
            | Purpose::Probe(_)
            | Purpose::Retrack
            | Purpose::Restore(_)
            | Purpose::ReadTables(_)
            | Purpose::ReadRoutine(_)
            | Purpose::ReadStored(_)
            | Purpose::ReadUserVariables(_)
            | Purpose::Prepare(_)
            | Purpose::Reselect
            | Purpose::Repeat
            | Purpose::RollBack
            | Purpose::Kill(_) => {}
        }
    }

    /// What the answer to a command of ours says of changes to the session.
    pub(crate) fn question_told(&mut self, key: Key, purpose: &mut Purpose, ok: &OkPacket<'_>) {
        match purpose {
            Purpose::ReadPutBack => self.put_back_told(key, ok),
            Purpose::Probe(probe) => probe.told(ok),
            Purpose::Retrack => self.retrack_told(key, ok),
            Purpose::Setup(tells) => {
                let is_variable = |change| matches!(change, StateChange::SystemVariable { .. });
                *tells |= ok.changes().any(is_variable);
            }
            _ => {}
        }
        self.next_transaction_told(key, purpose, ok);
    }

    /// True if the backend is cleaned for a command that waits: what it says of its own session does
    /// not concern that of the client.
    fn awaits_clean(&self, key: Key) -> bool {
        let backend = self.pool.get(key);
        backend.is_some_and(|backend| backend.due.contains(Due::COMMAND))
    }

    fn learn_insert_id(&mut self, key: Key, rows: &TextResultSet) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let digits = rows
            .first(0)
            .and_then(|value| std::str::from_utf8(value).ok());
        let Some(id) = digits.and_then(|digits| digits.parse().ok()) else {
            backend.insert_id = InsertId::Unknown;
            return;
        };
        // By now it may have been replaced by one of ours, which was sent behind the question.
        if backend.insert_id == InsertId::OfClient {
            backend.insert_id = InsertId::Known(id);
        }
        if let Some(client) = backend
            .client
            .and_then(|client| self.clients.get_mut(client))
        {
            client.last_insert_id = id;
        }
    }

    fn learn_charset(&mut self, key: Key, rows: &TextResultSet) {
        let Some(backend) = self.pool.get_mut(key) else {
            return;
        };
        let before = backend.session.charset.as_deref();
        let charset = charset(rows, before, self.facts.as_ref());
        backend.session.charset = charset.map(|charset| self.interner.charset(charset));
        if let Some(client) = backend
            .client
            .and_then(|client| self.clients.get_mut(client))
        {
            client.session.charset.clone_from(&backend.session.charset);
        }
    }
}

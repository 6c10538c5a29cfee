//! LAST_INSERT_ID() where a statement needs the session's own: brought to the backend at hand, and kept there where
//! `sql_auto_is_null` has `IS NULL` look for it. Where an answer does not
//! tell it, the backend is asked before the session lets go of it.

use carry::ending::Ending;
use carry::packet::Packet;
use events::Timestamp;
use session::statement::{Flavor, Kind, PinReason, Statement, Traits};
use wire::TextResultSet;

use crate::record::backend::{Backend, ClientCommand, InsertId, RestorePart, Step};
use crate::record::carried::{Carried, Kept};
use crate::record::client::Client;
use crate::record::pair::Pair;

/// The variable that makes `IS NULL` find the row of LAST_INSERT_ID().
const AUTO_IS_NULL: &[u8] = b"sql_auto_is_null";

/// Statements that see LAST_INSERT_ID(), or leave it as it is where they set nothing.
const SEE_INSERT_ID: Traits = Traits::READS_LAST_INSERT_ID
    .union(Traits::SETS_LAST_INSERT_ID)
    .union(Traits::UNKNOWN_CALL)
    .union(Traits::GENERATES_ID);

/// Statements that may set `sql_auto_is_null` for themselves.
const SETS_FOR_ITSELF: Traits = Traits::FOR_STATEMENT.union(Traits::HINTS_VARIABLES);

/// LAST_INSERT_ID().
pub(crate) static INSERT_ID: Carried = Carried {
    answered: |pair, command, ending| {
        // It may have changed without a word in the answer.
        let unsaid = Traits::SETS_LAST_INSERT_ID | Traits::UNKNOWN_CALL;
        if command.traits.intersects(unsaid)
            || matches!(command.kind, Kind::Call | Kind::Multiple | Kind::Unknown)
            || generated_unseen(command, ending)
        {
            pair.backend.insert_id = InsertId::OfClient;
        }
    },
    ask: |pair, outbox, _| pair.backend.ask_for_insert_id(outbox),
    leave: |pair| pair.backend.insert_id == InsertId::OfClient,
    told: |pair, _, reply| {
        if let Ok(rows) = reply.rows {
            pair.learn_insert_id(rows);
        }
    },
    ..Carried::NOTHING
};

impl Backend {
    /// Asks for LAST_INSERT_ID() if that is known here alone. True if so.
    pub(crate) fn ask_for_insert_id(&mut self, outbox: &mut Vec<u8>) -> bool {
        if self.insert_id != InsertId::OfClient {
            return false;
        }
        let question = b"SELECT LAST_INSERT_ID() LIMIT 1";
        self.ask_about(outbox, &INSERT_ID, Kept::Nothing, question);
        true
    }
}

impl Pair<'_> {
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

    /// True if the backend has another LAST_INSERT_ID() than the session, and the statement may see it.
    pub(crate) fn lacks_insert_id(
        &mut self,
        now: Timestamp,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> bool {
        let own = InsertId::Known(self.client.last_insert_id);
        ![InsertId::OfClient, own].contains(&self.backend.insert_id)
            && (needs_insert_id(statement)
                // Before what follows: it takes note of tables that are to be asked about.
                || self.may_read_view(now, packet, statement)
                || self.null_may_find_insert_id(statement))
    }

    /// MariaDB has `IS NULL` find the row of an id that was generated on the connection, once, and nothing but such an
    /// INSERT makes a connection ready for that. MySQL goes by LAST_INSERT_ID() alone, which can be brought.
    /// Who has not asked for it is not pinned: where sessions begin with it, that would be all of them.
    pub(crate) fn keep_insert_id_for_null(&mut self) {
        if self.backend.insert_id == InsertId::OfClient
            && self.known.flavor() == Flavor::MariaDb
            && self.client.auto_is_null() == Some(true)
        {
            self.pin_late(PinReason::AutoIsNull);
        }
    }

    /// True of a session with `sql_auto_is_null`, its own or the one that sessions begin with, and of a statement that may set
    /// it for itself.
    fn null_may_find_insert_id(&self, statement: &Statement) -> bool {
        let facts = self.known.facts.as_ref();
        let begins = || facts.is_some_and(|facts| facts.auto_is_null);
        let set = self.client.auto_is_null();
        statement.traits.intersects(SETS_FOR_ITSELF) || set.unwrap_or_else(begins)
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

impl Client {
    /// The session's own `sql_auto_is_null`, if it has set it.
    pub(crate) fn auto_is_null(&self) -> Option<bool> {
        let value = self.session.variables.get(AUTO_IS_NULL)?;
        Some(value == b"1" || value.eq_ignore_ascii_case(b"on"))
    }
}

/// True if what the statement does may depend on LAST_INSERT_ID(), which a trigger can ask for, or if it may leave
/// that as it is: an INSERT with an explicit id does, and a SET that fails, and both are read back all the same.
fn needs_insert_id(statement: &Statement) -> bool {
    statement.traits.intersects(SEE_INSERT_ID)
        || matches!(
            statement.kind,
            Kind::Update | Kind::Delete | Kind::Call | Kind::Multiple | Kind::Unknown
        )
}

/// Sets the LAST_INSERT_ID() of a backend.
pub(crate) fn put_insert_id(outbox: &mut Vec<u8>, backend: &mut Backend, id: u64) {
    backend.put_query(outbox, format!("SET last_insert_id={id}").as_bytes());
    backend.expect(Step::Restore(RestorePart::InsertId));
    backend.insert_id = InsertId::Known(id);
}

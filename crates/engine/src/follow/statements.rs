//! Classifies commands: what a command does to its session, and the shape of its response.

use carry::conditions::Does;
use carry::packet::Packet;
use carry::prepared::named::executes;
use carry::prepared::{may_ask_for_schema, stays};
use carry::user_variables::changes_data;
use events::Timestamp;
use membership::Key;
use session::statement::{
    Dialect, Flavor, Kind, PinReason, PinReasons, Statement, Traits, classify,
};
use wire::{Command, Shape, asks_for_cursor};

use crate::record::long::Read;
use crate::record::records::Records;

/// Of what COM_REFRESH says is to be flushed.
const HOSTS: u8 = 0x08;

impl Records {
    /// What a command does to the session, as far as Myriad can tell before it runs; and the classification of its text,
    /// if it is a COM_QUERY that the lexer can read. `kept`: that classification, if the command has waited.
    pub(crate) fn judge(
        &self,
        now: Timestamp,
        client: Key,
        packet: Packet<'_>,
        kept: Option<Read>,
    ) -> (Statement, Option<Read>) {
        let read = self.read_query(client, packet, kept);
        let session = self.clients.get(client);
        let found = match (&read, session) {
            (Some(read), Some(session)) => {
                let found = self.judge_read(client, packet.text(), read);
                session.judge_tracking(&self.known, packet.text(), found)
            }
            _ => self.judge_command(client, packet),
        };
        let found = match session {
            Some(session) => self.known.judge_routines(now, session, packet, found),
            None => found,
        };
        (self.judge_stored(client, packet, found), read)
    }

    /// The classification of a COM_QUERY. The one from when the command began to wait holds for as long as the session
    /// reads texts the same way: a session in front of the queue may have changed the server's `sql_mode`.
    fn read_query(&self, client: Key, packet: Packet<'_>, kept: Option<Read>) -> Option<Read> {
        if packet.payload.first() != Some(&(Command::Query as u8)) {
            return None;
        }
        let dialect = self.dialect_of(client)?;
        let classify = || (dialect, self.classify(client, packet.text(), &dialect));
        let kept = kept.filter(|(read_as, _)| *read_as == dialect);
        debug_assert!(kept.is_none_or(|kept| kept == classify()), "another text");
        Some(kept.unwrap_or_else(classify))
    }

    fn classify(&self, client: Key, text: &[u8], dialect: &Dialect) -> Statement {
        let known = self.long.statement(client, text, dialect);
        known.unwrap_or_else(|| classify(text, dialect))
    }

    fn judge_command(&self, client: Key, packet: Packet<'_>) -> Statement {
        let (payload, text) = (packet.payload, packet.text());
        let command = payload.first().copied().and_then(Command::from_byte);
        match command {
            // The lexer cannot read it.
            Some(Command::Query) => self.judge_text(client, text),
            // An error is added to the list of conditions.
            Some(Command::InitDb) if self.known.flavor() == Flavor::MySql => Statement {
                traits: Traits::READS_DIAGNOSTICS,
                ..plain(Kind::Use)
            },
            Some(Command::InitDb) => plain(Kind::Use),
            Some(Command::StmtPrepare) => Statement {
                pins: self.pins_of_prepare(client, text),
                ..plain(Kind::Prepared)
            },
            Some(Command::StmtExecute | Command::StmtBulkExecute) => {
                let client = self.clients.get(client);
                let prepared = client.and_then(|client| client.statement(payload));
                let mut statement =
                    prepared.map_or_else(unknown, |prepared| prepared.template.meaning.statement);
                if asks_for_cursor(payload) {
                    statement.pins.insert(PinReason::Cursor);
                }
                statement
            }
            Some(Command::StmtFetch | Command::StmtReset) => plain(Kind::Prepared),
            // `mysqladmin flush-hosts`.
            Some(Command::Refresh) if payload.get(1).is_some_and(|what| what & HOSTS != 0) => {
                Statement {
                    traits: Traits::FLUSHES_HOSTS,
                    ..plain(Kind::Admin)
                }
            }
            // It adds to the list of conditions.
            Some(Command::FieldList) if self.known.flavor() == Flavor::MySql => Statement {
                traits: Traits::READS_DIAGNOSTICS,
                ..plain(Kind::Admin)
            },
            _ => plain(Kind::Admin),
        }
    }

    /// Whether a statement must stay on the backend that prepares it.
    fn pins_of_prepare(&self, client: Key, text: &[u8]) -> PinReasons {
        let session = self.clients.get(client).map(|client| &client.session);
        let homeless = session.is_some_and(|session| session.schema.is_none());
        let statement = self.judge_prepared_text(client, text);
        let counts = || self.counted(client, text, &statement).is_some();
        match stays(&statement) && !counts() || homeless && may_ask_for_schema(text) {
            true => PinReason::Prepared.into(),
            false => PinReasons::NONE,
        }
    }

    /// What a text does that is prepared.
    fn judge_prepared_text(&self, client: Key, text: &[u8]) -> Statement {
        match self.known_template(client, text) {
            Some(known) => known.meaning.statement,
            None => self.judge_text(client, text),
        }
    }

    /// What a text does, read as the server would read it for this session.
    pub(crate) fn judge_text(&self, key: Key, text: &[u8]) -> Statement {
        if self.clients.get(key).is_none() || self.known.facts.is_none() {
            return plain(Kind::Admin);
        }
        match self.dialect_of(key) {
            Some(dialect) => {
                let read = (dialect, self.classify(key, text, &dialect));
                self.judge_read(key, text, &read)
            }
            None => unknown(),
        }
    }

    fn judge_read(&self, key: Key, text: &[u8], &(dialect, found): &Read) -> Statement {
        match (found.kind, self.clients.get(key)) {
            (Kind::Prepared, Some(client)) => self.judge_by_name(client, text, &dialect, found),
            (Kind::Multiple, _) if runs_unseen(&found) => Statement {
                traits: found.traits | Traits::COUNTS_UNSENT_ROWS,
                ..found
            },
            _ => found,
        }
    }

    /// True if the statement sets each variable that it reads and nobody has set, to NULL: so does what changes data where
    /// there is a binary log, which tells replicas what they were.
    pub(crate) fn logs_what_it_reads(
        &self,
        key: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> bool {
        let facts = self.known.facts.as_ref();
        let logs = facts.is_some_and(|facts| facts.binary_log);
        let prepares = packet.payload.first() == Some(&(Command::StmtPrepare as u8));
        let kind = match logs && prepares {
            true => self.judge_text(key, packet.text()).kind,
            false => statement.kind,
        };
        logs && changes_data(kind) && !statement.traits.contains(Traits::RUNS_PREPARED_TEXT)
    }

    /// What the command does to the list of conditions.
    pub(crate) fn does(&self, client: Key, packet: Packet<'_>, statement: &Statement) -> Does {
        let command = packet.payload.first().copied().and_then(Command::from_byte);
        let flavor = self.known.flavor();
        if let Some(does) = command.and_then(|command| Does::of_command(command, flavor)) {
            return does;
        }
        if command == Some(Command::StmtPrepare) {
            let prepared = self.judge_prepared_text(client, packet.text());
            return Does::of_preparing(&prepared, packet.text(), flavor);
        }
        let executed = self.clients.get(client);
        let executed = executed
            .filter(|_| executes(packet.payload))
            .and_then(|client| client.statement(packet.payload));
        match executed {
            Some(prepared) => prepared.template.meaning.does,
            None => (statement.kind == Kind::Prepared
                || statement.traits.contains(Traits::RUNS_PREPARED_TEXT))
            .then(|| self.does_by_name(client, packet))
            .flatten()
            .unwrap_or_else(|| Does::of_statement(statement, packet.text(), flavor)),
        }
    }
}

/// True of a statement that may run what its text does not show, and so may count rows.
fn runs_unseen(statement: &Statement) -> bool {
    let reasons = [PinReason::Call, PinReason::TextPrepared, PinReason::Unknown];
    reasons
        .iter()
        .any(|&reason| statement.pins.contains(reason))
}

fn plain(kind: Kind) -> Statement {
    Statement {
        kind,
        traits: Traits::empty(),
        pins: PinReasons::NONE,
        digest: 0,
    }
}

fn unknown() -> Statement {
    Statement {
        traits: Traits::MAY_WRITE,
        pins: PinReason::Unknown.into(),
        ..plain(Kind::Unknown)
    }
}

/// What the response to a command consists of.
pub(crate) fn shape(payload: &[u8]) -> Shape {
    match payload.first().copied().and_then(Command::from_byte) {
        Some(Command::StmtPrepare) => Shape::Prepare,
        Some(Command::StmtFetch | Command::FieldList) => Shape::Rows,
        Some(Command::Statistics | Command::SetOption | Command::Debug) => Shape::Single,
        _ => Shape::Results,
    }
}

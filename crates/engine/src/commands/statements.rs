//! What a client's command is: its statement, and the shape of the response to it.

use events::Timestamp;
use membership::Key;
use session::statement::{Flavor, Kind, PinReason, PinReasons, Statement, Traits, classify};
use wire::{Command, Shape, asks_for_cursor};

use crate::Engine;
use crate::commands::Packet;
use crate::prepared::{may_ask_for_schema, stays};

/// Of what COM_REFRESH says is to be flushed.
const HOSTS: u8 = 0x08;

impl Engine {
    /// What a command does to the session, as far as it can be told before it runs.
    pub(crate) fn judge(&self, now: Timestamp, client: Key, packet: Packet<'_>) -> Statement {
        let found = self.judge_command(client, packet);
        let found = self.judge_routines(now, client, packet, found);
        self.judge_stored(client, packet, found)
    }

    fn judge_command(&self, client: Key, packet: Packet<'_>) -> Statement {
        let (payload, text) = (packet.payload, packet.text());
        let command = payload.first().copied().and_then(Command::from_byte);
        match command {
            Some(Command::Query) => {
                self.judge_tracking(client, text, self.judge_text(client, text))
            }
            // An error is added to the list of conditions.
            Some(Command::InitDb) if self.flavor() == Flavor::MySql => Statement {
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
            Some(Command::FieldList) if self.flavor() == Flavor::MySql => Statement {
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
        let statement = self.judge_text(client, text);
        let counts = || self.counted(client, text, &statement).is_some();
        match stays(&statement) && !counts() || homeless && may_ask_for_schema(text) {
            true => PinReason::Prepared.into(),
            false => PinReasons::NONE,
        }
    }

    /// What a text does, read as the server would read it for this session.
    pub(crate) fn judge_text(&self, key: Key, text: &[u8]) -> Statement {
        let (Some(client), Some(facts)) = (self.clients.get(key), &self.facts) else {
            return plain(Kind::Admin);
        };
        match facts.dialect(&client.session) {
            Some(dialect) => {
                let known = self.long.statement(key, text, &dialect);
                let found = known.unwrap_or_else(|| classify(text, &dialect));
                match found.kind {
                    Kind::Prepared => self.judge_by_name(client, (text, &dialect), found),
                    Kind::Multiple if runs_unseen(&found) => Statement {
                        traits: found.traits | Traits::COUNTS_UNSENT_ROWS,
                        ..found
                    },
                    _ => found,
                }
            }
            None => unknown(),
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

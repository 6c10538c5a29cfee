//! What a client's command is: its statement, and the shape of the response to it.

use membership::Key;
use session::statement::{Kind, PinReason, PinReasons, Statement, Traits, classify};
use wire::{Command, Shape};

use crate::Engine;
use crate::prepared::statement_id;

impl Engine {
    /// What a command does to the session, as far as it can be told before it runs.
    pub(crate) fn judge(&self, client: Key, payload: &[u8]) -> Statement {
        let command = payload.first().copied().and_then(Command::from_byte);
        let text = payload.get(1..).unwrap_or_default();
        match command {
            Some(Command::Query) => self.judge_text(client, text),
            Some(Command::InitDb) => plain(Kind::Use),
            Some(Command::StmtPrepare) => Statement {
                pins: PinReason::Prepared.into(),
                ..plain(Kind::Prepared)
            },
            Some(Command::StmtExecute | Command::StmtBulkExecute) => {
                let prepared = statement_id(payload)
                    .zip(self.clients.get(client))
                    .and_then(|(id, client)| client.prepared(id));
                prepared.map_or_else(unknown, |prepared| prepared.statement)
            }
            Some(Command::StmtFetch | Command::StmtReset) => plain(Kind::Prepared),
            _ => plain(Kind::Admin),
        }
    }

    /// What a text does, read as the server would read it for this session.
    pub(crate) fn judge_text(&self, client: Key, text: &[u8]) -> Statement {
        let (Some(client), Some(facts)) = (self.clients.get(client), &self.facts) else {
            return plain(Kind::Admin);
        };
        match facts.dialect(&client.session) {
            Some(dialect) => {
                let found = classify(text, &dialect);
                match found.kind {
                    Kind::Prepared => self.judge_prepared(client, (text, &dialect), found),
                    _ => found,
                }
            }
            None => unknown(),
        }
    }
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

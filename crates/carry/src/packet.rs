//! A client's command as it came, and what became of it.

use session::statement::{Kind, Traits};
use wire::Command;

/// A command as it came.
#[derive(Clone, Copy)]
pub struct Packet<'a> {
    /// Its packets, headers included: what is sent on.
    pub raw: &'a [u8],
    /// Its payload.
    pub payload: &'a [u8],
    /// How many bytes of query attributes are between command byte and text.
    pub attributes: usize,
}

impl<'a> Packet<'a> {
    /// The text of a COM_QUERY or COM_STMT_PREPARE; empty for other commands.
    pub fn text(&self) -> &'a [u8] {
        let with_text = [Command::Query as u8, Command::StmtPrepare as u8];
        match self.payload.split_first() {
            Some((command, behind)) if with_text.contains(command) => {
                behind.get(self.attributes..).unwrap_or_default()
            }
            _ => b"",
        }
    }

    /// The query attributes in front of the text.
    pub fn attributes(&self) -> &'a [u8] {
        let attributes = self.payload.get(1..1 + self.attributes);
        attributes.unwrap_or_default()
    }

    /// True if it runs a statement.
    pub fn is_statement(&self) -> bool {
        runs_statement(self.payload)
    }
}

/// True of the payload of a command that runs a statement.
pub fn runs_statement(payload: &[u8]) -> bool {
    let runs = [
        Command::Query,
        Command::StmtExecute,
        Command::StmtBulkExecute,
    ];
    let command = payload.first().copied().and_then(Command::from_byte);
    command.is_some_and(|command| runs.contains(&command))
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It was answered or sent; its bytes are no longer needed.
    Now,
    /// It must wait; its bytes stay at the front of the inbox.
    Later,
}

/// True if a text has `name` in it, in any case, alone or as a part of a word.
pub fn mentions(text: &[u8], name: &[u8]) -> bool {
    let mut parts = text.windows(name.len());
    parts.any(|part| part.eq_ignore_ascii_case(name))
}

/// True if the statement may define what was known to be a table, or a schema, as something else, or
/// take it away.
pub fn defines(kind: Kind, traits: Traits) -> bool {
    match kind {
        Kind::Account => true,
        Kind::Ddl | Kind::Multiple | Kind::Unknown => traits.contains(Traits::IMPLICIT_COMMIT),
        _ => false,
    }
}

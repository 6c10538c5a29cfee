//! Prepared statements of the binary protocol. A client's statement ids are its own, so a prepared statement does not pin, except
//! with a cursor, or if it asks a backend for the counts and conditions of the statement before it.

pub mod backend_statements;
pub mod by_name;
pub mod client_statements;
pub mod counting;
pub mod named;
pub mod templates;

use std::sync::Arc;

use session::statement::{Statement, Traits};
use wire::{Definitions, Fingerprint, Piece, PrepareOk};

use crate::prepared::templates::Template;

/// A COM_STMT_PREPARE under way.
#[derive(Debug)]
pub struct Preparing {
    /// What is prepared.
    pub template: Arc<Template>,
    /// What the backend told.
    pub told: Option<PrepareOk>,
    /// It stays on this backend, and with it the session.
    pub stays: bool,
    /// The column definitions that the client was told.
    pub definitions: Option<Fingerprint>,
    /// Takes them; only for clients that keep them.
    pub keeps: Option<Box<Definitions>>,
}

impl Preparing {
    /// Nothing was told yet.
    pub fn new(template: Arc<Template>) -> Self {
        Self {
            template,
            told: None,
            stays: false,
            definitions: None,
            keeps: None,
        }
    }

    /// Takes note of a piece of the answer.
    pub fn note(&mut self, piece: &Piece<'_>) {
        if let Piece::PrepareOk(_) = piece {
            self.told = PrepareOk::parse(piece.payload()).ok();
        }
        if let Some(keeps) = &mut self.keeps {
            // Those of the parameters come first.
            self.definitions = keeps.piece(piece).or(self.definitions);
        }
    }
}

/// True for a statement that asks for what only its backend can tell, so that it stays there: the counts and
/// conditions of the statement before it.
pub fn stays(statement: &Statement) -> bool {
    let of_backend = Traits::READS_DIAGNOSTICS | Traits::READS_ROW_COUNTS;
    statement.traits.intersects(of_backend)
}

/// True for a text that may ask which schema there is. Prepared without one it is told so for ever, and no
/// backend that has a schema can give it up.
pub fn may_ask_for_schema(text: &[u8]) -> bool {
    let calls = |word: &[u8]| {
        let mut places = text.windows(word.len()).enumerate();
        places.any(|(at, part)| {
            let behind = text[at + word.len()..].trim_ascii_start().first();
            // A comment may come first.
            part.eq_ignore_ascii_case(word) && matches!(behind, Some(b'(' | b'/' | b'-' | b'#'))
        })
    };
    calls(b"database") || calls(b"schema")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_for_the_schema() {
        for (text, asks) in [
            ("SELECT DATABASE()", true),
            ("SELECT schema ( )", true),
            ("SELECT Database/* now */()", true),
            ("CREATE DATABASE shop CHARACTER SET utf8mb4", false),
            ("SELECT * FROM information_schema.TABLES", false),
            ("SHOW DATABASES", false),
            ("SELECT 1", false),
            ("DATABASE", false),
        ] {
            assert_eq!(may_ask_for_schema(text.as_bytes()), asks, "{text}");
        }
    }
}

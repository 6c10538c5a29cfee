//! Going through the tokens of a statement. Owns no grammar.

use session::statement::{Dialect, Flavor, Piece, pieces};

use super::error::SqlError;

/// How texts are read here.
pub(super) fn dialect() -> Dialect {
    Dialect::new(Flavor::MySql, 80_011)
}

/// Where in a statement one is.
pub(super) struct Cursor {
    pieces: Vec<Piece>,
    at: usize,
}

impl Cursor {
    pub(super) fn new(text: &[u8]) -> Result<Self, SqlError> {
        let pieces = pieces(text, &dialect()).ok_or_else(|| {
            SqlError::syntax("a quote or a comment is open, or these are several statements")
        })?;
        Ok(Self { pieces, at: 0 })
    }

    pub(super) fn peek(&self) -> Option<&Piece> {
        self.pieces.get(self.at)
    }

    pub(super) fn next(&mut self) -> Option<Piece> {
        let piece = self.pieces.get(self.at).cloned();
        self.at += usize::from(piece.is_some());
        piece
    }

    /// Takes the next token if it is this word, in any case.
    pub(super) fn accept(&mut self, word: &str) -> bool {
        let found = self.is(word);
        self.at += usize::from(found);
        found
    }

    /// Takes the next token if it is one of these words.
    pub(super) fn accept_any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.accept(word))
    }

    /// Takes the next token if it is this byte.
    pub(super) fn accept_mark(&mut self, mark: u8) -> bool {
        let found = self.peek() == Some(&Piece::Mark(mark));
        self.at += usize::from(found);
        found
    }

    /// The next token, if it is a word.
    pub(super) fn word(&mut self) -> Option<String> {
        match self.peek() {
            Some(Piece::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Some(word)
            }
            _ => None,
        }
    }

    /// The next token, which must be a whole number; `what` it is of.
    pub(super) fn number(&mut self, what: &str) -> Result<u64, SqlError> {
        match self.peek() {
            Some(Piece::Number(written)) => {
                let number = written.parse();
                self.at += 1;
                number.map_err(|_| SqlError::syntax(format!("{what} must be a whole number")))
            }
            _ => Err(SqlError::syntax(format!("{what} must be a whole number"))),
        }
    }

    /// The next token, which must be a string; `what` it is of.
    pub(super) fn text(&mut self, what: &str) -> Result<String, SqlError> {
        match self.next() {
            Some(Piece::Text(text)) => Ok(text),
            _ => Err(SqlError::syntax(format!("{what} must be in quotes"))),
        }
    }

    /// Nothing may follow.
    pub(super) fn end(&self) -> Result<(), SqlError> {
        match self.peek() {
            None => Ok(()),
            Some(piece) => Err(SqlError::syntax(format!("{} is too much", shown(piece)))),
        }
    }

    pub(super) fn at_end(&self) -> bool {
        self.peek().is_none()
    }

    fn is(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Piece::Word(found)) if found.eq_ignore_ascii_case(word))
    }
}

/// A token as it was written, or nearly.
pub(super) fn shown(piece: &Piece) -> String {
    match piece {
        Piece::Word(text) | Piece::Number(text) => text.clone(),
        Piece::Name(name) => format!("`{name}`"),
        Piece::Text(text) => format!("'{text}'"),
        Piece::UserVariable(name) => format!("@{name}"),
        Piece::SystemVariable => "@@".to_owned(),
        Piece::Assign => ":=".to_owned(),
        Piece::Mark(mark) => char::from(*mark).to_string(),
    }
}

//! The text of a statement without its literals: what statements have in common that differ in
//! values only. Owns the form, which follows the manual's statement digests; no hashing.

use super::dialect::Dialect;
use super::lexer::Lexer;
use super::token::Token;

/// What stands for a literal, and for a list of them.
const LITERAL: &str = "?";
const LITERALS: &str = "...";

/// The text with literals replaced, in at most about `limit` bytes; what is not UTF-8 is replaced,
/// too. Source: "Performance Schema Statement Digests and Sampling" in the MySQL manual.
#[must_use]
pub fn digest_text(text: &[u8], dialect: &Dialect, limit: usize) -> String {
    let mut lexer = Lexer::new(text, dialect);
    let mut digest = Digest::default();
    loop {
        let token = lexer.next();
        if token == Token::End || digest.text.len() >= limit {
            return digest.text;
        }
        let written = text.get(lexer.place()).unwrap_or_default();
        digest.push(token, &String::from_utf8_lossy(written));
    }
}

#[derive(Default)]
struct Digest {
    text: String,
    /// What came last was an opening bracket, a point or `@@`: nothing separates it from what follows.
    tight: bool,
}

impl Digest {
    fn push(&mut self, token: Token<'_>, written: &str) {
        match token {
            Token::Text | Token::Number(_) => self.literal(),
            Token::Mark(b',' | b')' | b'.' | b'(' | b';') => self.text.push_str(written),
            _ => {
                self.space();
                self.text.push_str(written);
            }
        }
        self.tight = matches!(token, Token::Mark(b'(' | b'.') | Token::SystemVariable);
    }

    /// A second literal makes a list of the first.
    fn literal(&mut self) {
        let list = ["?,", "? ,", "...,"]
            .iter()
            .find_map(|end| self.text.strip_suffix(end));
        if let Some(before) = list {
            self.text.truncate(before.len());
            self.text.push_str(LITERALS);
        } else {
            self.space();
            self.text.push_str(LITERAL);
        }
    }

    fn space(&mut self) {
        if !self.tight && !self.text.is_empty() {
            self.text.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Flavor;
    use super::*;

    #[test]
    fn values_are_left_out() {
        let dialect = Dialect::new(Flavor::MariaDb, 101_119);
        for (text, expected) in [
            ("SELECT GET_LOCK('a', 10)", "SELECT GET_LOCK(...)"),
            (
                "SELECT  c FROM t\nWHERE id=7 /* why */",
                "SELECT c FROM t WHERE id = ?",
            ),
            (
                "INSERT INTO a.t VALUES (1,'x',3)",
                "INSERT INTO a.t VALUES(...)",
            ),
            ("SET @a = 1, @@x = 2", "SET @a = ?, @@x = ?"),
            ("SELECT 'open", "SELECT"),
            ("", ""),
        ] {
            assert_eq!(digest_text(text.as_bytes(), &dialect, 1 << 10), expected);
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let dialect = Dialect::new(Flavor::MySql, 90_700);
        let text = "SELECT a + ".repeat(1_000);
        assert!(digest_text(text.as_bytes(), &dialect, 100).len() < 120);
    }
}

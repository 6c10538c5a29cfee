//! Cuts a statement into tokens as the backend would: strings, quoted identifiers, comments and
//! version comments included. Owns the position in the text and the doubt; knows no grammar.

mod number;

use std::ops::Range;

use super::comment;
use super::dialect::Dialect;
use super::keyword::Keyword;
use super::token::{Token, Word};

/// The lexer. Once in doubt it only says [`Token::End`].
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    /// Where the last token begins.
    start: usize,
    dialect: Dialect,
    space: u8,
    in_version_comment: bool,
    /// A hint was read that sets variables for the statement.
    hints_variables: bool,
    /// Where the last point ended that was no part of a number: a word right there is a name.
    point: usize,
    doubt: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a [u8], dialect: &Dialect) -> Self {
        Self {
            text,
            at: 0,
            start: 0,
            dialect: *dialect,
            space: dialect.charset.space(),
            in_version_comment: false,
            hints_variables: false,
            point: usize::MAX,
            doubt: false,
        }
    }

    pub(super) const fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Whether the text so far cannot be read with certainty.
    pub(super) const fn in_doubt(&self) -> bool {
        self.doubt
    }

    /// Whether a hint was read that sets variables for the statement (`SET_VAR`).
    pub(super) const fn hints_variables(&self) -> bool {
        self.hints_variables
    }

    /// Whether a version comment that is run is still to be closed.
    pub(super) const fn in_version_comment(&self) -> bool {
        self.in_version_comment
    }

    /// Where in the text the last token is.
    pub(super) const fn place(&self) -> Range<usize> {
        self.start..self.at
    }

    /// All of the text.
    pub(super) const fn text(&self) -> &'a [u8] {
        self.text
    }

    /// What was not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next token; a semicolon is a [`Token::Mark`] here.
    pub(super) fn next(&mut self) -> Token<'a> {
        loop {
            if self.doubt {
                return Token::End;
            }
            let Some(byte) = self.peek(0) else {
                // The end inside of a version comment is an error for the server.
                self.doubt = self.in_version_comment;
                return Token::End;
            };
            match byte {
                b' ' | b'\t'..=b'\r' => self.at += 1,
                b'#' => self.line_comment(),
                b'-' if self.peek(1) == Some(b'-') && self.is_comment_gap() => self.line_comment(),
                b'/' if self.peek(1) == Some(b'*') => self.long_comment(),
                b'*' if self.in_version_comment && self.peek(1) == Some(b'/') => {
                    self.in_version_comment = false;
                    self.at += 2;
                }
                _ if byte == self.space => self.at += 1,
                _ => {
                    self.start = self.at;
                    return self.token(byte);
                }
            }
        }
    }

    fn token(&mut self, byte: u8) -> Token<'a> {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80.. => self.word(),
            b'0'..=b'9' => self.number(),
            b'.' if matches!(self.peek(1), Some(b'0'..=b'9')) && !self.after_identifier() => {
                self.number()
            }
            b'\'' => self.string(byte),
            b'"' if !self.dialect.ansi_quotes => self.string(byte),
            b'`' | b'"' => self.quoted_name(byte),
            b'@' => self.variable(),
            b':' if self.peek(1) == Some(b'=') => {
                self.at += 2;
                Token::Assign
            }
            // To the server it is the end of the text, or is not, depending on its version.
            0 => self.give_up(),
            _ => {
                self.at += 1;
                if byte == b'.' {
                    self.point = self.at;
                }
                Token::Mark(byte)
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn give_up(&mut self) -> Token<'a> {
        self.doubt = true;
        Token::End
    }

    fn slice(&self, start: usize) -> &'a [u8] {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Whether the byte before the current one may end an identifier.
    fn after_identifier(&self) -> bool {
        self.at
            .checked_sub(1)
            .and_then(|before| self.text.get(before))
            .is_some_and(|&byte| is_word_byte(byte) && byte != self.space || byte == b'`')
    }

    /// Whether what follows two hyphens makes them a comment.
    fn is_comment_gap(&mut self) -> bool {
        match self.peek(2) {
            None | Some(0..=b' ' | 0x7F) => true,
            Some(byte) if byte == self.space => true,
            Some(0x80..) => {
                // Whether it is a control character depends on the character set.
                self.doubt = true;
                true
            }
            Some(_) => false,
        }
    }

    fn line_comment(&mut self) {
        let rest = self.rest();
        match rest.iter().position(|&byte| byte == b'\n' || byte == 0) {
            Some(end) => self.at += end,
            None => self.at = self.text.len(),
        }
    }

    fn long_comment(&mut self) {
        match comment::read(self.rest(), &self.dialect) {
            Some(comment::Comment::Skip(length)) => {
                let skipped = self.rest().get(..length).unwrap_or_default();
                self.hints_variables |= comment::hints_variables(skipped);
                self.at += length;
            }
            Some(comment::Comment::Enter(length)) => {
                self.at += length;
                self.in_version_comment = true;
            }
            None => self.doubt = true,
        }
    }

    fn word(&mut self) -> Token<'a> {
        let start = self.at;
        self.skip_word();
        let text = self.slice(start);
        if self.doubt || self.is_dollar_quote(text) {
            return self.give_up();
        }
        if start == self.point {
            return Token::Name(text);
        }
        Token::Word(Word {
            text,
            keyword: Keyword::of(text),
            tight: self.peek(0) == Some(b'('),
        })
    }

    /// MySQL is about to read `$tag$ … $tag$` as a string.
    fn is_dollar_quote(&self, text: &[u8]) -> bool {
        text.first() == Some(&b'$') && self.dialect.flavor == super::Flavor::MySql
    }

    fn skip_word(&mut self) {
        loop {
            let is_plain = |byte: &&u8| byte.is_ascii() && is_word_byte(**byte);
            self.at += self.rest().iter().take_while(is_plain).count();
            match self.peek(0) {
                Some(byte) if byte >= 0x80 && byte != self.space => self.skip_character(),
                _ => return,
            }
            if self.doubt {
                return;
            }
        }
    }

    /// Steps over a character that begins with a byte beyond ASCII.
    fn skip_character(&mut self) {
        match self.dialect.charset.length(self.rest()) {
            Some(length) => self.at += length,
            None => self.doubt = true,
        }
    }

    fn string(&mut self, quote: u8) -> Token<'a> {
        self.skip_quoted(quote, !self.dialect.no_backslash_escapes);
        if self.doubt { Token::End } else { Token::Text }
    }

    fn quoted_name(&mut self, quote: u8) -> Token<'a> {
        let start = self.at;
        self.skip_quoted(quote, false);
        let text = self.slice(start);
        if self.doubt || text.contains(&0) {
            return self.give_up();
        }
        Token::Name(text)
    }

    /// Steps over everything up to the closing quote; a doubled quote does not close.
    fn skip_quoted(&mut self, quote: u8, escapes: bool) {
        self.at += 1;
        let escape = if escapes { b'\\' } else { quote };
        loop {
            self.at += plain_run(self.rest(), [quote, escape]);
            let Some(byte) = self.peek(0) else {
                break;
            };
            if byte >= 0x80 {
                self.skip_character();
                if self.doubt {
                    return;
                }
            } else if byte == quote {
                self.at += 1;
                if self.peek(0) != Some(quote) {
                    return;
                }
                self.at += 1;
            } else if byte == b'\\' && escapes {
                // One byte even before a lead byte: so does the server.
                self.at += 2;
            } else {
                self.at += 1;
            }
        }
        self.doubt = true;
    }

    fn variable(&mut self) -> Token<'a> {
        let start = self.at;
        self.at += 1;
        match self.peek(0) {
            Some(b'@') => {
                self.at += 1;
                return Token::SystemVariable;
            }
            Some(quote @ (b'\'' | b'"' | b'`')) => {
                let escapes = quote == b'\'' || quote == b'"' && !self.dialect.ansi_quotes;
                self.skip_quoted(quote, escapes && !self.dialect.no_backslash_escapes);
            }
            _ => self.skip_variable_name(),
        }
        if self.doubt {
            Token::End
        } else {
            Token::UserVariable(self.slice(start))
        }
    }

    fn skip_variable_name(&mut self) {
        self.skip_word();
        while !self.doubt && self.peek(0) == Some(b'.') {
            self.at += 1;
            self.skip_word();
        }
    }
}

/// How many bytes at the beginning are ASCII and none of these. Literals may be megabytes long, so it looks at eight
/// bytes at a time.
fn plain_run(bytes: &[u8], marks: [u8; 2]) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const TOPS: u64 = ONES << 7;
    // The lowest bit that is set stands in the first byte that is zero; above it there may be others.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & TOPS;
    let (words, rest) = bytes.as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let marked = marks.map(|mark| zeros(word ^ (ONES * u64::from(mark))));
        let found = word & TOPS | marked[0] | marked[1];
        if found != 0 {
            return 8 * place + found.trailing_zeros() as usize / 8;
        }
    }
    let is_plain = |byte: &&u8| byte.is_ascii() && !marks.contains(*byte);
    8 * words.len() + rest.iter().take_while(is_plain).count()
}

pub(super) const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_plain_bytes_ends_at_the_first_that_is_not() {
        for length in 0..40 {
            for place in 0..length {
                for mark in [b'\'', b'\\', 0x80, 0xff] {
                    let mut bytes = vec![b'a'; length];
                    bytes[place] = mark;
                    // Neighbours that differ from a mark in one bit.
                    if place + 1 < length {
                        bytes[place + 1] = mark ^ 1;
                    }
                    assert_eq!(plain_run(&bytes, [b'\'', b'\\']), place);
                }
            }
            assert_eq!(plain_run(&vec![b'a'; length], [b'\'', b'\'']), length);
        }
    }
}

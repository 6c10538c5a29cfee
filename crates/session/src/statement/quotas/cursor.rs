//! A cursor over tokens that knows where in the text each of them is. Owns no grammar.

use std::ops::Range;

use super::super::dialect::Dialect;
use super::super::keyword::Keyword;
use super::super::lexer::Lexer;
use super::super::token::Token;

/// The cursor. At a semicolon and at the end of the text it keeps saying [`Token::End`].
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    lexer: Lexer<'a>,
    token: Token<'a>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a [u8], dialect: &Dialect) -> Self {
        let mut lexer = Lexer::new(text, dialect);
        let token = lexer.next();
        Self { text, lexer, token }
    }

    pub(super) const fn dialect(&self) -> &Dialect {
        self.lexer.dialect()
    }

    pub(super) const fn in_doubt(&self) -> bool {
        self.lexer.in_doubt()
    }

    /// The current token.
    pub(super) const fn token(&self) -> Token<'a> {
        match self.token {
            Token::Mark(b';') => Token::End,
            token => token,
        }
    }

    pub(super) const fn keyword(&self) -> Keyword {
        self.token.keyword()
    }

    /// Where the current token is; at the end of the text, where that is.
    pub(super) fn place(&self) -> Range<usize> {
        match self.token {
            Token::End => self.text.len()..self.text.len(),
            _ => self.lexer.place(),
        }
    }

    /// The bytes of the current token.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.text.get(self.place()).unwrap_or_default()
    }

    /// The current token if it is an unquoted word.
    pub(super) const fn word(&self) -> Option<&'a [u8]> {
        match self.token {
            Token::Word(word) => Some(word.text),
            _ => None,
        }
    }

    pub(super) fn is_word(&self, word: &[u8]) -> bool {
        self.word()
            .is_some_and(|found| found.eq_ignore_ascii_case(word))
    }

    pub(super) fn is_mark(&self, mark: u8) -> bool {
        self.token() == Token::Mark(mark)
    }

    /// Goes to the next token.
    pub(super) fn advance(&mut self) {
        if self.token() != Token::End {
            self.token = self.lexer.next();
        }
    }

    pub(super) fn accept_word(&mut self, word: &[u8]) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn accept_mark(&mut self, mark: u8) -> bool {
        let found = self.is_mark(mark);
        if found {
            self.advance();
        }
        found
    }

    /// Goes behind the next `keyword`; whether there is one.
    pub(super) fn skip_to(&mut self, keyword: Keyword) -> bool {
        while !self.at_end() {
            let found = self.keyword() == keyword;
            self.advance();
            if found {
                return true;
            }
        }
        false
    }

    /// Whether the statement is over.
    pub(super) fn at_end(&self) -> bool {
        self.token() == Token::End
    }

    /// Whether the statement is over, and nothing follows but semicolons and white space.
    pub(super) fn ends_text(&self) -> bool {
        let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
        self.at_end() && !self.lexer.in_version_comment() && self.lexer.rest().iter().all(blank)
    }
}

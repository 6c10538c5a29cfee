//! A cursor over the tokens of a text that stops at every semicolon until told to go on.
//! Owns the one token of lookahead, and its place in the text; knows no grammar.

use std::ops::Range;

use super::calls::{Called, CalledList, Calls};
use super::dialect::Dialect;
use super::fingerprint::Fingerprint;
use super::keyword::Keyword;
use super::lexer::Lexer;
use super::token::Token;

const SEPARATOR: u8 = b';';

/// The cursor. At a semicolon and at the end of the text it keeps saying [`Token::End`].
pub(super) struct Reader<'a> {
    lexer: Lexer<'a>,
    current: Token<'a>,
    /// Where the last token that was taken ends.
    behind: usize,
    fingerprint: Fingerprint,
    /// For who asks which routines are called.
    calls: Option<Calls<'a>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a [u8], dialect: &Dialect) -> Self {
        let mut lexer = Lexer::new(text, dialect);
        let current = lexer.next();
        Self {
            lexer,
            current,
            behind: 0,
            fingerprint: Fingerprint::new(),
            calls: None,
        }
    }

    /// One that takes note of the routines that are called.
    pub(super) fn noting(text: &'a [u8], dialect: &Dialect) -> Self {
        Self {
            calls: Some(Calls::default()),
            ..Self::new(text, dialect)
        }
    }

    /// Takes note of a routine that is called, if somebody asks; `None` of one whose name cannot be told.
    pub(super) fn note_call(&mut self, called: Option<Called<'a>>) {
        if let Some(calls) = &mut self.calls {
            calls.note(called);
        }
    }

    /// The routines that are called, as far as the text was read. `None` if they cannot be told.
    pub(super) fn into_calls(self) -> Option<CalledList<'a>> {
        self.calls?.told().filter(|_| !self.lexer.in_doubt())
    }

    pub(super) const fn dialect(&self) -> &Dialect {
        self.lexer.dialect()
    }

    /// Whether the text so far cannot be read with certainty.
    pub(super) const fn in_doubt(&self) -> bool {
        self.lexer.in_doubt()
    }

    /// Whether a hint in the text so far sets variables.
    pub(super) const fn hints_variables(&self) -> bool {
        self.lexer.hints_variables()
    }

    /// The next token, left where it is.
    pub(super) const fn peek(&self) -> Token<'a> {
        match self.current {
            Token::Mark(SEPARATOR) => Token::End,
            token => token,
        }
    }

    /// The keyword of the next token.
    pub(super) const fn peek_keyword(&self) -> Keyword {
        self.current.keyword()
    }

    /// Whether the next token is the byte `mark`.
    pub(super) fn peek_mark(&self, mark: u8) -> bool {
        self.peek().is_mark(mark)
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        if !token.is_end() {
            self.fingerprint.push(token);
            self.behind = self.lexer.place().end;
            self.current = self.lexer.next();
        }
        token
    }

    /// Where in the text the next token is; at the end of the text, where that is.
    pub(super) fn place(&self) -> Range<usize> {
        let end = self.lexer.text().len();
        match self.current {
            Token::End => end..end,
            _ => self.lexer.place(),
        }
    }

    /// Where the last token that was taken ends.
    pub(super) const fn behind(&self) -> usize {
        self.behind
    }

    /// The bytes of the next token.
    pub(super) fn written(&self) -> &'a [u8] {
        self.text(self.place())
    }

    /// A part of the text.
    pub(super) fn text(&self, place: Range<usize>) -> &'a [u8] {
        self.lexer.text().get(place).unwrap_or_default()
    }

    fn accept_if(&mut self, found: bool) -> bool {
        if found {
            self.next();
        }
        found
    }

    /// Takes the next token if it is `keyword`.
    pub(super) fn accept(&mut self, keyword: Keyword) -> bool {
        self.accept_if(self.peek().is(keyword))
    }

    /// Takes the next token if it is the byte `mark`.
    pub(super) fn accept_mark(&mut self, mark: u8) -> bool {
        self.accept_if(self.peek_mark(mark))
    }

    /// Takes the next token if it is this word, in any case and without quotes.
    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        self.accept_if(self.peek().is_word(word))
    }

    /// Takes the next token if it is this number.
    pub(super) fn accept_number(&mut self, number: &[u8]) -> bool {
        self.accept_if(matches!(self.peek(), Token::Number(digits) if digits == number))
    }

    /// Takes `()`, as far as it is there.
    pub(super) fn accept_call(&mut self) -> bool {
        self.accept_mark(b'(') && self.accept_mark(b')')
    }

    /// Takes a whole number.
    pub(super) fn number<N: std::str::FromStr>(&mut self) -> Option<N> {
        let Token::Number(digits) = self.next() else {
            return None;
        };
        str::from_utf8(digits).ok()?.parse().ok()
    }

    /// Goes behind the comma that ends this part of a list; whether there is one outside of parentheses.
    pub(super) fn skip_to_comma(&mut self) -> bool {
        let mut depth = 0_u32;
        while !self.at_end() {
            match self.next() {
                Token::Mark(b'(') => depth += 1,
                Token::Mark(b')') => depth = depth.saturating_sub(1),
                Token::Mark(b',') if depth == 0 => return true,
                _ => {}
            }
        }
        false
    }

    /// Whether the statement is over.
    pub(super) fn at_end(&self) -> bool {
        self.peek().is_end()
    }

    /// The number of what was taken so far.
    pub(super) fn digest(&self) -> u64 {
        self.fingerprint.finish()
    }

    /// Goes to the end of the statement.
    pub(super) fn skip_statement(&mut self) {
        while !self.at_end() {
            self.next();
        }
    }

    /// Goes behind the next `keyword`; whether there is one.
    pub(super) fn skip_to(&mut self, keyword: Keyword) -> bool {
        while !self.at_end() && !self.peek().is(keyword) {
            self.next();
        }
        self.accept(keyword)
    }

    /// Goes to the end of the text.
    pub(super) fn skip_text(&mut self) {
        loop {
            self.skip_statement();
            if !self.resume() {
                return;
            }
        }
    }

    /// Steps over semicolons; whether another statement begins there.
    pub(super) fn resume(&mut self) -> bool {
        while self.current.is_mark(SEPARATOR) {
            self.current = self.lexer.next();
        }
        !self.current.is_end()
    }

    /// Whether the statement is over and nothing follows but semicolons and white space. A comment
    /// behind a semicolon counts: the server answers it like a statement.
    pub(super) fn ends_text(&self) -> bool {
        let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == SEPARATOR;
        match self.current {
            Token::Mark(SEPARATOR) => {
                !self.lexer.in_version_comment() && self.lexer.rest().iter().all(blank)
            }
            token => token.is_end(),
        }
    }

    /// Whether the whole text was read, with certainty.
    pub(super) fn is_done(&self) -> bool {
        self.ends_text() && !self.in_doubt()
    }
}

//! A cursor over the tokens of a text that stops at every semicolon until told to go on.
//! Owns the one token of lookahead; knows no grammar.

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
            self.current = self.lexer.next();
        }
        token
    }

    /// Takes the next token if it is `keyword`.
    pub(super) fn accept(&mut self, keyword: Keyword) -> bool {
        let found = self.peek().is(keyword);
        if found {
            self.next();
        }
        found
    }

    /// Takes the next token if it is the byte `mark`.
    pub(super) fn accept_mark(&mut self, mark: u8) -> bool {
        let found = self.peek_mark(mark);
        if found {
            self.next();
        }
        found
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
}

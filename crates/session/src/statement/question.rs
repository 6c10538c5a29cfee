//! Texts that ask nothing but what a session knows of its last statement. Owns their forms.

use super::dialect::Dialect;
use super::identifier;
use super::keyword::Keyword;
use super::known::Known;
use super::lexer::Lexer;
use super::token::Token;

/// `SHOW WARNINGS` or `SHOW ERRORS`, with its LIMIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    /// Only errors are asked for.
    pub errors: bool,
    /// Rows that are left out at the beginning.
    pub offset: u64,
    /// Rows that are shown at most.
    pub rows: u64,
}

/// What a text asks that is one `SHOW WARNINGS` or `SHOW ERRORS`.
#[must_use]
pub fn show_diagnostics(text: &[u8], dialect: &Dialect) -> Option<Diagnostics> {
    let mut lexer = Lexer::new(text, dialect);
    lexer.next().is(Keyword::Show).then_some(())?;
    let errors = asks_for_errors(lexer.next())?;
    let (mut offset, mut rows) = (0, u64::MAX);
    let mut token = lexer.next();
    if word(token, b"limit") {
        rows = number(lexer.next())?;
        token = lexer.next();
        if token == Token::Mark(b',') {
            (offset, rows) = (rows, number(lexer.next())?);
            token = lexer.next();
        } else if word(token, b"offset") {
            offset = number(lexer.next())?;
            token = lexer.next();
        }
    }
    ends(&mut lexer, token).then_some(Diagnostics {
        errors,
        offset,
        rows,
    })
}

/// The one value that a text asks for, and the name of its column: `SELECT ROW_COUNT() [AS name]`,
/// `SELECT @@warning_count`, `SHOW COUNT(*) WARNINGS` and the like.
#[must_use]
pub fn lone(text: &[u8], dialect: &Dialect) -> Option<(Known, Vec<u8>)> {
    let mut lexer = Lexer::new(text, dialect);
    match lexer.next().keyword() {
        Keyword::Select => selected(text, lexer),
        Keyword::Show => shown(lexer),
        _ => None,
    }
}

fn selected(text: &[u8], mut lexer: Lexer<'_>) -> Option<(Known, Vec<u8>)> {
    let first = lexer.next();
    let start = lexer.place().start;
    let known = match first {
        Token::Word(word) => {
            let known = Known::of_function(word.text)?;
            let call = [lexer.next(), lexer.next()];
            (call == [Token::Mark(b'('), Token::Mark(b')')]).then_some(known)?
        }
        Token::SystemVariable => Known::read(&mut lexer)?,
        _ => return None,
    };
    let written = text.get(start..lexer.place().end)?;
    let mut token = lexer.next();
    let name = if token.is(Keyword::As) {
        let alias = lexer.next().identifier()?;
        let alias = identifier::unquote(alias, lexer.dialect().charset).into_owned();
        token = lexer.next();
        alias
    } else {
        written.to_vec()
    };
    ends(&mut lexer, token).then_some((known, name))
}

/// Behind SHOW. Both servers carry this out as a SELECT of the variable, under this name.
fn shown(mut lexer: Lexer<'_>) -> Option<(Known, Vec<u8>)> {
    let count = [lexer.next(), lexer.next(), lexer.next(), lexer.next()];
    let [
        first,
        Token::Mark(b'('),
        Token::Mark(b'*'),
        Token::Mark(b')'),
    ] = count
    else {
        return None;
    };
    first.is(Keyword::Count).then_some(())?;
    let errors = asks_for_errors(lexer.next())?;
    let token = lexer.next();
    let (known, name) = match errors {
        true => (Known::ErrorCount, b"@@session.error_count".to_vec()),
        false => (Known::WarningCount, b"@@session.warning_count".to_vec()),
    };
    ends(&mut lexer, token).then_some((known, name))
}

fn asks_for_errors(token: Token<'_>) -> Option<bool> {
    if word(token, b"warnings") {
        Some(false)
    } else if word(token, b"errors") {
        Some(true)
    } else {
        None
    }
}

pub(super) fn word(token: Token<'_>, expected: &[u8]) -> bool {
    matches!(token, Token::Word(word) if word.text.eq_ignore_ascii_case(expected))
}

fn number(token: Token<'_>) -> Option<u64> {
    let Token::Number(digits) = token else {
        return None;
    };
    str::from_utf8(digits).ok()?.parse().ok()
}

/// True if nothing but semicolons follows.
pub(super) fn ends(lexer: &mut Lexer<'_>, token: Token<'_>) -> bool {
    let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
    let ends = matches!(token, Token::End | Token::Mark(b';'));
    let open = lexer.in_version_comment() || lexer.in_doubt();
    ends && !open && lexer.rest().iter().all(blank)
}

//! Names of accounts in a statement: `'user'@'host'` in all the ways it can be written. Owns taking
//! the quotes off; which account is meant where a pattern is given is the server's matter.

use super::super::dialect::Dialect;
use super::super::identifier;
use super::super::token::Token;
use super::cursor::Cursor;

/// An account as a statement names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AccountRef {
    /// `'user'@'host'`, the host `%` unless it is written; in the character set of the statement.
    Named {
        /// The user.
        user: Vec<u8>,
        /// The host part.
        host: Vec<u8>,
    },
    /// `CURRENT_USER()` or `USER()`: whoever says so.
    Current,
}

/// A name, or where none could be read.
pub(super) type Named = Result<AccountRef, usize>;

/// The accounts of a list, each with what is said about how it proves itself.
pub(super) fn list(cursor: &mut Cursor<'_>) -> Result<Vec<AccountRef>, usize> {
    let mut accounts = Vec::new();
    loop {
        accounts.push(name(cursor)?);
        if !skip_credentials(cursor) {
            return Ok(accounts);
        }
    }
}

/// One name.
pub(super) fn name(cursor: &mut Cursor<'_>) -> Named {
    if cursor.is_word(b"current_user") || cursor.is_word(b"user") {
        cursor.advance();
        if cursor.accept_mark(b'(') && !cursor.accept_mark(b')') {
            return Err(cursor.place().start);
        }
        return Ok(AccountRef::Current);
    }
    let user = match cursor.token() {
        Token::Word(_) | Token::Name(_) | Token::Text => value(cursor.bytes(), cursor.dialect()),
        _ => return Err(cursor.place().start),
    };
    cursor.advance();
    let mut host = b"%".to_vec();
    if matches!(cursor.token(), Token::UserVariable(_)) {
        let written = cursor.bytes().get(1..).unwrap_or_default();
        if written.is_empty() {
            return Err(cursor.place().end);
        }
        host = value(written, cursor.dialect());
        cursor.advance();
    }
    Ok(AccountRef::Named { user, host })
}

/// Steps over passwords and plugins; whether another account follows.
fn skip_credentials(cursor: &mut Cursor<'_>) -> bool {
    let mut depth = 0_usize;
    while !cursor.at_end() {
        match cursor.token() {
            Token::Mark(b'(') => depth += 1,
            Token::Mark(b')') => depth = depth.saturating_sub(1),
            Token::Mark(b',') if depth == 0 => {
                cursor.advance();
                return true;
            }
            _ if cursor.accept_word(b"identified") => {
                cursor.accept_word(b"with");
                continue;
            }
            _ if [&b"require"[..], b"with", b"default"]
                .iter()
                .any(|w| cursor.is_word(w)) =>
            {
                return false;
            }
            _ => {}
        }
        cursor.advance();
    }
    false
}

/// What a word, a quoted name or a string stands for.
pub(in crate::statement) fn value(written: &[u8], dialect: &Dialect) -> Vec<u8> {
    match written {
        [b'`', ..] => identifier::unquote(written, dialect.charset).into_owned(),
        [b'"', ..] if dialect.ansi_quotes => {
            identifier::unquote(written, dialect.charset).into_owned()
        }
        [quote @ (b'\'' | b'"'), inner @ .., _] => string(inner, *quote, dialect),
        _ => written.to_vec(),
    }
}

fn string(inner: &[u8], quote: u8, dialect: &Dialect) -> Vec<u8> {
    let mut value = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((&byte, after)) = rest.split_first() {
        let length = match byte {
            0x80.. => dialect.charset.length(rest).unwrap_or(1),
            _ => 1,
        };
        let (character, mut next) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        if byte == quote {
            next = after.get(1..).unwrap_or_default();
            value.push(byte);
        } else if byte == b'\\' && !dialect.no_backslash_escapes && !after.is_empty() {
            // The wildcards of a host part keep theirs.
            if matches!(after[0], b'%' | b'_') {
                value.push(b'\\');
            }
            value.push(unescaped(after[0]));
            next = &after[1..];
        } else {
            value.extend_from_slice(character);
        }
        rest = next;
    }
    value
}

const fn unescaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        byte => byte,
    }
}

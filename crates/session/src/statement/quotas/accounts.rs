//! Names of accounts in a statement: `'user'@'host'` in all the ways it can be written. Which account is
//! meant where a pattern is given is the server's matter.

use super::super::identifier::value;
use super::super::reader::Reader;
use super::super::token::Token;

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

/// The accounts of a list, each with its credentials. The error is the place that is wrong.
pub(super) fn list(reader: &mut Reader<'_>) -> Result<Vec<AccountRef>, usize> {
    let mut accounts = Vec::new();
    loop {
        accounts.push(name(reader)?);
        if !skip_credentials(reader) {
            return Ok(accounts);
        }
    }
}

/// One name.
pub(super) fn name(reader: &mut Reader<'_>) -> Result<AccountRef, usize> {
    if reader.accept_word("current_user") || reader.accept_word("user") {
        if reader.accept_mark(b'(') && !reader.accept_mark(b')') {
            return Err(reader.place().start);
        }
        return Ok(AccountRef::Current);
    }
    if !matches!(reader.peek(), Token::Word(_) | Token::Name(_) | Token::Text) {
        return Err(reader.place().start);
    }
    let user = value(reader.written(), reader.dialect());
    reader.next();
    let mut host = b"%".to_vec();
    if let Token::UserVariable(written) = reader.peek() {
        let written = written.get(1..).unwrap_or_default();
        if written.is_empty() {
            return Err(reader.place().end);
        }
        host = value(written, reader.dialect());
        reader.next();
    }
    Ok(AccountRef::Named { user, host })
}

/// Steps over passwords and plugins; whether another account follows.
fn skip_credentials(reader: &mut Reader<'_>) -> bool {
    let mut depth = 0_usize;
    while !reader.at_end() {
        if reader.accept_word("identified") {
            reader.accept_word("with");
            continue;
        }
        match reader.peek() {
            Token::Mark(b'(') => depth += 1,
            Token::Mark(b')') => depth = depth.saturating_sub(1),
            Token::Mark(b',') if depth == 0 => return reader.accept_mark(b','),
            token if token.is_among("require with default") => return false,
            _ => {}
        }
        reader.next();
    }
    false
}

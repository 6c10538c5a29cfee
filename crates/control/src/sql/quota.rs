//! Limits in statements: `SET QUOTA` for a trial, and what `GRANT` and `ALTER USER` keep. The clauses of
//! the latter are read where those of clients are; the rest of them is the database's, and none of it
//! can be said here.

use session::statement::{
    AccountRef, AccountStatement, Flavor, Limit, Limits, Piece, account_statement,
};

use super::cursor::{Cursor, dialect};
use super::error::SqlError;
use super::statement::Statement;
use crate::office::{Lasts, Whose};

/// Behind `SET QUOTA`: `{account | DEFAULT} limit [=] value [, limit [=] value …]`.
pub(super) fn trial(cursor: &mut Cursor) -> Result<Statement, SqlError> {
    let whose = match cursor.accept("default") {
        true => Whose::Others,
        false => account(cursor)?,
    };
    let mut limits = Limits::default();
    loop {
        let name = cursor.word().unwrap_or_default();
        let limit = Limit::of(name.as_bytes()).ok_or_else(unknown_limit)?;
        cursor.accept_mark(b'=');
        let written = match cursor.next() {
            Some(Piece::Number(written)) => written,
            _ => String::new(),
        };
        let value = limit.value(written.as_bytes()).ok_or_else(|| {
            SqlError::syntax(format!("{} needs a number that fits it", limit.name()))
        })?;
        limits = limits.with(limit, value);
        if !cursor.accept_mark(b',') {
            break;
        }
    }
    cursor.end()?;
    Ok(Statement::Limit(vec![whose], limits, Lasts::Trial))
}

/// A whole `GRANT`, `ALTER USER` or the like.
pub(super) fn kept(text: &[u8]) -> Result<Statement, SqlError> {
    match account_statement(text, &dialect()) {
        AccountStatement::Limits {
            accounts,
            limits,
            server_text,
        } => {
            is_nothing_else(&server_text)?;
            let whose: Result<Vec<_>, _> = accounts.into_iter().map(named).collect();
            Ok(Statement::Limit(whose?, limits, Lasts::Kept))
        }
        AccountStatement::Wrong(error) => {
            let message = error.message(Flavor::MySql);
            Err(SqlError::syntax(
                String::from_utf8_lossy(&message).into_owned(),
            ))
        }
        _ => Err(only_limits()),
    }
}

fn named(account: AccountRef) -> Result<Whose, SqlError> {
    match account {
        AccountRef::Named { user, host } => {
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            Ok(Whose::Account(text(user), text(host)))
        }
        AccountRef::Current => Err(SqlError::syntax(
            "name the account; whoever asks here is none of the database",
        )),
    }
}

/// `GRANT USAGE ON *.* TO accounts` and `ALTER USER accounts` do nothing by themselves.
fn is_nothing_else(server_text: &[u8]) -> Result<(), SqlError> {
    let mut cursor = Cursor::new(server_text)?;
    let is_grant = cursor.accept("grant")
        && cursor.accept("usage")
        && cursor.accept("on")
        && cursor.accept_mark(b'*')
        && cursor.accept_mark(b'.')
        && cursor.accept_mark(b'*')
        && cursor.accept("to");
    let is_account = is_grant || (cursor.accept("alter") && cursor.accept("user"));
    if !is_account {
        return Err(only_limits());
    }
    loop {
        account(&mut cursor)?;
        if !cursor.accept_mark(b',') {
            break;
        }
    }
    match cursor.at_end() {
        true => Ok(()),
        false => Err(only_limits()),
    }
}

fn account(cursor: &mut Cursor) -> Result<Whose, SqlError> {
    let user = match cursor.next() {
        Some(Piece::Text(user) | Piece::Name(user) | Piece::Word(user)) => user,
        _ => return Err(SqlError::syntax("name an account, such as 'app'@'%'")),
    };
    let host = match cursor.peek() {
        Some(Piece::UserVariable(host)) => host.clone(),
        _ => return Ok(Whose::Account(user, "%".to_owned())),
    };
    cursor.next();
    Ok(Whose::Account(user, host))
}

fn unknown_limit() -> SqlError {
    let names = Limit::ALL.map(Limit::name).join(", ");
    SqlError::syntax(format!("no such limit; there are {names}"))
}

fn only_limits() -> SqlError {
    SqlError::syntax(
        "only limits can be set here: GRANT USAGE ON *.* TO account WITH limit value, or ALTER USER account \
         WITH limit value; the database takes the rest through the front door",
    )
}

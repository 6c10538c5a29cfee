//! The language: a text in, a statement out. Owns the grammar; nothing is carried out here.

use std::net::IpAddr;

use engine::{FIRST_CONNECTION_ID, Victim};
use session::statement::Limits;
use wire::code;

use super::cursor::Cursor;
use super::error::SqlError;
use super::quota;
use super::select::{self, Item};
use crate::office::{Lasts, Whose};
use crate::tables::{Filter, Subject, system_variable};

/// What an administrator wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// A table.
    Show(Subject, Filter),
    /// What was to be said about the statement before.
    ShowWarnings,
    /// A table that has no rows here; the name of its column.
    ShowNothing(&'static str),
    /// What there is.
    Help,
    /// Ending a client, or its statement.
    Kill(Victim),
    /// Limits for accounts.
    Limit(Vec<Whose>, Limits, Lasts),
    /// The configuration is to be read again.
    Reload,
    /// One address that failed to log in, or all of them, are to be forgotten.
    FlushHosts(Option<IpAddr>),
    /// Expressions.
    Select(Vec<Item>),
    /// What clients say by themselves and what has no effect here.
    Nothing,
}

impl Statement {
    /// Whether it is more than looking.
    pub(super) fn changes(&self) -> bool {
        match self {
            Self::Kill(_) | Self::Limit(..) | Self::Reload | Self::FlushHosts(_) => true,
            Self::Show(..)
            | Self::ShowWarnings
            | Self::ShowNothing(_)
            | Self::Help
            | Self::Select(_)
            | Self::Nothing => false,
        }
    }
}

/// Every statement besides SHOW, and what it does.
pub(super) const OTHERS: [(&str, &str); 8] = [
    ("KILL [CONNECTION] id", "ends a client connection"),
    (
        "KILL QUERY id",
        "ends the statement of a client, also one that waits",
    ),
    (
        "SET QUOTA 'user'@'host' limit = value [, ...]",
        "sets limits of an account until RELOAD or a restart",
    ),
    (
        "SET QUOTA DEFAULT limit = value [, ...]",
        "the same of all accounts that have none of their own",
    ),
    (
        "ALTER USER 'user'@'host' WITH limit value [...]",
        "sets limits of an account for good; also GRANT USAGE ON *.* TO",
    ),
    ("RELOAD", "reads the configuration again; trials end"),
    (
        "FLUSH HOSTS ['address']",
        "forgets that the address failed to log in, or all that did: it is not blocked any more",
    ),
    ("SHOW HELP", "this list"),
];

/// Reads a text.
pub(super) fn parse(text: &[u8]) -> Result<Statement, SqlError> {
    let mut cursor = Cursor::new(text)?;
    let Some(word) = cursor.word() else {
        return Err(unknown());
    };
    match word.to_ascii_lowercase().as_str() {
        "show" => show(&mut cursor),
        "kill" => kill(&mut cursor),
        "select" => select::items(&mut cursor).map(Statement::Select),
        "set" if cursor.accept("quota") => quota::trial(&mut cursor),
        "set" => set(&mut cursor),
        "grant" | "revoke" | "create" | "alter" | "drop" | "rename" => quota::kept(text),
        "flush" if cursor.accept("hosts") => flush_hosts(&mut cursor),
        "reload" => cursor_end(&cursor, Statement::Reload),
        // Nothing is open here, so there is nothing to end.
        "begin" | "start" | "commit" | "rollback" => Ok(Statement::Nothing),
        _ => Err(unknown()),
    }
}

fn show(cursor: &mut Cursor) -> Result<Statement, SqlError> {
    cursor.accept_any(&["full", "global", "session", "local"]);
    let Some(word) = cursor.word() else {
        return Err(unknown());
    };
    let subject = match word.to_ascii_lowercase().as_str() {
        "processlist" => Some(Subject::Sessions),
        "warnings" | "errors" => return cursor_end(cursor, Statement::ShowWarnings),
        "help" => return cursor_end(cursor, Statement::Help),
        "databases" => return Ok(Statement::ShowNothing("Database")),
        "tables" => return Ok(Statement::ShowNothing("Table")),
        name => Subject::named(name),
    };
    let subject = subject.ok_or_else(unknown)?;
    let filter = filter(cursor)?;
    cursor_end(cursor, Statement::Show(subject, filter))
}

fn cursor_end(cursor: &Cursor, statement: Statement) -> Result<Statement, SqlError> {
    cursor.end().map(|()| statement)
}

/// `[LIKE 'pattern'] [LIMIT [offset,] count | LIMIT count OFFSET offset]`
fn filter(cursor: &mut Cursor) -> Result<Filter, SqlError> {
    let mut filter = Filter::default();
    if cursor.accept("like") {
        filter.like = Some(cursor.text("the pattern behind LIKE")?);
    }
    if cursor.accept("limit") {
        let first = cursor.number("LIMIT")?;
        if cursor.accept_mark(b',') {
            (filter.offset, filter.limit) = (first, Some(cursor.number("LIMIT")?));
        } else {
            filter.limit = Some(first);
            if cursor.accept("offset") {
                filter.offset = cursor.number("OFFSET")?;
            }
        }
    }
    Ok(filter)
}

fn kill(cursor: &mut Cursor) -> Result<Statement, SqlError> {
    cursor.accept_any(&["hard", "soft"]);
    let query = cursor.accept("query");
    if !query {
        cursor.accept("connection");
    }
    let id = cursor.number("the id behind KILL")?;
    let id = u32::try_from(id).ok().filter(|&id| is_client(id));
    let id = id.ok_or_else(|| {
        let text = format!(
            "Unknown thread id; SHOW SESSIONS tells those of clients, which begin at {FIRST_CONNECTION_ID}"
        );
        SqlError::new(code::NO_SUCH_THREAD, b"HY000", text)
    })?;
    cursor_end(cursor, Statement::Kill(Victim { id, query }))
}

fn flush_hosts(cursor: &mut Cursor) -> Result<Statement, SqlError> {
    if cursor.at_end() {
        return Ok(Statement::FlushHosts(None));
    }
    let written = cursor.text("the address behind FLUSH HOSTS")?;
    let address = written.parse().map_err(|_| {
        let text = format!("'{written}' is no IP address; SHOW HOSTS lists those that failed");
        SqlError::syntax(text)
    })?;
    cursor_end(cursor, Statement::FlushHosts(Some(address)))
}

fn is_client(id: u32) -> bool {
    (FIRST_CONNECTION_ID..2 * FIRST_CONNECTION_ID).contains(&id)
}

/// `SET NAMES …` and other settings that clients make by themselves have no effect. Whatever is not
/// known here is refused: it could be meant for the front door.
fn set(cursor: &mut Cursor) -> Result<Statement, SqlError> {
    if cursor.accept_any(&["names", "charset"]) {
        return Ok(Statement::Nothing);
    }
    if cursor.accept("character") {
        return Ok(Statement::Nothing);
    }
    loop {
        setting(cursor)?;
        if cursor.at_end() {
            return Ok(Statement::Nothing);
        }
    }
}

/// One `[SESSION | @@session.]variable = value`, and the comma behind it.
fn setting(cursor: &mut Cursor) -> Result<(), SqlError> {
    use session::statement::Piece;
    let mut name = String::new();
    let mut is_value = false;
    while let Some(piece) = cursor.next() {
        match piece {
            Piece::Mark(b',') if is_value => break,
            Piece::Mark(b'=') | Piece::Assign => is_value = true,
            Piece::Word(word) if !is_value && word.eq_ignore_ascii_case("transaction") => {
                while cursor.next().is_some() {}
                return Ok(());
            }
            Piece::Word(word) | Piece::Name(word) if !is_value => name = word,
            _ => {}
        }
    }
    if is_value && (system_variable(&name).is_some() || is_of_session(&name)) {
        return Ok(());
    }
    Err(SqlError::new(
        code::UNKNOWN_SYSTEM_VARIABLE,
        b"HY000",
        format!("Unknown system variable '{name}'; the configuration is set in its file"),
    ))
}

/// What clients set and never ask for.
fn is_of_session(name: &str) -> bool {
    let known = [
        "foreign_key_checks",
        "lock_wait_timeout",
        "net_read_timeout",
        "profiling",
        "sql_auto_is_null",
        "sql_notes",
        "sql_quote_show_create",
        "unique_checks",
    ];
    known.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn unknown() -> SqlError {
    let tables = Subject::ALL.map(|subject| subject.name().to_ascii_uppercase());
    SqlError::syntax(format!(
        "no such statement here; there are SHOW {} [LIKE 'pattern'] [LIMIT count], KILL [QUERY] id, SET QUOTA, ALTER USER, \
         RELOAD, FLUSH HOSTS, and SHOW HELP, which tells what they do",
        tables.join(" | ")
    ))
}

#[cfg(test)]
mod tests;

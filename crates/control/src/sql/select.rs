//! `SELECT` of what clients ask for by themselves: variables, constants, and who they are. There are no
//! tables here.

use session::statement::Piece;
use wire::code;

use super::cursor::{Cursor, shown};
use super::error::SqlError;
use crate::tables::{Value, system_variable};

/// An expression with the name of its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) value: Expression,
}

/// What a client can ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    Constant(Value),
    /// `USER()`
    User,
    /// `CONNECTION_ID()`
    ConnectionId,
}

/// Behind SELECT.
pub(super) fn items(cursor: &mut Cursor) -> Result<Vec<Item>, SqlError> {
    let mut items = vec![item(cursor)?];
    while cursor.accept_mark(b',') {
        items.push(item(cursor)?);
    }
    if cursor.accept("limit") {
        cursor.number("LIMIT")?;
    }
    cursor.end()?;
    Ok(items)
}

fn item(cursor: &mut Cursor) -> Result<Item, SqlError> {
    let (name, value) = expression(cursor)?;
    let alias = match cursor.accept("as") {
        true => cursor.next(),
        false => match cursor.peek() {
            Some(Piece::Word(word)) if !word.eq_ignore_ascii_case("limit") => cursor.next(),
            Some(Piece::Name(_) | Piece::Text(_)) => cursor.next(),
            _ => None,
        },
    };
    let name = match alias {
        Some(Piece::Word(alias) | Piece::Name(alias) | Piece::Text(alias)) => alias,
        _ => name,
    };
    Ok(Item { name, value })
}

fn expression(cursor: &mut Cursor) -> Result<(String, Expression), SqlError> {
    match cursor.next() {
        Some(Piece::SystemVariable) => variable(cursor),
        Some(Piece::Number(written)) => {
            let value = match written.parse() {
                Ok(number) => Value::Number(number),
                Err(_) => Value::Text(written.clone()),
            };
            Ok((written, Expression::Constant(value)))
        }
        Some(Piece::Text(text)) => Ok((text.clone(), Expression::Constant(Value::Text(text)))),
        Some(Piece::Word(word)) => named(cursor, &word),
        Some(piece) => Err(unknown(&shown(&piece))),
        None => Err(unknown("")),
    }
}

/// Behind `@@`.
fn variable(cursor: &mut Cursor) -> Result<(String, Expression), SqlError> {
    let mut path = Vec::new();
    loop {
        match cursor.next() {
            Some(Piece::Word(name) | Piece::Name(name)) => path.push(name),
            _ => return Err(unknown("@@")),
        }
        if !cursor.accept_mark(b'.') {
            break;
        }
    }
    let written = path.join(".");
    let name = path.pop().unwrap_or_default();
    let value = system_variable(&name).ok_or_else(|| {
        let text = format!("Unknown system variable '{name}'");
        SqlError::new(code::UNKNOWN_SYSTEM_VARIABLE, b"HY000", text)
    })?;
    // As numbers and switches are in a server.
    let value = match value {
        "ON" => Value::Number(1),
        "OFF" => Value::Number(0),
        value => value
            .parse()
            .map_or_else(|_| Value::from(value), Value::Number),
    };
    Ok((format!("@@{written}"), Expression::Constant(value)))
}

fn named(cursor: &mut Cursor, word: &str) -> Result<(String, Expression), SqlError> {
    let lower = word.to_ascii_lowercase();
    let expression = match lower.as_str() {
        "null" | "database" | "schema" => Expression::Constant(Value::None),
        "version" => Expression::Constant(super::VERSION.into()),
        "user" | "current_user" | "session_user" | "system_user" => Expression::User,
        "connection_id" => Expression::ConnectionId,
        _ => return Err(unknown(word)),
    };
    let mut name = word.to_owned();
    if cursor.accept_mark(b'(') {
        if !cursor.accept_mark(b')') {
            return Err(unknown(word));
        }
        name.push_str("()");
    }
    Ok((name, expression))
}

fn unknown(what: &str) -> SqlError {
    SqlError::syntax(format!(
        "cannot SELECT {what}; there are no tables here, SHOW HELP tells what there is"
    ))
}

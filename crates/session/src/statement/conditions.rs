//! `GET DIAGNOSTICS`: what it asks, and which variables are told. Owns its grammar; what the answers
//! are is the session's to know.

use super::dialect::{Dialect, Flavor};
use super::keyword::Keyword;
use super::lexer::Lexer;
use super::question::{ends, word};
use super::token::Token;
use super::user_variables;

/// User variables, and what each is to tell.
type Targets<T> = Vec<(Box<[u8]>, T)>;

/// What a GET DIAGNOSTICS asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Of the statement before.
    OfStatement(Vec<(Box<[u8]>, StatementItem)>),
    /// Of one of its conditions.
    OfCondition(Place, Vec<(Box<[u8]>, ConditionItem)>),
    /// In a way that only the server understands.
    Otherwise,
}

/// The number of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// As it stands in the text; 0, which no condition has, for NULL.
    Number(u64),
    /// The value of a user variable.
    Variable(Box<[u8]>),
}

/// What can be asked about a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementItem {
    /// How many conditions there are.
    Number,
    /// What `ROW_COUNT()` says.
    RowCount,
}

/// What can be asked about a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionItem {
    /// `CLASS_ORIGIN` and `SUBCLASS_ORIGIN`, which are the same.
    Origin,
    /// `RETURNED_SQLSTATE`
    SqlState,
    /// `MESSAGE_TEXT`
    Message,
    /// `MYSQL_ERRNO`
    Code,
    /// What only SIGNAL fills, such as `TABLE_NAME`.
    Name,
    /// `ROW_NUMBER` of MariaDB.
    RowNumber,
}

impl StatementItem {
    fn of(name: &[u8]) -> Option<Self> {
        match &*name.to_ascii_uppercase() {
            b"NUMBER" => Some(Self::Number),
            b"ROW_COUNT" => Some(Self::RowCount),
            _ => None,
        }
    }
}

impl ConditionItem {
    fn of(name: &[u8], flavor: Flavor) -> Option<Self> {
        match &*name.to_ascii_uppercase() {
            b"CLASS_ORIGIN" | b"SUBCLASS_ORIGIN" => Some(Self::Origin),
            b"RETURNED_SQLSTATE" => Some(Self::SqlState),
            b"MESSAGE_TEXT" => Some(Self::Message),
            b"MYSQL_ERRNO" => Some(Self::Code),
            b"ROW_NUMBER" if flavor == Flavor::MariaDb => Some(Self::RowNumber),
            b"CONSTRAINT_CATALOG"
            | b"CONSTRAINT_SCHEMA"
            | b"CONSTRAINT_NAME"
            | b"CATALOG_NAME"
            | b"SCHEMA_NAME"
            | b"TABLE_NAME"
            | b"COLUMN_NAME"
            | b"CURSOR_NAME" => Some(Self::Name),
            _ => None,
        }
    }
}

/// What a text asks that is one `GET [CURRENT] DIAGNOSTICS`. `None` for all others, and for what the
/// server refuses, whatever conditions there are.
#[must_use]
pub fn get_diagnostics(text: &[u8], dialect: &Dialect) -> Option<Asked> {
    let mut lexer = Lexer::new(text, dialect);
    lexer.next().is(Keyword::Get).then_some(())?;
    let mut token = lexer.next();
    if word(token, b"current") {
        token = lexer.next();
    }
    word(token, b"diagnostics").then_some(())?;
    let first = lexer.next();
    if !word(first, b"condition") {
        let asked = items(lexer, first, StatementItem::of)?;
        return Some(asked.map_or(Asked::Otherwise, Asked::OfStatement));
    }
    let number = lexer.next();
    let number = place(text, &lexer, number)?;
    let (first, flavor) = (lexer.next(), dialect.flavor);
    let asked = items(lexer, first, |name| ConditionItem::of(name, flavor))?;
    let asked = number.zip(asked);
    Some(asked.map_or(Asked::Otherwise, |(place, items)| {
        Asked::OfCondition(place, items)
    }))
}

/// The number of a condition: `Some(None)` if the server knows it, and this does not.
fn place(text: &[u8], lexer: &Lexer<'_>, token: Token<'_>) -> Option<Option<Place>> {
    let digits = |digits: &[u8]| str::from_utf8(digits).ok()?.parse().ok();
    let place = match token {
        Token::Number(written) => digits(written).map(Place::Number),
        Token::Text => {
            let written = text.get(lexer.place()).unwrap_or_default();
            let inner = written.get(1..written.len().saturating_sub(1));
            inner.and_then(digits).map(Place::Number)
        }
        Token::UserVariable(written) => {
            let name = user_variables::name(written);
            name.map(|name| Place::Variable(name.to_ascii_lowercase().into()))
        }
        token if word(token, b"null") => Some(Place::Number(0)),
        Token::SystemVariable => None,
        token if token.identifier().is_some() => None,
        _ => return None,
    };
    Some(place)
}

/// A list of `@name = ITEM`, the first token of which is `token`: `Some(None)` if the server may know what a
/// target is, and this does not.
fn items<'a, T>(
    mut lexer: Lexer<'a>,
    mut token: Token<'a>,
    of: impl Fn(&[u8]) -> Option<T>,
) -> Option<Option<Targets<T>>> {
    let mut found = Some(Vec::new());
    loop {
        let Token::UserVariable(written) = token else {
            return None;
        };
        (lexer.next() == Token::Mark(b'=')).then_some(())?;
        let item = of(lexer.next().identifier()?)?;
        let name = user_variables::name(written);
        found = found.zip(name).map(|(mut found, name)| {
            found.push((name.to_ascii_lowercase().into(), item));
            found
        });
        match lexer.next() {
            Token::Mark(b',') => token = lexer.next(),
            token => return ends(&mut lexer, token).then_some(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Option<Asked> {
        get_diagnostics(text.as_bytes(), &Dialect::new(Flavor::MariaDb, 101_119))
    }

    fn name(name: &str) -> Box<[u8]> {
        name.as_bytes().into()
    }

    #[test]
    fn what_is_asked_of_a_statement() {
        let expected = Asked::OfStatement(vec![
            (name("n"), StatementItem::Number),
            (name("a_b"), StatementItem::RowCount),
        ]);
        for text in [
            "GET DIAGNOSTICS @N = NUMBER, @`a_b` = ROW_COUNT",
            "get /* a */ current diagnostics @n=number,@'a_b'=row_count ; ",
        ] {
            assert_eq!(asked(text), Some(expected.clone()), "{text}");
        }
    }

    #[test]
    fn what_is_asked_of_a_condition() {
        let items = vec![
            (name("a"), ConditionItem::SqlState),
            (name("b"), ConditionItem::Name),
            (name("c"), ConditionItem::Origin),
            (name("a"), ConditionItem::RowNumber),
        ];
        let list = "@a = RETURNED_SQLSTATE, @b = table_name, @c = CLASS_ORIGIN, @a = ROW_NUMBER";
        for (number, place) in [
            ("7", Place::Number(7)),
            ("'7'", Place::Number(7)),
            ("NULL", Place::Number(0)),
            ("@K", Place::Variable(name("k"))),
        ] {
            let text = format!("GET DIAGNOSTICS CONDITION {number} {list}");
            let expected = Asked::OfCondition(place, items.clone());
            assert_eq!(asked(&text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_only_the_server_understands() {
        for text in [
            "GET DIAGNOSTICS @`a b` = NUMBER",
            "GET DIAGNOSTICS CONDITION 1.5 @a = MESSAGE_TEXT",
            "GET DIAGNOSTICS CONDITION 'x' @a = MESSAGE_TEXT",
            "GET DIAGNOSTICS CONDITION TRUE @a = MESSAGE_TEXT",
            "GET DIAGNOSTICS CONDITION @`a b` @a = MESSAGE_TEXT",
        ] {
            assert_eq!(asked(text), Some(Asked::Otherwise), "{text}");
        }
    }

    #[test]
    fn what_the_server_refuses() {
        for text in [
            "SELECT 1",
            "GET STACKED DIAGNOSTICS @a = NUMBER",
            "GET DIAGNOSTICS",
            "GET DIAGNOSTICS @a",
            "GET DIAGNOSTICS @a = NUMBER,",
            "GET DIAGNOSTICS a = NUMBER",
            "GET DIAGNOSTICS @a = MESSAGE_TEXT",
            "GET DIAGNOSTICS CONDITION 1 @a = NUMBER",
            "GET DIAGNOSTICS CONDITION -1 @a = MESSAGE_TEXT",
            "GET DIAGNOSTICS CONDITION 1",
            "GET DIAGNOSTICS @a = NUMBER; SELECT 1",
        ] {
            assert_eq!(asked(text), None, "{text}");
        }
    }
}

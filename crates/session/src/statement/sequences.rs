//! Sequences of MariaDB in a text: of which it draws a value for certain, and whose last value it asks for. The values are
//! the server's.

use std::borrow::Cow;

use super::dialect::Dialect;
use super::identifier;
use super::keyword::Keyword;
use super::reader::Reader;
use super::token::Token;

/// A sequence as a text names it, without quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceName<'a> {
    /// Its schema, if the text names that.
    pub schema: Option<Cow<'a, [u8]>>,
    /// Its own name.
    pub name: Cow<'a, [u8]>,
}

/// How a text uses a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceUse {
    /// `NEXTVAL(s)`, `NEXT VALUE FOR s`: if the statement succeeds, it has drawn a value.
    Draws,
    /// `LASTVAL(s)`, `PREVIOUS VALUE FOR s`.
    AsksLast,
}

/// Calls `found` for each use of a sequence in the first statement of a text. The name is `None` where it is not of ASCII,
/// which alone means the same in every character set.
///
/// `NEXTVAL` counts only where the server cannot skip it: as a column of a SELECT or DO that has nothing else, or as a
/// value in an INSERT or REPLACE with VALUES. False if the text cannot be read with certainty.
pub fn sequences<'a>(
    text: &'a [u8],
    dialect: &Dialect,
    mut found: impl FnMut(SequenceUse, Option<SequenceName<'a>>),
) -> bool {
    let all_columns = only_draws(Reader::new(text, dialect));
    let mut reader = Reader::new(text, dialect);
    let mut place = match reader.next().keyword() {
        Keyword::Insert | Keyword::Replace => Place::BeforeValues,
        _ => Place::Elsewhere,
    };
    let (mut depth, mut before) = (0_u32, Token::End);
    while !reader.at_end() {
        let token = reader.next();
        if let Some((what, name)) = used(token, &mut reader) {
            let is_value = place == Place::Values
                && depth == 1
                && matches!(before, Token::Mark(b'(' | b','))
                && matches!(reader.peek(), Token::Mark(b')' | b','));
            if what == SequenceUse::AsksLast || all_columns || is_value {
                found(what, name);
            }
            before = Token::End;
            continue;
        }
        match token {
            Token::Mark(b'(') => depth += 1,
            Token::Mark(b')') => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            Token::Mark(b',') => {}
            _ if place == Place::Values => place = Place::Elsewhere,
            _ if place == Place::BeforeValues && token.is_among("value values") => {
                place = Place::Values;
            }
            _ => {}
        }
        before = token;
    }
    !reader.in_doubt()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In front of the rows of an INSERT or REPLACE.
    BeforeValues,
    /// Among those rows.
    Values,
    Elsewhere,
}

/// True of a SELECT or DO of nothing but values that are drawn, which may have names.
fn only_draws(mut reader: Reader<'_>) -> bool {
    if !reader.accept(Keyword::Select) && !reader.accept(Keyword::Do) {
        return false;
    }
    loop {
        let token = reader.next();
        if !matches!(used(token, &mut reader), Some((SequenceUse::Draws, _))) {
            return false;
        }
        reader.accept(Keyword::As);
        if let Token::Word(_) | Token::Name(_) | Token::Text = reader.peek() {
            reader.next();
        }
        if !reader.accept_mark(b',') {
            return reader.ends_text();
        }
    }
}

/// How the text uses a sequence that begins with `token`; its name is `None` if it cannot be told.
fn used<'a>(
    token: Token<'a>,
    reader: &mut Reader<'a>,
) -> Option<(SequenceUse, Option<SequenceName<'a>>)> {
    let what = match token {
        _ if token.is_word("nextval") || token.is(Keyword::Next) => SequenceUse::Draws,
        _ if token.is_word("lastval") || token.is(Keyword::Previous) => SequenceUse::AsksLast,
        _ => return None,
    };
    let calls = !matches!(token.keyword(), Keyword::Next | Keyword::Previous);
    let is_used = match calls {
        true => reader.accept_mark(b'('),
        false => reader.accept(Keyword::Value) && reader.accept(Keyword::For),
    };
    is_used.then_some(())?;
    let mut name = name(reader);
    if calls && !reader.accept_mark(b')') {
        name = None;
    }
    Some((what, name))
}

fn name<'a>(reader: &mut Reader<'a>) -> Option<SequenceName<'a>> {
    let (mut schema, mut name) = (None, part(reader)?);
    if reader.accept_mark(b'.') {
        schema = Some(name);
        name = part(reader)?;
    }
    Some(SequenceName { schema, name })
}

fn part<'a>(reader: &mut Reader<'a>) -> Option<Cow<'a, [u8]>> {
    let name = identifier::unquote(reader.next().identifier()?, reader.dialect().charset);
    (name.is_ascii() && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::{Flavor, Traits, classify};

    const DIALECT: Dialect = Dialect::new(Flavor::MariaDb, 101_119);

    /// `+` in front of what is drawn, `-` in front of what is asked for; `?` is a name that is not known.
    fn uses(text: &str) -> Option<String> {
        let mut all = Vec::new();
        let known = sequences(text.as_bytes(), &DIALECT, |what, name| {
            let sign = match what {
                SequenceUse::Draws => '+',
                SequenceUse::AsksLast => '-',
            };
            let part = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
            let name = name.map_or("?".to_owned(), |name| {
                let schema = name.schema.map(|schema| part(&schema) + ".");
                schema.unwrap_or_default() + &part(&name.name)
            });
            all.push(format!("{sign}{name}"));
        });
        known.then(|| all.join(" "))
    }

    #[test]
    fn drawn_is_what_the_server_cannot_skip() {
        for (text, expected) in [
            ("SELECT NEXTVAL(s)", "+s"),
            ("select next value for d.s as id;", "+d.s"),
            (
                "SELECT nextval ( `d` . `s``t` ) 'x', NEXTVAL(s) y",
                "+d.s`t +s",
            ),
            ("DO NEXTVAL(s), NEXT /**/ VALUE FOR t", "+s +t"),
            (
                "INSERT INTO t VALUES (NEXTVAL(s), 2), (1, NEXT VALUE FOR d.s) ON DUPLICATE KEY UPDATE a = 1",
                "+s +d.s",
            ),
            ("REPLACE t (a, b) VALUE (1, NEXTVAL(s)) RETURNING a", "+s"),
            ("SELECT NEXTVAL(s) FROM t", ""),
            ("SELECT NEXTVAL(s) LIMIT 0", ""),
            ("SELECT NEXTVAL(s) x HAVING 0", ""),
            ("SELECT 1, NEXTVAL(s)", ""),
            ("SELECT IF(0, NEXTVAL(s), 1)", ""),
            ("UPDATE t SET a = NEXTVAL(s) WHERE 0", ""),
            ("INSERT INTO t SELECT NEXTVAL(s) FROM u", ""),
            ("INSERT INTO t VALUES (IF(0, NEXTVAL(s), 1))", ""),
            ("INSERT INTO t VALUES (0 AND NEXTVAL(s))", ""),
            (
                "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = (NEXTVAL(s))",
                "",
            ),
            ("EXPLAIN SELECT NEXTVAL(s)", ""),
            ("SELECT 'NEXTVAL(t)', nextval FROM t", ""),
            ("SELECT NEXTVAL('s'), NEXTVAL(?)", "+? +?"),
            ("SELECT NEXTVAL(ä)", "+?"),
        ] {
            assert_eq!(uses(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn asked_for_is_wherever_it_stands() {
        for (text, expected) in [
            ("SELECT LASTVAL(s), PREVIOUS VALUE FOR d.s", "-s -d.s"),
            ("SELECT IF(0, lastval ( `s` ), 1) FROM t", "-s"),
            (
                "INSERT INTO t VALUES (NEXTVAL(s), PREVIOUS VALUE FOR p)",
                "+s -p",
            ),
            ("SELECT NEXTVAL(s), LASTVAL(s)", "-s"),
            ("SELECT LASTVAL(ä)", "-?"),
            ("SELECT lastval, 'LASTVAL(s)' FROM t", ""),
        ] {
            assert_eq!(uses(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(uses("SELECT LASTVAL(s), 'open"), None);
    }

    #[test]
    fn mysql_has_none() {
        let mysql = Dialect::new(Flavor::MySql, 90_700);
        for text in [
            "SELECT NEXT VALUE FOR s",
            "INSERT INTO t VALUES (PREVIOUS VALUE FOR s)",
        ] {
            let traits = classify(text.as_bytes(), &mysql).traits;
            let sequences = Traits::DRAWS_SEQUENCE | Traits::TELLS_SEQUENCE;
            assert!(!traits.intersects(sequences), "{text}");
        }
    }

    #[test]
    fn nothing_pins_and_definitions_ask_for_nothing() {
        let draws = Traits::DRAWS_SEQUENCE;
        let tells = Traits::TELLS_SEQUENCE;
        for (text, does) in [
            ("SELECT NEXTVAL(s)", draws),
            ("INSERT INTO t (id) VALUES (NEXT VALUE FOR s)", draws),
            ("UPDATE t SET a = NEXTVAL(d.s)", draws),
            ("SELECT LASTVAL(s), PREVIOUS VALUE FOR d.s", tells),
            ("DO LASTVAL(s)", tells),
            ("SET @x = LASTVAL(s)", tells),
            ("DELETE FROM t WHERE a = LASTVAL(s)", tells),
            ("SELECT NEXTVAL(s), LASTVAL(t)", draws | tells),
            ("SELECT NEXTVAL(s); SELECT LASTVAL(s)", draws | tells),
            ("SELECT SETVAL(s, 1)", Traits::empty()),
            ("CREATE VIEW v AS SELECT LASTVAL(s)", Traits::empty()),
            ("CREATE TABLE t (a INT DEFAULT LASTVAL(s))", Traits::empty()),
            (
                "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET NEW.a = LASTVAL(s)",
                Traits::empty(),
            ),
            (
                "CREATE FUNCTION f() RETURNS INT RETURN LASTVAL(s)",
                Traits::empty(),
            ),
            ("CREATE TABLE t AS SELECT LASTVAL(s)", tells),
        ] {
            let statement = classify(text.as_bytes(), &DIALECT);
            assert_eq!(statement.traits & (draws | tells), does, "{text}");
            assert!(!statement.traits.contains(Traits::PURE_READ), "{text}");
            assert!(statement.pins.is_empty(), "{text}: {:?}", statement.pins);
        }
    }
}

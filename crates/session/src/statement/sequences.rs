//! Sequences, as MariaDB has them, that a text names: whose next value it draws, and whose last one it asks for. Owns how
//! they are named and where in a text that is; the values are the server's.

use super::dialect::Dialect;
use super::identifier;
use super::keyword::Keyword;
use super::kind::{Statement, Traits};
use super::lexer::Lexer;
use super::token::Token;

/// A text that names more of them is not followed.
const NAMES_MAX: usize = 16;

/// A sequence as a text names it, without quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceName {
    /// Its schema, if that is said.
    pub schema: Option<Box<[u8]>>,
    /// Its own name.
    pub name: Box<[u8]>,
}

/// What a text wants of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// `NEXTVAL(s)`, `NEXT VALUE FOR s`
    Next,
    /// `LASTVAL(s)`, `PREVIOUS VALUE FOR s`
    Last,
}

/// The sequences whose next value a text may draw, each once. `None` if they cannot be told.
#[must_use]
pub fn drawn_sequences(text: &[u8], dialect: &Dialect) -> Option<Vec<SequenceName>> {
    named(text, dialect, Wanted::Next)
}

/// True if it is known of which sequences a statement draws values, and which last values it asks for, and those are not
/// drawn meanwhile.
pub(super) fn is_followed(statement: &Statement, text: &[u8], dialect: &Dialect) -> bool {
    let names = |wanted| named(text, dialect, wanted);
    let (Some(drawn), Some(told)) = (names(Wanted::Next), names(Wanted::Last)) else {
        return false;
    };
    let is_drawn = |told: &SequenceName| {
        let same = |drawn: &SequenceName| drawn.name.eq_ignore_ascii_case(&told.name);
        drawn.iter().any(same)
    };
    !statement.traits.contains(Traits::MULTIPLE) && !told.iter().any(is_drawn)
}

fn named(text: &[u8], dialect: &Dialect, wanted: Wanted) -> Option<Vec<SequenceName>> {
    let mut lexer = Lexer::new(text, dialect);
    let mut found = Vec::new();
    loop {
        let token = lexer.next();
        if token == Token::End {
            return (!lexer.in_doubt()).then_some(found);
        }
        match what(token, &mut lexer) {
            None => {}
            Some((_, None)) => return None,
            Some((other, _)) if other != wanted => {}
            Some((_, Some(name))) if found.contains(&name) => {}
            Some((_, Some(name))) => {
                found.push(name);
                (found.len() <= NAMES_MAX).then_some(())?;
            }
        }
    }
}

/// The sequence whose last value is asked for right here, where the lexer is behind `token`: then it is behind all of it.
pub(super) fn last_value(token: Token<'_>, lexer: &mut Lexer<'_>) -> Option<SequenceName> {
    let mut ahead = lexer.clone();
    let (wanted, name) = what(token, &mut ahead)?;
    let name = name.filter(|_| wanted == Wanted::Last)?;
    let start = lexer.place().start;
    *lexer = ahead;
    lexer.extend_place(start);
    Some(name)
}

/// What is wanted right here, and of which sequence, if its name can be told.
fn what(token: Token<'_>, lexer: &mut Lexer<'_>) -> Option<(Wanted, Option<SequenceName>)> {
    let Token::Word(word) = token else {
        return None;
    };
    let mut ahead = lexer.clone();
    let next = ahead.next();
    let is = |name: &[u8]| word.text.eq_ignore_ascii_case(name);
    let (wanted, calls) = match next {
        Token::Mark(b'(') if is(b"nextval") => (Wanted::Next, true),
        Token::Mark(b'(') if is(b"lastval") => (Wanted::Last, true),
        next if next.is(Keyword::Value) && ahead.next().is(Keyword::For) => match word.keyword {
            Keyword::Next => (Wanted::Next, false),
            Keyword::Previous => (Wanted::Last, false),
            _ => return None,
        },
        _ => return None,
    };
    let name = name(&mut ahead).filter(|_| !calls || ahead.next() == Token::Mark(b')'));
    *lexer = ahead;
    Some((wanted, name))
}

/// The name that comes next; `None` if it is none of ASCII, which every character set of a session reads the same.
fn name(lexer: &mut Lexer<'_>) -> Option<SequenceName> {
    let charset = lexer.dialect().charset;
    let part = |token: Token<'_>| {
        let name = identifier::unquote(token.identifier()?, charset);
        (name.is_ascii() && !name.is_empty()).then(|| Box::from(&*name))
    };
    let first = part(lexer.next())?;
    let mut ahead = lexer.clone();
    if ahead.next() != Token::Mark(b'.') {
        return Some(SequenceName {
            schema: None,
            name: first,
        });
    }
    let second = part(ahead.next())?;
    *lexer = ahead;
    Some(SequenceName {
        schema: Some(first),
        name: second,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::{Flavor, PinReason, classify};

    const DIALECT: Dialect = Dialect::new(Flavor::MariaDb, 101_119);

    fn drawn(text: &str) -> Option<Vec<String>> {
        let shown = |name: SequenceName| {
            let part = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
            let schema = name.schema.map_or(String::new(), |schema| part(&schema));
            format!("{schema}.{}", part(&name.name))
        };
        let names = drawn_sequences(text.as_bytes(), &DIALECT)?;
        Some(names.into_iter().map(shown).collect())
    }

    #[test]
    fn sequences_are_named_in_calls_and_in_words() {
        let all = [
            ("SELECT NEXTVAL(s)", vec![".s"]),
            (
                "SELECT nextval ( `d` . `s``t` ), NEXTVAL(s)",
                vec!["d.s`t", ".s"],
            ),
            (
                "INSERT INTO t VALUES (NEXT VALUE FOR d.s, NEXT /**/ VALUE FOR s)",
                vec!["d.s", ".s"],
            ),
            ("SELECT NEXTVAL(s) FROM t WHERE a < NEXTVAL(s)", vec![".s"]),
            ("SELECT LASTVAL(s), 'NEXTVAL(t)', nextval FROM t", vec![]),
            ("SELECT NEXT VALUE FROM t", vec![]),
        ];
        for (text, expected) in all {
            assert_eq!(
                drawn(text).as_deref(),
                Some(
                    &expected
                        .iter()
                        .map(|name| (*name).to_owned())
                        .collect::<Vec<_>>()[..]
                ),
                "{text}"
            );
        }
        for text in [
            "SELECT NEXTVAL(?)",
            "SELECT NEXTVAL(ä)",
            "SELECT NEXTVAL(a.b.c)",
            "SELECT NEXTVAL('s')",
        ] {
            assert_eq!(drawn(text), None, "{text}");
        }
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
    fn what_cannot_be_followed_pins() {
        let draws = Traits::DRAWS_SEQUENCE;
        let tells = Traits::TELLS_SEQUENCE;
        let all = [
            ("SELECT NEXTVAL(s)", draws, false),
            ("INSERT INTO t (id) VALUES (NEXT VALUE FOR s)", draws, false),
            ("UPDATE t SET a = NEXTVAL(d.s)", draws, false),
            ("SELECT LASTVAL(s), PREVIOUS VALUE FOR d.s", tells, false),
            ("SELECT NEXTVAL(s), LASTVAL(s)", draws | tells, true),
            ("SELECT NEXTVAL(s), LASTVAL(d.S)", draws | tells, true),
            ("SELECT NEXTVAL(s), LASTVAL(t)", draws | tells, false),
            ("SELECT NEXTVAL(s); SELECT 1", draws, true),
            ("SELECT NEXTVAL(ä)", draws, true),
            ("SELECT SETVAL(s, 1)", Traits::empty(), false),
        ];
        for (text, does, pins) in all {
            let statement = classify(text.as_bytes(), &DIALECT);
            assert_eq!(statement.traits & (draws | tells), does, "{text}");
            assert_eq!(
                statement.pins.contains(PinReason::SequenceValue),
                pins,
                "{text}"
            );
            assert!(!statement.traits.contains(Traits::PURE_READ), "{text}");
        }
    }
}
